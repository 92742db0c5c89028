"""The demo model's scripts for sample projects, read from TOML, and its place in one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.domain.choices import SamplePlace
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
    """A message of the user and the steps that answer it; the last step has no calls.

    `look_at` is the part of the window that shows best what it does.
    """

    ask: str
    step: tuple[ScriptStep, ...]
    look_at: SamplePlace = ""


class LargeOutputForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form in which a large output stays; `extract` is the pattern of the lines in a compact one."""

    tool: str
    target: str
    form: Form
    extract: str = ""


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script of one sample project, the folder of the same name; its session has the `title`."""

    name: str
    task: tuple[Task, ...]
    large: tuple[LargeOutputForm, ...] = ()
    title: str = ""

    @property
    def user_messages(self) -> tuple[str, ...]:
        return tuple(task.ask for task in self.task)


def read_scripts(folder: Path) -> tuple[Script, ...]:
    """Read all scripts (`*.toml`) of a folder, by name. Raises OSError, and ValueError for an invalid one."""
    return tuple(
        msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Script)
        for path in sorted(folder.glob("*.toml"))
    )


_FACT = re.compile(r"\{\w+\}")
_PLACE = re.compile(r"Request (\d+)(?:: all|:) (\d+)")
"""A request and its steps that are done."""


class ScriptPosition(msgspec.Struct, frozen=True):
    """A task of a script (from 0), and the number of its steps that are done."""

    script: Script
    task_index: int
    steps_done: int

    @property
    def task(self) -> Task:
        return self.script.task[self.task_index]

    @property
    def is_finished(self) -> bool:
        return self.steps_done >= len(self.task.step)

    @property
    def place(self) -> str:
        """The sentence by which a handover keeps the position, counted from 1."""
        count = len(self.task.step)
        state = f"all {count} steps done" if self.is_finished else f"{self.steps_done} of {count} steps done"
        return f"Request {self.task_index + 1}: {state}."


def last_step(text: str, task: Task) -> int:
    """Return the last step of a task, from 1, that an answer speaks; 0 if it speaks none."""
    words = " ".join(text.split())
    steps = range(len(task.step), 0, -1)
    return next((number for number in steps if _pattern_of(task.step[number - 1].say).search(words)), 0)


def newest_position(texts: Iterable[str], scripts: Sequence[Script]) -> ScriptPosition | None:
    """Return the position that the first of these answers with one has; None if none has."""
    for text in texts:
        for script in scripts:
            for index, task in enumerate(script.task):
                if step := last_step(text, task):
                    return ScriptPosition(script, index, step)
    return None


def placed_step(summary: str, task_index: int) -> int:
    """Return the number of a task's steps that a handover calls done; 0 if it says nothing of the task."""
    steps = [int(step) for task, step in _PLACE.findall(summary) if int(task) == task_index + 1]
    return steps[-1] if steps else 0


@cache
def _pattern_of(say: str) -> re.Pattern[str]:
    """Return the pattern of a step's text, whatever facts it was filled with."""
    parts = _FACT.split(" ".join(say.split()))
    return re.compile(".*?".join(re.escape(part) for part in parts))
