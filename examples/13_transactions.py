"""Sends a message that consumers see only if the sender's local transaction commits.

Run:  python examples/13_transactions.py    while `gantry standalone` runs; takes up to 40 s

The broker hides the message while the local transaction runs, for example in a database, and the
producer sends its outcome to the broker. If the outcome is lost or UNKNOWN, the broker checks
transactions older than 6 s (transactionTimeOut) every 30 s (transactionCheckInterval).

Prints:
    invoice 1: COMMIT
    received: invoice 1
    invoice 2: ROLLBACK
    invoice 3: UNKNOWN
    the broker asks after invoice 3: COMMIT
    received: invoice 3
"""

import asyncio
import os

from gantrymq.client import (
    ConsumeFrom,
    Message,
    PullConsumer,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
VERDICTS = {
    b"invoice 1": TransactionState.COMMIT,
    b"invoice 2": TransactionState.ROLLBACK,
    b"invoice 3": TransactionState.UNKNOWN,
}


def pay(message: Message, argument: object) -> TransactionState:
    """The local part; `argument` is whatever was given to send_in_transaction."""
    return VERDICTS[message.body]


def check(message: ReceivedMessage) -> TransactionState:
    """Here one would look for message.id in what the local part stored."""
    print(f"the broker asks after {message.body.decode()}: COMMIT")
    return TransactionState.COMMIT


async def main() -> None:
    consumer = PullConsumer(
        "bookkeeping", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    producer = TransactionProducer("cashiers", check=check, name_servers=NAME_SERVERS)
    async with producer, consumer:
        consumer.subscribe("invoices")
        for body in VERDICTS:
            result = await producer.send_in_transaction(Message("invoices", body), pay)
            print(f"{body.decode()}: {result.state.name}")
            if body != b"invoice 2":
                message = await anext(consumer)
                print("received:", message.body.decode())


asyncio.run(main())
