"""Signs requests with an account, whose rights the broker checks.

Run:  python examples/20_access_control.py    it starts its own server

The accounts are in RocketMQ 4's plain_acl.yml, which is read again when it changes; see
docs/operations/security/accounts.md.

Prints:
    without an account: refused
    the till: SEND_OK to sales
    the till: refused for salaries
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from gantrymq.client import ClientError, Message, Producer, SendError
from gantrymq.testing.server import StandaloneServer

ACCOUNTS = """\
accounts:
- accessKey: the-till
  secretKey: 8fb1c0a7d2
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms:
  - sales=PUB
"""


async def main(name_servers: str) -> None:
    try:
        async with Producer("tills", name_servers=name_servers) as producer:
            await producer.send(Message("sales", "3 apples"))
    except ClientError:
        print("without an account: refused")

    async with Producer(
        "tills", name_servers=name_servers, access_key="the-till", secret_key="8fb1c0a7d2"
    ) as producer:
        result = await producer.send(Message("sales", "3 apples"))
        print("the till:", result.status.name, "to sales")
        try:
            await producer.send(Message("salaries", "more"))
        except SendError:
            print("the till: refused for salaries")


with TemporaryDirectory() as folder:
    accounts = Path(folder) / "plain_acl.yml"
    accounts.write_text(ACCOUNTS)
    flags = ["--set", "aclEnable=true", "--set", f"aclFile={accounts}"]
    with StandaloneServer(Path(folder) / "data", flags) as server:
        asyncio.run(main(server.name_servers))
