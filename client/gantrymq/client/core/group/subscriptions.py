"""Parses subscriptions: tags, or an SQL92 expression that the broker evaluates.

    "*"                 all messages
    "paid || shipped"   messages with one of these tags
    Sql("price > 3")    messages whose properties match (brokers with enablePropertyFilter)

Brokers compare hashes of tags, which can collide, so a consumer compares the tags again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.errors import BrokerError, ClientError, RouteError
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import java_string, javajson
from gantrymq.wire.bodies.heartbeat import EXPRESSION_SQL92, EXPRESSION_TAG, SubscriptionData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import JsonObject
from gantrymq.wire.message import tags
from gantrymq.wire.message.properties import get
from gantrymq.wire.message.property_names import TAGS


class SubscriptionError(ClientError):
    """The subscription is invalid: the expression cannot be parsed, or a broker refuses it."""


@final
@dataclass(frozen=True, slots=True)
class Sql:
    """An SQL92 expression over properties: `Sql("region = 'eu' and price between 1 and 9")`."""

    text: str


Expression: TypeAlias = str | Sql


@final
@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription to one topic. `data` is sent to brokers, where a newer version replaces an
    older one."""

    data: SubscriptionData
    tags: frozenset[str]
    """The subscribed tags; empty if only the broker filters."""
    subscribed_version: int
    """The version of the application's `subscribe` call. Renewals for brokers have a higher version
    and the same `subscribed_version`. Another `subscribe` call has another `subscribed_version`,
    even with the same expression."""

    @property
    def topic(self) -> str:
        return self.data.topic

    def renewed(self, version: int) -> Subscription:
        """Return the same subscription with a higher version, so that brokers take it as the
        newest."""
        return replace(self, data=replace(self.data, sub_version=version))

    def wants(self, properties: bytes) -> bool:
        """Tell whether a message with these encoded properties matches the tags. Hot path with
        tags."""
        return not self.tags or get(properties, TAGS) in self.tags


@final
class Versions:
    """Versions of one consumer's subscriptions. Brokers use the highest version of a topic, so each
    one is higher than all before it, even if the clock is set back."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def next(self, now_ms: int) -> int:
        self._last = max(now_ms, self._last + 1)
        return self._last


EVERYTHING: Final = tags.ALL


def subscription(topic: str, expression: Expression, version_ms: int) -> Subscription:
    """Return the subscription; raises SubscriptionError if the expression is invalid."""
    if isinstance(expression, Sql):
        if not expression.text.strip():
            raise SubscriptionError(f"the SQL expression for {topic} is blank; write one, or '*'")
        kind = EXPRESSION_SQL92
        data = _data(topic, expression.text, kind, (), version_ms)
        return Subscription(data, frozenset(), version_ms)
    if not isinstance(expression, str):
        raise SubscriptionError(
            f"{expression!r} is no expression for {topic}: write '*', 'paid || shipped' or Sql(...)"
        )
    try:
        parsed = tags.parse(expression.strip(tags.TRIMMED))
    except RemoteError as error:
        raise SubscriptionError(f"parse subscription error: {error}") from error
    wanted = parsed.tags
    data = _data(topic, parsed.expression, EXPRESSION_TAG, wanted, version_ms)
    return Subscription(data, frozenset(wanted), version_ms)


def _data(
    topic: str, text: str, kind: str, wanted: tuple[str, ...], version_ms: int
) -> SubscriptionData:
    return SubscriptionData(
        topic=topic,
        sub_string=text,
        expression_type=kind,
        tags=wanted,
        codes=tuple(dict.fromkeys(map(java_string.hash_code, wanted))),
        sub_version=version_ms,
    )


async def check(instance: Instance, group: str, subscribed: Subscription) -> None:
    """Ask a broker of the topic whether it accepts the expression; raises SubscriptionError."""
    data = subscribed.data
    if data.expression_type == EXPRESSION_TAG:
        return
    route = await instance.route(data.topic)
    brokers = route.data.brokers
    broker_name = brokers[instance.ports.chance(len(brokers))].broker_name
    member = instance.routes.member(broker_name, MASTER_ID)
    if member is None:
        raise RouteError(
            f"The route of {data.topic} names the broker {broker_name} without an address."
        )
    address = instance.vip(member[0])
    bean: JsonObject = {
        "clientId": instance.client_id,
        "group": group,
        "subscriptionData": data.to_json(),
    }
    command = Command(RequestCode.CHECK_CLIENT_CONFIG, body=javajson.dumps_fastjson(bean))
    try:
        answer = await Ask(address, command, instance.settings.api_timeout_s)
    except RequestError as error:
        raise SubscriptionError(
            "Check client in broker error, maybe because you use SQL92 to filter message, but"
            f" server has not been upgraded to support: {error}"
        ) from error
    if answer.code != ResponseCode.SUCCESS:
        raise SubscriptionError(f"{data.topic}: {BrokerError(answer.code, answer.remark, address)}")
