"""All commands by family: the names, descriptions and modules that `gantry --help` shows.

Kept apart from the commands themselves, so that help needs none of them. Names are mqadmin's; those
of two words are Gantry's own. A family without a title belongs to the one before it.
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
"""What `gantry` runs besides commands."""

_CONTROLLER: Final = (
    "asks a controller, which the classic architecture does not have: masters are named by"
    " brokerId=0 in broker.conf, slaves follow by HA (gantry haStatus)"
)
_CONTAINER: Final = (
    "asks a broker container, which the classic architecture does not have: start each broker by"
    " itself (gantry broker -c broker.conf)"
)
_STATIC: Final = (
    "is for static topics, which the classic architecture does not have: gantry updateTopic makes"
    " an ordinary one, updateOrderConf fixes its queues"
)
_ROCKSDB: Final = (
    "reads RocksDB, which the classic store does not use: gantry exportMetadata exports topics and"
    " groups, gantry store dump reads files"
)
_COLD: Final = (
    "is for the flow control of cold data, which Gantry's broker does not have: it reads ahead of"
    " consumers by itself"
)


class Entry(NamedTuple):
    """`instead`: why there is no such command, and what there is."""

    name: str
    about: str
    module: str = ""
    instead: str = ""


_FAMILIES: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    (
        "clusters and brokers",
        "cluster.clusters",
        {
            "clusterList": "list clusters, their brokers and what they do",
            "haStatus": "how slaves keep up with their master",
            "resetMasterFlushOffset": "tell a slave how far its master is safe",
        },
    ),
    (
        "single brokers",
        "cluster.brokers",
        {
            "brokerStatus": "all figures of a broker",
            "getBrokerConfig": "all settings of a broker",
            "updateBrokerConfig": "change a setting of a broker for good",
            "cleanExpiredCQ": "delete the files of queues whose messages are gone",
            "cleanUnusedTopic": "delete the queues of topics that are no more",
            "deleteExpiredCommitLog": "delete the files of the log that are old enough, now",
        },
    ),
    (
        "topic.topics",
        "topic.topics",
        {
            "topicList": "list all topics",
            "topicRoute": "where a topic is",
            "topicStatus": "the queues of a topic and how much is in them",
            "topicClusterList": "which clusters a topic is in",
            "allocateMQ": "how a topic's queues would be shared out",
            "statsAll": "what all topics and groups did lately",
        },
    ),
    (
        "changing topics",
        "topic.topic_changes",
        {
            "updateTopic": "make a topic, or change it",
            "updateTopicList": "make several topics, from a JSON file",
            "updateTopicPerm": "change who may use a topic",
            "deleteTopic": "delete a topic and its messages",
            "updateOrderConf": "fix the queues of an ordered topic",
        },
    ),
    (
        "progress of groups",
        "group.progress",
        {"consumerProgress": "how far groups are, and how far behind"},
    ),
    (
        "consumer groups",
        "group.groups",
        {
            "brokerConsumeStats": "how far all groups of one broker are",
            "getConsumerConfig": "the settings of a group",
            "updateSubGroup": "make a group, or change it",
            "updateSubGroupList": "make several groups, from a JSON file",
            "deleteSubGroup": "delete a group",
            "setConsumeMode": "whether a group pops or pulls a topic",
        },
    ),
    (
        "offsets of groups",
        "group.offsets",
        {
            "resetOffsetByTime": "let a group go on at a moment",
            "skipAccumulatedMessage": "let a group skip what waits",
            "cloneGroupOffset": "let a group go on where another one is",
            "getConsumerStatus": "how far the clients of a group say they are",
        },
    ),
    (
        "clients",
        "group.connections",
        {
            "consumerConnection": "who consumes for a group, and what",
            "producerConnection": "who produces for a group",
            "producer": "all producers of one broker",
            "consumerStatus": "what consumers say of themselves",
        },
    ),
    (
        "message.messages",
        "message.messages",
        {
            "queryMsgById": "a message by its offset id",
            "queryMsgByKey": "messages by a key",
            "queryMsgByUniqueKey": "a message by the id its producer gave it",
            "queryMsgByOffset": "a message by its place in a queue",
            "queryCq": "the entries of a queue as they are stored",
            "DecodeMessageId": "what a message's unique id says",
        },
    ),
    (
        "reading topics",
        "message.reading",
        {
            "printMsg": "read a topic, without consuming it",
            "printMsgByQueue": "read one queue, without consuming it",
            "consumeMessage": "read messages from a place, without consuming them",
        },
    ),
    (
        "sending and reading",
        "stream.streams",
        {
            "produce": "send messages: of the command line, standard input, or a file",
            "consume": "read messages, as a group or without one",
            "tail": "follow a topic: what is sent from now on",
            "bench": "how many messages a second go from here to brokers, and back",
        },
    ),
    (
        "traces of messages",
        "message.traces",
        {"queryMsgTraceById": "who sent a message and who consumed it, by their traces"},
    ),
    (
        "trying out sends",
        "message.trial_sends",
        {
            "sendMessage": "send one message",
            "sendMsgStatus": "send some to a broker, and show what it says of each",
            "checkMsgSendRT": "how long sends to a topic's queues take",
            "clusterRT": "how long sends to each broker take",
        },
    ),
    (
        "name servers",
        "cluster.name_servers",
        {
            "getNamesrvConfig": "all settings of name servers",
            "updateNamesrvConfig": "change a setting of all name servers",
            "updateKvConfig": "put a key and value at all name servers",
            "deleteKvConfig": "delete a key at all name servers",
            "wipeWritePerm": "let producers leave a broker",
            "addWritePerm": "let producers come back to a broker",
        },
    ),
    (
        "cluster.accounts",
        "cluster.accounts",
        {
            "getAclConfig": "all accounts of a broker",
            "clusterAclConfigVersion": "which state of its accounts a broker has",
            "updateAclConfig": "make an account, or change it",
            "deleteAclConfig": "delete an account",
            "updateGlobalWhiteAddr": "let addresses in without a key",
        },
    ),
    (
        "access.users",
        "access.users",
        {
            "createUser": "make a user of RocketMQ 5",
            "updateUser": "change the password, type or status of a user",
            "deleteUser": "delete a user and its policies",
            "getUser": "one user of a broker",
            "listUser": "the users of a broker",
            "copyUser": "copy users from one broker to another",
        },
    ),
    (
        "policies of users",
        "access.policies",
        {
            "createAcl": "let a user do something with a resource, or forbid it",
            "updateAcl": "the same for a user that has policies",
            "deleteAcl": "delete policies of a user",
            "getAcl": "the policies of one user",
            "listAcl": "the policies of all users",
            "copyAcl": "copy policies from one broker to another",
        },
    ),
    (
        "users, policies and quotas, with roles and rotation of passwords",
        "access.own_users",
        {
            "user list": "users, and at how many brokers they are the same",
            "user create": "make a user, perhaps with a role",
            "user update": "change the password, type or status of a user",
            "user rotate": "give a user a new password; the old one stays valid until --end",
            "user delete": "delete a user and its policies",
        },
    ),
    (
        "",
        "access.own_policies",
        {
            "acl list": "what users may do, and at how many brokers it is the same",
            "acl grant": "give a user a role: admin, producer, consumer or observer",
            "acl revoke": "take a role from a user",
        },
    ),
    (
        "",
        "access.quotas",
        {
            "quota list": "quotas, or with --use who uses most of them",
            "quota set": "limit a user, topic, group or address",
            "quota delete": "delete a quota",
        },
    ),
    (
        "cluster.exports",
        "cluster.exports",
        {
            "exportMetadata": "topics and groups, to a JSON file",
            "exportConfigs": "the settings of a cluster's brokers, to a JSON file",
            "exportMetrics": "what a cluster's brokers do, to a JSON file",
        },
    ),
    (
        "trouble",
        "cluster.doctor",
        {"doctor": "look for what is usually wrong, and say what helps"},
    ),
    (
        "asking for help",
        "cluster.report",
        {"report": "write what a helper needs to know, without secrets, to a JSON file"},
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
    "consumer": "is consumerStatus, which shows more",
    "startMonitoring": "is gantry doctor --watch 60",
    "resetOffsetByTimeOld": "is resetOffsetByTime, which needs no restart of consumers",
}


def find(name: str) -> Entry | None:
    for _, module, commands in _FAMILIES:
        if name in commands:
            return Entry(name, commands[name], module)
    if name in _INSTEAD:
        return Entry(name, "", instead=_INSTEAD[name])
    return None


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the command that a command line begins with, of one word or two, and the rest."""
    if len(words) > 1 and find(f"{words[0]} {words[1]}") is not None:
        return f"{words[0]} {words[1]}", [*words[2:]]
    return words[0], [*words[1:]]


