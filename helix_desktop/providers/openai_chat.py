"""Models behind OpenAI Chat Completions, with any base URL: what most servers speak."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.context.errors import ModelError, ModelNonsense
from helix_desktop.context.message import Answer, Arrival, ModelInfo, Request, Retrying
from helix_desktop.providers.endpoint import Endpoint, is_page
from helix_desktop.providers.http import Http, HttpFault, HttpReply
from helix_desktop.providers.openai_answer import Assembly
from helix_desktop.providers.openai_request import is_object, request_body
from helix_desktop.providers.retry import Retries, Transient
from helix_desktop.providers.sse import EventTooLarge, SseEvent, SseParser

USAGE_GRACE_S = 5.0
"""Seconds to wait for the usage and the end marker once the answer has given its reason to end."""

END_GRACE_S = 0.2
"""Seconds to wait for the stream's end after its end marker: a connection read to its end is used again."""

_DONE = "[DONE]"
_FAILED = frozenset({"error", "network_error"})
_UNKNOWN_FIELD = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


def new_call_id() -> str:
    """An id for a tool call whose server gave none."""
    return f"call_{uuid.uuid4().hex[:24]}"


class OpenAIChat:
    """A model behind OpenAI Chat Completions; implements the agent's `Model`.

    `key` may be empty: local servers want none. `http` is closed by who made it.
    """

    def __init__(
        self,
        info: ModelInfo,
        base_url: str,
        key: str = "",
        *,
        http: Http,
        retries: Retries | None = None,
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self._info = info
        self._endpoint = Endpoint(info.provider, base_url, key, http)
        self._retries = retries or Retries()
        self._new_id = new_id
        self._ask_usage = True

    @property
    def info(self) -> ModelInfo:
        """Its name and its room."""
        return self._info

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """Ask it; yields pieces as they arrive and an `Answer` last. `Retrying.attempt` counts from 2.

        Raises ModelUnreachable, ModelRefused, ModelOverflow, ModelNonsense. Closing the iterator, or
        cancelling the task, closes the connection.
        """
        failed = 0
        while True:
            try:
                async with aclosing(self._attempt(request)) as arrivals:
                    async for arrival in arrivals:
                        yield arrival
                return
            except _UsageUnknown:
                self._ask_usage = False
                continue
            except Transient as failure:
                failed += 1
                if failed >= self._retries.attempts:
                    raise _given_up(failure.error, failed) from failure
                reason, wait_s = failure.reason, self._retries.wait_s(failed, failure.retry_after_s)
            yield Retrying(failed + 1, wait_s, reason)
            await self._retries.sleep(wait_s)

    async def _attempt(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """One call. Raises Transient when another one may do better."""
        assembly = Assembly(self._info.provider, self._new_id)
        body = request_body(self._info, request, ask_usage=self._ask_usage)
        try:
            async with self._endpoint.send("POST", "/chat/completions", body) as reply:
                if reply.status != HTTPStatus.OK:
                    raise self._refusal(reply.status, await reply.text(), reply.headers)
                async with aclosing(self._chunks(reply, assembly)) as chunks:
                    async for chunk in chunks:
                        for arrival in assembly.add(chunk):
                            yield arrival
        except HttpFault as fault:
            # After its reason to end the answer is whole, whatever becomes of the connection.
            if not assembly.complete:
                raise self._endpoint.unreachable(fault) from fault
        yield self._whole(assembly)

    async def _chunks(self, reply: HttpReply, assembly: Assembly) -> AsyncGenerator[Mapping[str, Any], None]:
        """The reply's pieces as JSON objects, until it says that it is done."""
        if "json" in reply.headers.get("content-type", ""):
            yield self._object(await reply.text(), assembly, whole=True)
            assembly.done = True
            return
        async with aclosing(self._events(reply, assembly)) as arriving:
            async for event in arriving:
                if event.data.strip() == _DONE:
                    assembly.done = True
                elif not assembly.done:
                    yield self._object(event.data, assembly, error=event.name == "error")

    async def _events(self, reply: HttpReply, assembly: Assembly) -> AsyncGenerator[SseEvent, None]:
        parser = SseParser()
        try:
            async with aclosing(reply.chunks()) as chunks:
                while (chunk := await _next(chunks, assembly)) is not None:
                    for event in parser.feed(chunk):
                        yield event
            for event in parser.finish():
                if event.data.strip() == _DONE or is_object(event.data):
                    yield event
            if parser.stray and not assembly.begun:
                raise self._nonsense(_sample(parser.stray))
        except EventTooLarge as error:
            raise self._nonsense(f"It sent too much at once: {error}.") from error

    def _object(
        self, text: str, assembly: Assembly, *, error: bool = False, whole: bool = False
    ) -> Mapping[str, Any]:
        """One piece of a stream, or a whole reply, as an object; raises what an error in it means."""
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError) as fault:
            raise self._nonsense(_sample(text)) from fault
        if not isinstance(value, dict):
            raise self._nonsense(_sample(text))
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        failure = value.get("error") or choice.get("error")
        if failure or error or choice.get("finish_reason") in _FAILED:
            raise self._refusal(_status_in(failure), text, {})
        return value

    def _whole(self, assembly: Assembly) -> Answer:
        if not assembly.complete:
            raise self._endpoint.unreachable(HttpFault("cut", "the stream ended without its end marker"))
        return assembly.answer()

    def _refusal(self, status: int, body: str, headers: Mapping[str, str]) -> Exception:
        if (
            self._ask_usage
            and status in _UNKNOWN_FIELD
            and ("stream_options" in body or "include_usage" in body)
        ):
            return _UsageUnknown()
        return self._endpoint.refusal(status, body, headers, model=self._info.name, now=self._retries.now())

    def _nonsense(self, why: str) -> ModelNonsense:
        return ModelNonsense(
            f"{self._info.provider} answered with something that is no answer.",
            self._endpoint.redact(why),
            f"Check the base URL {self._endpoint.base_url}: most end in /v1.",
        )


class _UsageUnknown(Exception):
    """The server does not know the field that asks for usage."""


async def list_models(provider: str, base_url: str, key: str = "", *, http: Http) -> tuple[str, ...]:
    """The names of the models that a server offers, sorted; asked once, without retries.

    Raises ModelUnreachable, ModelRefused, ModelNonsense.
    """
    endpoint = Endpoint(provider, base_url, key, http)
    try:
        async with endpoint.send("GET", "/models") as reply:
            status, body, headers = reply.status, await reply.text(), reply.headers
    except HttpFault as fault:
        raise _final(endpoint.unreachable(fault)) from fault
    if status != HTTPStatus.OK:
        raise _final(endpoint.refusal(status, body, headers))
    try:
        listed = msgspec.json.decode(body, type=_ModelList)
    except (msgspec.DecodeError, UnicodeEncodeError) as fault:
        raise ModelNonsense(
            f"{provider} answered with something that is no list of models.",
            endpoint.redact(_sample(body)),
            f"Check the base URL {endpoint.base_url}: most end in /v1.",
        ) from fault
    return tuple(sorted({model.id for model in listed.data or ()}))


class _ListedModel(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ListedModel] | None


async def _next(chunks: AsyncGenerator[bytes, None], assembly: Assembly) -> bytes | None:
    """The next piece, or None at the end; a complete answer does not wait for a server that lingers."""
    grace_s = END_GRACE_S if assembly.settled else USAGE_GRACE_S if assembly.complete else None
    try:
        async with asyncio.timeout(grace_s):
            return await anext(chunks, None)
    except TimeoutError:
        return None


def _final(failure: ModelError | Transient) -> ModelError:
    return failure.error if isinstance(failure, Transient) else failure


def _given_up(error: ModelError, attempts: int) -> ModelError:
    return type(error)(error.what, f"{error.why} Asked {attempts} times.".strip(), error.fix)


def _status_in(failure: Any) -> int:
    """The status of an error inside a stream: servers give it as `code` or `status`, or not at all."""
    for key in ("code", "status") if isinstance(failure, dict) else ():
        text = str(failure.get(key))
        if text.isdigit() and int(text) >= HTTPStatus.BAD_REQUEST:
            return int(text)
    if isinstance(failure, dict) and "invalid_request" in str(failure.get("type")):
        return int(HTTPStatus.BAD_REQUEST)
    return int(HTTPStatus.INTERNAL_SERVER_ERROR)


def _sample(text: str) -> str:
    if is_page(text):
        return "It sent a web page."
    line = " ".join(text[:200].split())
    return f"It sent: {line}" if line else "It sent nothing."
