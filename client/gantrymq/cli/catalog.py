"""Lists all commands by family: names, descriptions, and the modules that define them.

The list stands apart from the commands, so that `gantry --help` imports none of them. Names of one
word are mqadmin's; a new command of Gantry's own has two words (a few older ones have one). A
family without a title continues the family before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gantrymq.cli.frame.command import Command
    from gantrymq.cli.frame.stream_command import StreamCommand

PROGRAMS: Final = (
    "standalone", "broker", "namesrv", "operator", "kubectl", "store", "completion"
)  # fmt: skip
"""The programs that `gantry` runs besides commands."""

_CONTROLLER: Final = (
    "asks a controller, which the classic architecture does not have: brokerId=0 in broker.conf"
    " makes a master, and slaves replicate its log (gantry haStatus)"
)
_CONTAINER: Final = (
    "asks a broker container, which the classic architecture does not have: start each broker as a"
    " process of its own (gantry broker -c broker.conf)"
)
_STATIC: Final = (
    "is for static topics, which the classic architecture does not have: gantry updateTopic creates"
    " an ordinary topic, gantry updateOrderConf fixes its queues"
)
_ROCKSDB: Final = (
    "reads RocksDB, which the classic store does not use: gantry exportMetadata exports topics and"
    " groups, gantry store dump reads files"
)
_COLD: Final = (
    "is for the flow control of cold data, which Gantry's broker does not have: the broker itself"
    " reads ahead of consumers"
)


class Entry(NamedTuple):
    """A name of the catalog. `instead` says why a command does not exist, and what to use."""

    name: str
    about: str
    module: str = ""
    instead: str = ""


_FAMILIES: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    (
        "clusters and brokers",
        "cluster.clusters",
        {
            "clusterList": "list clusters, their brokers and the load of each broker",
            "haStatus": "show how far slaves are behind their master",
            "resetMasterFlushOffset": "tell a slave up to where its master has flushed its log",
        },
    ),
    (
        "single brokers",
        "cluster.brokers",
        {
            "brokerStatus": "show all figures of a broker",
            "getBrokerConfig": "show all settings of a broker",
            "updateBrokerConfig": "change a setting of a broker; the change survives restarts",
            "cleanExpiredCQ": "delete queue files whose messages are deleted",
            "cleanUnusedTopic": "delete the queues of topics that do not exist any more",
            "deleteExpiredCommitLog": "delete the files of the log that have expired, now",
        },
    ),
    (
        "topics",
        "topic.topics",
        {
            "topicList": "list all topics",
            "topicRoute": "show the brokers and queues of a topic",
            "topicStatus": "show the queues of a topic and their offsets",
            "topicClusterList": "list the clusters of a topic",
            "allocateMQ": "show how consumers would share a topic's queues",
            "statsAll": "show the traffic and lag of all topics and groups",
        },
    ),
    (
        "changing topics",
        "topic.topic_changes",
        {
            "updateTopic": "create or change a topic",
            "updateTopicList": "create or change several topics, from a JSON file",
            "updateTopicPerm": "change whether a topic may be read and written",
            "deleteTopic": "delete a topic and its messages",
            "updateOrderConf": "fix the queues of an ordered topic",
        },
    ),
    (
        "progress of groups",
        "group.progress",
        {"consumerProgress": "show the offsets and the lag of groups"},
    ),
    (
        "consumer groups",
        "group.groups",
        {
            "brokerConsumeStats": "show the offsets and the lag of all groups at one broker",
            "getConsumerConfig": "show the settings of a group",
            "updateSubGroup": "create or change a group",
            "updateSubGroupList": "create or change several groups, from a JSON file",
            "deleteSubGroup": "delete a group",
            "setConsumeMode": "set whether a group pops or pulls a topic",
        },
    ),
    (
        "offsets of groups",
        "group.offsets",
        {
            "resetOffsetByTime": "move a group to the messages of a time",
            "skipAccumulatedMessage": "move a group behind the messages that wait for it",
            "cloneGroupOffset": "move a group to the offsets of another group",
            "getConsumerStatus": "show the offsets that the clients of a group report",
        },
    ),
    (
        "clients",
        "group.connections",
        {
            "consumerConnection": "list the consumers of a group and their subscriptions",
            "producerConnection": "list the producers of a group",
            "producer": "list all producers of one broker",
            "consumerStatus": "show what the consumers of a group report about themselves",
        },
    ),
    (
        "messages",
        "message.messages",
        {
            "queryMsgById": "show a message by its offset id",
            "queryMsgByKey": "list messages by a key",
            "queryMsgByUniqueKey": "show a message by the id that its producer made",
            "queryMsgByOffset": "show a message by its queue and offset",
            "queryCq": "show the entries of a consume queue",
            "DecodeMessageId": "show the address and time in a message's unique id",
        },
    ),
    (
        "reading topics",
        "message.reading",
        {
            "printMsg": "read a topic without moving any offset",
            "printMsgByQueue": "read one queue without moving any offset",
            "consumeMessage": "read a number of messages without moving any offset",
        },
    ),
    (
        "sending and reading",
        "stream.streams",
        {
            "produce": "send messages from the command line, standard input or a file",
            "consume": "read messages, in a consumer group or without one",
            "tail": "follow a topic: read what is sent from now on",
            "bench": "measure sends and reads per second, and their latencies",
        },
    ),
    (
        "traces of messages",
        "message.traces",
        {"queryMsgTraceById": "show the producer and the consumers of a message, from traces"},
    ),
    (
        "test messages",
        "message.trial_sends",
        {
            "sendMessage": "send one message",
            "sendMsgStatus": "send messages to a broker, and show the result of each",
            "checkMsgSendRT": "measure how long sends to a topic's queues take",
            "clusterRT": "measure how long sends to each broker take",
        },
    ),
    (
        "name servers",
        "cluster.name_servers",
        {
            "getNamesrvConfig": "show all settings of name servers",
            "updateNamesrvConfig": "change a setting of all name servers",
            "updateKvConfig": "set a key at all name servers",
            "deleteKvConfig": "delete a key at all name servers",
            "wipeWritePerm": "stop producers from sending to a broker",
            "addWritePerm": "let producers send to a broker again",
        },
    ),
    (
        "accounts",
        "cluster.accounts",
        {
            "getAclConfig": "show all accounts of a broker",
            "clusterAclConfigVersion": "show the version of a broker's accounts",
            "updateAclConfig": "create or change an account",
            "deleteAclConfig": "delete an account",
            "updateGlobalWhiteAddr": "set the addresses that need no key",
        },
    ),
    (
        "users",
        "access.users",
        {
            "createUser": "create a user of RocketMQ 5",
            "updateUser": "change the password, type or status of a user",
            "deleteUser": "delete a user and its policies",
            "getUser": "show one user of a broker",
            "listUser": "list the users of a broker",
            "copyUser": "copy users from one broker to another",
        },
    ),
    (
        "policies of users",
        "access.policies",
        {
            "createAcl": "allow or deny a user actions on resources",
            "updateAcl": "add or change policies of a user",
            "deleteAcl": "delete policies of a user",
            "getAcl": "show the policies of one user",
            "listAcl": "show the policies of all users",
            "copyAcl": "copy policies from one broker to another",
        },
    ),
    (
        "users, policies and quotas, with roles and rotation of passwords",
        "access.own_users",
        {
            "user list": "list users, and how many brokers have each",
            "user create": "create a user, with a role if --role is given",
            "user update": "change the password, type or status of a user",
            "user rotate": "give a user a new password; the old one stays valid until --end",
            "user delete": "delete a user and its policies",
        },
    ),
    (
        "",
        "access.own_policies",
        {
            "acl list": "list policies, and how many brokers have each",
            "acl grant": "give a user a role: admin, producer, consumer or observer",
            "acl revoke": "revoke a role of a user",
        },
    ),
    (
        "",
        "access.quotas",
        {
            "quota list": "list quotas, or with --use the names that use most of theirs",
            "quota set": "limit a user, topic, group or address",
            "quota delete": "delete a quota",
        },
    ),
    (
        "exports",
        "cluster.exports",
        {
            "exportMetadata": "write topics and groups to a JSON file",
            "exportConfigs": "write the settings of a cluster's brokers to a JSON file",
            "exportMetrics": "write the load of a cluster's brokers to a JSON file",
        },
    ),
    (
        "diagnosis",
        "cluster.doctor",
        {"doctor": "find what is wrong in a cluster, and say how to fix it"},
    ),
    (
        "",
        "cluster.report",
        {"report": "write the state of a cluster, without secrets, to a JSON file"},
    ),
)

_INSTEAD: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("getControllerConfig", "updateControllerConfig", "getControllerMetaData"),
            *("getSyncStateSet", "electMaster", "cleanBrokerMetadata", "getBrokerEpoch"),
        ),
        _CONTROLLER,
    ),
    **dict.fromkeys(("addBroker", "removeBroker"), _CONTAINER),
    **dict.fromkeys(("updateStaticTopic", "remappingStaticTopic"), _STATIC),
    **dict.fromkeys(
        (
            *("exportMetadataInRocksDB", "rocksDBConfigToJson", "checkRocksdbCqWriteProgress"),
            *("exportPopRecord", "dumpCompactionLog"),
        ),
        _ROCKSDB,
    ),
    **dict.fromkeys(
        (
            *("getColdDataFlowCtrInfo", "updateColdDataFlowCtrGroupConfig"),
            *("removeColdDataFlowCtrGroupConfig", "setCommitLogReadAheadMode"),
        ),
        _COLD,
    ),
    "consumer": "is replaced by gantry consumerStatus, which shows more",
    "startMonitoring": "is replaced by gantry doctor --watch 60",
    "resetOffsetByTimeOld": "is replaced by gantry resetOffsetByTime, which needs no restart of"
    " consumers",
}


def find(name: str) -> Entry | None:
    """Return the entry of a command, or of one of mqadmin's that does not exist here."""
    for _, module, commands in _FAMILIES:
        if name in commands:
            return Entry(name, commands[name], module)
    if name in _INSTEAD:
        return Entry(name, "", instead=_INSTEAD[name])
    return None


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command, which has one word or two, and the words after it."""
    if len(words) > 1 and find(f"{words[0]} {words[1]}") is not None:
        return f"{words[0]} {words[1]}", [*words[2:]]
    return words[0], [*words[1:]]


def verbs() -> dict[str, list[str]]:
    """Return the second words of names of two words, by the first word."""
    found: dict[str, list[str]] = {}
    for name in names():
        noun, _, verb = name.partition(" ")
        if verb:
            found.setdefault(noun, []).append(verb)
    return found


def names() -> list[str]:
    """Return the names of all commands."""
    return [name for _, _, commands in _FAMILIES for name in commands]


def absent() -> dict[str, str]:
    """Return mqadmin's commands that do not exist here, and why."""
    return dict(_INSTEAD)


