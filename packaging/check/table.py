"""The table of a check: each step with its result and duration."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


class Wrong(Exception):
    """A step failed; the message has the actual result."""


@dataclass
class Step:
    name: str
    detail: str = ""
    passed: bool = False
    seconds: float = 0.0

    def line(self) -> str:
        head = f"{self._verdict:<4}  {self.seconds:6.1f} s  {self.name}"
        return f"{head}: {' '.join(self.detail.split())}" if self.detail else head

    def row(self) -> str:
        detail = " ".join(self.detail.replace("|", "\\|").split())
        return f"| {self._verdict} | {self.name} | {detail} | {self.seconds:.1f} |\n"

    @property
    def _verdict(self) -> str:
        return "ok" if self.passed else "FAIL"


@dataclass
class Table:
    """The steps of one check on one system, printed as they end."""

    title: str
    is_complete: bool = False
    """True to run the long steps, too."""
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Time a step. Its failure is recorded, and the next step is tried."""
        step = Step(name)
        started = time.monotonic()
        try:
            yield step
            step.passed = True
        except (Wrong, OSError) as wrong:
            step.detail = str(wrong)
        finally:
            step.seconds = time.monotonic() - started
            self.steps.append(step)
            sys.stdout.write(f"{self.title:<16} {step.line()}\n")
            sys.stdout.flush()

    @property
    def failures(self) -> int:
        """How many steps failed."""
        return sum(not step.passed for step in self.steps)

    def write(self, path: Path) -> None:
        rows = "".join(step.row() for step in self.steps)
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f"# {self.title}\n\n| | step | seen | s |\n|---|---|---|---|\n"
        path.write_text(head + rows, encoding="utf-8")
