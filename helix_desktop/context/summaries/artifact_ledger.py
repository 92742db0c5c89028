"""The artifact ledger: files, attachments and commands that a range of events touched, without a model.

Also how a command, and what an output came to, stand in one line.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from helix_desktop.context.intake.descriptions import MENTION, REPORT, RESULT, find_error
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.builtin_tools import ToolKind
from helix_desktop.domain.digest import CACHE_TOOLS, digest_of
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.failed_tests import passed_tests
from helix_desktop.domain.files.file_use import is_task_tool, tool_kind
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.secret_forms import has_form_of_secret
from helix_desktop.domain.skills import skill_named
from helix_desktop.domain.text_format import ellipsize, one_line, pluralize
from helix_desktop.domain.text_variants import join_result
from helix_desktop.domain.unicode_safety import without_direction_signs

_SEARCHED = 2_000  # characters of a line that are searched
_TAIL_CHARS = 20_000  # characters of an output in which an error line is looked for, from its end
_SAYS_WHY = re.compile(r"^E {2,}\S|(?:Error|Exception|error|ERROR|fatal|FATAL)\b[^:]{0,40}: *\S")
_NOISE = re.compile(
    r"^(?:\[CACHED\]|\[…|exit (?:code|status) \d|--- Observation ---|[-=_*~#.\s]*$)", re.IGNORECASE
)


def last_informative_line(text: str) -> str:
    """Return the last line of an output that says something; empty if none does."""
    end = len(text)
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if line and not _NOISE.match(line):
            return without_direction_signs(line[:_SEARCHED])
        end = start - 1
    return ""


def described_result(about: str, exit_code: int | None) -> str:
    """Return what the description of an output says besides its exit code, without the quotes around it."""
    result = about if exit_code is None else about.removeprefix(f"exit {exit_code}").removeprefix(", ")
    return result[1:].removesuffix('"') if result.startswith('"') else result


def short_text(text: str, max_chars: int) -> str:
    """Return an output on one line if what it says has no more characters; else nothing."""
    if len(text) > 2 * max_chars:
        return ""
    lines = (" ".join(line.split()) for line in without_direction_signs(text).splitlines())
    line = join_result(line for line in lines if line and not _NOISE.match(line))
    return line if len(line) <= max_chars else ""


def error_line(text: str) -> str:
    """Return the line of an output that says why it failed, the most informative; empty if none."""
    found: dict[int, str] = {}
    for line in text[-_TAIL_CHARS:].splitlines():
        part = line[:_SEARCHED].rstrip()
        if part and not _NOISE.match(part) and (error := find_error(part)) is not None:
            found[-1 if _SAYS_WHY.search(part) else error.rank] = part.strip()
    informative = next((found[rank] for rank in (-1, REPORT, RESULT, MENTION) if rank in found), "")
    return without_direction_signs(informative)


def reports_failure(result: str) -> bool:
    """Return True for the result of a command that says that something failed, whatever its exit code."""
    error = find_error(result)
    return error is not None and error.rank == RESULT


# The next two begin only where spaces do: else a long run of them takes the square of its length.
_HIDES_OUTPUT = re.compile(r"(?<!\s)\s*(?:2>&1|[12&]?>\s*/dev/null)(?=[\s;|&]|$)")
_CUTS_OUTPUT = re.compile(r"(?<!\s)\s*\|\s*(?:head|tail)\b[^|;&\n]*$")
_CONTINUES = re.compile(r"\\\s*\n|(?<!\S)\\\s+")
_SET = re.compile(r"(?<!\S)([A-Za-z_]\w*=)\S+")
_REMEMBERED_COMMANDS = 1_024  # each stands in one ledger after the other
_GAP = "…"


@lru_cache(_REMEMBERED_COMMANDS)
def whole_command(command: str) -> str:
    """Return a command in one line, without what only hides or cuts its output."""
    command = _CONTINUES.sub(" ", command)
    return " ".join(_CUTS_OUTPUT.sub("", _HIDES_OUTPUT.sub("", command)).split())


@lru_cache(_REMEMBERED_COMMANDS)
def short_command(command: str, cap: int) -> str:
    """Return a command in one line of at most `cap` characters, without secrets that are set for it."""
    line = _SET.sub(_without_secret, whole_command(command)[: 4 * cap])
    return line if len(line) <= cap else f"{line[: cap - 1]}{_GAP}"


def _without_secret(setting: re.Match[str]) -> str:
    return f"{setting[1]}{_GAP}" if has_form_of_secret(setting[0]) else setting[0]


FLAGS: dict[ToolKind, str] = {"read": "r", "list": "l", "search": "s", "write": "w", "edit": "e"}
LEGEND = (
    "r read, l listed, s searched, w written, e edited, $ run, ! failed; "
    "the hex words are digest prefixes to recall"
)
LATER_EDITS_LEGEND = "edits after the covered events are not marked"
_SKILL_LEGEND = "skill: it was used, recall it before you go on with its task"
COMMAND_CHARS = 80  # characters of a command that are shown
_DIGEST_DIGITS = 12  # hex digits of a digest in the ledger: recall accepts any unambiguous prefix from 8 on
NOTHING = digest_of(b"")
_RESULT_CHARS = 120
LedgerFileState = Literal["", "generated", "deleted"]


def legend_of(ledger: str, edits: str = "") -> str:
    """Return what the signs in its lines mean; `edits` says which edits they mark."""
    has_skill = any(line.startswith("skill ") for line in ledger.splitlines())
    parts = (LEGEND, edits, _SKILL_LEGEND if has_skill else "")
    return "; ".join(filter(None, parts))


class LedgerFile(msgspec.Struct, frozen=True):
    """A path, everything done to it (FLAGS), and its newest event; `state` names what flags do not.

    `digest` is of what was read or found there last, in event `stored_seq`: of an edited file the text of
    before, empty once it was written whole. `lines` are those that it has if the file was never read whole,
    such as `20-60`. `revert` is the user's that took back what was done to it. `is_skill`: the agent is told
    of the skills in its folder.
    """

    path: str
    flags: str
    digest: str
    seq: int
    state: LedgerFileState = ""
    stored_seq: int = 0
    lines: str = ""
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
        target = f"{self.path}:{self.lines}" if self.lines else self.path
        return f"{_entry(flags, target, self.digest, self.stored_seq)}{edited}{revert}"


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


def _entry(start: str, target: str, digest: str, seq: int) -> str:
    digest = "" if digest == NOTHING else digest
    return " ".join(f"{start} {one_line(target)} {digest[:_DIGEST_DIGITS]} e{seq}".split())


def _with_result(line: str, result: str) -> str:
    return f"{line}: {ellipsize(one_line(result), _RESULT_CHARS)}" if result.strip() else line


LedgerEntry = LedgerFile | AttachedContent | CommandRun | Failure

_PARSED_CHARS = 4_000  # characters of a command in which files are looked for
_DELETING_TOOL = re.compile(r"(?:^|_)(?:delete|remove|unlink|trash)(?=_|$)|Delete|Remove")
_LINES = re.compile(r":(\d+(?:-\d*)?)$")  # the lines that were read of a file
_REMEMBERED_CALLS = 1_024  # of files: condensed notes are made from the same ones again
_DELETING_COMMAND = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?(?:rm|unlink)\s+([^;&|<>\n]+)")
_ENTERS_TEMPORARY = re.compile(r"""\b(?:cd|pushd)\s+["']?(?:\$\{?TMP|\$\(mktemp|(?:/var)?/tmp\b)""")
_GENERATING_COMMAND = re.compile(r"""(?:(?<![\d&<>=-])>{1,2}|\btee(?:\s+-a)?)\s*["']?([^\s"'|;&<>()]+)""")


