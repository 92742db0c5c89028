"""The end of a server's standard error, without secrets and safe to display."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from helix_desktop.domain.redaction.report_text import MIN_SECRET_LENGTH
from helix_desktop.domain.translatable_text import OptionalText
from helix_desktop.domain.unicode_safety import escape_hidden

MAX_CHARS = 64 * 1024  # characters
MAX_LINE_CHARS = 2_000  # characters; the rest of a longer line is left out
REDACTED = "•••"
_CREDENTIALS = re.compile(
    r"(?i)\b(bearer|authorization(?! header):?\s*\w*|(?:api[_-]?key|token|secret|password)\s*[=:])\s*\S+"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


class StderrLog:
    """The last lines of a stream, over successive programs."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0
        self._partial_line = ""
        self._secrets: tuple[str, ...] = ()
        self.exit_text: OptionalText = ""
        """How the newest program ended; empty if it did not."""
        self.dropped_lines = 0
        """Number of lines that were dropped."""

    def set_secrets(self, secrets: Iterable[str]) -> None:
        """Redact these from now on; the longest first, so that none leaves a part of another visible."""
        redactable = {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}
        self._secrets = tuple(sorted(redactable, key=len, reverse=True))

    def add(self, text: str) -> None:
        """Add the next chunk; lines are stored when they are complete."""
        *lines, partial = (self._partial_line + text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        for line in lines:
            self._append(line)
        self._partial_line = partial if len(partial) <= MAX_CHARS else partial[:MAX_LINE_CHARS] + " …"

    def note(self, text: str) -> None:
        """Add a line of our own, after finishing the current one."""
        if self._partial_line:
            self._append(self._partial_line)
            self._partial_line = ""
        self._append(f"— {text}")

    @property
    def text(self) -> str:
        """All stored lines."""
        dropped = [f"[{self.dropped_lines:,} earlier lines are not kept]"] if self.dropped_lines else []
        end = [self.sanitize(self._partial_line)] if self._partial_line else []
        return "\n".join([*dropped, *self._lines, *end])

    @property
    def last_line(self) -> str:
        """The last line that is not blank and not our own."""
        lines = [*self._lines, self.sanitize(self._partial_line)]
        return next((line for line in reversed(lines) if line.strip() and not line.startswith("— ")), "")

    def _append(self, line: str) -> None:
        sanitized = self.sanitize(line)
        self._lines.append(sanitized)
        self._size += len(sanitized) + 1
        while self._size > MAX_CHARS:
            self._size -= len(self._lines.popleft()) + 1
            self.dropped_lines += 1

    def sanitize(self, line: str) -> str:
        """Remove secrets, color codes and hidden characters from a line, and cut it to a readable length."""
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        line = _CREDENTIALS.sub(lambda match: f"{match[1]} {REDACTED}", _ESCAPES.sub("", line))
        text = escape_hidden(line[:MAX_LINE_CHARS])
        return f"{text} …" if len(line) > MAX_LINE_CHARS else text
