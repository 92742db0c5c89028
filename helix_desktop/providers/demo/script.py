"""The demo model's scripts: what it does in a sample project, read from TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec


class Recall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cached output to get back: by the tool that made it and its target; the newest, or the oldest."""

    tool: str
    target: str
    pattern: str = ""
    oldest: bool = False


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer: what is said, with places that patterns fill, and the calls that follow."""

    say: str
    find: dict[str, str] = {}
    calls: tuple[dict[str, Any], ...] = ()
    recall: Recall | None = None


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the user and the steps that answer it; the last one has no calls."""

    ask: str
    step: tuple[Step, ...]


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the demo model can do in one sample project, the folder of that name."""

    name: str
    task: tuple[Task, ...]

    @property
    def user_messages(self) -> tuple[str, ...]:
        """The user's messages, in order."""
        return tuple(task.ask for task in self.task)


def read_scripts(folder: Path) -> tuple[Script, ...]:
    """All scripts (`*.toml`) of a folder, by name. Raises OSError, ValueError when one is not a script."""
    return tuple(
        msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Script)
        for path in sorted(folder.glob("*.toml"))
    )
