"""Writes what a standalone start prints when it is up, and the placeholder page of the console."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Final

from gantrymq.app.standalone_setup import StandaloneSetup
from gantrymq.runtime import speedups

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Gantry</title>
<style>body {{ font: 16px/1.5 system-ui; max-width: 40em; margin: 4em auto }}</style>
<h1>Gantry is running</h1>
<p>The console will be here: topics, consumer groups and their progress, messages, and alerts.
It is not built yet.</p>
<p>Meanwhile: name server <code>{names}</code>, broker <code>{broker}</code>,
<a href="/health/ready">health</a>{metrics}.</p>
</html>
"""
# Commands for a shell.
_SEND: Final = """\
{python} - <<'END'
import asyncio
from gantrymq.client import Message, Producer

async def send():
    async with Producer("try", name_servers="{names}") as producer:
        print(await producer.send(Message("try", b"hello")))

asyncio.run(send())
END
"""
_RECEIVE: Final = """\
{python} - <<'END'
import asyncio
from gantrymq.client import ConsumeFrom, PushConsumer

async def receive():
    where = ConsumeFrom.FIRST_OFFSET
    consumer = PushConsumer("try", name_servers="{names}", consume_from=where)
    consumer.subscribe("try", "*", lambda messages: print(*messages, flush=True))
    async with consumer:
        await asyncio.Event().wait()

asyncio.run(receive())
END
"""


def announcement(setup: StandaloneSetup, seconds: float) -> str:
    """The text on standard output. Addresses come first, because users copy them."""
    lines = [f"Gantry is up, {seconds:.2f} s after its start.", ""]
    lines += _addresses(setup)
    names = setup.listen_address("name server")
    assert names is not None
    for about, example in (("Send a message:", _SEND), ("Receive, from another shell:", _RECEIVE)):
        text = example.format(python=shlex.quote(sys.executable), names=names.address)
        lines += ["", about, "", text.rstrip()]
    lines += ["", "Ctrl-C stops it; a second Ctrl-C ends it at once."]
    return "\n".join(lines) + "\n"


def console_page(setup: StandaloneSetup) -> bytes:
    metrics = setup.listen_address("metrics")
    link = "" if metrics is None else f', <a href="http://{metrics.address}/metrics">metrics</a>'
    names, broker = setup.listen_address("name server"), setup.listen_address("broker")
    assert names is not None
    assert broker is not None
    return _PAGE.format(names=names.address, broker=broker.address, metrics=link).encode()


def _addresses(setup: StandaloneSetup) -> Iterator[str]:
    for place in setup.listen_addresses:
        path = {"metrics": "/metrics", "console": "/"}.get(place.what)
        shown = place.address if path is None else f"http://{place.address}{path}"
        yield f"  {place.what:<18}{shown}"
    yield f"  {'data':<18}{setup.data}"
    yield f"  {'modules':<18}{speedups.of_process()}"
