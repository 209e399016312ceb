"""Sends requests to the Kubernetes API: JSON in and out, refusals as exceptions, a bounded rate.

Requests have a lane. Bulk requests (topics) pass a token bucket and leave some connections free,
so that urgent ones (clusters, Leases) never wait behind thousands of topics. Watches have
connections of their own, because each watch keeps one for minutes.

Invariant: a PATCH or POST is repeated only after the answer 429, which says that the API did
nothing. (aiohttp repeats GET, PUT and DELETE once on a connection that the API closed while it was
idle; each PUT and DELETE of the operator has a precondition, so the second one changes nothing.)
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from typing import Any, Final, TypeAlias, final

import aiohttp

from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.errors import (
    ApiError,
    ConflictError,
    ExpiredError,
    NotFoundError,
    RefusedError,
    SilentError,
    ThrottledError,
    UnavailableError,
)
from gantrymq.operator.kube.token_bucket import TokenBucket
from gantrymq.operator.plan.actions import Json

REQUEST_SECONDS: Final = 15.0
# The API server multiplexes poorly over HTTP/1.1; more connections only queue up there.
CONNECTIONS_MAX: Final = 32
# Bulk requests leave the other connections to urgent ones.
BULK_CONNECTIONS_MAX: Final = 24
BULK_PER_SECOND: Final = 400.0
BULK_BURST: Final = 50.0
# A request that the API asks to wait longer fails, and its key is queued again.
THROTTLE_TRIES: Final = 4
RETRY_AFTER_SECONDS_MAX: Final = 10.0
# A page of 250 objects of the largest size that etcd takes is far below.
ANSWER_BYTES_MAX: Final = 64 << 20
_WORDS_MAX: Final = 1000

Parameters: TypeAlias = Mapping[str, str]

_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "gantry-operator",
}

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"


class Lane(Enum):
    """The priority of a request: bulk requests never delay urgent ones."""

    URGENT = "urgent"
    BULK = "bulk"


@final
class KubeClient:
    """The client of one API server, which the whole process shares. Create it on the event loop."""

    def __init__(
        self,
        config: ApiConfig,
        *,
        bulk_per_second: float = BULK_PER_SECOND,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._config = config
        self._bulk = asyncio.Semaphore(BULK_CONNECTIONS_MAX)
        self._bucket = TokenBucket(bulk_per_second, BULK_BURST, self._clock())
        self._request_seconds = request_seconds
        self._session = self._open(CONNECTIONS_MAX)
        # Each reflector uses one connection, so the number of reflectors is the bound.
        self._watching = self._open(0)
        self.answers: Counter[tuple[str, int]] = Counter()
        """The number of requests by verb and HTTP status; status 0 stands for no answer."""

    @property
    def config(self) -> ApiConfig:
        return self._config

    @property
    def write_count(self) -> int:
        """The number of requests that may have changed something, refused ones included."""
        return sum(count for (verb, _), count in self.answers.items() if verb != "GET")

    async def close(self) -> None:
        await self._session.close()
        await self._watching.close()

    async def get(
        self,
        path: str,
        parameters: Parameters | None = None,
        *,
        lane: Lane = Lane.URGENT,
        timeout_seconds: float | None = None,
    ) -> Json:
        """Get the object, or the list, at this path."""
        return await self.request(
            "GET", path, parameters, lane=lane, timeout_seconds=timeout_seconds
        )

    async def request(
        self,
        verb: str,
        path: str,
        parameters: Parameters | None = None,
        body: object = None,
        *,
        content_type: str = "application/json",
        lane: Lane = Lane.URGENT,
        timeout_seconds: float | None = None,
    ) -> Json:
        """Send one request and return the answer. Raises an ApiError."""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        seconds = timeout_seconds or self._request_seconds
        for attempt in range(THROTTLE_TRIES):
            try:
                if lane is Lane.URGENT:
                    return await self._send(verb, path, parameters, data, headers, seconds)
                await self._take_token()
                async with self._bulk:
                    return await self._send(verb, path, parameters, data, headers, seconds)
            except ThrottledError as error:
                pause = error.retry_after_seconds
                if lane is Lane.BULK:
                    self._bucket.pause(self._clock(), pause)
                if attempt + 1 == THROTTLE_TRIES or pause > RETRY_AFTER_SECONDS_MAX:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the loop above returns or raises")

    def watch(
        self, path: str, parameters: Parameters, silence_seconds: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch and yield the pieces of its body. Raises SilentError if none arrives for
        `silence_seconds`."""
        return self._watch(path, parameters, silence_seconds)

    # ------------------------------------------------------------------ sending

    def _open(self, connections: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=self._config.tls or True),
            headers=_HEADERS,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def _take_token(self) -> None:
        wait = self._bucket.reserve(self._clock())
        if wait > 0:
            await asyncio.sleep(wait)

    def _authorization(self) -> dict[str, str]:
        token = self._config.token
        if token is None:
            return {}
        try:
            return {"Authorization": f"Bearer {token()}"}
        except OSError as error:
            raise UnavailableError(f"the token cannot be read: {error}") from error

    async def _send(
        self,
        verb: str,
        path: str,
        parameters: Parameters | None,
        data: bytes | None,
        headers: dict[str, str],
        seconds: float,
    ) -> Json:
        status = 0
        try:
            async with self._session.request(
                verb,
                self._config.url + path,
                params=parameters,
                data=data,
                headers=headers | self._authorization(),
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                status = response.status
                content = await _read(response)
                return _answer(verb, path, response, content)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _unanswered(verb, path, error, seconds) from error
        finally:
            self.answers[(verb, status)] += 1

    @asynccontextmanager
    async def _watch(
        self, path: str, parameters: Parameters, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        status = 0
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=REQUEST_SECONDS, sock_read=silence_seconds
        )
        try:
            async with self._watching.get(
                self._config.url + path,
                params=parameters,
                headers=self._authorization(),
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                status = response.status
                if status != 200:
                    _answer("WATCH", path, response, await _read(response))
                yield response.content.iter_any()
        except aiohttp.SocketTimeoutError as error:
            text = f"WATCH {path}: nothing arrived for {silence_seconds:g} s"
            raise SilentError(text, status=status) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _unanswered("WATCH", path, error, REQUEST_SECONDS) from error
        finally:
            self.answers[("GET", status)] += 1


# ---------------------------------------------------------------------- answers


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > ANSWER_BYTES_MAX:
            raise UnavailableError(f"the API's answer exceeds {ANSWER_BYTES_MAX} bytes")
    return bytes(content)


def _answer(verb: str, path: str, response: aiohttp.ClientResponse, content: bytes) -> Json:
    """Return the object of an answer. Raises the ApiError that its status stands for."""
    status = response.status
    answer = _object(content)
    if status < 300 and answer is not None:
        return answer
    details = answer or {}
    reason = str(details.get("reason") or response.reason or "")
    words = str(details.get("message") or content.decode(errors="replace"))[:_WORDS_MAX]
    text = f"{verb} {path}: {words or 'no message'} ({status} {reason})"
    if status == 404:
        raise NotFoundError(text, status=status, reason=reason)
    if status == 409:
        raise ConflictError(text, status=status, reason=reason)
    if status == 410:
        raise ExpiredError(text, status=status, reason=reason)
    if status == 429:
        raise ThrottledError(text, _retry_after(response))
    if 400 <= status < 500:
        raise RefusedError(text, status=status, reason=reason, words=words)
    raise UnavailableError(text, status=status, reason=reason)


def _object(content: bytes) -> Json | None:
    try:
        # Any: an object of the Kubernetes API.
        answer: Any = json.loads(content)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _retry_after(response: aiohttp.ClientResponse) -> float:
    text = response.headers.get("Retry-After", "1")
    try:
        return max(0.0, float(text))
    except ValueError:
        return 1.0


def _unanswered(verb: str, path: str, error: Exception, seconds: float) -> ApiError:
    if isinstance(error, TimeoutError):
        return UnavailableError(f"{verb} {path}: no answer in {seconds:g} s")
    return UnavailableError(f"{verb} {path}: {str(error) or type(error).__name__}")
