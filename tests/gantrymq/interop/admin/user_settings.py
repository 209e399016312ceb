"""Defines settings for users and policies that Java's broker 5 and Gantry's both accept."""

import json
from collections.abc import Mapping
from typing import Final

ROOT: Final = {"username": "root", "password": "root-secret"}
BROKER: Final = {"accessKey": "broker", "secretKey": "broker-secret"}
_AUTH: Final = "org.apache.rocketmq.auth"
USERS: Final[Mapping[str, str]] = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": (
        f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "authorizationEnabled": "true",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": (
        f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider"
    ),
    "initAuthenticationUser": json.dumps(ROOT),
    "innerClientAuthenticationCredentials": json.dumps(BROKER),
}
