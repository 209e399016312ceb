"""Creates topics that were auto-created by a message on every master of the cluster.

RocketMQ creates them only on the broker that got the first message, so that all load of a topic
stays on one broker. Here the masters that name servers know of are asked to create the topic as
well, unless they have it. Best effort: a master that cannot be reached now creates the topic when a
producer sends to it.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.state import State
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.logs import Log
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.topic import CreateTopicRequest, GetTopicConfigRequest

ASK_SECONDS: Final = 3.0
MASTER_ID: Final = 0


@final
class TopicPropagator:
    """Sends requests to the other masters, over connections of its own."""

    def __init__(self, state: State, dialer: Dialer, log: Log) -> None:
        self._state = state
        self._dialer = dialer
        self._log = log

    async def spread(self, config: TopicConfig, namesrvs: list[str]) -> None:
        """Create this topic on every other master of the cluster."""
        for address in await self._other_masters(namesrvs):
            try:
                await self._create(address, config)
            except (RequestError, ConfigurationError) as error:
                self._log.warning(
                    "a topic is not on every master yet",
                    topic=config.topic_name,
                    broker=address,
                    cause=str(error),
                )

    async def _other_masters(self, namesrvs: list[str]) -> list[str]:
        """The other masters, from the first name server that answers."""
        command = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
        for address in namesrvs:
            try:
                response = await self._dialer.connection(address).request(command, ASK_SECONDS)
                if response.code == ResponseCode.SUCCESS:
                    return self._masters(ClusterInfo.from_json(javajson.loads(response.body)))
            except (RequestError, ConfigurationError, RemoteError):
                continue
        return []

    def _masters(self, info: ClusterInfo) -> list[str]:
        identity = self._state.identity
        names = info.clusters.get(identity.cluster, ())
        masters = [
            info.brokers[name].addresses.get(MASTER_ID)
            for name in names
            if name != identity.name and name in info.brokers
        ]
        return [address for address in masters if address is not None]

    async def _create(self, address: str, config: TopicConfig) -> None:
        connection = self._dialer.connection(address)
        asked = GetTopicConfigRequest(topic=config.topic_name)
        known = await connection.request(
            Command(RequestCode.GET_TOPIC_CONFIG, ext=asked.encode()), ASK_SECONDS
        )
        if known.code == ResponseCode.SUCCESS:
            return
        header = CreateTopicRequest(
            topic=config.topic_name,
            default_topic="TBW102",
            read_queue_nums=config.read_queue_nums,
            write_queue_nums=config.write_queue_nums,
            perm=config.perm,
            topic_filter_type=config.topic_filter_type.value,
            topic_sys_flag=config.topic_sys_flag,
            order=config.order,
        )
        created = await connection.request(
            Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode()), ASK_SECONDS
        )
        if created.code != ResponseCode.SUCCESS:
            raise RequestError(f"code {created.code}: {created.remark}")