def verbs() -> dict[str, list[str]]:
    """The second words of names that have two, by the first."""
    found: dict[str, list[str]] = {}
    for name in names():
        noun, _, verb = name.partition(" ")
        if verb:
            found.setdefault(noun, []).append(verb)
    return found


def names() -> list[str]:
    """Of all commands that there are."""
    return [name for _, _, commands in _FAMILIES for name in commands]


def absent() -> dict[str, str]:
    """mqadmin's commands that there are not, and why."""
    return dict(_INSTEAD)


def similar(name: str) -> str:
    """What somebody may have meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - help need not wait for it

    lowered = {each.lower(): each for each in (*PROGRAMS, *names())}
    close = get_close_matches(name.lower(), lowered, n=3)
    if not close:
        return " gantry --help lists what there is."
    return f" Is it {' or '.join(lowered[each] for each in close)}?"


def families() -> list[tuple[str, list[str]]]:
    """The names of all commands by the titles of their families."""
    found: list[tuple[str, list[str]]] = []
    for title, _, commands in _FAMILIES:
        if title:
            found.append((title, []))
        found[-1][1].extend(commands)
    return found


def overview() -> str:
    """Every command with its line."""
    lines = []
    for title, commands in families():
        lines.append(f"\n{title}:\n")
        lines += map(_line, commands)
    return "".join(lines)


def overview_of(noun: str) -> str:
    """The commands that begin with this word."""
    usage = f"usage: gantry {noun} {'|'.join(verbs()[noun])} [OPTIONS]\n\n"
    return usage + "".join(_line(f"{noun} {verb}") for verb in verbs()[noun])


def _line(name: str) -> str:
    entry = find(name)
    assert entry is not None, "the catalog finds its own names"
    return f"  {name:24} {entry.about}\n"


def load(entry: Entry) -> Command | StreamCommand:
    """The command of an entry; imports the entry's module."""
    module = import_module(f"gantrymq.cli.{entry.module}")
    command: Command | StreamCommand = module.COMMANDS[entry.name]
    return command
