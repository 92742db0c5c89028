"""The artifact ledger: files and commands that a range of events touched, found without a model."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.tool_call_target import ToolKind, tool_kind

FLAGS: dict[ToolKind, str] = {"read": "r", "list": "l", "search": "s", "write": "w", "edit": "e"}
LEGEND = "r read, l listed, s searched, w written, e edited; the hex words are digest prefixes to recall"
_DIGEST_DIGITS = 12  # hex digits of a digest in the ledger: recall accepts any unambiguous prefix from 8 on
_CHARS_PER_TOKEN = 3
_MAX_FAILURES = 5
_COUNTED_OUTCOMES = ("ran", "stopped")


def _one_line(text: str) -> str:
    """Join lines: a line break in a command or path must not begin a line that looks like another entry."""
    return " ".join(text.split())


class FileUse(msgspec.Struct, frozen=True):
    """A path, everything done to it (FLAGS), its newest output and event."""

    path: str
    flags: str
    digest: str
    seq: int

    @property
    def line(self) -> str:
        """Return the ledger's line."""
        return f"{self.flags} {_one_line(self.path)} {self.digest[:_DIGEST_DIGITS]} e{self.seq}"


class CommandRun(msgspec.Struct, frozen=True):
    """A command, with the exit code and output of its newest run."""

    command: str
    exit_code: int | None
    digest: str
    seq: int

    @property
    def line(self) -> str:
        """Return the ledger's line."""
        code = "?" if self.exit_code is None else self.exit_code
        return f"$ {_one_line(self.command)[:160]} (exit {code}) {self.digest[:_DIGEST_DIGITS]} e{self.seq}"


class Failure(msgspec.Struct, frozen=True):
    """A tool call that failed, and the first line of its output."""

    tool: str
    target: str
    text: str
    seq: int

    @property
    def line(self) -> str:
        """Return the ledger's line."""
        return f"! {self.tool} {_one_line(self.target)[:80]}: {self.text} e{self.seq}"


class Ledger(msgspec.Struct):
    """Files by path, commands by their text, failures; each newest last."""

    files: dict[str, FileUse] = {}
    commands: dict[str, CommandRun] = {}
    failures: list[Failure] = []

    def text(self, cap: int) -> str:
        """Return the ledger in about `cap` tokens at most, newest first; omitted lines are counted."""
        lines = [entry.line for entry in reversed([*self.files.values()])]
        lines += [entry.line for entry in reversed([*self.commands.values()])]
        lines += [entry.line for entry in reversed(self.failures[-_MAX_FAILURES:])]
        chars_left = cap * _CHARS_PER_TOKEN
        fitting: list[str] = []
        for line in lines:
            if len(line) + 1 <= chars_left:
                fitting.append(line)
                chars_left -= len(line) + 1
        if len(fitting) < len(lines):
            fitting.append(f"… {len(lines) - len(fitting)} more in the index")
        return "\n".join(fitting)


def build_ledger(items: Iterable[LogItem]) -> Ledger:
    """Return the ledger of these messages, in their order."""
    ledger = Ledger()
    for item in items:
        if isinstance(item.event, ToolAnswered) and item.event.outcome in _COUNTED_OUTCOMES:
            _add_answer(ledger, item.event, item.seq)
    return ledger


def _add_answer(ledger: Ledger, answer: ToolAnswered, seq: int) -> None:
    kind = tool_kind(answer.name)
    if answer.recalled:
        return
    if kind in FLAGS and answer.target and answer.ok:
        previous = ledger.files.pop(answer.target, None)
        flags = previous.flags if previous else ""
        flag = FLAGS[kind]
        joined = flags if flag in flags else flags + flag
        ledger.files[answer.target] = FileUse(answer.target, joined, answer.digest, seq)
    elif kind == "command":
        ledger.commands.pop(answer.target, None)
        run = CommandRun(answer.target, answer.exit_code, answer.digest, seq)
        ledger.commands[answer.target] = run
    if not answer.ok:
        ledger.failures.append(Failure(answer.name, answer.target, answer.first_line, seq))
