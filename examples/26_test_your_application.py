"""Tests an application against a real broker inside pytest, where two hours take no time.

Run:  pytest examples/26_test_your_application.py    needs no server
      python examples/26_test_your_application.py    the same without pytest

The package provides the fixture `gantry_broker`; see
docs/how-to/test-your-application.md. With pytest-asyncio a test can be `async def`.

Prints:
    at once: 0 bills
    two hours later: 1 bill, of order 4711
"""

import asyncio

from gantrymq.client import Message, Producer, PushConsumer, ReceivedMessage
from gantrymq.testing.embedded import EmbeddedBroker


class Billing:
    """The application: bills an order two hours after it came."""

    def __init__(self) -> None:
        self.bills: list[str] = []

    def listener(self, messages: list[ReceivedMessage]) -> None:
        self.bills += [message.body.decode() for message in messages]


async def scenario(broker: EmbeddedBroker) -> None:
    broker.create_topic("orders")
    billing = Billing()
    shop = Producer("shop", environment=broker, name_servers=broker.name_servers)
    consumer = PushConsumer("billing", environment=broker, name_servers=broker.name_servers)
    consumer.subscribe("orders", "*", billing.listener)
    async with shop, consumer:
        await shop.send(Message("orders", "4711", delay_s=7200))
        await broker.expect("orders", [])
        assert billing.bills == []
        print("at once: 0 bills")

        await broker.advance(hours=2)
        await broker.expect_consumed("billing", "orders")
        assert billing.bills == ["4711"]
        print("two hours later: 1 bill, of order", billing.bills[0])


def test_an_order_is_billed_two_hours_later(gantry_broker: EmbeddedBroker) -> None:
    asyncio.run(scenario(gantry_broker))


if __name__ == "__main__":
    asyncio.run(scenario(EmbeddedBroker()))
