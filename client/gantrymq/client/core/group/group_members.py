"""Finds the members of a consumer group and computes this client's share of the queues.

Any broker of a topic knows the members, because each member sends heartbeats to all brokers.

Invariant: a share is never computed from a guess. If no broker can list the members, the call
raises an error.
"""

from __future__ import annotations

from collections.abc import Collection

from gantrymq.client.core.errors import BrokerError, ClientError, RouteError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import Call
from gantrymq.client.core.group.allocation import Allocate, in_order
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.routes import MASTER_ID, Route
from gantrymq.client.core.safe_text import text_of
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import ConsumerIds
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import ConsumerGroupRequest


async def share_of(
    instance: Instance, group: str, route: Route, allocate: Allocate | None
) -> list[MessageQueue]:
    """Return the queues of a topic that this client gets; all of them if `allocate` is None. Raises
    GantryError."""
    queues = sorted(route.subscribe)
    if allocate is None:
        return queues
    if not instance.is_known_to_one_of(route, group):
        await instance.heartbeat()
    ids = await client_ids(instance, group, route)
    name = text_of(allocate)
    try:
        share = await Call[object](allocate, instance.client_id, queues, ids)
    except Exception as error:  # a strategy may be the user's code
        raise ClientError(f"the strategy {name} raised {text_of(error)}") from error
    if isinstance(share, Collection) and all(isinstance(each, MessageQueue) for each in share):
        return list(share)
    raise ClientError(
        f"what the strategy {name} returned, {text_of(share)}, is no list of queues: return those"
        " that are this client's, or [] when none are"
    )


async def client_ids(instance: Instance, group: str, route: Route) -> list[str]:
    """Return the client ids of the group, sorted as all members sort them. Asks the brokers of the
    route in turn; raises the error of the last one."""
    brokers = route.data.brokers
    first = instance.ports.chance(len(brokers)) if brokers else 0
    failure: Exception = RouteError("get consumer id list failed: the route names no broker")
    for broker in (*brokers[first:], *brokers[:first]):
        member = instance.routes.member(broker.broker_name, MASTER_ID)
        if member is None:
            continue
        try:
            return await _asked(instance, group, member[0])
        except (BrokerError, RequestError) as error:
            failure = error
    raise failure


async def _asked(instance: Instance, group: str, address: str) -> list[str]:
    header = ConsumerGroupRequest(consumer_group=group)
    command = Command(RequestCode.GET_CONSUMER_LIST_BY_GROUP, ext=header.encode())
    answer = await success(address, command, instance.settings.api_timeout_s)
    return in_order(ConsumerIds.from_json(javajson.loads(answer.body)).ids)
