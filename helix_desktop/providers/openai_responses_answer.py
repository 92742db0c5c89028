"""An answer of OpenAI Responses, put together from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from helix_desktop.context.message import Answer, ReasoningArrived, Stop, TextArrived, ToolCall, Usage
from helix_desktop.providers.dialect import Piece
from helix_desktop.providers.openai_responses_request import DIALECT, text_of
from helix_desktop.providers.shortfall import empty_answer, nothing_sent, unnamed_call
from helix_desktop.providers.streaming import error_sent
from helix_desktop.providers.wire import JOINT, object_in

_IDLE = frozenset({"keepalive", "ping", "response.created", "response.in_progress", "response.queued"})
"""Events that carry nothing of an answer."""

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})

_TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT_DELTAS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class Assembly:
    """Folds the events of one answer. `new_id` makes ids for calls whose server gave none."""

    def __init__(self, provider: str, model: str, new_id: Callable[[], str]) -> None:
        self._provider, self._model, self._new_id = provider, model, new_id
        self._items: dict[int, _Item] = {}
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._status = ""
        self._reason = ""
        self._usage: Usage | None = None
        self.progress = 0
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether the server has said that the answer is at its end."""
        return self.done or bool(self._status)

    @property
    def settled(self) -> bool:
        """Whether nothing of interest is still to come."""
        return self.complete

    def add(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """Take one event in; gives what it adds for a reader. Raises ErrorSent."""
        kind = str(chunk.get("type"))
        self.progress += kind not in _IDLE
        if kind in _ENDS:
            return self._end(object_in(chunk, "response"), kind.removeprefix("response."))
        if kind == "response.output_item.added":
            self._item(chunk).came = dict(object_in(chunk, "item"))
        elif kind == "response.output_item.done":
            return self._finish(self._item(chunk), object_in(chunk, "item"))
        elif kind == "response.function_call_arguments.delta":
            self._item(chunk).arguments += str(chunk.get("delta") or "")
        elif kind in _TEXT_DELTAS:
            return self._grow(self._item(chunk).texts, chunk, "content_index", self._text, TextArrived)
        elif kind in _THOUGHT_DELTAS:
            part = "summary_index" if "summary" in kind else "content_index"
            return self._grow(self._item(chunk).thoughts, chunk, part, self._thoughts, ReasoningArrived)
        return []

    def add_whole(self, reply: Mapping[str, Any]) -> list[Piece]:
        """Take in an answer that was not streamed. Raises ErrorSent."""
        return self._end(reply, str(reply.get("status") or "completed"))

    def answer(self) -> Answer:
        """The whole answer. Raises ModelNonsense when it is none, ModelRefused when a filter held it back."""
        items = [self._items[index] for index in sorted(self._items)]
        if not items:
            raise nothing_sent(self._provider, "output")
        stop = self._stop()
        calls = self._calls(items)
        text = "".join(self._text)
        if not text.strip() and not calls:
            raise empty_answer(self._provider, stop)
        return Answer(
            text=text,
            calls=calls,
            reasoning="".join(self._thoughts),
            usage=self._usage,
            stop="calls" if calls and stop == "end" else stop,
            verbatim={
                "dialect": DIALECT,
                "provider": self._provider,
                "model": self._model,
                "items": [item.whole() for item in items if item.came],
            },
        )

    def _item(self, chunk: Mapping[str, Any]) -> _Item:
        """The item that an event is about; without an index it is the newest."""
        index = chunk.get("output_index")
        if not isinstance(index, int):
            begins = chunk.get("type") == "response.output_item.added"
            index = len(self._items) if begins or not self._items else max(self._items)
        return self._items.setdefault(index, _Item())

    def _grow(
        self,
        parts: dict[int, str],
        chunk: Mapping[str, Any],
        part: str,
        told: list[str],
        piece: type[TextArrived] | type[ReasoningArrived],
    ) -> list[Piece]:
        """Add to a part; between two parts a reader sees a paragraph's end."""
        delta, index = chunk.get("delta"), chunk.get(part)
        if not isinstance(delta, str) or not delta:
            return []
        index = index if isinstance(index, int) else 0
        new = JOINT + delta if told and not parts.get(index) else delta
        parts[index] = parts.get(index, "") + delta
        told.append(new)
        return [piece(new)]

    def _finish(self, item: _Item, came: Mapping[str, Any]) -> list[Piece]:
        """An item is whole; what did not come in pieces is told now."""
        item.came, item.is_whole = dict(came), True
        pieces: list[Piece] = []
        if came.get("type") == "message":
            pieces += self._rest(item.texts, text_of(came), "content_index", self._text, TextArrived)
        elif came.get("type") == "reasoning":
            thoughts = _thoughts_of(came)
            pieces += self._rest(item.thoughts, thoughts, "summary_index", self._thoughts, ReasoningArrived)
        return pieces

    def _rest(
        self,
        parts: dict[int, str],
        whole: list[str],
        part: str,
        told: list[str],
        piece: type[TextArrived] | type[ReasoningArrived],
    ) -> list[Piece]:
        pieces: list[Piece] = []
        for index, text in enumerate(whole):
            if text.startswith(parts.get(index, "")):
                rest = text[len(parts.get(index, "")) :]
                pieces += self._grow(parts, {"delta": rest, part: index}, part, told, piece)
        return pieces

    def _end(self, response: Mapping[str, Any], status: str) -> list[Piece]:
        if status in {"failed", "cancelled"} or response.get("error"):
            raise error_sent(response.get("error") or {"message": f"the response was {status}"})
        self.progress += 1
        self._status = status
        self._reason = str(object_in(response, "incomplete_details").get("reason") or "")
        self._usage = _usage(response.get("usage")) or self._usage
        output = response.get("output")
        pieces: list[Piece] = []
        for index, came in enumerate(output if isinstance(output, list) else ()):
            item = self._items.setdefault(index, _Item())
            if isinstance(came, dict) and not item.is_whole:
                pieces += self._finish(item, came)
        return pieces

    def _stop(self) -> Stop:
        if self._reason == "content_filter":
            return "filter"
        return "length" if self._status == "incomplete" else "end"

    def _calls(self, items: list[_Item]) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        for item in items:
            if item.came.get("type") != "function_call":
                continue
            name, call_id = str(item.came.get("name") or ""), str(item.came.get("call_id") or "")
            if not name:
                raise unnamed_call(self._provider)
            if not call_id or any(call.id == call_id for call in calls):
                call_id = item.came["call_id"] = self._new_id()
            calls.append(ToolCall(call_id, name, item.called_with()))
        return tuple(calls)


class _Item:
    """One item of the output while it comes in: as it was announced, then as it came whole."""

    def __init__(self) -> None:
        self.came: dict[str, Any] = {}
        self.is_whole = False
        self.arguments = ""
        self.texts: dict[int, str] = {}
        self.thoughts: dict[int, str] = {}

    def called_with(self) -> str:
        """A call's arguments as JSON text."""
        came = self.came.get("arguments")
        if isinstance(came, dict):
            return msgspec.json.encode(came).decode()
        return came if isinstance(came, str) and came.strip() else self.arguments or "{}"

    def whole(self) -> dict[str, Any]:
        """The item as it goes back."""
        if self.is_whole or self.came.get("type") != "message":
            return self.came
        parts = [{"type": "output_text", "text": text, "annotations": []} for text in self.texts.values()]
        return {**self.came, "content": parts}


def _thoughts_of(item: Mapping[str, Any]) -> list[str]:
    """The texts of a reasoning item: its summary, or the reasoning itself where a server shows it."""
    for key in ("summary", "content"):
        parts = item.get(key)
        found = (
            [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        )
        if found:
            return [text for text in found if isinstance(text, str)]
    return []


def _usage(reported: Any) -> Usage | None:
    """What the provider counted; servers that count nothing report zeros."""
    if not isinstance(reported, dict):
        return None
    cached = object_in(reported, "input_tokens_details").get("cached_tokens")
    counts = [reported.get("input_tokens"), reported.get("output_tokens"), cached]
    given, taken, hit = (value if isinstance(value, int) else 0 for value in counts)
    return Usage(given, taken, min(hit, given)) if given > 0 else None
