"""Defines the refusals that the producer of a session gets when its messages are not stored."""

from __future__ import annotations

from typing import Final

from gantrymq.store.record.put_status import UNAVAILABLE, PutStatus, Refused
from gantrymq.store.sessions.table import Admission, SessionFault, SessionSend

NO_SESSIONS: Final = Refused(
    PutStatus.SERVICE_NOT_AVAILABLE,
    f"{UNAVAILABLE}The table of producer sessions could not be written, so a crash would forget "
    "them. Free space on the disk of the store; the broker goes on by itself.",
)


def session_refused(send: SessionSend, admission: Admission) -> Refused:
    """The reason why none of these messages is stored."""
    name = send.session_id.decode(errors="replace")
    if admission.fault is SessionFault.FENCED:
        return Refused(
            PutStatus.SESSION_FENCED,
            f"Epoch {send.epoch} of the producer session {name} is over, epoch {admission.epoch} "
            "has begun: another process continues the session. End this one; or, if the numbering "
            "began anew, choose another session id.",
        )
    return Refused(
        PutStatus.SESSION_OUT_OF_SEQUENCE,
        f"Message {send.first} of epoch {send.epoch} does not continue the producer session "
        f"{name}: {admission.expected} is expected. Send from there on; where 0 is expected, the "
        "session is not known here, or was forgotten (producerSessionHours, producerSessionsMax).",
    )
