"""Validates a subscription without a broker, so that it fails in the call that makes it."""

from __future__ import annotations

import warnings
from typing import Final

from gantrymq.client.core.group.subscriptions import (
    Expression,
    Subscription,
    SubscriptionError,
    subscription,
)
from gantrymq.client.core.message.message import (
    GROUP_CHARACTERS_MAX,
    TOPIC_CHARACTERS_MAX,
    name_fault,
)
from gantrymq.client.core.message.namespace import RETRY_PREFIX

# Prefix of a group's topics: its retries and dead letters.
_OF_GROUP: Final = "%"


def must_be_possible(topic: str, expression: Expression, listener: object = subscription) -> None:
    """Check a subscription with the user's topic name. Raises SubscriptionError; warns of a tag
    with `|`, where `||` was probably meant."""
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
