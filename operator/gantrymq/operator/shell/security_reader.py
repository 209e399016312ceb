"""Reads the Secrets of a secure cluster, for the operator's requests and for missing Secrets.

A snapshot does not contain the text of a Secret, apart from the text of new Secrets.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from hmac import HMAC
from typing import Final, final

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.brokers.access import BrokerAccess
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError, NotFoundError
from gantrymq.operator.kube.watch.reducers import entry_of_secret
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import name_of
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.objects.security import ADMINISTRATOR_ENTRY, AUTHORITY_ENTRY
from gantrymq.operator.plan.security_profile import effective_profile, with_profile
from gantrymq.operator.plan.snapshot import NewSecurity
from gantrymq.operator.resources.parsing import parse_cluster
from gantrymq.operator.resources.security import SecurityProfile, SecuritySpec
from gantrymq.runtime.logs import Log
from gantrymq.runtime.security.authority import AUTHORITY_DAYS, make_authority, make_certificate

SECRET_BYTES: Final = 32
_APPLICATION: Final = b"gantry application account"


@final
class SecurityReader:
    """Reads Secrets by name. It keeps nothing between two reads."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._log = Log("operator.security")

    async def access(self, names: ClusterNames, security: SecuritySpec) -> BrokerAccess | None:
        """Return the access to the servers of a secure cluster; None if its Secrets lack it."""
        accounts = await self._secret(names, security.accounts_secret or names.accounts)
        tls = await self._secret(names, security.tls_secret or names.tls)
        credentials, authority = self._credentials(accounts), entry_of_secret(tls, AUTHORITY_ENTRY)
        return BrokerAccess(credentials, authority) if credentials and authority else None

    async def new(
        self,
        names: ClusterNames,
        security: SecuritySpec | None,
        objects: Mapping[str, tuple[Json, ...]] | None,
    ) -> NewSecurity | None:
        """Return random values if a Secret that the operator creates is not among the `objects`.

        The key of the application account is derived from the administrator's, so that its Secret
        can be created again for existing accounts.
        """
        if security is None or objects is None:
            return None
        own = set() if security.accounts_secret else {names.accounts, names.client}
        own |= set() if security.tls_secret else {names.tls}
        if not own - {name_of(each) for each in objects[kinds.SECRET.name]}:
            return None
        accounts = await self._secret(names, security.accounts_secret or names.accounts)
        known = self._credentials(accounts)
        administrator = known.secret_key if known else secrets.token_urlsafe(SECRET_BYTES)
        digest = HMAC(administrator.encode(), _APPLICATION, sha256).hexdigest()
        now = datetime.datetime.now(datetime.UTC)
        authority = make_authority(f"{names.cluster}.{names.namespace}", now)
        issued = make_certificate(
            authority, names.cluster, server_names(names), now, AUTHORITY_DAYS
        )
        return NewSecurity(
            administrator=administrator,
            application=digest,
            metrics_token=secrets.token_hex(SECRET_BYTES),
            certificate=issued.certificate.decode(),
            key=issued.key.decode(),
            authority=authority.certificate.decode(),
        )

    async def _secret(self, names: ClusterNames, name: str) -> Json:
        """Return the Secret; an empty object if it cannot be read."""
        try:
            return await self._client.get(kinds.SECRET.path(names.namespace, name))
        except NotFoundError:
            return {}
        except ApiError as error:
            self._log.warning("cannot read Secret", secret=name, cause=error)
            return {}

    def _credentials(self, accounts: Json) -> Credentials | None:
        content = entry_of_secret(accounts, ADMINISTRATOR_ENTRY)
        if not content:
            return None
        try:
            return plain_acl.read_credentials(content.encode())
        except (ConfigurationError, ValueError) as error:
            self._log.warning("cannot use account", entry=ADMINISTRATOR_ENTRY, cause=error)
            return None


def security_of(
    resource: Json, stateful_sets: Sequence[Json] | None, default: SecurityProfile
) -> SecuritySpec | None:
    """Return the security of a secure cluster; None for an open one, or if it is not known."""
    spec = parse_cluster(resource).spec
    if spec is None or stateful_sets is None:
        return None
    profile = effective_profile(spec, resource.get("status") or {}, stateful_sets, default)
    found = with_profile(spec, profile).security
    return found if found.is_secure else None


def secret_names(names: ClusterNames, security: SecuritySpec | None) -> list[str]:
    """Return the names of all Secrets that a plan uses."""
    if security is None:
        return [names.secret]
    own = [names.accounts, names.client]
    accounts = [security.accounts_secret] if security.accounts_secret else own
    return [names.secret, *accounts, security.tls_secret or names.tls]


def server_names(names: ClusterNames) -> list[str]:
    """Return the names by which clients in the Kubernetes cluster reach the servers."""
    inside = f"{names.namespace}.svc"
    hosts = [names.name_server_service, f"{names.name_server_service}.{inside}"]
    hosts += [f"*.{names.name_servers}.{inside}", f"*.{inside}", "localhost", "127.0.0.1"]
    return [host for host in hosts if host]
