"""Defines the response to GET_BROKER_HA_STATUS: the replication progress of each slave.

{"haClientRuntimeInfo":{"lastReadTimestamp":l,"lastWriteTimestamp":l,"masterAddr":s?,
 "masterFlushOffset":l,"maxOffset":l,"transferredByteInSecond":l},"haConnectionInfo":[{"addr":s,"diff":l,"inSync":b,
 "slaveAckOffset":l,"transferFromWhere":l,"transferredByteInSecond":l}],"inSyncSlaveNums":i,
 "master":b,"masterCommitLogMaxOffset":l}
"""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    bool_field,
    int_field,
    list_of,
    long_field,
    object_of,
    required_text_field,
    text_field,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaveStatus:
    """One slave, as its master sees it."""

    address: str
    behind_bytes: int
    is_in_sync: bool
    acknowledged: int
    sends_from: int
    bytes_per_second: int = 0

    @classmethod
    def from_json(cls, value: Json) -> SlaveStatus:
        bean = object_of(value, "HAConnectionRuntimeInfo")
        return cls(
            address=required_text_field(bean, "addr"),
            behind_bytes=long_field(bean, "diff"),
            is_in_sync=bool_field(bean, "inSync"),
            acknowledged=long_field(bean, "slaveAckOffset"),
            sends_from=long_field(bean, "transferFromWhere"),
            bytes_per_second=long_field(bean, "transferredByteInSecond"),
        )

    def to_json(self) -> JsonObject:
        return {
            "addr": self.address,
            "diff": self.behind_bytes,
            "inSync": self.is_in_sync,
            "slaveAckOffset": self.acknowledged,
            "transferFromWhere": self.sends_from,
            "transferredByteInSecond": self.bytes_per_second,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """A slave's own view; all zero on a master. `master` is the HA address of its master."""

    master: str = ""
    last_read_ms: int = 0
    last_write_ms: int = 0
    master_flushed: int = 0
    log_end: int = 0
    bytes_per_second: int = 0

    @classmethod
    def from_json(cls, value: Json) -> FollowerStatus:
        bean = object_of(value, "HAClientRuntimeInfo")
        return cls(
            master=text_field(bean, "masterAddr") or "",
            last_read_ms=long_field(bean, "lastReadTimestamp"),
            last_write_ms=long_field(bean, "lastWriteTimestamp"),
            master_flushed=long_field(bean, "masterFlushOffset"),
            log_end=long_field(bean, "maxOffset"),
            bytes_per_second=long_field(bean, "transferredByteInSecond"),
        )

    def to_json(self) -> JsonObject:
        bean: JsonObject = {
            "lastReadTimestamp": self.last_read_ms,
            "lastWriteTimestamp": self.last_write_ms,
            "masterAddr": self.master,
            "masterFlushOffset": self.master_flushed,
            "maxOffset": self.log_end,
            "transferredByteInSecond": self.bytes_per_second,
        }
        if not self.master:
            del bean["masterAddr"]
        return bean


@dataclass(frozen=True, slots=True, kw_only=True)
class HaStatus:
    """The replication status of one broker."""

    is_master: bool
    log_end: int
    in_sync_slaves: int = 0
    slaves: tuple[SlaveStatus, ...] = ()
    follower: FollowerStatus = FollowerStatus()

    @classmethod
    def from_json(cls, value: Json) -> HaStatus:
        bean = object_of(value, "HARuntimeInfo")
        slaves = list_of(bean.get("haConnectionInfo"), "haConnectionInfo")
        return cls(
            is_master=bool_field(bean, "master"),
            log_end=long_field(bean, "masterCommitLogMaxOffset"),
            in_sync_slaves=int_field(bean, "inSyncSlaveNums"),
            slaves=tuple(SlaveStatus.from_json(slave) for slave in slaves),
            follower=FollowerStatus.from_json(bean.get("haClientRuntimeInfo") or {}),
        )

    def to_json(self) -> JsonObject:
        return {
            "haClientRuntimeInfo": self.follower.to_json(),
            "haConnectionInfo": [slave.to_json() for slave in self.slaves],
            "inSyncSlaveNums": self.in_sync_slaves,
            "master": self.is_master,
            "masterCommitLogMaxOffset": self.log_end,
        }
