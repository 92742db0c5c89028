"""What ends an answer, by the words of servers, and thinking that a server left in its text between tags."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helix_desktop.domain.answer_bounds import MAX_CALLS, MAX_PART_BYTES, AnswerBound
from helix_desktop.domain.errors import InvalidModelResponse, ModelRequestRejected
from helix_desktop.domain.messages import ReasoningDelta, StopReason, TextDelta
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import ByteSize, TextContext, TranslatableText, verbatim

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


class UnusableAnswer(InvalidModelResponse):
    """An answer without a text and a call that its server could read: it may have one the next time."""


def stop_reason(reason: str, *, has_calls: bool, has_text: bool = False) -> StopReason:
    """Return why an answer ended, by its server's word for it."""
    low = reason.strip().lower()
    for pattern, stop in _STOPS:
        if pattern.search(low):
            return stop
    if has_calls:
        return "calls"
    if not _CALL_REASON.search(low):
        return "end"
    return "no-call" if has_text else "malformed"


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
    # An answer may quote such marks in its code.
    marked = _WRITTEN_CALL.search(re.sub(r"```[\s\S]*?(```|$)|`[^`\n]*`", "", answer))
    return marked is not None and any(name in answer[marked.start() :] for name in tools)


def missing_answer_error(provider: str, missing_field: str) -> InvalidModelResponse:
    return InvalidModelResponse(
        text("Empty response from {provider}.", provider=provider),
        text("The response has no {field} field.", field=missing_field),
        text("Check that the base URL is for a chat model, and check the API type."),
        remedies=("provider_settings",),
    )


def malformed_call_error(provider: str, reason: str) -> UnusableAnswer:
    return UnusableAnswer(
        text("{provider} couldn't read the model's tool call.", provider=provider),
        text("The answer ended with “{reason}”.", reason=reason),
        text("Send the message again, or choose another model."),
    )


def missing_call_error(provider: str) -> UnusableAnswer:
    return UnusableAnswer(
        text("The answer of {provider} ended for a tool call, but none came.", provider=provider),
        text("The model or its server lost the call."),
        text("Send the message again, or choose another model."),
    )


_MAX_DETAILS = 20_000
"""Characters of the reasoning that are kept of an answer of which nothing else came."""


def only_reasoning_error(provider: str, reasoning: str) -> UnusableAnswer:
    return UnusableAnswer(
        text("The answer of {provider} has only reasoning.", provider=provider),
        text("{count} characters of reasoning came, but neither text nor a tool call.", count=len(reasoning)),
        text("Check the reasoning parser of the model's server, or choose another model."),
        details=verbatim(ellipsize(reasoning, _MAX_DETAILS)),
    )


_BOUND_REASONS: dict[AnswerBound, TranslatableText] = {
    "text": text("Its text has more than {size}.", size=ByteSize(MAX_PART_BYTES)),
    "reasoning": text("Its reasoning has more than {size}.", size=ByteSize(MAX_PART_BYTES)),
    "arguments": text("The arguments of its calls have more than {size}.", size=ByteSize(MAX_PART_BYTES)),
    "calls": text("It has more than {count} tool calls.", count=MAX_CALLS),
    "other": text("Its server sent too much besides the text."),
}


def bounded_answer_error(provider: str, bound: AnswerBound) -> InvalidModelResponse:
    """Return the error for an answer that one of our bounds ended before it had a text or a call."""
    return InvalidModelResponse(
        text("The answer of {provider} was ended: it is too long.", provider=provider),
        _BOUND_REASONS.get(bound, text("It has more than one answer may have.")),
        text("Send the message again, ask for less, or choose another model."),
    )


