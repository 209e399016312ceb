"""Runs push consumers of a cluster in virtual time, and records what their listeners receive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.instance.hooks import ConsumeHook
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.outcomes import Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.listeners import Listener
from gantrymq.client.core.push.push_consumer import PushGroupMember
from gantrymq.fakes.brokers.cluster import Cluster, ClusterClient
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import QueryConsumerOffsetRequest

FIRST = ConsumeSettings(consume_from=ConsumeFrom.FIRST_OFFSET)


class Consumer:
    """One member of a group, of topic T by default. `outcome` is the listener's result."""

    def __init__(
        self,
        cluster: Cluster,
        client_id: str = "me@1",
        settings: ConsumeSettings = FIRST,
        *,
        group: str = "G",
        outcome: Callable[[list[ReceivedMessage]], Outcome] | None = None,
        client_settings: ClientSettings | None = None,
        hooks: Sequence[ConsumeHook] = (),
    ) -> None:
        self.cluster = cluster
        self.client: ClusterClient = cluster.client(client_id, client_settings)
        self.member = PushGroupMember(
            self.client.instance, group, settings, hooks, offset_folder="/home/offsets"
        )
        self.outcome = outcome
        self.calls: list[list[str]] = []

    def start(self, topic: str = "T", listener: Listener | None = None) -> Consumer:
        self.member.subscribe(topic, "*", listener or self.listen)
        self.client.instance.start()
        self.client.run(self.member.start())
        self.cluster.pass_time(0.1)
        return self

    def close(self) -> None:
        self.client.run(self.member.close())
        self.client.instance.stop()

    def listen(self, messages: list[ReceivedMessage]) -> Outcome:
        self.calls.append([message.body.decode() for message in messages])
        return None if self.outcome is None else self.outcome(messages)

    @property
    def bodies(self) -> list[str]:
        return [body for call in self.calls for body in call]

    @property
    def queues(self) -> list[tuple[str, int]]:
        """The assigned queues of the topics that users subscribed to."""
        return [
            (each.queue.broker_name, each.queue.queue_id)
            for each in self.member.status()
            if not each.queue.topic.startswith("%RETRY%")
        ]


def stored_offset(cluster: Cluster, queue_id: int = 0, topic: str = "T") -> int:
    """Return the offset that group G has committed at the broker."""
    header = QueryConsumerOffsetRequest(
        consumer_group="G", topic=topic, queue_id=queue_id, set_zero_if_not_found=False
    )
    answer = cluster.broker.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
    assert answer.ext is not None, answer
    return int(answer.ext["offset"])


def answer_once(cluster: Cluster, code: RequestCode, answer: Command | Exception) -> None:
    """Answer the first such request about topic T, or about no topic, instead of the broker."""
    answers = [answer]

    def instead(address: str, command: Command) -> Command | Exception:
        del address
        if answers and (command.ext or {}).get("topic", "T") == "T":
            return answers.pop()
        return command

    cluster.faults[code] = instead