def target_paths(target: str, kind: ToolKind) -> Sequence[str]:
    """Return the files that a call's target names: without lines, and each of those changed together."""
    if kind == "read":
        return (_LINES.sub("", target),)
    parts = target.split(", ")
    return parts if kind in ("write", "edit") and all(map(_is_path, parts)) else (target,)


@lru_cache(_REMEMBERED_CALLS)
def _is_path(target: str) -> bool:
    """Return True if a call's target is a file, and not a label or an issue."""
    return ("/" in target or "." in target) and target in identifiers_in(target)


def _in_workspace(command: str) -> str:
    """Return the part of a command that is read, up to where it goes on in a temporary folder."""
    return _ENTERS_TEMPORARY.split(command[:_PARSED_CHARS], maxsplit=1)[0]


def generated_files(command: str) -> Iterator[str]:
    if ">" not in command and "tee" not in command:
        return
    for match in _GENERATING_COMMAND.finditer(_in_workspace(command)):
        path = match[1]
        if not path.startswith(("/dev/", "$", "&")) and _is_path(path):
            yield path


def deleted_files(command: str) -> Iterator[str]:
    for names in _DELETING_COMMAND.findall(_in_workspace(command)):
        for name in names.split():
            path = name.strip("\"'")
            if path and not path.startswith(("-", "$")):
                yield path


