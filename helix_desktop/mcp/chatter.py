"""What a server says beside the protocol: the end of its standard error, without secrets, fit to be shown."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from helix_desktop.context.signs import revealed

KEPT = 64 * 1024  # characters
LONGEST_LINE = 2_000  # characters; the rest of a longer line is left out
HIDDEN = "•••"
_SHORTEST = 4  # a secret shorter than that would blot out ordinary words
_TELLTALE = re.compile(
    r"(?i)\b(bearer|authorization:?\s*\w*|(?:api[_-]?key|token|secret|password)\s*[=:])\s*\S+"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


class Chatter:
    """The last lines of a stream, of many programs one after the other."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0
        self._open = ""
        self._secrets: tuple[str, ...] = ()
        self.left_out = 0
        """Lines that are no longer kept."""

    def hide(self, secrets: Iterable[str]) -> None:
        """Never show these from now on; the longest go first, so that none shows a part of another."""
        known = {secret for secret in secrets if len(secret) >= _SHORTEST}
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def add(self, text: str) -> None:
        """Take the next piece; lines are kept when they are whole."""
        *whole, rest = (self._open + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in whole:
            self._keep(line)
        self._open = rest if len(rest) <= KEPT else rest[:LONGEST_LINE] + " …"

    def note(self, text: str) -> None:
        """Add a line of our own, after whatever stands on the last one."""
        if self._open:
            self._keep(self._open)
            self._open = ""
        self._keep(f"— {text}")

    @property
    def text(self) -> str:
        """Everything that is kept."""
        gone = [f"[{self.left_out:,} earlier lines are not kept]"] if self.left_out else []
        end = [self.safe(self._open)] if self._open else []
        return "\n".join([*gone, *self._lines, *end])

    @property
    def last(self) -> str:
        """The last line that says something."""
        lines = [*self._lines, self.safe(self._open)]
        return next((line for line in reversed(lines) if line.strip() and not line.startswith("— ")), "")

    def _keep(self, line: str) -> None:
        shown = self.safe(line)
        self._lines.append(shown)
        self._size += len(shown) + 1
        while self._size > KEPT:
            self._size -= len(self._lines.popleft()) + 1
            self.left_out += 1

    def safe(self, line: str) -> str:
        """A text without known secrets, colours and hidden signs, of a readable length."""
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        line = _TELLTALE.sub(lambda found: f"{found[1]} {HIDDEN}", _ESCAPES.sub("", line))
        shown = revealed(line[:LONGEST_LINE])
        return f"{shown} …" if len(line) > LONGEST_LINE else shown
