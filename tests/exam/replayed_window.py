"""The window that a policy leaves at the end of a recording, and the store behind it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.errors import RequestInvalid, RequestTooLarge
from helix_desktop.domain.messages import Message
from helix_desktop.domain.store import ContentReader
from helix_desktop.replay.recording import as_message, read_messages, with_turn_ends
from helix_desktop.replay.replayer import Replayer
from helix_desktop.tools.cache.origins import CallingSession
from tests.exam.scoring import normalize_answer

_UNLIMITED_WINDOW = 1_000_000_000  # tokens: nothing is left out
_PLACEHOLDER = "?"


@dataclass(frozen=True)
class ReplayedWindow:
    """The messages before the next user message, without a system prompt, and what can be recalled.

    `session` is the replayed one, whose log the recall tools read.
    """

    messages: tuple[Message, ...]
    contents: ContentReader
    session: CallingSession

    @cached_property
    def normalized_text(self) -> str:
        """Return all words and arguments of calls, normalized as for scores."""
        return normalize_answer(
            "\n".join(
                text
                for message in self.messages
                for text in (message.text, *(call.arguments for call in message.calls))
            )
        )

    def ask(self, system: str, question: str) -> tuple[Message, ...]:
        """Return the request in which the user asks a question next."""
        return Message("system", system), *self.messages, Message("user", question)


def replay_window(path: Path, policy: str | ContextPolicy, window_size: int) -> ReplayedWindow:
    """Replay a recording; `window_size` in tokens. Call it on a thread that runs no event loop.

    The recorded system prompt is left out: it set another agent's task. Raises InvalidRecording, and
    RequestTooLarge if the next request can't be made.
    """
    with closing(Replayer(policy, window_size)) as replayer:
        for message, turn_ends in with_turn_ends(list(read_messages(path))):
            if message["role"] == "assistant":
                with suppress(RequestTooLarge, RequestInvalid):  # the recorded agent went on all the same
                    replayer.request()
            replayer.feed(message)
            if turn_ends:
                replayer.end_turn()
        # A request ends with the user's message; each question takes the place of this one.
        replayer.feed({"role": "user", "content": _PLACEHOLDER})
        messages = [as_message(message) for message in replayer.request()]
        return ReplayedWindow(_without_system(messages[:-1]), replayer.session.memory, replayer.session)


def replay_history(path: Path) -> ReplayedWindow:
    """Return the whole history of a recording, as it would be sent without context management."""
    return replay_window(path, PROFILES["off"], _UNLIMITED_WINDOW)


def _without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if message.role != "system")
