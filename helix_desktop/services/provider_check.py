"""Checks a model's server step by step: reach, TLS, key, streaming, tools; reports each step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Literal, get_args

import msgspec

from helix_desktop.agent.ports import Model
from helix_desktop.domain.dialects import DIALECTS
from helix_desktop.domain.errors import AuthenticationFailed, HelixError, ModelError, ModelRequestRejected
from helix_desktop.domain.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RetryScheduled,
    TextDelta,
    ToolSpec,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, join_sentences
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpError, is_loopback
from helix_desktop.providers.model_list import as_model_error
from helix_desktop.providers.server_errors import error_for_status, network_error

text = TextContext("Models")

CheckStepName = Literal["reach", "tls", "auth", "streaming", "tools"]
CheckStepState = Literal["waiting", "running", "ok", "failed", "skipped"]


class CheckStep(msgspec.Struct, frozen=True):
    """One step of the test: what was found, or what failed, why, and what to do; `server_text` on request.

    `has_tools`: whether the model calls tools, where the step has shown it.
    """

    name: CheckStepName
    state: CheckStepState = "waiting"
    detail: str = ""
    why: str = ""
    fix: str = ""
    server_text: str = ""
    has_tools: bool | None = None


UNTESTED_STEPS: tuple[CheckStep, ...] = tuple(map(CheckStep, get_args(CheckStepName)))
"""The steps before the check begins."""


_COUNT_PROMPT = "Count from one to ten in words, separated by commas. Write nothing else."
_CALL_PROMPT = "Call the tool report_word with the word lighthouse. Do not answer in words."
_TOOL = ToolSpec(
    "report_word",
    "Reports one word.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to report."}},
        "required": ["word"],
    },
)
_NO_TOOLS_ADVICE = text(
    "Choose a model that supports tools. llama.cpp needs --jinja. vLLM needs --enable-auto-tool-choice and "
    "the model's --tool-call-parser."
)
_NO_TOOLS_EFFECT = text(
    "With this model the agent can't read files or run commands. It now gets no tools, unless its tools are "
    "true in settings.toml."
)
_UNKNOWN_TOOLS = text("This doesn't show whether the model can use tools.")
_EXCERPT_CHARS = 60  # characters of an answer that are shown


class ProviderCheck:
    """One check of one server; `on_step` gets all five steps whenever one changes.

    Without a model, or before one is chosen, only the first three can be checked.
    """

    def __init__(
        self, endpoint: Endpoint, model: Model | None, on_step: Callable[[tuple[CheckStep, ...]], None]
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._on_step = on_step
        self._steps: dict[CheckStepName, CheckStep] = {step.name: step for step in UNTESTED_STEPS}

    async def run(self) -> bool:
        """Run all steps; return True if none failed. Canceling ends the call under way."""
        if not await self._check_reach():
            self._skip(text("An earlier step failed."))
        elif self._model is None:
            self._skip(text("Add a model to test this."))
        elif await self._check_streaming(self._model):
            await self._check_tool_call(self._model)
        else:
            self._skip(text("An earlier step failed."))
        return all(step.state in {"ok", "skipped"} for step in self._steps.values())

    def _mark(
        self,
        name: CheckStepName,
        state: CheckStepState,
        result: str = "",
        error: HelixError | None = None,
        has_tools: bool | None = None,
    ) -> None:
        step = CheckStep(name, state, result, has_tools=has_tools)
        if error is not None:
            step = msgspec.structs.replace(
                step, detail=error.what, why=error.why, fix=error.fix, server_text=error.details
            )
        self._steps[name] = step
        self._on_step(tuple(self._steps.values()))

    def _skip(self, why: str) -> None:
        for name, step in tuple(self._steps.items()):
            if step.state in {"waiting", "running"}:
                self._mark(name, "skipped", why)

    async def _check_reach(self) -> bool:
        """Request the list of models: the reply shows if the server is reachable, its TLS and the key."""
        started_at = time.perf_counter()
        self._mark("reach", "running")
        try:
            async with self._endpoint.send("GET", DIALECTS[self._endpoint.dialect].models_path) as reply:
                duration_ms = round((time.perf_counter() - started_at) * 1000)
                status = reply.status
                tls = reply.tls
                body = await reply.text()
                headers = reply.headers
        except HttpError as fault:
            error = as_model_error(network_error(self._endpoint, fault))
            if fault.kind == "tls":
                self._mark("reach", "ok", text("A server answers at this address."))
            self._mark("tls" if fault.kind == "tls" else "reach", "failed", error=error)
            return False
        except ModelError as error:  # a key that cannot even be sent
            self._mark("reach", "skipped", text("Nothing was sent."))
            self._mark("auth", "failed", error=error)
            return False
        self._mark("reach", "ok", _answer_text(duration_ms))
        self._mark("tls", "ok", _encryption_text(tls, self._endpoint.base_url))
        return self._check_auth(status, body, headers)

    def _check_auth(self, status: int, body: str, headers: Mapping[str, str]) -> bool:
        if status == HTTPStatus.OK:
            self._mark("auth", "running", text("The server listed its models. Asking the model…"))
        elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            self._mark(
                "auth",
                "failed",
                error=as_model_error(error_for_status(self._endpoint, status, body, headers)),
            )
            return False
        else:
            self._mark("auth", "running", text("The server has no list of models. Asking the model…"))
        if self._model is None:
            if status == HTTPStatus.OK:
                self._mark("auth", "ok", text("Accepted for the list of models."))
            else:
                self._mark("auth", "skipped", text("Add a model to test this."))
        return True

    async def _check_streaming(self, model: Model) -> bool:
        """Let the model count: a stream arrives in chunks."""
        self._mark("streaming", "running", text("Asking {model}…", model=model.info.name))
        chunks = 0
        first_chunk_s = 0.0
        started_at = time.perf_counter()
        response: ModelResponse | None = None
        try:
            async with aclosing(model.stream(ModelRequest((Message("user", _COUNT_PROMPT),)))) as stream:
                async for event in stream:
                    match event:
                        case TextDelta() | ReasoningDelta():
                            first_chunk_s = first_chunk_s or time.perf_counter() - started_at
                            chunks += 1
                            if chunks == 1:
                                self._mark_accepted()
                        case RetryScheduled(wait_s=wait, reason=reason):
                            retry = (
                                text("Retrying in {seconds} s: {reason}", seconds=round(wait), reason=reason)
                                if round(wait)
                                else text("Retrying now: {reason}", reason=reason)
                            )
                            self._mark("streaming", "running", retry)
                        case ModelResponse():
                            response = event
        except AuthenticationFailed as error:
            self._mark("auth", "failed", error=error)
            return False
        except ModelError as error:
            self._mark("auth", "skipped", text("The model didn't answer."))
            self._mark("streaming", "failed", error=error)
            return False
        self._mark_accepted()
        self._mark("streaming", "ok", _streaming_text(chunks, first_chunk_s, response))
        return True

    def _mark_accepted(self) -> None:
        accepted = text("Key accepted.") if self._endpoint.has_key else text("No key needed.")
        self._mark("auth", "ok", accepted)

    async def _check_tool_call(self, model: Model) -> None:
        """Ask for one tool call, with one argument."""
        self._mark("tools", "running", text("Asking for a tool call…"))
        response: ModelResponse | None = None
        try:
            request = ModelRequest((Message("user", _CALL_PROMPT),), (_TOOL,))
            async with aclosing(model.stream(request)) as stream:
                async for event in stream:
                    if isinstance(event, ModelResponse):
                        response = event
        except ModelError as error:
            is_refused = isinstance(error, ModelRequestRejected)
            effect = _NO_TOOLS_EFFECT if is_refused else _UNKNOWN_TOOLS
            fix = join_sentences(error.fix, effect, _NO_TOOLS_ADVICE)
            failure = ModelError(error.what, error.why, fix, details=error.details)
            self._mark("tools", "failed", error=failure, has_tools=False if is_refused else None)
            return
        problem = _tool_call_problem(response)
        if problem:
            what = text("{model} didn't call the tool as asked.", model=model.info.name)
            has_called = response is not None and bool(response.calls)
            effect = _UNKNOWN_TOOLS if has_called else _NO_TOOLS_EFFECT
            failure = ModelError(what, problem, join_sentences(effect, _NO_TOOLS_ADVICE))
            self._mark("tools", "failed", error=failure, has_tools=None if has_called else False)
        else:
            self._mark("tools", "ok", text("Called {tool} as asked.", tool=_TOOL.name), has_tools=True)


def _answer_text(duration_ms: int) -> TranslatableText:
    if duration_ms < 1_000:  # noqa: PLR2004 - milliseconds of a second
        return text("Answered in {duration} ms.", duration=duration_ms)
    return text("Answered in {seconds} s.", seconds=f"{duration_ms / 1_000:.1f}")


def _encryption_text(tls: str, base_url: str) -> str:
    if tls:
        version = tls.replace("TLSv", "TLS ")
        return text("{version}, with a certificate that this system trusts.", version=version)
    if is_loopback(base_url):
        return text("Not used: the connection stays on this computer.")
    return text("Not used: others on the network can read everything.")


def _streaming_text(chunks: int, first_chunk_s: float, response: ModelResponse | None) -> str:
    seconds = f"{first_chunk_s:.1f}"
    arrived = (
        text("{count} pieces, the first after {seconds} s.", count=chunks, seconds=seconds)
        if chunks > 1
        else text("The answer arrived all at once.")
    )
    if response is not None and response.usage is not None and response.usage.input > 0:
        return arrived
    return join_sentences(arrived, text("No token usage reported: the usage shown is estimated."))


def _tool_call_problem(response: ModelResponse | None) -> OptionalText:
    if response is None or not response.calls:
        excerpt = ellipsize(" ".join(response.text.split()), _EXCERPT_CHARS) if response is not None else ""
        return (
            text("It answered in words: {excerpt}", excerpt=excerpt) if excerpt else text("Empty response.")
        )
    call = response.calls[0]
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return text("Its arguments aren't valid JSON.")
    is_expected = call.name == _TOOL.name and isinstance(arguments, dict) and "word" in arguments
    if is_expected:
        return ""
    excerpt = ellipsize(call.arguments, _EXCERPT_CHARS)
    return text("It called {tool} with {arguments}.", tool=call.name, arguments=excerpt)
