"""A second opinion on requests: the wire format as a grammar, apart from the engine's own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from helix_desktop.context.message import Message, ToolCall
from helix_desktop.replay.trajectory import parsed

# s system, u user, a assistant, c assistant with calls, t tool; the last word is never the assistant's.
_GRAMMAR = re.compile(r"s?u(?:[ua]|ct+)*(?<!a)")


class Wire:
    """Checks the requests of one replay."""

    def __init__(self) -> None:
        self._free_text: set[str] = set()
        self._judged: dict[str, bool] = {}

    def know(self, recorded: Message) -> None:
        """Take a message as it was recorded: free text for arguments may stay free text."""
        self._free_text |= {call.id for call in recorded.calls if not self._is_object(call.arguments)}

    def faults(self, request: Sequence[Message]) -> list[str]:
        """Why a server would refuse the request; empty when it would not."""
        found = [f"message {at} has no text" for at, one in enumerate(request) if not _says(one)]
        shape = "".join(map(_letter, request))
        if not _GRAMMAR.fullmatch(shape):
            return [*found, f"the order of roles ends in ...{shape[-12:]}"]
        for step in re.finditer("ct+", shape):
            found += self._step_faults(request[step.start()], request[step.start() + 1 : step.end()])
        return found

    def _step_faults(self, asking: Message, answers: Sequence[Message]) -> Iterator[str]:
        asked = sorted(call.id for call in asking.calls)
        if asked != sorted(answer.call_id for answer in answers) or len(set(asked)) < len(asked):
            yield f"calls {asked} have the answers {[answer.call_id for answer in answers]}"
        yield from (
            f"the arguments of {call.id} are no JSON object" for call in asking.calls if self._broken(call)
        )

    def _broken(self, call: ToolCall) -> bool:
        return call.id not in self._free_text and not self._is_object(call.arguments)

    def _is_object(self, arguments: str) -> bool:
        if arguments not in self._judged:
            self._judged[arguments] = isinstance(parsed(arguments), dict)
        return self._judged[arguments]


def _letter(message: Message) -> str:
    if message.role == "assistant":
        return "c" if message.calls else "a"
    return "?" if message.calls else message.role[0]


def _says(message: Message) -> bool:
    return bool(message.text.strip() or message.calls)
