"""Why an answer ended, by the words of servers, and errors for empty ones; the same in every dialect."""

from __future__ import annotations

import re

from helix_desktop.domain.errors import InvalidModelResponse, ModelRequestRejected
from helix_desktop.domain.messages import StopReason
from helix_desktop.domain.translatable_text import TextContext, verbatim

text = TextContext("Providers")

_STOPS: tuple[tuple[re.Pattern[str], StopReason], ...] = (
    (
        re.compile(
            r"malformed|unexpected_?tool|invalid_?(tool|function)|too_?many_?tool|bad_?(tool|function)"
        ),
        "malformed",
    ),
    (re.compile(r"context|window|model_length"), "context"),
    (re.compile(r"length|max_?(output_?)?tokens|token_?limit|truncat"), "length"),
    (re.compile(r"refus"), "refusal"),
    (
        re.compile(
            r"filter|safety|sensitive|recitation|blocklist|blocked|prohibited|spii|policy|guardrail|moderat"
        ),
        "filter",
    ),
    (re.compile(r"pause"), "paused"),
)
"""Parts of the words by which servers say that an answer is not whole."""

_CALL_REASON = re.compile(r"tool|function")
_NORMAL = re.compile(
    r"|stop|end|end_turn|eos|stop_sequence|completed?|done|finish(ed)?|success|null|none|unknown"
)

_WRITTEN_CALL = re.compile(
    r"<tool_call>|<function_calls?>|<function=|<invoke |<\|?tool▁?_?calls?|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<\uff5ctool▁calls?▁begin\uff5c>|<\|(plugin|tool_call)[^>]*\|>|<minimax:tool_call>|<tool_use>"
)
_LABELS = r'(?:"(?:type|id)"\s*:\s*"[^"]*"\s*,\s*)*'
_CALL_OBJECT = re.compile(
    rf"(?:```(?:json|tool_call|tool)?\s*)?\[?\s*\{{\s*{_LABELS}"
    rf'(?:"(?:function|tool_calls?)"\s*:\s*\[?\s*\{{\s*{_LABELS}(?:"function"\s*:\s*\{{\s*)?)?'
    r'"(?:name|tool|function|tool_name)"\s*:\s*"(\w[\w.-]*)"'
    r'[^{}]{0,300}"(?:arguments|parameters|args|input)"\s*:'
)
"""A call as the object of some template, which begins an answer or ends it."""
_OBJECT_LINE = re.compile(r"^[ \t]*(?=```(?:json|tool)|\[?\s*\{)", re.MULTILINE)
_END_OF_OBJECT = re.compile(r"\}\s*\]?\s*(?:```)?\s*\Z")


class MalformedCall(InvalidModelResponse):
    """An answer that ended in a call that its server could not read: it may be whole the next time."""


def stop_reason(reason: str, *, has_calls: bool, has_text: bool = False) -> StopReason:
    """Return why an answer ended, by its server's word for it.

    Servers that say "tool_calls" of a mere text are wrong about the call, not about the text.
    """
    low = reason.strip().lower()
    for pattern, stop in _STOPS:
        if pattern.search(low):
            return stop
    if has_calls:
        return "calls"
    return "malformed" if _CALL_REASON.search(low) and not has_text else "end"


def is_written_call(answer: str, tools: frozenset[str]) -> bool:
    """Return True if a text without calls contains one as a template writes it, and would have meant it."""
    if not tools or not answer.strip():
        return False
    if found := _CALL_OBJECT.match(answer.lstrip()):
        return found[1] in tools
    if _END_OF_OBJECT.search(answer) and any(
        (found := _CALL_OBJECT.match(answer, line.end())) and found[1] in tools
        for line in _OBJECT_LINE.finditer(answer)
    ):
        return True
    marked = _WRITTEN_CALL.search(_without_code(answer))
    return marked is not None and any(name in answer[marked.start() :] for name in tools)


def _without_code(answer: str) -> str:
    """Return a text without its code: an answer may quote such marks there."""
    return re.sub(r"```[\s\S]*?(```|$)|`[^`\n]*`", "", answer)


def missing_answer_error(provider: str, missing_field: str) -> InvalidModelResponse:
    """Return the error for a reply without an answer; `missing_field` names what should be there."""
    return InvalidModelResponse(
        text("Empty response from {provider}.", provider=provider),
        text("The response has no {field} field.", field=missing_field),
        text("Check that the base URL is for a chat model, and check the API type."),
        remedies=("provider_settings",),
    )


def malformed_call_error(provider: str, reason: str) -> MalformedCall:
    """Return the error for an answer that ended in a broken call; `reason` is the server's word."""
    return MalformedCall(
        text("{provider} couldn't read the model's tool call.", provider=provider),
        text("The answer ended with “{reason}”.", reason=reason),
        text("Send the message again, or choose another model."),
    )


def empty_answer_error(
    provider: str, stop: StopReason, reason: str = "", explanation: str = ""
) -> InvalidModelResponse | ModelRequestRejected:
    """Return the error for an answer without text and calls.

    `reason` is the server's word for its end, `explanation` the provider's own text.
    """
    if stop == "malformed":
        return malformed_call_error(provider, reason)
    if stop in ("filter", "refusal"):
        return ModelRequestRejected(
            text("{provider} blocked the response (content filter).", provider=provider),
            verbatim(explanation) if explanation else text("It was blocked before the first word."),
            text("Rephrase the message, or choose another model."),
        )
    if stop == "length":
        return InvalidModelResponse(
            text("Empty response from {provider}.", provider=provider),
            text("The output limit was used up before the first word."),
            text("Raise the server's output limit, or choose a model with a larger context window."),
        )
    if not _NORMAL.fullmatch(reason.strip().lower()) and stop == "end":
        return InvalidModelResponse(
            text("Empty response from {provider}.", provider=provider),
            text("The server ended it with “{reason}”.", reason=reason),
            text("Send the message again, or choose another model."),
        )
    return InvalidModelResponse(
        text("Empty response from {provider}.", provider=provider),
        text("It ended without text or a tool call."),
        text("Try again. If it happens again, check the model's context window on the server."),
        remedies=("provider_settings", "choose_model"),
    )
