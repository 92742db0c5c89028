"""Made-up recordings of agent sessions, in the shape that a replay takes; a seed gives always the same."""

from __future__ import annotations

import json
import random
from typing import Any

_WORDS = tuple(
    ["the", "cache", "holds", "every", "output", "under", "its", "hash", "and", "the", "window", "shows", "a", "marker", "that", "leads", "back", "to", "it", "when", "a", "test", "fails", "because", "parse_header", "returns", "None", "for", "empty", "input", "then", "fix", "handler.go", "line", "42", "error", "exit"]
)
_TOOLS = ("Read", "Bash", "Grep", "Edit", "Write")


class Recorder:
    """Makes up one session, message by message."""

    def __init__(self, seed: int, largest: int = 1_500) -> None:
        self._random = random.Random(seed)
        self._largest = largest  # words of the largest output
        self._calls = 0
        self.messages: list[dict[str, Any]] = []

    def turns(self, count: int, steps: int) -> list[dict[str, Any]]:
        """So many turns of at most so many steps."""
        self.messages.append({"role": "system", "content": "You work on a project."})
        for _ in range(count):
            self.messages.append({"role": "user", "content": self._text(5, 80)})
            for _ in range(self._random.randint(1, steps)):
                self._step()
            self.messages.append({"role": "assistant", "content": self._text(3, 60)})
        return self.messages

    def _step(self) -> None:
        calls = [self._call() for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        said = self._text(0, 25) if self._random.random() > 0.2 else ""
        self.messages.append({"role": "assistant", "content": said, "tool_calls": calls})
        for call in calls:
            size = min(self._largest, int(self._random.lognormvariate(4.0, 1.6)))
            content = self._text(size, size)
            self.messages.append(
                {"role": "tool", "content": content, "tool_call_id": call["id"], "name": call["name"]}
            )

    def _call(self) -> dict[str, Any]:
        self._calls += 1
        name = self._random.choice(_TOOLS)
        given = {"file_path": f"src/part{self._random.randint(1, 9)}.py"}
        if name == "Bash":
            given = {"command": f"make test-{self._random.randint(1, 9)}"}
        if name == "Write":
            given["content"] = self._text(50, 400)
        return {"id": f"call_{self._calls:04}", "name": name, "arguments": json.dumps(given)}

    def _text(self, least: int, most: int) -> str:
        words = self._random.choices(_WORDS, k=self._random.randint(least, most))
        return "".join(word + self._random.choice("    \n") for word in words).strip()
