"""Runs one attack on a live site, and checks the standards that hold for every attack.

    with trial(site, rows, "SQL92", "20 pulls with 740 CONTAINS each") as attempt:
        ...
        attempt.outcome = "refused with code 23"

When the block ends, the servers must be alive, answer an administrator, and have logged no defect;
the legitimate clients must have had no error and have lost no message; no three probes in a row may
have failed; memory and logs may have grown only within limits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from gantrymq.attack.legitimate import Seen
from gantrymq.attack.report import Row
from gantrymq.attack.site import Site
from gantrymq.interop.child import Child

MIB: Final = 1 << 20
RSS_GROWTH_MAX: Final = 150 * MIB
LOG_BYTES_A_SECOND_MAX: Final = 64 << 10
# Each kind of line is written at most 300 times in 10 s, and a dozen kinds are about clients and
# topics.
LOG_BYTES_ALWAYS: Final = 512 << 10
PROBES_FAILED_IN_A_ROW_MAX: Final = 2  # the third restarts a pod
# Generous: attacker, two servers and the legitimate clients share few cores. The servers' own
# metric of stalls is exact.
ANSWER_MS_MAX: Final = 2_500
SETTLE_SECONDS: Final = 0.3

_DEFECT: Final = re.compile(
    r"request handler raised an exception|Traceback|internal error|AssertionError"
)


@final
@dataclass(slots=True)
class Attempt:
    """One attack in progress. The test sets the outcome, and may set narrower limits."""

    subject: str
    what: str
    outcome: str = ""
    rss_growth_max: int = RSS_GROWTH_MAX
    allows: frozenset[str] = field(default_factory=frozenset)
    """Names of standards that do not apply, with the reason in the test."""


Trial = Callable[[str, str], AbstractContextManager[Attempt]]
"""Begins an attack on one site; takes its subject and the attempt in words."""


class Meter:
    """The memory, descriptors and log of one server."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._log = child.folder / "out.log"
        self._status = Path(f"/proc/{child.number}/status")
        # 5 sets the highest RSS to the present one (proc(5)).
        Path(f"/proc/{child.number}/clear_refs").write_text("5")
        self.rss_before = self._figure("VmRSS")
        self._log_before = self._log.stat().st_size

    @property
    def rss_peak(self) -> int:
        """The highest resident set since the attack began, in bytes."""
        return self._figure("VmHWM")

    @property
    def log_bytes(self) -> int:
        """The bytes by which the log has grown."""
        return self._log.stat().st_size - self._log_before

    def defects(self) -> list[str]:
        """The lines of the log that show a defect of the server."""
        with self._log.open("rb") as log:
            log.seek(self._log_before)
            lines = log.read().decode(errors="replace").splitlines()
        return [line[:300] for line in lines if _DEFECT.search(line)]

    def _figure(self, name: str) -> int:
        text = self._status.read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", text)
        # the process has ended, which the check by an administrator reports
        return int(found[1]) << 10 if found else 0


@contextmanager
def trial(site: Site, rows: list[Row], subject: str, what: str) -> Iterator[Attempt]:
    """Run an attack, record its outcome, and then check the standards."""
    assert site.broker_child is not None
    assert site.names_child is not None
    attempt = Attempt(subject, what)
    meters = {"broker": Meter(site.broker_child), "name server": Meter(site.names_child)}
    site.begin()
    began = time.monotonic()
    failure: BaseException | None = None
    try:
        yield attempt
        time.sleep(SETTLE_SECONDS)
    except BaseException as error:
        failure = error
        raise
    finally:
        seen = site.end()
        faults = _faults(site, attempt, meters, seen, time.monotonic() - began)
        if failure is not None:
            faults.insert(0, f"{type(failure).__name__}: {failure}".splitlines()[0][:300])
        rows.append(_row(attempt, meters, seen, faults))
        if faults:
            site.restart()  # the next attack must find healthy servers
    assert not faults, "\n".join([what, *faults, *seen.errors])


def _faults(
    site: Site, attempt: Attempt, meters: dict[str, Meter], seen: Seen, seconds: float
) -> list[str]:
    """The standards that were not met."""
    found = [(name, text) for name, text in _client_faults(seen) if name not in attempt.allows]
    faults = [text for _, text in found]
    for name, meter in meters.items():
        growth = meter.rss_peak - meter.rss_before
        if growth > attempt.rss_growth_max:
            faults.append(f"memory: the {name} grew by {growth // MIB} MiB")
        logged_max = LOG_BYTES_ALWAYS + LOG_BYTES_A_SECOND_MAX * seconds
        if meter.log_bytes > logged_max:
            faults.append(f"log: the {name} wrote {meter.log_bytes >> 10} KiB in {seconds:.1f} s")
        faults += [f"defect of the {name}: {line}" for line in meter.defects()[:3]]
    try:
        is_alive = site.is_alive()
    except OSError as error:
        faults.append(f"an administrator is not answered: {error}")
    else:
        faults += [] if is_alive else ["an administrator is refused"]
    return faults


def _client_faults(seen: Seen) -> Iterator[tuple[str, str]]:
    errors = seen.send_errors + seen.pull_errors + seen.answer_errors
    if errors:
        yield "errors", f"legitimate clients: {errors} errors"
    if seen.lost:
        yield "lost", f"legitimate clients: {seen.lost} acknowledged messages were not consumed"
    if not seen.sent:
        yield "errors", "legitimate clients: no message was stored"
    if seen.probes_failed_in_a_row > PROBES_FAILED_IN_A_ROW_MAX:
        yield "probes", f"probes: {seen.probes_failed} of {seen.probes} failed"
    slowest = max(seen.slowest_answer_ms, seen.slowest_route_ms)
    if slowest > ANSWER_MS_MAX:
        yield "stall", f"stall: a trivial request took {slowest} ms"


def _row(attempt: Attempt, meters: dict[str, Meter], seen: Seen, faults: list[str]) -> Row:
    before = max(meter.rss_before for meter in meters.values())
    growth = max(meter.rss_peak - meter.rss_before for meter in meters.values())
    return Row(
        subject=attempt.subject,
        what=attempt.what,
        outcome=attempt.outcome,
        faults=tuple(faults),
        rss_before_mib=before // MIB,
        rss_growth_mib=growth // MIB,
        probes=f"{seen.probes - seen.probes_failed}/{seen.probes}",
        sent=seen.sent,
        errors=seen.send_errors + seen.pull_errors + seen.answer_errors,
        busy=seen.busy,
        lost=seen.lost,
        slowest_send_ms=seen.slowest_send_ms,
        slowest_answer_ms=max(seen.slowest_answer_ms, seen.slowest_route_ms),
        seconds=seen.seconds,
    )
