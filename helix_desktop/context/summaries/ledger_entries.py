"""The entries of the artifact ledger, and how each, and each command, is written in one line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.own_tools import ToolKind
from helix_desktop.domain.skills import skill_named
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.domain.text_variants import has_form_of_secret

# The next two begin only where spaces do: else a long run of them takes the square of its length.
_HIDES_OUTPUT = re.compile(r"(?<!\s)\s*(?:2>&1|[12&]?>\s*/dev/null)(?=[\s;|&]|$)")
_CUTS_OUTPUT = re.compile(r"(?<!\s)\s*\|\s*(?:head|tail)\b[^|;&\n]*$")
_CONTINUES = re.compile(r"\\\s*\n|(?<!\S)\\\s+")
_SET = re.compile(r"(?<!\S)([A-Za-z_]\w*=)\S+")
_REMEMBERED_COMMANDS = 1_024  # each stands in one ledger after the other
_GAP = "…"


def _without_output_options(command: str) -> str:
    return _CUTS_OUTPUT.sub("", _HIDES_OUTPUT.sub("", _CONTINUES.sub(" ", command)))


@lru_cache(_REMEMBERED_COMMANDS)
def whole_command(command: str) -> str:
    """Return a command in one line without the options that only hide or cut its output."""
    return " ".join(_without_output_options(command).split())


@lru_cache(_REMEMBERED_COMMANDS)
def short_command(command: str, cap: int) -> str:
    """Return a command in one line of at most `cap` characters, without secrets that are set for it."""
    line = _SET.sub(_without_secret, whole_command(command)[: 4 * cap])
    return line if len(line) <= cap else f"{line[: cap - 1]}{_GAP}"


def _without_secret(setting: re.Match[str]) -> str:
    return f"{setting[1]}{_GAP}" if has_form_of_secret(setting[0]) else setting[0]


FLAGS: dict[ToolKind, str] = {"read": "r", "list": "l", "search": "s", "write": "w", "edit": "e"}
LEGEND = "r read, l listed, s searched, w written, e edited; the hex words are digest prefixes to recall"
_SKILL_LEGEND = "skill: it was used, recall it before you go on with its task"
COMMAND_CHARS = 80  # characters of a command that are shown
_DIGEST_DIGITS = 12  # hex digits of a digest in the ledger: recall accepts any unambiguous prefix from 8 on
NOTHING = digest_of(b"")
_RESULT_CHARS = 120
_NAMED_PATHS = 4  # of a working tree
LedgerFileState = Literal["", "generated", "deleted"]


def legend_of(ledger: str) -> str:
    """Return what the signs in the lines of a ledger mean."""
    has_skill = any(line.startswith("skill ") for line in ledger.splitlines())
    return f"{LEGEND}; {_SKILL_LEGEND}" if has_skill else LEGEND


class LedgerFile(msgspec.Struct, frozen=True):
    """A path, everything done to it (FLAGS), and its newest event; `state` names what flags do not.

    `digest` is of what was read or found there last, in event `stored_seq`: of an edited file the text of
    before, empty once it was written whole. `revert` is the user's that
    took back what was done to it. `is_skill`: the agent is told of the skills in its folder.
    """

    path: str
    flags: str
    digest: str
    seq: int
    state: LedgerFileState = ""
    stored_seq: int = 0
    revert: FileRevert | None = None
    is_skill: bool = False

    @property
    def skill(self) -> str:
        """Return the path if it is the file of a skill; empty for other files."""
        return self.path if self.is_file and self.is_skill else ""

    @property
    def is_reverted(self) -> bool:
        """Return True if nothing stands of what was done to it."""
        return self.revert is not None and not self.revert.is_partial

    @property
    def is_file(self) -> bool:
        """Return True if it was more than listed or searched: then it may be a folder or a pattern."""
        return bool(self.state) or not {"r", "w", "e"}.isdisjoint(self.flags)

    @property
    def is_changed(self) -> bool:
        """Return True if it was written, edited or generated, is still there, and was not reverted."""
        return self.has_changes and not self.is_reverted

    @property
    def has_changes(self) -> bool:
        """Return True if it was written, edited or generated, and was not deleted since."""
        return self.state != "deleted" and (
            self.state == "generated" or not {"w", "e"}.isdisjoint(self.flags)
        )

    @property
    def line(self) -> str:
        revert = (
            f" ({'partly ' * self.revert.is_partial}reverted by the user, e{self.revert.seq})"
            if self.revert
            else ""
        )
        is_skill = bool(self.skill and self.digest) and not self.has_changes
        flags = self.state or ("skill" if is_skill else self.flags)
        if not self.digest:
            return _entry(flags, self.path, "", self.seq) + revert
        edited = f" (edited since, e{self.seq})" if self.stored_seq < self.seq else ""
        return f"{_entry(flags, self.path, self.digest, self.stored_seq)}{edited}{revert}"


class AttachedContent(msgspec.Struct, frozen=True):
    label: str
    digest: str
    seq: int

    @property
    def skill(self) -> str:
        return self.label if skill_named(self.label) else ""

    @property
    def line(self) -> str:
        return _entry("skill" if self.skill else "attached", self.label, self.digest, self.seq)


class CommandRun(msgspec.Struct, frozen=True):
    """A command, with the exit code, output and result of its newest run."""

    command: str
    exit_code: int | None
    digest: str
    seq: int
    ok: bool = True
    result: str = ""

    @property
    def line(self) -> str:
        code = "" if self.exit_code is None else f" (exit {self.exit_code})"
        start = f"{'$' if self.ok else '!'} {short_command(self.command, COMMAND_CHARS)}{code}"
        return _with_result(_entry(start, "", self.digest, self.seq), self.result)


class Failure(msgspec.Struct, frozen=True):
    """A tool call other than a command that failed, and the line of its output that says why."""

    tool: str
    target: str
    text: str
    seq: int
    digest: str = ""

    @property
    def line(self) -> str:
        start = f"! {self.tool} {one_line(self.target)}"
        return _with_result(_entry(start, "", self.digest, self.seq), self.text)


class GitCommit(msgspec.Struct, frozen=True):
    """A commit that a command made on a branch."""

    digest: str
    branch: str
    subject: str
    seq: int

    @property
    def line(self) -> str:
        return f"commit {self.digest} e{self.seq}: {self._details}"

    @property
    def text(self) -> str:
        return f"Committed {self.digest}: {self._details}"

    @property
    def _details(self) -> str:
        return f"{self.subject} ({self.branch})"


class WorkingTree(msgspec.Struct, frozen=True):
    """What `git status` said: the files that are changed or not tracked, and not committed.

    `is_older` is True if files were changed since.
    """

    seq: int
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    is_older: bool = False

    @property
    def line(self) -> str:
        return f"git status e{self.seq}: {self._details}"

    @property
    def text(self) -> str:
        return f"Working tree as of `git status`: {self._details}"

    @property
    def _details(self) -> str:
        kinds = (("changed", self.changed), ("not tracked", self.untracked))
        files = "; ".join(f"{kind}: {_first_names(paths)}" for kind, paths in kinds if paths)
        since = " (files were changed since)" if self.is_older else ""
        return f"{f'not committed, {files}' if files else 'all is committed'}{since}"


def _first_names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _NAMED_PATHS} more" if len(paths) > _NAMED_PATHS else ""
    return ", ".join(map(one_line, paths[:_NAMED_PATHS])) + more


def _entry(start: str, target: str, digest: str, seq: int) -> str:
    digest = "" if digest == NOTHING else digest
    return " ".join(f"{start} {one_line(target)} {digest[:_DIGEST_DIGITS]} e{seq}".split())


def _with_result(line: str, result: str) -> str:
    return f"{line}: {ellipsize(one_line(result), _RESULT_CHARS)}" if result.strip() else line


LedgerEntry = LedgerFile | AttachedContent | CommandRun | Failure | GitCommit | WorkingTree
