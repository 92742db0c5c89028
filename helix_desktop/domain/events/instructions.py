"""Events of what a session's agent is told of its workspace: the environment, and instructions."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.events.base import EventBase

StandingKind = Literal["environment", "personal", "project", "workspace", "run"]
"""Whose text: the app's on the environment, the user's for all workspaces, a file's in the workspace, the
user's for this workspace, or the user's for one run of the command line."""

StandingProblem = Literal["", "cut", "gone", "refused", "binary", "unreadable", "no_room"]
"""Why a file is not sent as a whole: too large, deleted, a path that no tool may read (such as a link out of
the workspace), no text, an error, or too many instructions already."""


class StandingText(msgspec.Struct, frozen=True):
    """A text that stands in every request of a session, as it is sent, and its tokens.

    `path` names its file, relative to the workspace; `sha256` is of its first 32 KB and a byte (of what was
    sent and a byte, if an older release wrote it), `size` is the whole file's.
    """

    kind: StandingKind
    text: str
    tokens: int = 0
    path: str = ""
    sha256: str = ""
    size: int = 0
    problem: StandingProblem = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about: a newer text with the same key takes its place."""
        return self.kind, self.path


class OpeningGiven(EventBase, frozen=True, tag="opening-given"):
    """The session's agent was told of its environment and instructions, at the first message, for good.

    As they were then, so that the bytes of the system message never change, in branches either.
    """

    texts: tuple[StandingText, ...]


class InstructionsAdded(EventBase, frozen=True, tag="instructions-added"):
    """Instructions came later: from a folder where the agent works now, or they `changed` on disk."""

    text: StandingText
    changed: bool = False


def join_texts(system: str, texts: tuple[StandingText, ...]) -> str:
    """Return the system message of a session: the system prompt, and behind it what was told at its start."""
    return "\n\n".join(part for part in (system, *(text.text for text in texts)) if part)