def empty_answer_error(
    provider: str, stop: StopReason, reason: str = "", explanation: str = "", reasoning: str = ""
) -> InvalidModelResponse | ModelRequestRejected:
    """Return the error for an answer without text and calls.

    `reason` is the server's word for its end, `explanation` the provider's own text, `reasoning` what came
    besides.
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
    if stop == "end" and reasoning.strip() and _NORMAL.fullmatch(reason.strip().lower()):
        return only_reasoning_error(provider, reasoning.strip())
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


_NESTED = {
    **{
        f"<{name}>": (f"</{name}>",)
        for name in (
            *("think", "thinking", "thought", "thoughts", "reasoning", "reason"),
            *("seed:think", "antthinking"),
        )
    },
    "[think]": ("[/think]",),
    "◁think▷": ("◁/think▷",),
}
"""Tags that open thinking, in lower case, and those that close it; inside them they are counted."""

_HARMONY_TEXT = ("<|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>")
_CLOSINGS: dict[str, tuple[str, ...]] = {
    **_NESTED,
    **{
        f"<|{name}|>": (f"<|/{name}|>", f"</{name}>", f"<|end_{name}|>")
        for name in ("think", "thinking", "thought", "reasoning")
    },
    "<|begin_of_thought|>": ("<|end_of_thought|>",),  # OpenThinker
    "<|start_thinking|>": ("<|end_thinking|>",),  # Cohere
    "<|channel>thought": ("<channel|>",),  # Gemma
    "<unused94>thought": ("<unused95>",),  # MedGemma
    "<|channel|>analysis<|message|>": ("<|end|>", *_HARMONY_TEXT),  # gpt-oss
    "<|start|>assistant<|channel|>analysis<|message|>": ("<|end|>", *_HARMONY_TEXT),
}
_TEXT_MARKS = (*_HARMONY_TEXT, "<|begin_of_solution|>", "<|start_response|>")
"""Marks that open the text behind such thinking."""

_MARKS = (*_CLOSINGS, *_TEXT_MARKS)
_LONGEST_MARK = max(map(len, _MARKS))
_TEXT_END = re.compile(r"\s*<\|(?:return|end|end_of_solution|end_response)\|>\s*\Z", re.IGNORECASE)
_MAX_TEXT_END = 30  # characters of such an end, with space around
_LONE_CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷", re.IGNORECASE)


class ThinkingTags:
    """Separates text and thinking of one answer while it streams; tags count only where an answer begins.

    What could still become a tag waits until it is known. So does what follows a tag that closed an inner
    one: it is thinking if the outer one is closed too, else the text, and the thinking spoke of tags.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._scanned = 0
        self._depth = 0  # of open tags
        self._inner_closing = ""  # which begins what is pending
        self._marks = _pattern(())  # those that matter inside the thinking
        self._opening = ""
        self._is_begun = False  # the text
        self._has_thought = self._is_marked = False

    def add(self, text: str) -> tuple[str, str]:
        """Return the text and the thinking that are certain now."""
        self._pending += text
        thinking = ""
        while self._pending and not self._is_begun:
            if self._depth:
                thinking += self._read_thinking()
                if self._depth:
                    return "", thinking
                continue
            start = self._pending.lstrip()
            low = start[:_LONGEST_MARK].lower()
            mark = next((mark for mark in _MARKS if low.startswith(mark)), "")
            if mark:
                self._pending = start[len(mark) :]
                self._open(mark)
            elif any(other.startswith(low) for other in _MARKS):
                return "", thinking
            else:
                self._is_begun = True
                self._pending = start if self._has_thought else self._pending
        keep = _MAX_TEXT_END if self._is_marked else 0
        certain = max(0, len(self._pending) - keep) if self._is_begun else 0
        text_part = self._pending[:certain]
        self._pending = self._pending[certain:]
        return text_part, thinking

    def add_deltas(self, text: str) -> list[TextDelta | ReasoningDelta]:
        text_part, thinking = self.add(text)
        return [
            *([ReasoningDelta(thinking)] if thinking else []),
            *([TextDelta(text_part)] if text_part else []),
        ]

    def _open(self, mark: str) -> None:
        if mark in _TEXT_MARKS:
            self._is_marked = self._has_thought = True
            return
        self._opening = mark
        self._depth = 1
        self._scanned = 0
        self._inner_closing = ""
        self._marks = _pattern((*((mark,) if mark in _NESTED else ()), *_CLOSINGS[mark]))

    def _read_thinking(self) -> str:
        """Return the thinking that is certain; `_depth` is 0 if it ends there."""
        thinking = ""
        while found := self._marks.search(self._pending, self._scanned):
            mark = found[0].lower()
            self._scanned = found.end()
            if mark == self._opening:
                self._depth += 1
                continue
            self._depth -= 1
            thinking += self._pending[: found.start()]
            self._pending = self._pending[found.start() :]
            self._scanned = len(mark)
            self._inner_closing = mark
            if not self._depth:
                self._has_thought = True
                self._is_marked = self._is_marked or mark in _TEXT_MARKS
                self._pending = self._pending[len(mark) :]
                return thinking
        certain = len(self._pending) - _partial_end(self._pending, (self._opening, *_CLOSINGS[self._opening]))
        self._scanned = max(self._scanned, certain)
        if not self._inner_closing:
            thinking = self._pending[:certain]
            self._pending = self._pending[certain:]
            self._scanned = 0
        return thinking

    def finish(self) -> tuple[str, str]:
        """Return what was still waiting, at the end of the answer."""
        pending = self._pending
        self._pending = ""
        if self._depth and self._inner_closing:
            return pending[len(self._inner_closing) :].lstrip(), ""
        if self._depth:
            return "", pending
        if self._is_marked:
            pending = _TEXT_END.sub("", pending)
        return ("" if self._has_thought and not pending.strip() else pending), ""


def split_thinking(answer: str) -> tuple[str, str]:
    """Return the text and the thinking of a whole answer.

    Some servers put the opening tag into the request: then only the closing one is there.
    """
    tags = ThinkingTags()
    text_part, thinking = tags.add(answer)
    text_rest, thinking_rest = tags.finish()
    text_part = text_part + text_rest
    thinking = thinking + thinking_rest
    if not thinking and (closing := _LONE_CLOSING.search(text_part)) and _ends_a_thought(text_part, closing):
        return text_part[closing.end() :].lstrip(), text_part[: closing.start()]
    return text_part, thinking


def _ends_a_thought(text: str, closing: re.Match[str]) -> bool:
    """Return True if a closing tag stands alone in a text, not where the text speaks of such tags."""
    opening = closing[0].replace("/", "").lower()
    before = text[: closing.start()]
    return (
        opening not in text.lower() and before.count("`") % 2 == 0 and len(_LONE_CLOSING.findall(text)) == 1
    )


def _pattern(marks: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)), re.IGNORECASE)


def _partial_end(text: str, marks: Iterable[str]) -> int:
    """Return how many characters at the end of a text may begin a mark."""
    end = text[-_LONGEST_MARK:].lower()
    sizes = range(len(end), 0, -1)
    return next((size for size in sizes if any(mark.startswith(end[-size:]) for mark in marks)), 0)