_CHARS_PER_TOKEN = 3  # of paths and commands, a low estimate
_COUNTED_OUTCOMES = ("ran", "stopped")
_SHARES = {
    "changed": 0.36,
    "deleted": 0.06,
    "attached": 0.08,
    "failed": 0.18,
    "commands": 0.14,
    "read": 0.1,
}  # of the characters, for each kind, in the order of the ledger; what one leaves the next ones take
_SKILLS_SHARE = 0.2  # of the characters, at most, before all others: what they say is to be followed on
_NAMES = {
    "skills": "skills",
    "changed": "written",
    "deleted": "deleted",
    "attached": "attached",
    "failed": "failed",
    "read": "read",
}


class Ledger(msgspec.Struct):
    """Files by path, attachments by digest, commands by what they run, failures; newest last."""

    files: dict[str, LedgerFile] = {}
    attached: dict[str, AttachedContent] = {}
    commands: dict[str, CommandRun] = {}
    failures: dict[tuple[str, str], Failure] = {}
    standing: Container[str] = ()  # what messages behind it hold whole

    def add(self, item: LogItem) -> None:
        event = item.event
        if isinstance(event, ToolAnswered):
            if event.outcome in _COUNTED_OUTCOMES and not event.recalled and event.name not in CACHE_TOOLS:
                self._add_answer(event, item.seq)
        elif isinstance(event, UserSpoke):
            for attachment in event.attachments:
                self.attached.pop(attachment.digest, None)
                content = AttachedContent(attachment.label, attachment.digest, item.seq)
                self.attached[attachment.digest] = content

    def _add_answer(self, output: ToolAnswered, seq: int) -> None:
        kind = tool_kind(output.name)
        is_changed = output.ok and kind in ("write", "edit")  # by whichever tool did it in the end
        for key in [key for key in self.failures if key[1] == output.target]:
            if is_changed or key[0] == output.name:
                del self.failures[key]
        if kind == "command":
            self._add_command(output, seq)
        elif not output.ok:
            text = error_line(output.text) or output.first_line
            failure = Failure(output.name, output.target, text, seq, output.digest)
            self.failures[output.name, output.target] = failure
        elif _DELETING_TOOL.search(output.name) and _is_path(output.target):
            self._add_file(output.target, "", seq, state="deleted")
        elif output.target and kind in FLAGS and not is_task_tool(output.name):
            digest = "" if kind in ("write", "edit") else output.digest
            lines = _LINES.search(output.target) if kind == "read" else None
            for path in target_paths(output.target, kind):
                self._add_file(path, FLAGS[kind], seq, digest, lines=lines[1] if lines else "")

    def _add_file(
        self,
        path: str,
        flag: str,
        seq: int,
        digest: str = "",
        state: LedgerFileState = "",
        lines: str = "",
    ) -> None:
        previous = self.files.pop(path, None)
        flags = previous.flags if previous and previous.state != "deleted" else ""
        if not state and previous and previous.state == "generated" and flag not in ("w", "e"):
            state = "generated"
        flags = flags if flag in flags else flags + flag
        stored = "" if digest == NOTHING else digest
        stored_seq = seq
        # What was found in a file, or some lines of it, is not its text.
        was_whole = previous is not None and previous.digest and not previous.lines
        if previous and previous.is_file and (flag in ("e", "l", "s") or (lines and was_whole)):
            stored = previous.digest
            stored_seq = previous.stored_seq
            lines = previous.lines
            seq = seq if flag == "e" else previous.seq
        self.files[path] = LedgerFile(path, flags, stored, seq, state, stored_seq, lines)

    def _add_command(self, output: ToolAnswered, seq: int) -> None:
        has_ended_well = output.ok and output.exit_code in (0, None)
        described = described_result(output.about, output.exit_code)
        result_line = described if output.about else last_informative_line(output.text)
        ok = has_ended_well and not reports_failure(
            result_line
        )  # as of tests whose output goes through a pipe
        result = result_line
        if not ok:
            result = error_line(output.text) or result_line
            passed = passed_tests(output.text[-_TAIL_CHARS:])
            result = f"{passed}; {result}" if passed and passed not in result else result
        # The same command with another part of its output shown is one: else each `| tail -20` stands there.
        key = whole_command(output.target)
        self.commands.pop(key, None)
        self.commands[key] = CommandRun(output.target, output.exit_code, output.digest, seq, ok, result)
        for path in generated_files(output.target):
            self._add_file(path, "", seq, state="generated")
        for path in deleted_files(output.target) if has_ended_well else ():
            self._add_file(path, "", seq, state="deleted")

    def mark_reverted(self, reverts: Mapping[str, FileRevert]) -> None:
        """Say of the files that the user reverted, by path, since they were changed or deleted."""
        for path, file in self.files.items():
            revert = reverts.get(path.removeprefix("./"))
            if revert is not None and (file.has_changes or file.state == "deleted"):
                revert = revert if revert.seq > file.seq else None
                self.files[path] = msgspec.structs.replace(file, revert=revert)

    def leave_out_mended(self, later: Iterable[LogItem]) -> None:
        """Leave out what failed and went well since, in `later` messages that stand in the window."""
        since = Ledger(commands={**self.commands}, failures={**self.failures})
        for item in later:
            since.add(item)
        self.failures = {key: failure for key, failure in self.failures.items() if key in since.failures}
        self.commands = {
            key: run for key, run in self.commands.items() if run.ok or not since.commands[key].ok
        }

    def mark_skills(self, folders: Container[str], standing: Container[str] = ()) -> None:
        """Mark the files of skills in these folders; another file may only be named like one.

        Those whose digests are `standing` in other messages are not named: nobody has to recall them.
        """
        self.standing = standing
        for path, file in self.files.items():
            is_skill = bool(skill_named(path)) and path.rsplit("/", 2)[0] in folders
            if is_skill != file.is_skill:
                self.files[path] = msgspec.structs.replace(file, is_skill=is_skill)

    def entries(self) -> dict[str, Sequence[LedgerEntry]]:
        """Return all entries by kind, each newest first, the kinds in the order of the ledger."""
        files = [*reversed(self.files.values())]
        unchanged = [use for use in files if not use.state and not use.has_changes]
        attached = [*reversed(self.attached.values())]
        runs = [*reversed(self.commands.values())]
        failures = [run for run in runs if not run.ok] + [*self.failures.values()]
        used: list[LedgerFile | AttachedContent] = [*unchanged, *attached]
        # One that was attached and read stands there once.
        skills = {use.skill: use for use in sorted(used, key=lambda use: use.seq) if use.skill}
        skills = {name: use for name, use in skills.items() if use.digest not in self.standing}
        return {
            "skills": [*reversed(skills.values())],
            "changed": [use for use in files if use.has_changes],
            "deleted": [use for use in files if use.state == "deleted"],
            "attached": [content for content in attached if not content.skill],
            "failed": sorted(failures, key=lambda failure: -failure.seq),
            "commands": [run for run in runs if run.ok],
            "read": [use for use in unchanged if not use.skill],
        }

    def text(self, cap: int) -> str:
        """Return the ledger in about `cap` tokens at most.

        Skills come first, then written files, deleted ones, attachments, failures, commands, and what was
        only read; each kind has its share, newest first, and what one leaves the next ones take.
        Omitted lines are counted.
        """
        if cap <= 0:
            return ""
        entries = self.entries()
        fitting = _fit(entries, cap * _CHARS_PER_TOKEN)
        omitted = {kind: len(entries[kind]) - len(fitting[kind]) for kind in entries}
        text = [line for kind in entries for line in fitting[kind]]
        if any(omitted.values()):
            counts = ", ".join(_count(kind, count) for kind, count in omitted.items() if count)
            text.append(f"… {sum(omitted.values())} more in the index: {counts}")
        return "\n".join(text)


