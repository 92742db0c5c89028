"""Tries a model's server out, step by step: reach, TLS, key, streaming, tools; each is told as it goes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus

import msgspec

from helix_desktop.agent.ports import Model
from helix_desktop.context.digest import ellipsize
from helix_desktop.context.errors import HelixError, KeyRefused, ModelError
from helix_desktop.context.message import (
    Answer,
    Message,
    ReasoningArrived,
    Request,
    Retrying,
    TextArrived,
    ToolSpec,
)
from helix_desktop.context.trial import UNTRIED, Tick, TickName, TickState
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpFault, is_loopback
from helix_desktop.providers.listing import final

_WORD = "lighthouse"
_COUNT = "Count from one to ten in words, separated by commas. Write nothing else."
_CALL = f"Call the tool report_word with the word {_WORD}. Do not answer in words."
_TOOL = ToolSpec(
    "report_word",
    "Reports one word.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to report."}},
        "required": ["word"],
    },
)
_NO_TOOLS = (
    "Choose a model that can use tools. llama.cpp needs --jinja, vLLM --enable-auto-tool-choice with the "
    "--tool-call-parser of the model."
)
_SHOWN = 60  # characters of an answer that are shown


class Trial:
    """One test of one server; `told` hears all five ticks whenever one changes.

    Without a model, or before one is chosen, only the first three can be tried.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        list_path: str,
        model: Model | None,
        told: Callable[[tuple[Tick, ...]], None],
    ) -> None:
        """`list_path` is where the server lists its models."""
        self._endpoint, self._list_path, self._model, self._told = endpoint, list_path, model, told
        self._ticks: dict[TickName, Tick] = {tick.name: tick for tick in UNTRIED}

    async def run(self) -> bool:
        """Try everything; whether all that could be tried is well. Cancelling ends the call under way."""
        if not await self._reached():
            self._skip("an earlier step failed")
        elif self._model is None:
            self._skip("no model is chosen yet")
        elif await self._streams(self._model):
            await self._calls(self._model)
        else:
            self._skip("an earlier step failed")
        return all(tick.state in {"ok", "skipped"} for tick in self._ticks.values())

    def _mark(
        self, name: TickName, state: TickState, found: str = "", error: HelixError | None = None
    ) -> None:
        told = Tick(name, state, found)
        if error is not None:
            told = msgspec.structs.replace(told, found=error.what, why=error.why, fix=error.fix)
        self._ticks[name] = told
        self._told(tuple(self._ticks.values()))

    def _skip(self, why: str) -> None:
        for name, tick in tuple(self._ticks.items()):
            if tick.state in {"waiting", "running"}:
                self._mark(name, "skipped", why)

    async def _reached(self) -> bool:
        """Ask for the list of models: what comes back tells of the way, of TLS and of the key."""
        began = time.perf_counter()
        self._mark("reach", "running")
        try:
            async with self._endpoint.send("GET", self._list_path) as reply:
                took = round((time.perf_counter() - began) * 1000)
                status, tls, body, headers = reply.status, reply.tls, await reply.text(), reply.headers
        except HttpFault as fault:
            error = final(self._endpoint.unreachable(fault))
            if fault.kind == "tls":
                self._mark("reach", "ok", "something answers there")
            self._mark("tls" if fault.kind == "tls" else "reach", "failed", error=error)
            return False
        except ModelError as error:  # a key that cannot even be sent
            self._mark("reach", "skipped", "nothing was sent")
            self._mark("auth", "failed", error=error)
            return False
        self._mark("reach", "ok", f"answered in {took:,} ms")
        self._mark("tls", "ok", _encryption(tls, self._endpoint.base_url))
        return self._may(status, body, headers)

    def _may(self, status: int, body: str, headers: Mapping[str, str]) -> bool:
        if status == HTTPStatus.OK:
            self._mark("auth", "running", "the list of models was given; the model decides")
        elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            self._mark("auth", "failed", error=final(self._endpoint.refusal(status, body, headers)))
            return False
        else:
            self._mark("auth", "running", "there is no list of models; the model decides")
        if self._model is None:
            self._mark("auth", "ok" if status == HTTPStatus.OK else "skipped", "as far as the list of models")
        return True

    async def _streams(self, model: Model) -> bool:
        """Let the model count: a stream arrives in pieces."""
        self._mark("streaming", "running", f"asking {model.info.name}")
        pieces, first, began = 0, 0.0, time.perf_counter()
        answer: Answer | None = None
        try:
            async with aclosing(model.stream(Request((Message("user", _COUNT),)))) as arrivals:
                async for arrival in arrivals:
                    match arrival:
                        case TextArrived() | ReasoningArrived():
                            first = first or time.perf_counter() - began
                            pieces += 1
                            if pieces == 1:
                                self._accepted()
                        case Retrying(wait_s=wait, reason=reason):
                            self._mark("streaming", "running", f"{reason}; again in {wait:.0f} s")
                        case Answer():
                            answer = arrival
        except KeyRefused as error:
            self._mark("auth", "failed", error=error)
            return False
        except ModelError as error:
            self._mark("auth", "skipped", "the model did not come to answer")
            self._mark("streaming", "failed", error=error)
            return False
        self._accepted()
        self._mark("streaming", "ok", _flow(pieces, first, answer))
        return True

    def _accepted(self) -> None:
        self._mark("auth", "ok", "the key is accepted" if self._endpoint.has_key else "no key is needed")

    async def _calls(self, model: Model) -> None:
        """Ask for one tool call, with one argument."""
        self._mark("tools", "running", "asking for a tool call")
        answer: Answer | None = None
        try:
            asked = Request((Message("user", _CALL),), (_TOOL,))
            async with aclosing(model.stream(asked)) as arrivals:
                async for arrival in arrivals:
                    if isinstance(arrival, Answer):
                        answer = arrival
        except ModelError as error:
            fix = f"{error.fix} {_NO_TOOLS}".strip()
            self._mark("tools", "failed", error=ModelError(error.what, error.why, fix))
            return
        wrong = _wrong_call(answer)
        if wrong:
            failure = ModelError(f"{model.info.name} did not call the tool.", wrong, _NO_TOOLS)
            self._mark("tools", "failed", error=failure)
        else:
            self._mark("tools", "ok", f"called {_TOOL.name} as it was asked to")


def _encryption(tls: str, base_url: str) -> str:
    if tls:
        return f"{tls.replace('TLSv', 'TLS ')}, certificate trusted by this system"
    return (
        "not used: the way stays on this machine"
        if is_loopback(base_url)
        else "not used: anybody on the way can read along"
    )


def _flow(pieces: int, first: float, answer: Answer | None) -> str:
    words = f"{pieces:,} pieces, the first after {first:.1f} s" if pieces > 1 else "arrived all at once"
    counted = answer is not None and answer.usage is not None and answer.usage.input > 0
    return words if counted else f"{words}; it reports no token usage, so the gauge estimates"


def _wrong_call(answer: Answer | None) -> str:
    """What is wrong with the answer to the wish for a call; empty when it is the call that was wanted."""
    if answer is None or not answer.calls:
        said = ellipsize(" ".join(answer.text.split()), _SHOWN) if answer is not None else ""
        return f"It answered in words: {said}" if said else "It answered with nothing."
    call = answer.calls[0]
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return "Its arguments are no JSON."
    named = call.name == _TOOL.name and isinstance(arguments, dict) and "word" in arguments
    return "" if named else f"It called {call.name} with {ellipsize(call.arguments, _SHOWN)}."
