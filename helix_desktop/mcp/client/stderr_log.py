"""What a server says beside the protocol: the end of its standard error, without secrets, fit to be shown."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from helix_desktop.domain.unicode_safety import escape_hidden

MAX_CHARS = 64 * 1024  # characters
MAX_LINE_CHARS = 2_000  # characters; the rest of a longer line is left out
REDACTED = "•••"
_MIN_SECRET_CHARS = 4  # a secret shorter than that would blot out ordinary words
_CREDENTIALS = re.compile(
    r"(?i)\b(bearer|authorization:?\s*\w*|(?:api[_-]?key|token|secret|password)\s*[=:])\s*\S+"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


class StderrLog:
    """The last lines of a stream, of many programs one after the other."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0
        self._partial_line = ""
        self._secrets: tuple[str, ...] = ()
        self.dropped_lines = 0
        """Lines that are no longer kept."""

    def set_secrets(self, secrets: Iterable[str]) -> None:
        """Never show these from now on; the longest go first, so that none shows a part of another."""
        known = {secret for secret in secrets if len(secret) >= _MIN_SECRET_CHARS}
        self._secrets = tuple(sorted(known, key=len, reverse=True))

    def add(self, text: str) -> None:
        """Take the next piece; lines are kept when they are whole."""
        *whole, rest = (self._partial_line + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in whole:
            self._append(line)
        self._partial_line = rest if len(rest) <= MAX_CHARS else rest[:MAX_LINE_CHARS] + " …"

    def note(self, text: str) -> None:
        """Add a line of our own, after whatever stands on the last one."""
        if self._partial_line:
            self._append(self._partial_line)
            self._partial_line = ""
        self._append(f"— {text}")

    @property
    def text(self) -> str:
        """Everything that is kept."""
        gone = [f"[{self.dropped_lines:,} earlier lines are not kept]"] if self.dropped_lines else []
        end = [self.sanitize(self._partial_line)] if self._partial_line else []
        return "\n".join([*gone, *self._lines, *end])

    @property
    def last_line(self) -> str:
        """The last line that says something."""
        lines = [*self._lines, self.sanitize(self._partial_line)]
        return next((line for line in reversed(lines) if line.strip() and not line.startswith("— ")), "")

    def _append(self, line: str) -> None:
        shown = self.sanitize(line)
        self._lines.append(shown)
        self._size += len(shown) + 1
        while self._size > MAX_CHARS:
            self._size -= len(self._lines.popleft()) + 1
            self.dropped_lines += 1

    def sanitize(self, line: str) -> str:
        """A text without known secrets, colours and hidden signs, of a readable length."""
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        line = _CREDENTIALS.sub(lambda found: f"{found[1]} {REDACTED}", _ESCAPES.sub("", line))
        shown = escape_hidden(line[:MAX_LINE_CHARS])
        return f"{shown} …" if len(line) > MAX_LINE_CHARS else shown
