"""Lists all options: name, kind, default, use, and meaning.

Spark passes options with lower-cased names, so names differ in more than their case. A reader
ignores options of a writer and vice versa, so that one set of options may serve both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Flag
from typing import Any, Final, Generic, TypeVar, final

from gantrymq.spark.options import kinds
from gantrymq.spark.options.assignment import ASSIGNMENT, OFFSETS, TIMESTAMPS
from gantrymq.spark.options.kinds import Kind

T = TypeVar("T")


class Use(Flag):
    """The uses of an option: batch reads, streams, writes."""

    BATCH_READ = 1
    STREAM_READ = 2
    BATCH_WRITE = 4
    STREAM_WRITE = 8
    READ = BATCH_READ | STREAM_READ
    WRITE = BATCH_WRITE | STREAM_WRITE
    STREAM = STREAM_READ | STREAM_WRITE
    ALL = READ | WRITE

    @property
    def text(self) -> str:
        """Return the uses as the reference page shows them."""
        names = {
            Use.ALL: "all",
            Use.READ: "read",
            Use.WRITE: "write",
            Use.BATCH_READ: "batch read",
            Use.STREAM_READ: "stream read",
            Use.STREAM_WRITE: "stream write",
            Use.BATCH_WRITE: "batch write",
        }
        return names[self]


@final
@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """One option. `default` is its text; None: the option is unset unless the user gives it."""

    name: str
    kind: Kind[T]
    use: Use
    meaning: str
    default: str | None = None
    aliases: tuple[str, ...] = field(default=())


ROWS_MAX: Final = 1 << 40  # more rows than a queue holds: a typing error rather than a limit
BYTES_MAX: Final = 1 << 50  # as above
DAY_MS: Final = 86_400_000

# ---------------------------------------------------------------- connection
NAME_SERVER: Final = Option(
    "nameServer",
    kinds.ADDRESSES,
    Use.ALL,
    "The name servers. Without it the environment variable NAMESRV_ADDR of the driver counts.",
    aliases=("namesrvAddr", "nameServers"),
)
CREDENTIALS_FILE: Final = Option(
    "credentialsFile",
    kinds.TEXT,
    Use.ALL,
    "A file with `accessKey:` and `secretKey:`, as RocketMQ's conf/tools.yml; it must be there on"
    " the driver and on every executor. Without it the environment variables GANTRY_ACCESS_KEY and"
    " GANTRY_SECRET_KEY count.",
)
TLS: Final = Option("tls", kinds.BOOLEAN, Use.ALL, "Whether connections use TLS.", "false")
TLS_FILE: Final = Option(
    "tlsFile",
    kinds.TEXT,
    Use.ALL,
    "A properties file with RocketMQ's `tls.client.*`; it must be there on the driver and on every"
    " executor. Without it `tls=true` accepts any certificate.",
)
REQUEST_TIMEOUT: Final = Option(
    "requestTimeout",
    kinds.duration(100, 600_000),
    Use.ALL,
    "How long the driver waits for an answer of a server.",
    "5s",
)

# ---------------------------------------------------------------- what is read
TOPIC: Final = Option(
    "topic",
    kinds.NAMES,
    Use.ALL,
    "The topic; a read takes several, separated by commas. A write without it takes the column"
    " `topic`.",
    aliases=("topics",),
)
TOPIC_PATTERN: Final = Option(
    "topicPattern",
    kinds.PATTERN,
    Use.READ,
    "Reads every topic whose whole name matches, also those made while a stream runs. Topics of"
    " the system, of retries and of dead letters match no pattern.",
    aliases=("subscribePattern",),
)
ASSIGN: Final = Option(
    "assign",
    ASSIGNMENT,
    Use.READ,
    "Reads these queues alone.",
)
SUB_EXPRESSION: Final = Option(
    "subExpression",
    kinds.TEXT,
    Use.READ,
    "A filter that brokers evaluate: tags such as `paid || shipped`, or an SQL92 expression.",
    "*",
)
SUB_EXPRESSION_TYPE: Final = Option(
    "subExpressionType",
    kinds.one_of("TAG", "SQL92"),
    Use.READ,
    "What subExpression is.",
    "TAG",
)
COLUMNS: Final = Option(
    "columns",
    kinds.NAMES,
    Use.READ,
    "The columns to make, in this order; all of them without it. `.schema(…)` does the same.",
)
PROPERTIES_FORMAT: Final = Option(
    "propertiesFormat",
    kinds.one_of("map", "json"),
    Use.READ,
    "The type of the column `properties`: a map, or a text with a JSON object.",
    "map",
)
FILTER_PUSHDOWN: Final = Option(
    "filterPushdown",
    kinds.BOOLEAN,
    Use.BATCH_READ,
    "Whether `where` on topic, brokerName, queueId and queueOffset leaves out what cannot match"
    " before it is read. Needs spark.sql.python.filterPushdown.enabled=true.",
    "false",
)

# ---------------------------------------------------------------- where reading begins and ends
STARTING_OFFSETS: Final = Option(
    "startingOffsets",
    OFFSETS,
    Use.READ,
    "Where a batch, or a new stream, begins: `earliest`, `latest` (streams), `group` (where the"
    " option group's group goes on), or offsets by topic, broker and queue, where -2 is the"
    " earliest and -1 the latest. A queue that is not named begins at its earliest message."
    " Default: `earliest` of a batch, `latest` of a stream.",
)
STARTING_TIMESTAMP: Final = Option(
    "startingTimestamp",
    kinds.MOMENT,
    Use.READ,
    "Begins at the first message that was stored then or later.",
)
STARTING_OFFSETS_BY_TIMESTAMP: Final = Option(
    "startingOffsetsByTimestamp",
    TIMESTAMPS,
    Use.READ,
    "As startingTimestamp, with a time for each queue; a queue that is not named begins at its"
    " earliest message.",
)
STARTING_TIMESTAMP_STRATEGY: Final = Option(
    "startingTimestampStrategy",
    kinds.one_of("latest", "error"),
    Use.READ,
    "What happens where a queue has no message that new: it is read from its end on, or the query"
    " fails.",
    "latest",
)
ENDING_OFFSETS: Final = Option(
    "endingOffsets",
    OFFSETS,
    Use.BATCH_READ,
    "Where a batch ends: `latest`, or offsets by topic, broker and queue, each one behind the last"
    " message to read, -1 the latest. A queue that is not named ends at its latest message.",
    "latest",
)
ENDING_TIMESTAMP: Final = Option(
    "endingTimestamp",
    kinds.MOMENT,
    Use.BATCH_READ,
    "Ends before the first message that was stored then or later.",
)
ENDING_OFFSETS_BY_TIMESTAMP: Final = Option(
    "endingOffsetsByTimestamp",
    TIMESTAMPS,
    Use.BATCH_READ,
    "As endingTimestamp, with a time for each queue; a queue that is not named ends at its latest"
    " message.",
)
FAIL_ON_DATA_LOSS: Final = Option(
    "failOnDataLoss",
    kinds.BOOLEAN,
    Use.READ,
    "Whether the query fails where messages that it has to read are gone. With false they are"
    " skipped, and the log of the driver or executor names the queue and the offsets.",
    "true",
)

# ---------------------------------------------------------------- how much at once
MAX_OFFSETS_PER_TRIGGER: Final = Option(
    "maxOffsetsPerTrigger",
    kinds.number(1, ROWS_MAX),
    Use.STREAM_READ,
    "The most messages of a micro-batch, shared out in proportion to what waits in each queue.",
)
MAX_BYTES_PER_TRIGGER: Final = Option(
    "maxBytesPerTrigger",
    kinds.size(1 << 10, BYTES_MAX),
    Use.STREAM_READ,
    "About the most bytes of a micro-batch, by the sizes of the first messages of each queue.",
)
MIN_OFFSETS_PER_TRIGGER: Final = Option(
    "minOffsetsPerTrigger",
    kinds.number(1, ROWS_MAX),
    Use.STREAM_READ,
    "A micro-batch waits until so many messages are there, but no longer than maxTriggerDelay.",
)
MAX_TRIGGER_DELAY: Final = Option(
    "maxTriggerDelay",
    kinds.duration(1, 7 * DAY_MS),
    Use.STREAM_READ,
    "See minOffsetsPerTrigger.",
    "15m",
)
MIN_PARTITIONS: Final = Option(
    "minPartitions",
    kinds.number(1, 100_000),
    Use.READ,
    "The least number of tasks: long ranges of offsets are split. Without it a queue is a task.",
)
MAX_RECORDS_PER_PARTITION: Final = Option(
    "maxRecordsPerPartition",
    kinds.number(1, ROWS_MAX),
    Use.READ,
    "The most messages of a task: longer ranges of offsets are split.",
)
PULL_BYTES: Final = Option(
    "pullBytes",
    kinds.size(1 << 15, 4 << 20),
    Use.READ,
    "The most bytes that a task asks for at once.",
    "1m",
)
PULL_DEPTH: Final = Option(
    "pullDepth",
    kinds.number(1, 16),
    Use.READ,
    "How many requests of a task are under way at the same time.",
    "2",
)
PULL_TIMEOUT: Final = Option(
    "pullTimeoutMs",
    kinds.duration(100, 600_000),
    Use.READ,
    "How long a task waits for an answer of a broker before it asks again.",
    "30s",
    aliases=("pullTimeout",),
)
PULL_BATCH_SIZE: Final = Option(
    "pullBatchSize",
    kinds.number(1, 4096),
    Use.READ,
    "Taken for compatibility with rocketmq-spark, and without effect: pullBytes counts.",
)

# ---------------------------------------------------------------- progress of a stream
GROUP: Final = Option(
    "group",
    kinds.TEXT,
    Use.ALL,
    "The consumer group that a stream's progress is stored under, so that `consumerProgress` and"
    " the console show its lag; without it no progress is stored. For `startingOffsets=group` the"
    " group to go on from.",
)
COMMIT_PROGRESS: Final = Option(
    "commitProgress",
    kinds.BOOLEAN,
    Use.STREAM_READ,
    "Whether progress is stored under the group. The checkpoint alone decides where a stream goes"
    " on.",
    "true",
)
ALLOW_SHARED_GROUP: Final = Option(
    "allowSharedGroup",
    kinds.BOOLEAN,
    Use.STREAM_READ,
    "Whether a stream may store its progress under a group that another client consumes with.",
    "false",
)
POLL_WAIT: Final = Option(
    "pollWaitMs",
    kinds.duration(10, 60_000),
    Use.STREAM_READ,
    "How often an idle stream asks brokers for the ends of their queues.",
    "200",
)
DISCOVERY_INTERVAL: Final = Option(
    "discoveryInterval",
    kinds.duration(100, DAY_MS),
    Use.STREAM_READ,
    "How often a stream looks for new topics, queues and brokers; they are read from their earliest"
    " message on.",
    "5s",
)

# ---------------------------------------------------------------- writing
DELIVERY: Final = Option(
    "delivery",
    kinds.one_of("idempotent", "at-least-once"),
    Use.WRITE,
    "`idempotent`: what is sent again, because a task or a micro-batch is run again, is stored"
    " once. Default: `idempotent` of a stream and of a batch with sinkId, else `at-least-once`.",
)
SINK_ID: Final = Option(
    "sinkId",
    kinds.TEXT,
    Use.WRITE,
    "The name under which brokers remember what was stored. Default: the id of the streaming query,"
    " which is kept in its checkpoint.",
)
MAX_IN_FLIGHT: Final = Option(
    "maxInFlight",
    kinds.number(1, 256),
    Use.WRITE,
    "How many requests of a task are under way at the same time.",
    "4",
)
RATE_LIMIT: Final = Option(
    "rateLimit",
    kinds.number(1, 10_000_000),
    Use.WRITE,
    "The most messages that one task sends in a second.",
)

# Any: each has its own type of value.
OPTIONS: Final[tuple[Option[Any], ...]] = (
    NAME_SERVER,
    TOPIC,
    TOPIC_PATTERN,
    ASSIGN,
    STARTING_OFFSETS,
    STARTING_TIMESTAMP,
    STARTING_OFFSETS_BY_TIMESTAMP,
    STARTING_TIMESTAMP_STRATEGY,
    ENDING_OFFSETS,
    ENDING_TIMESTAMP,
    ENDING_OFFSETS_BY_TIMESTAMP,
    FAIL_ON_DATA_LOSS,
    SUB_EXPRESSION,
    SUB_EXPRESSION_TYPE,
    COLUMNS,
    PROPERTIES_FORMAT,
    FILTER_PUSHDOWN,
    MAX_OFFSETS_PER_TRIGGER,
    MAX_BYTES_PER_TRIGGER,
    MIN_OFFSETS_PER_TRIGGER,
    MAX_TRIGGER_DELAY,
    MIN_PARTITIONS,
    MAX_RECORDS_PER_PARTITION,
    PULL_BYTES,
    PULL_DEPTH,
    PULL_TIMEOUT,
    PULL_BATCH_SIZE,
    GROUP,
    COMMIT_PROGRESS,
    ALLOW_SHARED_GROUP,
    POLL_WAIT,
    DISCOVERY_INTERVAL,
    DELIVERY,
    SINK_ID,
    MAX_IN_FLIGHT,
    RATE_LIMIT,
    CREDENTIALS_FILE,
    TLS,
    TLS_FILE,
    REQUEST_TIMEOUT,
)
