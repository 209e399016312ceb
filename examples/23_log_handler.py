"""Sends log records as messages with a logging.Handler that never blocks the application.

Run:  python examples/23_log_handler.py    while `gantry standalone` runs

The level is the tag, so "ERROR || CRITICAL" is a subscription. Records that find no room while no
broker is reachable are dropped and counted; logging never fails.

Prints:
    ERROR of shop.payments: card 4711 was refused
"""

import logging
import os

from gantrymq.client import ConsumeFrom
from gantrymq.client.blocking import Producer, PullConsumer
from gantrymq.client.log_handler import LogHandler

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")

handler = LogHandler("app-logs", Producer("log-shippers", name_servers=NAME_SERVERS))
log = logging.getLogger("shop.payments")
log.setLevel(logging.INFO)
log.addHandler(handler)

log.info("card 4710 was charged")
log.error("card %d was refused", 4711)
handler.close()  # logging does it at the end of the program

with PullConsumer(
    "on-call", name_servers=NAME_SERVERS, consume_from=ConsumeFrom.FIRST_OFFSET
) as consumer:
    consumer.subscribe("app-logs", "ERROR || CRITICAL")
    for message in consumer:
        print(f"{message.tag} of {message.properties['logger']}: {message.body.decode()}")
        break
