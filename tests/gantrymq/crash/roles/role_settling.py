"""Consumer offsets, topics, groups and settings: what was answered is there after the kill.

Offsets may go back to what consumerOffset.json says, and no further; and it says what was
committed before long.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Final, final

from gantrymq.crash.link import Link, topic_fields
from gantrymq.crash.roles.role import offset_in

TOPIC: Final = "Steady"
GROUP: Final = "Committers"
COMMITS_AT_ONCE: Final = 20

_QUERY, _UPDATE = 14, 15
_ALL_TOPICS, _UPDATE_SETTINGS, _SETTINGS, _GROUP, _ALL_GROUPS, _DELETE = 21, 25, 26, 200, 201, 215
_CREATE_TOPIC: Final = 17
_SETTING: Final = "transactionCheckMax"


@final
class Committing:
    """A consumer that says how far it has come."""

    def __init__(self, config: Path) -> None:
        self.name = "offsets"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._config = config
        self._committed = 0
        self._asked = 0
        self._kept = 0

    def prepare(self, link: Link) -> None:
        link.create_topic(TOPIC)
        link.must(_GROUP, {}, json.dumps({"groupName": GROUP}).encode())

    def play(self, link: Link) -> None:
        while True:
            for _ in range(COMMITS_AT_ONCE):
                place = link.send(TOPIC, "steady")
                assert place is not None
                self._commit(link, place.offset + 1)
            while (self._in_file() or 0) < self._committed:
                self._query(link)  # the kill ends this as well
            self.figures["offsets seen in the file"] += 1

    def _commit(self, link: Link, offset: int) -> None:
        self._asked = offset
        where = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0}
        link.must(_UPDATE, {**where, "commitOffset": offset})
        self._committed = offset
        self.figures["offsets committed"] += 1

    def _query(self, link: Link) -> int:
        answer = link.ask(_QUERY, {"consumerGroup": GROUP, "topic": TOPIC, "queueId": 0})
        return int((answer.ext or {"offset": "0"})["offset"]) if answer.code == 0 else 0

    def _in_file(self) -> int | None:
        return offset_in(self._config, TOPIC, GROUP, 0)

    def killed(self, config: Path) -> None:
        kept = self._in_file() or 0
        if kept < self._kept:
            self.faults.append(f"{self.name}: the file went back from {self._kept} to {kept}")
        if kept > self._asked:
            self.faults.append(f"{self.name}: the file says {kept}, committed was {self._asked}")
        self.figures["offsets that a kill set back"] += self._committed - kept
        self._kept = self._committed = kept

    def revived(self, link: Link) -> None:
        found = self._query(link)
        if found != self._kept:
            self.faults.append(f"{self.name}: {found} after the kill, {self._kept} in the file")

    def settle(self, link: Link) -> bool:
        return True

    def judge(self, link: Link) -> None:
        """All was judged on the way."""


@final
class Administering:
    """Creates and deletes topics, creates groups, and changes a setting."""

    def __init__(self) -> None:
        self.name = "topics, groups and settings"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._there: set[str] = set()
        self._gone: set[str] = set()
        self._groups: set[str] = set()
        self._setting = ""
        self._maybe = ""

    @property
    def newest_topic(self) -> str | None:
        """One that name servers should know of."""
        return max(self._there, default=None, key=lambda name: int(name[5:]))

    def prepare(self, link: Link) -> None:
        """Everything is made on the way."""

    def play(self, link: Link) -> None:
        while True:
            number = next(self._numbers)
            link.must(_CREATE_TOPIC, topic_fields(f"Made-{number}", 2))
            self._there.add(f"Made-{number}")
            link.must(_GROUP, {}, json.dumps({"groupName": f"Group-{number}"}).encode())
            self._groups.add(f"Group-{number}")
            self._change_setting(link, str(1000 + number))
            if number % 3 == 0:
                self._delete(link, f"Made-{number - 1}")
            self.figures["topics, groups and settings changed"] += 1

    def _change_setting(self, link: Link, value: str) -> None:
        self._maybe = value
        link.must(_UPDATE_SETTINGS, {}, f"{_SETTING}={value}\n".encode())
        self._setting = value

    def _delete(self, link: Link, topic: str) -> None:
        if topic not in self._there:
            return
        self._there.remove(topic)  # until the answer it may be there or not
        link.must(_DELETE, {"topic": topic})
        self._gone.add(topic)

    def killed(self, config: Path) -> None:
        """The broker itself is asked."""

    def revived(self, link: Link) -> None:
        self._judge_names("topics", self._there, self._gone, _names(link, _ALL_TOPICS))
        self._judge_names("groups", self._groups, set(), _names(link, _ALL_GROUPS))
        text = link.must(_SETTINGS, {}).body.decode()
        found = re.search(rf"^{_SETTING}=(.*)$", text, re.MULTILINE)
        assert found is not None, text
        if self._setting and found[1] not in {self._setting, self._maybe}:
            self.faults.append(f"{self.name}: {_SETTING} is {found[1]}, set was {self._setting}")
        self._setting = self._maybe = found[1]  # answered or not, it stays

    def _judge_names(self, what: str, there: set[str], gone: set[str], found: set[str]) -> None:
        if missing := there - found:
            self.faults.append(f"{self.name}: {what} are gone: {sorted(missing)[:3]}")
        if back := gone & found:
            self.faults.append(f"{self.name}: deleted {what} are back: {sorted(back)[:3]}")

    def settle(self, link: Link) -> bool:
        return True

    def judge(self, link: Link) -> None:
        self.revived(link)


def _names(link: Link, code: int) -> set[str]:
    text = link.must(code, {}).body.decode()
    return set(re.findall(r'"(?:topicName|groupName)"\s*:\s*"([^"]+)"', text))
