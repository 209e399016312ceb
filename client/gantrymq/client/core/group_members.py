"""Who else is in a consumer group: any broker of a topic knows, for all members tell all brokers.

Invariant: nobody's share is worked out of a guess: when no broker can say, there is no answer.
"""

from __future__ import annotations

from gantrymq.client.core.allocation import in_order
from gantrymq.client.core.answers import success
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.routes import MASTER_ID, Route
from gantrymq.remoting.failures import RequestError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import ConsumerIds
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import ConsumerGroupRequest


async def client_ids(instance: Instance, group: str, route: Route) -> list[str]:
    """Sorted as all members sort them; raises what the last broker raised that was asked."""
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
