"""What can be said of a subscription before any broker is asked: here it fails where it is made."""

from __future__ import annotations

import warnings
from typing import Final

from gantrymq.client.core.message import GROUP_CHARACTERS_MAX, TOPIC_CHARACTERS_MAX, name_fault
from gantrymq.client.core.namespace import RETRY_PREFIX
from gantrymq.client.core.subscriptions import (
    Expression,
    Subscription,
    SubscriptionError,
    subscription,
)

# What begins so is a group's: its retries, its dead letters.
_OF_GROUP: Final = "%"


def must_be_possible(topic: str, expression: Expression, listener: object = subscription) -> None:
    """`topic` as users know it. Raises SubscriptionError; warns of one bar where two are meant."""
    characters_max = TOPIC_CHARACTERS_MAX
    if topic.startswith(_OF_GROUP):
        characters_max = len(RETRY_PREFIX) + GROUP_CHARACTERS_MAX
    fault = name_fault("topic", topic, characters_max)
    if fault is not None:
        raise SubscriptionError(fault)
    if not callable(listener):
        raise SubscriptionError(
            f"the listener of {topic} is {listener!r}: give a function of a list of messages"
        )
    _warn_of_bars(subscription(topic, expression, 0), expression)


def _warn_of_bars(subscribed: Subscription, expression: Expression) -> None:
    odd = [tag for tag in subscribed.tags if "|" in tag]
    if odd:
        warnings.warn(
            f"{expression!r} for {subscribed.topic} wants a tag that is called {odd[0]!r}: two tags"
            " are separated by ||",
            stacklevel=4,
        )