def _count(kind: str, count: int) -> str:
    return pluralize(count, "command") if kind == "commands" else f"{count} {_NAMES[kind]}"


def _fit(entries: Mapping[str, Sequence[LedgerEntry]], max_chars: int) -> dict[str, list[str]]:
    """Return the lines of each kind that fit its share, and then, in order, what is left."""
    fitting: dict[str, dict[int, str]] = {kind: {} for kind in entries}
    room = int(max_chars * _SKILLS_SHARE)
    max_chars -= room - _take(entries["skills"], fitting["skills"], room)
    unused = 0
    for kind, share in _SHARES.items():
        unused += _take(entries[kind], fitting[kind], int(max_chars * share))
    for kind in _SHARES:
        unused = _take(entries[kind], fitting[kind], unused)
    return {kind: [fitting[kind][number] for number in sorted(fitting[kind])] for kind in entries}


def _take(entries: Sequence[LedgerEntry], fitting: dict[int, str], chars_left: int) -> int:
    """Take further lines as long as they fit. Return the characters that are left."""
    for number, entry in enumerate(entries):
        if number in fitting:
            continue
        line = entry.line
        if len(line) + 1 <= chars_left:
            fitting[number] = line
            chars_left -= len(line) + 1
        elif fitting:  # an older line that happens to be shorter is not more informative
            break
    return chars_left


def build_ledger(items: Iterable[LogItem]) -> Ledger:
    ledger = Ledger()
    for item in items:
        ledger.add(item)
    return ledger
