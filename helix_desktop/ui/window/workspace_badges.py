"""How workspaces and their work are shown: names, initials and colors; states as badges, dots and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple

from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.ui.design.cards import Tone
from helix_desktop.words.git import NO_GIT, GitText
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
    "running": StateLook(text("Working"), text("Working"), "seg_turn", "ok"),
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


WORKSPACE_COLORS = ("#5753d8", "#0f766e", "#b4451f", "#1f62c4", "#a8326f", "#4d7c0f", "#7c3aed", "#475569")
"""Grounds that keep white initials at 4.5:1 or more."""


class WorkspaceRow(NamedTuple):
    """One workspace in rail and picker; `color` is #rrggbb, empty strings let the sidebar choose."""

    id: str
    name: str
    path: str
    color: str = ""
    initials: str = ""
    active: bool = False
    badge: WorkState = ""
    cache: str = ""  # size of its cache as text, e.g. "2.1 MB"
    git: GitText = NO_GIT

    def display_color(self) -> str:
        return self.color or default_color(self.id)

    def display_initials(self) -> str:
        return self.initials or default_initials(self.name)


def default_color(workspace_id: str) -> str:
    """Return the color of a workspace id, the same on every machine."""
    import hashlib  # loads OpenSSL: not before the first frame

    return WORKSPACE_COLORS[hashlib.sha256(workspace_id.encode()).digest()[0] % len(WORKSPACE_COLORS)]


def default_initials(name: str) -> str:
    """Return one or two signs for a name: the initials of two words, or the first two letters of one.

    Of one word that ends with a number, its first letter and last digit: `repo` and `repo2` differ.
    """
    words = [word for word in name.replace("-", " ").replace("_", " ").replace(".", " ").split() if word]
    if not words:
        return "?"
    if len(words) == 1:
        if words[0][:1].isalpha() and words[0][-1].isdigit():
            return (words[0][0] + words[0][-1]).upper()
        return words[0][:2].upper() if words[0].isascii() else words[0][:1]
    return (words[0][:1] + words[1][:1]).upper()


def distinct_colors(ids: Iterable[str]) -> dict[str, str]:
    """Return colors for workspaces, different ones while there are enough; the first come first."""
    colors: dict[str, str] = {}
    for workspace_id in ids:
        first = WORKSPACE_COLORS.index(default_color(workspace_id))
        turned = (*WORKSPACE_COLORS[first:], *WORKSPACE_COLORS[:first])
        colors[workspace_id] = next((color for color in turned if color not in colors.values()), turned[0])
    return colors


def disambiguate(paths: Sequence[str]) -> list[str]:
    """Return the shortest words that tell folders apart: as many parents as it takes, else the whole path."""
    folders = [PurePath(path) for path in paths]
    for parents in range(1, max((len(folder.parts) for folder in folders), default=0)):
        tails = ["/".join(folder.parts[:-1][-parents:]) for folder in folders]
        if len(set(tails)) == len(folders):
            return tails
    return list(paths)
