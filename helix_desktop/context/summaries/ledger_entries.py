"""The entries of the artifact ledger, and how each, and each command, is written in one line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.own_tools import ToolKind
from helix_desktop.domain.skills import skill_named
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.domain.text_variants import has_form_of_secret

_QUOTED_OR_JOIN = re.compile(r'(?<!\\)"(?:\\.|[^"\\])*+"' r"|'[^']*'|(&&|\|\||[;\n])", re.DOTALL)
_PREPARES = re.compile(r"(?:cd|pushd|popd|export|set|source|echo)\b")
# The next two begin only where spaces do: else a long run of them takes the square of its length.
_HIDES_OUTPUT = re.compile(r"(?<!\s)\s*(?:2>&1|[12&]?>\s*/dev/null)(?=[\s;|&]|$)")
_CUTS_OUTPUT = re.compile(r"(?<!\s)\s*\|\s*(?:head|tail)\b[^|;&\n]*$")
_CONTINUES = re.compile(r"\\\s*\n|(?<!\S)\\\s+")
_SETS = re.compile(
    r"""(?:^|\s)([A-Za-z_]\w*=(?:[^\s"'`$(){};|&]{1,24}|"[^"`$]{1,24}"|'[^']{1,24}'))(?=[\s;&]|$)"""
)
_REMEMBERED_COMMANDS = 1_024  # each stands in one ledger after the other
_COMPARED_CHARS = 4_000  # characters of a command
_GAP = "…"


def main_part(command: str) -> str:
    """Return the longest part of a command line that does more than prepare others: what it is about."""
    parts = [" ".join(part.split()) for part in _parts(_without_output_options(command))]
    return max(parts, key=lambda part: (not _PREPARES.match(part), len(part)))


def _without_output_options(command: str) -> str:
    return _CUTS_OUTPUT.sub("", _HIDES_OUTPUT.sub("", _CONTINUES.sub(" ", command)))


def _parts(command: str) -> Iterator[str]:
    """Yield what is run one after the other; a document behind `<<` belongs to its command."""
    start = 0
    for match in _QUOTED_OR_JOIN.finditer(command):
        if match[1]:
            part = command[start : match.start()]
            if "<<" in part:
                break
            yield part
            start = match.end()
    yield command[start:]


@lru_cache(_REMEMBERED_COMMANDS)
def whole_command(command: str) -> str:
    """Return a command in one line without the options that only hide or cut its output."""
    return " ".join(_without_output_options(command).split())


@lru_cache(_REMEMBERED_COMMANDS)
def short_command(command: str, cap: int) -> str:
    """Return a command in one line of at most `cap` characters: of a longer one its main part.

    What it sets for that by `NAME=value` stands before it: two runs of a script often differ in that alone.
    """
    line = whole_command(command)
    if len(line) <= cap:
        return line
    main = main_part(command)
    if not line.startswith(main):
        before = line.partition(main)[0]
        values = " ".join(value for value in _SETS.findall(before) if not has_form_of_secret(value))
        values = f"{values} " if 0 < len(values) <= cap // 2 else ""
        line = f"{values}{_GAP} {main}"
    return _cut(line, cap)


def tell_apart(command: str, others: Collection[str], cap: int) -> str:
    """Return a shown command with the first words in which it differs from `others` that look the same."""
    short, line = short_command(command, cap), whole_command(command)
    if not others:
        return short
    same = max(_same_chars(line, whole_command(other)) for other in others)
    start, main = line.rfind(" ", 0, same) + 1, line.find(main_part(command))
    if start == main:
        return short
    if start < main:  # an option alone says nothing: what is run with it does
        start = max(line.rfind(sign, 0, start) + 1 for sign in "|;&")
        differs = _cut_at_word(line[start:main].strip(" &;|"), cap // 3)
        return _cut(f"{differs} {_GAP} {short.rpartition(f'{_GAP} ')[2]}", cap)
    differs = _cut(line[start:].rstrip(" &;|"), cap // 3).removesuffix(_GAP)
    return f"{_cut(short, cap - len(differs) - 3).removesuffix(_GAP)}{_GAP} {differs}{_GAP}"


def _same_chars(left: str, right: str) -> int:
    """Return how many characters are the same in both from the beginning on."""
    pairs = zip(left[:_COMPARED_CHARS], right[:_COMPARED_CHARS], strict=False)
    return next((n for n, (here, there) in enumerate(pairs) if here != there), min(len(left), len(right)))


def _cut(line: str, cap: int) -> str:
    return line if len(line) <= cap else f"{line[: cap - 1]}{_GAP}"


def _cut_at_word(line: str, cap: int) -> str:
    return line if len(line) <= cap else line[:cap].rpartition(" ")[0] or line[:cap]


FLAGS: dict[ToolKind, str] = {"read": "r", "list": "l", "search": "s", "write": "w", "edit": "e"}
LEGEND = "r read, l listed, s searched, w written, e edited; the hex words are digest prefixes to recall"
_SKILL_LEGEND = "skill: it was used, recall it before you go on with its task"
COMMAND_CHARS = 80  # characters of a command that are shown
_DIGEST_DIGITS = 12  # hex digits of a digest in the ledger: recall accepts any unambiguous prefix from 8 on
NOTHING = digest_of(b"")
_RESULT_CHARS = 120
_NAMED_PATHS = 4  # of a working tree
WITHOUT_CONTENT: tuple[StoredContent, ...] = ("no match", "failed")
LedgerFileState = Literal["", "generated", "deleted"]
StoredContent = Literal["newest", "before edits", "part", "part before edits", "no match", "failed"]


def legend_of(ledger: str) -> str:
    """Return what the signs in the lines of a ledger mean."""
    has_skill = any(line.startswith("skill ") for line in ledger.splitlines())
    return f"{LEGEND}; {_SKILL_LEGEND}" if has_skill else LEGEND


class LedgerFile(msgspec.Struct, frozen=True):
    """A path, everything done to it (FLAGS), and its newest event; `state` names what flags do not.

    `digest` is of the newest complete content that was written or read, and `stored_seq` the event that it
    came up in. An edit stores only what it puts in: then it is of the text before the edits since, and `seq`
    the newest of these. If no complete text is stored, it is of the part that an edit put in or a call read
    last; `content` tells which. Of a path that was only listed or searched it is of what was found. Of a
    lookup that found nothing, or failed, no content is stored: `content` says so. `revert` is the user's that
    took back what was done to it. `is_skill`: the agent is told of the skills in its folder.
    """

    path: str
    flags: str
    digest: str
    seq: int
    state: LedgerFileState = ""
    content: StoredContent = "newest"
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
    def holds_all(self) -> bool:
        """Return True if a complete text of the file is stored, be it of before its edits."""
        return bool(self.digest) and self.content in ("newest", "before edits")

    @property
    def line(self) -> str:
        revert = (
            f" ({'partly ' * self.revert.is_partial}reverted by the user, e{self.revert.seq})"
            if self.revert
            else ""
        )
        if not self.digest:
            outcome = f": {self.content}" if self.content in WITHOUT_CONTENT else ""
            return _entry(self.state or self.flags, self.path, "", self.seq) + outcome + revert
        flags = "skill" if self.skill and not self.has_changes else self.flags
        line = _entry(self.state or flags, self.path, self.digest, self.stored_seq)
        edit_note = f"edited since, e{self.seq}"
        notes = {
            "before edits": f" ({edit_note})",
            "part": " (part)",
            "part before edits": f" (part; {edit_note})",
        }
        return f"{line}{notes.get(self.content, '')}{revert}"


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
    """A command, with the exit code, output and result of its newest run.

    `others` are those of the session that look the same in few characters.
    """

    command: str
    exit_code: int | None
    digest: str
    seq: int
    ok: bool = True
    result: str = ""
    others: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        code = "" if self.exit_code is None else f" (exit {self.exit_code})"
        start = f"{'$' if self.ok else '!'} {tell_apart(self.command, self.others, COMMAND_CHARS)}{code}"
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
    """A commit that a command made on a branch, and whether that was pushed since.

    Of one that only a log named later the `branch` may not be known; then nothing is said of a push.
    """

    digest: str
    branch: str
    subject: str
    seq: int
    is_pushed: bool = False

    @property
    def line(self) -> str:
        return f"commit {self.digest} e{self.seq}: {self._details}"

    @property
    def text(self) -> str:
        return f"Committed {self.digest}: {self._details}"

    @property
    def _details(self) -> str:
        if not self.branch:
            return self.subject
        return f"{self.subject} ({self.branch}, {'pushed' if self.is_pushed else 'no push since'})"


class PullRequest(msgspec.Struct, frozen=True):
    address: str
    seq: int

    @property
    def line(self) -> str:
        return f"pull request e{self.seq}: {self.address}"

    @property
    def text(self) -> str:
        return f"Opened pull request {self.address}"


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


LedgerEntry = LedgerFile | AttachedContent | CommandRun | Failure | GitCommit | PullRequest | WorkingTree
