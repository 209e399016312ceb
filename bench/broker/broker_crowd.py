"""Measures one broker with many clients, groups, topics and queues.

Both brokers load the topics from a file when they start. Java keeps a file of each queue open and
mapped: if the system does not allow as many, its queues stay empty.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Crowd, Pace
from bench.broker.broker_servers import Broker, cold
from bench.broker.broker_starts import START_CPU_SUFFIX, pour
from bench.broker.crowd import Clients, topic_name
from bench.broker.message_requests import sends
from bench.namesrv.brokers import BORN_MS, Topic, topic_config
from bench.namesrv.routes import SETTLE_SECONDS, Samples
from bench.namesrv.servers import JAVA
from bench.report import Row
from bench.store.store import java_queues_max
from bench.store.store_workers import scratch

WARM_BEATS: Final = 3
BODY: Final = 128


def measure_crowd(pace: Pace) -> list[Row]:
    """Measure each broker by itself, since both together would not fit into a small machine."""
    samples = Samples()
    crowd = pace.crowd
    with scratch() as folder, cold(folder) as brokers:
        for broker in brokers.values():
            _write_topics(broker.store, crowd)
            seconds = broker.start()
            broker.wait_for_route(topic_name(crowd.topics - 1))
            what = f"start, {crowd.topics} topics"
            samples.add(what, "s", broker.name, seconds)
            samples.add(what + START_CPU_SUFFIX, "s", broker.name, broker.cpu_seconds())
            _fill_queues(samples, broker, crowd)
            with Clients(broker.port, crowd) as clients:
                _beat(samples, broker, clients, pace)
                _register(samples, broker, pace)
                _rest(samples, broker, clients, crowd)
            broker.kill()
    return samples.rows()


def _write_topics(store: Path, crowd: Crowd) -> None:
    queues = crowd.queues // crowd.topics
    topics = (Topic(topic_name(number), queues) for number in range(crowd.topics))
    table = ",".join(map(topic_config, topics))
    version = f'{{"counter":1,"stateVersion":0,"timestamp":{BORN_MS}}}'
    (store / "config").mkdir(parents=True)
    text = f'{{"dataVersion":{version},"topicConfigTable":{{{table}}}}}'
    (store / "config" / "topics.json").write_text(text)


def _fill_queues(samples: Samples, broker: Broker, crowd: Crowd) -> None:
    """Send one message to each queue."""
    _remember_memory(samples, broker, f"{crowd.topics} topics")
    if broker.name == JAVA and crowd.queues >= java_queues_max():
        return
    queues = crowd.queues // crowd.topics
    began, before = time.monotonic(), broker.cpu_seconds()
    for number in range(crowd.topics):
        pour(broker, sends(topic_name(number), queues, BODY, queues))
    what = f"first messages of {crowd.queues} queues"
    samples.add(what, "s", broker.name, time.monotonic() - began)
    samples.add(what + START_CPU_SUFFIX, "s", broker.name, broker.cpu_seconds() - before)
    _remember_memory(samples, broker, f"{crowd.queues} queues")


def _beat(samples: Samples, broker: Broker, clients: Clients, pace: Pace) -> None:
    """Send heartbeats: the first ones create the groups, later ones repeat what the broker
    knows."""
    count = pace.crowd.connections
    first = f"first heartbeats of {count} clients in {pace.crowd.groups} groups"
    for what, rounds in ((first, 1), ("", WARM_BEATS), ("heartbeats again", pace.rounds)):
        for _ in range(rounds):
            before = broker.cpu_seconds()
            beat = clients.beat()
            cpu_us = (broker.cpu_seconds() - before) / count * 1e6
            if what:
                samples.add(what, "s", broker.name, beat.seconds)
                samples.add(f"{what}, refused as busy", "heartbeats", broker.name, beat.refused)
                samples.add(f"{what}, CPU each", "us", broker.name, cpu_us)
    _remember_memory(samples, broker, f"{count} clients")


def _register(samples: Samples, broker: Broker, pace: Pace) -> None:
    """Create a topic, and measure until the name server knows it, and what the registration
    costs."""
    what = f"a new topic beside {pace.crowd.topics} until it has a route"
    for number in range(pace.rounds):
        began, before = time.monotonic(), broker.cpu_seconds()
        broker.create_topic(f"crowd-new-{number}", 1)
        samples.add(what, "ms", broker.name, (time.monotonic() - began) * 1000)
        time.sleep(SETTLE_SECONDS)
        cpu = broker.cpu_seconds() - before
        samples.add(f"{what}, CPU of {SETTLE_SECONDS:.0f} s", "ms", broker.name, cpu * 1000)


def _rest(samples: Samples, broker: Broker, clients: Clients, crowd: Crowd) -> None:
    """Measure a period in which each client sends one heartbeat, and the broker registers."""
    began, before = time.monotonic(), broker.cpu_seconds()
    clients.beat()
    time.sleep(max(0.0, crowd.period_seconds - (time.monotonic() - began)))
    share = (broker.cpu_seconds() - before) / (time.monotonic() - began)
    what = f"a period of {crowd.period_seconds:.0f} s with a heartbeat each, share of a core"
    samples.add(what, "%", broker.name, share * 100)
    _remember_memory(samples, broker, "all of it")


def _remember_memory(samples: Samples, broker: Broker, what: str) -> None:
    time.sleep(SETTLE_SECONDS)
    samples.add(f"RSS with {what}", "MiB", broker.name, broker.memory().rss)
