"""Sessions of a synthetic coding agent, deterministic, with habits measured from real ones."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REREAD_RATIO = 0.55
"""Of file reads, those of a file that was read before."""

_WORDS = (
    "tide", "level", "harbour", "mooring", "buoy", "chart", "depth", "signal", "beacon", "vessel",
    "anchor", "draft", "berth", "lock", "sluice", "swell", "gauge", "store", "index", "batch",
    "reader", "writer", "parse", "render", "count", "offset", "token", "value", "error", "result",
)  # fmt: skip
_REPLY_TEXTS = (
    "I look at it.",
    "",
    "",
    "That explains the failure.",
    "Now the tests.",
    "",
    "One more place to change.",
)


def make_session(seed: int, steps: int) -> list[dict[str, Any]]:
    """A session of so many model calls, in turns of some twelve."""
    return _SyntheticAgent(random.Random(seed)).run(steps)


def write_recordings(folder: Path, sessions: Sequence[Sequence[dict[str, Any]]]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"session-{number:02}.jsonl.gz" for number in range(len(sessions))]
    for path, messages in zip(paths, sessions, strict=True):
        path.write_bytes(gzip.compress("".join(f"{json.dumps(message)}\n" for message in messages).encode()))
    return paths


class _SyntheticAgent:
    """Reads, searches, runs and edits; the sizes of outputs are spread as in real sessions."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._files: list[str] = []
        self._calls = 0

    def run(self, steps: int) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = [{"role": "system", "content": "You work on a harbour's software."}]
        while steps > 0:
            messages.append({"role": "user", "content": f"Please look into this: {self._prose(40)}"})
            for _ in range(min(steps - 1, self._rng.randint(4, 20))):
                messages += self._step()
                steps -= 1
            messages.append({"role": "assistant", "content": f"Done. {self._prose(60)}"})
            steps -= 1
        return messages

    def _step(self) -> list[dict[str, Any]]:
        step_calls = [self._call() for _ in range(self._rng.choices((1, 2, 3), (85, 10, 5))[0])]
        calls = [call for call, _ in step_calls]
        message = {"role": "assistant", "content": self._rng.choice(_REPLY_TEXTS), "tool_calls": calls}
        return [
            message,
            *(
                {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": output}
                for call, output in step_calls
            ),
        ]

    def _call(self) -> tuple[dict[str, Any], str]:
        self._calls += 1
        name = self._rng.choices(("Read", "Grep", "Bash", "Edit"), (30, 20, 25, 25))[0]
        arguments, output = {"Read": self._read, "Grep": self._grep, "Bash": self._bash, "Edit": self._edit}[
            name
        ]()
        return {"id": f"call_{self._calls:04}", "name": name, "arguments": json.dumps(arguments)}, output

    def _read(self) -> tuple[dict[str, Any], str]:
        if not self._files or self._rng.random() > REREAD_RATIO:
            self._files.append(f"src/{self._rng.choice(_WORDS)}_{len(self._files)}.py")
            return {"file_path": self._files[-1]}, self._code(5.5)
        return {"file_path": self._rng.choice(self._files)}, self._code(5.5)

    def _grep(self) -> tuple[dict[str, Any], str]:
        return {"pattern": self._rng.choice(_WORDS), "path": "src"}, self._code(4.2)

    def _bash(self) -> tuple[dict[str, Any], str]:
        return {"command": f"pytest -k {self._rng.choice(_WORDS)}"}, self._code(4.3)

    def _edit(self) -> tuple[dict[str, Any], str]:
        path = self._rng.choice(self._files or ["src/main.py"])
        change = {"file_path": path, "old_string": self._code(3.5), "new_string": self._code(4.0)}
        return change, f"The file {path} has been updated."

    def _code(self, log_mean: float) -> str:
        """Return lines of code; `size` is the logarithm of the median number of words."""
        words = int(min(self._rng.lognormvariate(log_mean, 0.9), 9_000))
        lines = []
        while words > 0:
            name, *used = self._rng.choices(_WORDS, k=self._rng.randint(3, 7))
            lines.append(f"    {name}_{self._rng.randint(1, 999)} = {'.'.join(used)}({used[0]!r})")
            words -= len(used)
        return "\n".join(lines)

    def _prose(self, word_count: int) -> str:
        return " ".join(self._rng.choices(_WORDS, k=word_count)) + "."
