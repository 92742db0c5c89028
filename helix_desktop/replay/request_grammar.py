"""Check requests against the wire format as a grammar, independently of the engine's own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.recording import parse_arguments

# s system, u user, a assistant, c assistant with calls, t tool; the assistant's message is never the last.
_ROLE_ORDER = re.compile(r"s?u(?:[ua]|ct+)*(?<!a)")


class RequestGrammar:
    """Checks the requests of one replay."""

    def __init__(self) -> None:
        self._free_text: set[str] = set()
        self._is_object_by_text: dict[str, bool] = {}

    def add_recorded(self, message: Message) -> None:
        """Record a message: arguments that were free text there may stay free text."""
        self._free_text |= {call.id for call in message.calls if not self._is_object(call.arguments)}

    def find_errors(self, request: Sequence[Message]) -> list[str]:
        """Return the reasons why a server would refuse the request; empty if it would not."""
        errors = [
            f"message {index} has no text"
            for index, message in enumerate(request)
            if not _has_content(message)
        ]
        shape = "".join(map(_role_letter, request))
        if not _ROLE_ORDER.fullmatch(shape):
            return [*errors, f"the order of roles ends in ...{shape[-12:]}"]
        for step in re.finditer("ct+", shape):
            errors += self._step_errors(request[step.start()], request[step.start() + 1 : step.end()])
        return errors

    def _step_errors(self, calling_message: Message, answers: Sequence[Message]) -> Iterator[str]:
        call_ids = sorted(call.id for call in calling_message.calls)
        if call_ids != sorted(answer.call_id for answer in answers) or len(set(call_ids)) < len(call_ids):
            yield f"calls {call_ids} have the answers {[answer.call_id for answer in answers]}"
        yield from (
            f"the arguments of {call.id} are no JSON object"
            for call in calling_message.calls
            if self._is_broken(call)
        )

    def _is_broken(self, call: ToolCall) -> bool:
        return call.id not in self._free_text and not self._is_object(call.arguments)

    def _is_object(self, arguments: str) -> bool:
        if arguments not in self._is_object_by_text:
            self._is_object_by_text[arguments] = isinstance(parse_arguments(arguments), dict)
        return self._is_object_by_text[arguments]


def _role_letter(message: Message) -> str:
    if message.role == "assistant":
        return "c" if message.calls else "a"
    return "?" if message.calls else message.role[0]


def _has_content(message: Message) -> bool:
    return bool(message.text.strip() or message.calls)
