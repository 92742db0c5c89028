"""What the work of a session or a workspace is doing, as badges, dots and the top bar say it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.ui.design.cards import Tone
from helix_desktop.words.translation import translate

if TYPE_CHECKING:
    from helix_desktop.agent.conversation import Conversation

text = TextContext("Window")

_Working = Literal["waiting", "retrying", "running"]
WorkState = Literal["", _Working, "failed", "budget", "interrupted", "stopped", "missing"]
"""What a session does or how its newest turn ended, the most urgent first; `missing` is a folder."""
WORKING: frozenset[WorkState] = frozenset(("waiting", "retrying", "running"))


class StateLook(NamedTuple):
    """What is said of a state, also in a word; the token of its dot's color, and the tone of its pill."""

    words: TranslatableText
    word: TranslatableText
    dot: str
    tone: Tone | None = None


STATES: dict[WorkState, StateLook] = {
    "": StateLook(verbatim(""), verbatim(""), ""),
    "waiting": StateLook(text("Waiting for you"), text("Waiting"), "seg_output", "accent"),
    "retrying": StateLook(text("Retrying"), text("Retrying"), "warn", "warn"),
    "running": StateLook(text("Working"), text("Working"), "seg_assistant", "ok"),
    "failed": StateLook(text("Last turn failed"), text("Failed"), "error", "error"),
    "budget": StateLook(text("Budget spent"), text("Budget spent"), "warn", "warn"),
    "interrupted": StateLook(text("Interrupted"), text("Interrupted"), "warn", "warn"),
    "stopped": StateLook(text("Stopped"), text("Stopped"), ""),
    "missing": StateLook(text("Folder not found"), text("Folder not found"), "error"),
}


def state_words(state: WorkState) -> str:
    return translate(STATES[state].words)


def work_state(conversations: Iterable[Conversation], *, is_interrupted: bool = False) -> WorkState:
    """Return the most urgent state of what is open in some conversations."""
    here = tuple(conversations)
    if any(conversation.asks for conversation in here):
        return "waiting"
    if any(conversation.response.retry_reason for conversation in here):
        return "retrying"
    if any(conversation.is_running for conversation in here):
        return "running"
    return "interrupted" if is_interrupted else ""
