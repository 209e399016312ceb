"""Connects with TLS, which the server requires; the client verifies the certificate.

Run:  python examples/21_tls.py    it starts its own server

This example makes a self-signed certificate. Yours are issued by your authority, and are read again
when their files change. With tls.server.need.client.auth=require clients need one as well.

Prints:
    without TLS: refused
    trusting another certificate: refused
    trusting its certificate: SEND_OK
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from gantrymq.client import ClientError, ClientTls, Message, Producer
from gantrymq.runtime.security.certificates import self_signed
from gantrymq.testing.server import StandaloneServer


def made(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate and its key."""
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    for path, content in zip(paths, self_signed(name), strict=True):
        path.write_bytes(content)
    return paths


async def send(name_servers: str, tls: ClientTls | bool) -> str:
    try:
        async with Producer("couriers", name_servers=name_servers, tls=tls) as producer:
            return (await producer.send(Message("secrets", "a letter"))).status.name
    except ClientError:
        return "refused"


async def main(name_servers: str, certificate: Path, other: Path) -> None:
    print("without TLS:", await send(name_servers, tls=False))
    print("trusting another certificate:", await send(name_servers, ClientTls.trusting(other)))
    print("trusting its certificate:", await send(name_servers, ClientTls.trusting(certificate)))


with TemporaryDirectory() as name:
    folder = Path(name)
    certificate, key = made(folder, "server")
    other, _ = made(folder, "other")
    configuration = folder / "broker.conf"
    configuration.write_text(f"""
        tls.server.mode = enforcing
        tls.server.certPath = {certificate}
        tls.server.keyPath = {key}
    """)
    with StandaloneServer(folder / "data", ["-c", str(configuration)]) as server:
        asyncio.run(main(server.name_servers, certificate, other))
