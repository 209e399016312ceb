"""Creates users of RocketMQ 5 at a broker under test, and signs the tests' own requests."""

import base64
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gantrymq.interop.servers import Broker
from gantrymq.interop.wire import Request

CREATE_USER: Final = 3001
CREATE_ACL: Final = 3006
ROOT: Final = "root"
SECRETS: Final[Mapping[str, str]] = {
    ROOT: "root-secret",
    "broker": "broker-secret",
    "orders": "orders-secret",
    "reader": "reader-secret",
}
SETTINGS: Final[Mapping[str, str]] = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": json.dumps({"username": ROOT, "password": SECRETS[ROOT]}),
    "innerClientAuthenticationCredentials": json.dumps(
        {"accessKey": "broker", "secretKey": SECRETS["broker"]}
    ),
}


def signer(name: str) -> Callable[[Request], Request]:
    """A function that signs as this user: HMAC-SHA1 over the values in the order of their names,
    and the body."""

    def sign(request: Request) -> Request:
        fields = {**(request.ext or {}), "AccessKey": name}
        values = "".join(fields[key] for key in sorted(fields)).encode() + request.body
        digest = hmac.digest(SECRETS[name].encode(), values, "sha1")
        return replace(request, ext={**fields, "Signature": base64.b64encode(digest).decode()})

    return sign


def create(broker: Broker, name: str, rights: Mapping[str, list[str]]) -> None:
    """Create a user with these rights: actions by resource. The broker's `sign` must be root's."""
    entries = [
        {"resource": resource, "actions": actions, "decision": "Allow"}
        for resource, actions in rights.items()
    ]
    subject = f"User:{name}"
    policies = [{"entries": entries}]
    requests: list[tuple[int, dict[str, str], object]] = [
        (CREATE_USER, {"username": name}, {"password": SECRETS[name]}),
        (
            CREATE_ACL,
            {"subject": subject},
            {"subject": subject, "policies": policies},
        ),
    ]
    for code, ext, body in requests:
        answer = broker.ask(Request(code, ext, json.dumps(body).encode()))
        assert answer.code == 0, answer
