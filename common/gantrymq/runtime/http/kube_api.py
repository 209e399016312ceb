"""Sends requests to the Kubernetes API, each once, and reports which ones were not answered.

In a pod the API is at KUBERNETES_SERVICE_HOST, by TLS, with the CA and the token of the pod's
service account. The kubelet replaces both files while the pod runs, so each request reads them.

The timeout follows the API's latency (adaptive_timeout.py). A connection without a response in time
is closed. With one request at a time, as for a Lease, a connection that hangs costs one timeout,
and the next request gets a new connection.

Invariant: no request is repeated here. A repeated write whose first copy was carried out is refused
as a conflict, and the caller would conclude that the write was never carried out.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Final, final

import aiohttp

from gantrymq.base.errors import ConfigurationError, GantryError
from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

# While the API is fast. A Lease is renewed every 0.8 s, and the master acknowledges for 3 s after
# it sent the last renewal: two requests in a row may hang, and the third one is still in time.
REQUEST_SECONDS: Final = 0.7
# While the API is slow. A renewal that is answered later than this is of no use any more.
REQUEST_SECONDS_MAX: Final = 3.0

JSON: Final = "application/json"
METADATA_LIST: Final = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""For a list: only the metadata of its objects, which is small."""

_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")


class UnansweredError(GantryError):
    """No response: unless the text says so, it is unknown whether the request was carried out."""


@final
@dataclass(frozen=True, slots=True)
class ApiPlace:
    """Where the API is, and which account asks."""

    url: str
    account: Path | None = None
    """The folder of the service account; None for an API without authentication."""


@final
@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A response of the API, with any status."""

    status: int
    body: bytes


def place_of_pod(environment: Mapping[str, str], account: Path = ACCOUNT) -> ApiPlace:
    """The API of this pod's cluster; ConfigurationError outside of a pod."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigurationError(
            "this is no pod of a Kubernetes cluster (KUBERNETES_SERVICE_HOST is not set)"
        )
    for name in ("token", "ca.crt"):
        if not (account / name).is_file():
            raise ConfigurationError(
                f"{account / name} is not there: let the pod have its service account's token"
                " (automountServiceAccountToken)"
            )
    return ApiPlace(f"https://{f'[{host}]' if ':' in host else host}:{port}", account)


def namespace_of_pod(account: Path = ACCOUNT) -> str:
    """The namespace of this pod; "" outside of a pod."""
    try:
        return (account / "namespace").read_text().strip()
    except OSError:
        return ""


@final
class KubeApi:
    """A client of one API. It is made on the event loop; `close` ends it."""

    def __init__(
        self,
        place: ApiPlace,
        answer_bytes_max: int,
        adaptive_timeout: AdaptiveTimeout | None = None,
    ) -> None:
        """`adaptive_timeout` may come from another client of the same API, with the latency it has
        learned."""
        self._answer_bytes_max = answer_bytes_max
        self._authority: bytes | None = None
        self._context: ssl.SSLContext | None = None
        self._place = place
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_count_sending)
        self._session = aiohttp.ClientSession(auto_decompress=False, trace_configs=[trace])
        longest = max(REQUEST_SECONDS, REQUEST_SECONDS_MAX)
        self.adaptive_timeout = adaptive_timeout or AdaptiveTimeout(REQUEST_SECONDS, longest)

    @property
    def url(self) -> str:
        return self._place.url

    async def close(self) -> None:
        await self._session.close()

    async def ask(
        self, method: str, path: str, body: bytes | None = None, *, accept: str = JSON
    ) -> ApiAnswer:
        """The API's response; UnansweredError if there is none."""
        loop, seconds = asyncio.get_running_loop(), self.adaptive_timeout.seconds
        sending, began = _Sending(), loop.time()
        try:
            async with self._session.request(
                method,
                self._place.url + path,
                data=body,
                headers=self._headers(accept),
                ssl=self._tls(),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
                trace_request_ctx=sending,
            ) as response:
                answer = ApiAnswer(response.status, await self._read(response))
        except TimeoutError:
            self.adaptive_timeout.expired()
            raise self._unanswered(method, path, sending, f"in {seconds:.2g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            why = str(error) or "the connection ended"
            raise self._unanswered(method, path, sending, why) from None
        self.adaptive_timeout.answered(loop.time() - began)
        return answer

    def _unanswered(self, method: str, path: str, sending: _Sending, why: str) -> UnansweredError:
        state = "sent, and not answered" if sending.count else "not sent"
        return UnansweredError(f"{method} {self._place.url}{path} was {state}: {why}")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > self._answer_bytes_max:
                raise UnansweredError(
                    f"{self._place.url} answers with more than {self._answer_bytes_max} bytes"
                )
        return bytes(body)

    def _headers(self, accept: str) -> Mapping[str, str]:
        account = self._place.account
        headers = {"Accept": accept, "Accept-Encoding": "identity", "Content-Type": JSON}
        if account is not None:
            headers["Authorization"] = f"Bearer {_token(account / 'token')}"
        return headers

    def _tls(self) -> ssl.SSLContext | bool:
        account = self._place.account
        if account is None:
            return True
        authority = _content(account / "ca.crt")
        if self._context is None or authority != self._authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            try:
                context.load_verify_locations(cadata=authority.decode())
            except (ssl.SSLError, ValueError) as error:
                raise UnansweredError(f"{account / 'ca.crt'} is no certificate: {error}") from None
            self._context, self._authority = context, authority
        return self._context


class _Sending(SimpleNamespace):
    """Counts how often aiohttp has sent one request."""

    count: int = 0


class _AgainError(aiohttp.ClientError):
    """Stops aiohttp from repeating a request that it takes for repeatable."""

    def __str__(self) -> str:
        return "the connection ended"


async def _count_sending(
    session: aiohttp.ClientSession,
    context: SimpleNamespace,
    parameters: aiohttp.TraceRequestHeadersSentParams,
) -> None:
    del session, parameters
    sending = context.trace_request_ctx
    if sending.count:
        raise _AgainError
    sending.count += 1


def _token(path: Path) -> str:
    """The bearer token (RFC 6750); UnansweredError if the file is damaged.

    A header accepts no other bytes, and a damaged file must not end the caller.
    """
    token = _content(path).strip()
    if not _TOKEN.fullmatch(token):
        raise UnansweredError(f"the request was not sent: {path} has no token")
    return token.decode()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnansweredError(
            f"the request was not sent: {path} cannot be read: {error.strerror}"
        ) from None
