"""The demo model's scripts for sample projects, read from TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.events.rewrite import Form


class ScriptedRecall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cached output to recall, by its tool and target: the newest, or the oldest."""

    tool: str
    target: str
    pattern: str = ""
    oldest: bool = False


class ScriptStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer: its text, with placeholders that patterns fill, and its tool calls.

    `variants` are placeholders, too: each stands for the first of its texts whose facts are all found.
    """

    say: str
    find: dict[str, str] = {}
    variants: dict[str, tuple[str, ...]] = {}
    calls: tuple[dict[str, Any], ...] = ()
    recall: ScriptedRecall | None = None


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the user and the steps that answer it; the last step has no calls."""

    ask: str
    step: tuple[ScriptStep, ...]


class LargeOutputForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form in which a large output stays; `extract` is the pattern of the lines in a compact one."""

    tool: str
    target: str
    form: Form
    extract: str = ""


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script of one sample project, the folder of the same name."""

    name: str
    task: tuple[Task, ...]
    large: tuple[LargeOutputForm, ...] = ()

    @property
    def user_messages(self) -> tuple[str, ...]:
        """The user's messages, in order."""
        return tuple(task.ask for task in self.task)


def read_scripts(folder: Path) -> tuple[Script, ...]:
    """Read all scripts (`*.toml`) of a folder, by name. Raises OSError, and ValueError for an invalid one."""
    return tuple(
        msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Script)
        for path in sorted(folder.glob("*.toml"))
    )