def similar(name: str) -> str:
    """Return a sentence that suggests names close to an unknown one."""
    from difflib import get_close_matches  # noqa: PLC0415 - only needed after a wrong name

    lowered = {each.lower(): each for each in (*PROGRAMS, *names())}
    close = get_close_matches(name.lower(), lowered, n=3)
    if not close:
        return " gantry --help lists all commands."
    return f" Did you mean {' or '.join(lowered[each] for each in close)}?"


def families() -> list[tuple[str, list[str]]]:
    """Return the title of each family with the names of its commands."""
    found: list[tuple[str, list[str]]] = []
    for title, _, commands in _FAMILIES:
        if title:
            found.append((title, []))
        found[-1][1].extend(commands)
    return found


def overview() -> str:
    """Return the text of `gantry --help`: every command with its description."""
    lines = []
    for title, commands in families():
        lines.append(f"\n{title}:\n")
        lines += map(_line, commands)
    return "".join(lines)


def overview_of(noun: str) -> str:
    """Return the help of the commands whose names begin with this word."""
    usage = f"usage: gantry {noun} {'|'.join(verbs()[noun])} [OPTIONS]\n\n"
    return usage + "".join(_line(f"{noun} {verb}") for verb in verbs()[noun])


def _line(name: str) -> str:
    entry = find(name)
    assert entry is not None, "the catalog finds its own names"
    return f"  {name:24} {entry.about}\n"


def load(entry: Entry) -> Command | StreamCommand:
    """Import the module of an entry, and return the command."""
    module = import_module(f"gantrymq.cli.{entry.module}")
    command: Command | StreamCommand = module.COMMANDS[entry.name]
    return command
