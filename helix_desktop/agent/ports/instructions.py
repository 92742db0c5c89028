"""Port: the environment and the instructions of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from helix_desktop.domain.events.workspace import StandingText


class InstructionSource(Protocol):
    """The environment and the instructions of a workspace; reads off the calling thread, bounded in time.

    Texts come as they are sent, not counted yet. `in_force` are those that a session was told, by their keys;
    `window_size` is its model's, in tokens: small ones get less of a file. Nothing of an untrusted folder is
    read.
    """

    async def opening(self, window_size: int) -> tuple[StandingText, ...]:
        """Return what is told with a session's first message, the most general first."""
        ...

    async def changes(
        self, in_force: Mapping[tuple[str, str], StandingText], window_size: int
    ) -> tuple[tuple[StandingText, bool], ...]:
        """Return what is new since, or changed on disk; True for the latter."""
        ...

    async def in_folders(
        self, folders: Iterable[str], in_force: Mapping[tuple[str, str], StandingText], window_size: int
    ) -> tuple[StandingText, ...]:
        """Return the instructions in folders of the workspace, and in those above, that are not in force."""
        ...
