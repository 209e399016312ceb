"""Shows metrics of your application's producers and consumers on its own page for Prometheus.

Run:  python examples/28_client_metrics.py    while `gantry standalone` runs

Three lines make a ClientMetrics, register it with prometheus_client, and serve the page. A client
counts only if the ClientMetrics is among its hooks.

Prints:
    3 messages sent: ok
    3 messages consumed: success
    every send was faster than a minute: True
"""

import asyncio
import os
import urllib.request

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from gantrymq.client import (
    ClientMetrics,
    ConsumeFrom,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
TOPIC = f"parcels-{os.getpid()}"

metrics = ClientMetrics()
REGISTRY.register(metrics)
server, _ = start_http_server(0, "127.0.0.1")


def page() -> dict[str, float]:
    """The values on the page for this topic, by name and outcome, or by name and bucket."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {
        f"{sample.name} {sample.labels.get('outcome') or sample.labels.get('le')}": sample.value
        for family in families
        for sample in family.samples
        if sample.labels.get("topic") == TOPIC
    }


async def main() -> None:
    all_are_here = asyncio.Event()
    count = 0

    def deliver(messages: list[ReceivedMessage]) -> None:
        nonlocal count
        count += len(messages)
        if count == 3:
            all_are_here.set()

    async with Producer("shop", name_servers=NAME_SERVERS, send_hooks=[metrics]) as shop:
        for number in 1, 2, 3:
            await shop.send(Message(TOPIC, f"parcel {number}"))
        couriers = PushConsumer(
            "couriers",
            name_servers=NAME_SERVERS,
            consume_from=ConsumeFrom.FIRST_OFFSET,
            hooks=[metrics],
        )
        couriers.subscribe(TOPIC, "*", deliver)
        async with couriers:
            await all_are_here.wait()

    found = await asyncio.to_thread(page)
    sent = found["gantry_client_sent_messages_total ok"]
    print(f"{sent:.0f} messages sent: ok")
    consumed = found["gantry_client_consumed_messages_total success"]
    print(f"{consumed:.0f} messages consumed: success")
    quick = found["gantry_client_send_seconds_bucket 60.0"]
    print("every send was faster than a minute:", quick == 3)


asyncio.run(main())
