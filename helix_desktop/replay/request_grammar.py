"""A second opinion on requests: the wire format as a grammar, apart from the engine's own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.recording import parse_arguments

# s system, u user, a assistant, c assistant with calls, t tool; the last word is never the assistant's.
_ROLE_ORDER = re.compile(r"s?u(?:[ua]|ct+)*(?<!a)")


class RequestGrammar:
    """Checks the requests of one replay."""

    def __init__(self) -> None:
        self._free_text: set[str] = set()
        self._is_object_by_text: dict[str, bool] = {}

    def add_recorded(self, message: Message) -> None:
        """Take a message as it was recorded: free text for arguments may stay free text."""
        self._free_text |= {call.id for call in message.calls if not self._is_object(call.arguments)}

    def find_errors(self, request: Sequence[Message]) -> list[str]:
        """Why a server would refuse the request; empty when it would not."""
        found = [f"message {at} has no text" for at, one in enumerate(request) if not _has_content(one)]
        shape = "".join(map(_role_letter, request))
        if not _ROLE_ORDER.fullmatch(shape):
            return [*found, f"the order of roles ends in ...{shape[-12:]}"]
        for step in re.finditer("ct+", shape):
            found += self._step_errors(request[step.start()], request[step.start() + 1 : step.end()])
        return found

    def _step_errors(self, calling_message: Message, answers: Sequence[Message]) -> Iterator[str]:
        asked = sorted(call.id for call in calling_message.calls)
        if asked != sorted(answer.call_id for answer in answers) or len(set(asked)) < len(asked):
            yield f"calls {asked} have the answers {[answer.call_id for answer in answers]}"
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
