"""Shows the outcomes of an orderly listener: SUCCESS, COMMIT, ROLLBACK, SUSPEND, an exception.

Run:  python examples/07_orderly_outcomes.py    while `gantry standalone` runs

With auto_commit=False, SUCCESS only continues. COMMIT commits all messages since the last COMMIT,
and ROLLBACK delivers them again. SUSPEND and an exception deliver the same message again after a
pause, in which its queue waits. By default (auto_commit=True) SUCCESS commits.

Prints:
    a: SUCCESS
    b: COMMIT, a and b are done
    c: SUCCESS
    d: ROLLBACK, c and d come again
    c: SUCCESS
    d: COMMIT, c and d are done
    e: SUSPEND, e comes again
    e: an exception, e comes again
    e: COMMIT, e is done
"""

import asyncio
import os
from collections import Counter

from gantrymq.client import (
    COMMIT,
    ROLLBACK,
    SUCCESS,
    SUSPEND,
    ConsumeFrom,
    Message,
    Outcome,
    Producer,
    PushConsumer,
    ReceivedMessage,
    by_key,
)

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
DONE = {"b": "a and b are", "d": "c and d are", "e": "e is"}


async def main() -> None:
    async with Producer("writers", name_servers=NAME_SERVERS) as producer:
        for letter in "abcde":
            await producer.send(Message("letters", letter), select=by_key, key="one queue")

    tries: Counter[str] = Counter()
    done = asyncio.Event()

    def listener(messages: list[ReceivedMessage]) -> Outcome:
        letter = messages[0].body.decode()
        tries[letter] += 1
        match letter, tries[letter]:
            case "a" | "c", _:
                print(f"{letter}: SUCCESS")
                return SUCCESS
            case "d", 1:
                print("d: ROLLBACK, c and d come again")
                return ROLLBACK
            case "e", 1:
                print("e: SUSPEND, e comes again")
                return SUSPEND
            case "e", 2:
                print("e: an exception, e comes again")
                raise ConnectionError("the database is away")
        print(f"{letter}: COMMIT, {DONE[letter]} done")
        if letter == "e":
            done.set()
        return COMMIT

    consumer = PushConsumer(
        "spellers",
        name_servers=NAME_SERVERS,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        orderly=True,
        auto_commit=False,
        suspend_s=0.1,
    )
    consumer.subscribe("letters", "*", listener)
    async with consumer:
        await done.wait()


asyncio.run(main())
