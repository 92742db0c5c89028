"""The artifact ledger: files, attachments and commands that a range of events touched, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.command_lines import shown_command, tell_apart, whole_command
from helix_desktop.context.summaries.telling_lines import described_result, error_line, last_telling_line
from helix_desktop.domain.digest import CACHE_TOOLS, MARKER_START, digest_of
from helix_desktop.domain.events.session import AssistantSpoke, MaskedCall, ToolAnswered
from helix_desktop.domain.files.lines import ALL_LINES
from helix_desktop.domain.files.use import file_use, is_task_tool
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_call_target import ToolKind, decode_arguments, tool_kind

FLAGS: dict[ToolKind, str] = {"read": "r", "list": "l", "search": "s", "write": "w", "edit": "e"}
LEGEND = "r read, l listed, s searched, w written, e edited; the hex words are digest prefixes to recall"
COMMAND_CHARS = 80  # characters of a command that are shown
_DIGEST_DIGITS = 12  # hex digits of a digest in the ledger: recall accepts any unambiguous prefix from 8 on
_NOTHING = digest_of(b"")
_CHARS_PER_TOKEN = 3
_RESULT_CHARS = 120
_PARSED_CHARS = 4_000  # characters of a command in which files are looked for
_LOOKUPS: tuple[ToolKind, ...] = ("read", "list", "search")
_WITH_CONTENT: tuple[ToolKind, ...] = ("read", "write", "edit")  # calls whose content tells what is stored
_WITHOUT_CONTENT: tuple[StoredContent, ...] = ("no match", "failed")
_EDITED: tuple[StoredContent, ...] = ("before edits", "part before edits")
_COUNTED_OUTCOMES = ("ran", "stopped")
_FOUND_NOTHING = re.compile(
    r"^\s*(?:(?:no|0) (?:\w+ ){0,2}(?:match(?:es)?|results?|files?|occurrences|references|symbols?|tasks?)\b"
    r"|(?:nothing|none|null|\[\]|\{\})(?: found)?[.!]?\s*\Z)|\bcould not (?:find|be found)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_LOOKUP = re.compile(
    r"\s*(?:<\w*error>|error: |ENOENT\b|EISDIR\b|(?:file|path|directory) does not exist\b)", re.IGNORECASE
)
_OUTCOME_BYTES = 400  # of an answer that may say that a lookup found nothing
_DELETING_TOOL = re.compile(r"(?:^|_)(?:delete|remove|unlink|trash)(?=_|$)|Delete|Remove")
_LINES = re.compile(r":\d+(?:-\d*)?$")  # the lines that were read of a file
_ALL_LINES = re.compile(r"Lines 1-(\d+) of \1 of ")  # how the answer to a range of all lines begins
_REMEMBERED_CALLS = 1_024  # of files: condensed notes are made from the same ones again
_DELETING_COMMAND = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?(?:rm|unlink)\s+([^;&|<>\n]+)")
_GENERATING_COMMAND = re.compile(r"""(?:(?<![\d&<>=-])>{1,2}|\btee(?:\s+-a)?)\s*["']?([^\s"'|;&<>()]+)""")

FileState = Literal["", "generated", "deleted"]
StoredContent = Literal["newest", "before edits", "part", "part before edits", "no match", "failed"]
_SHARES = {
    "changed": 0.4,
    "deleted": 0.06,
    "attached": 0.08,
    "failed": 0.2,
    "commands": 0.16,
    "read": 0.1,
}  # of the characters, for each kind, in the order of the ledger; what one leaves the next ones take
_NAMES = {
    "changed": "written",
    "deleted": "deleted",
    "attached": "attached",
    "failed": "failed",
    "read": "read",
}


def _one_line(text: str) -> str:
    """Join lines: a line break in a command or path must not begin a line that looks like another entry."""
    return " ".join(text.split())


def _ellipsize(text: str, cap: int) -> str:
    line = _one_line(text)
    return line if len(line) <= cap else line[: cap - 1] + "…"


class LedgerFile(msgspec.Struct, frozen=True):
    """A path, everything done to it (FLAGS), and its newest event; `state` names what flags do not.

    `digest` is of the newest complete content that was written or read, and `stored_seq` the event that it
    came up in. An edit stores only what it puts in: then it is of the text before the edits since, and `seq`
    the newest of these. If no complete text is stored, it is of the part that an edit put in or a call read
    last; `content` tells which. Of a path that was only listed or searched it is of what was found. Of a
    lookup that found nothing, or failed, no content is stored: `content` says so.
    """

    path: str
    flags: str
    digest: str
    seq: int
    state: FileState = ""
    content: StoredContent = "newest"
    stored_seq: int = 0

    @property
    def is_file(self) -> bool:
        """Return True if it was more than listed or searched: then it may be a folder or a pattern."""
        return bool(self.state) or not {"r", "w", "e"}.isdisjoint(self.flags)

    @property
    def is_changed(self) -> bool:
        """Return True if it was written, edited or generated, and is still there."""
        return self.state != "deleted" and (
            self.state == "generated" or not {"w", "e"}.isdisjoint(self.flags)
        )

    @property
    def holds_all(self) -> bool:
        """Return True if a complete text of the file is stored, be it of before its edits."""
        return bool(self.digest) and self.content in ("newest", "before edits")

    @property
    def line(self) -> str:
        """Return the ledger's line."""
        if not self.digest:
            outcome = f": {self.content}" if self.content in _WITHOUT_CONTENT else ""
            return _entry(self.state or self.flags, self.path, "", self.seq) + outcome
        line = _entry(self.state or self.flags, self.path, self.digest, self.stored_seq)
        edit_note = f"edited since, e{self.seq}"
        notes = {
            "before edits": f" ({edit_note})",
            "part": " (part)",
            "part before edits": f" (part; {edit_note})",
        }
        return f"{line}{notes.get(self.content, '')}"


class AttachedContent(msgspec.Struct, frozen=True):
    """Content that the user attached to a message."""

    label: str
    digest: str
    seq: int

    @property
    def line(self) -> str:
        """Return the ledger's line."""
        return _entry("attached", self.label, self.digest, self.seq)


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
        """Return the ledger's line."""
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
        """Return the ledger's line."""
        start = f"! {self.tool} {_one_line(self.target)}"
        return _with_result(_entry(start, "", self.digest, self.seq), self.text)


def _entry(start: str, target: str, digest: str, seq: int) -> str:
    digest = "" if digest == _NOTHING else digest
    return " ".join(f"{start} {_one_line(target)} {digest[:_DIGEST_DIGITS]} e{seq}".split())


def _with_result(line: str, result: str) -> str:
    return f"{line}: {_ellipsize(result, _RESULT_CHARS)}" if result.strip() else line


class _CallContent(msgspec.Struct, frozen=True):
    """What a call holds: the content that it writes, and its event; and whether it reads a part of a file."""

    seq: int = 0
    content: str = ""
    reads_part: bool = False


_UNKNOWN_CALL = _CallContent()
LedgerEntry = LedgerFile | AttachedContent | CommandRun | Failure


class Ledger(msgspec.Struct):
    """Files by path, attachments by digest, commands by what they run, failures; each newest last."""

    files: dict[str, LedgerFile] = {}
    attached: dict[str, AttachedContent] = {}
    commands: dict[str, CommandRun] = {}
    failures: dict[tuple[str, str], Failure] = {}
    newest_calls: tuple[int, AssistantSpoke | None] = (0, None)  # the newest message with calls, by its event

    def add(self, item: LogItem) -> None:
        """Add the next message."""
        event = item.event  # most are answers and the calls before them
        if isinstance(event, ToolAnswered):
            if event.outcome in _COUNTED_OUTCOMES and not event.recalled and event.name not in CACHE_TOOLS:
                self._add_answer(event, item.seq)
        elif isinstance(event, AssistantSpoke):
            if event.calls:
                self.newest_calls = item.seq, event
        else:
            for attachment in event.attachments:
                self.attached.pop(attachment.digest, None)
                content = AttachedContent(attachment.label, attachment.digest, item.seq)
                self.attached[attachment.digest] = content

    def _add_answer(self, answer: ToolAnswered, seq: int) -> None:
        kind = tool_kind(answer.name)
        self.failures.pop((answer.name, answer.target), None)
        if kind == "command":
            self._add_command(answer, seq)
        elif not answer.ok:
            text = error_line(answer.text) or answer.first_line
            failure = Failure(answer.name, answer.target, text, seq, answer.digest)
            self.failures[answer.name, answer.target] = failure
        elif _DELETING_TOOL.search(answer.name) and _is_path(answer.target):
            self._add_file(answer.target, "", "", seq, "deleted")
        elif answer.target and kind in FLAGS and not is_task_tool(answer.name):
            call = self._call_of(answer) if kind in _WITH_CONTENT else _UNKNOWN_CALL
            is_part = kind == "read" and _is_part(answer, call)
            missing = _missing(answer, kind) if kind in _LOOKUPS else None
            for path in _paths(answer.target, kind):
                if missing is None:
                    self._add_use(path, kind, answer, seq, call, is_part)
                elif path not in self.files or self.files[path].content in _WITHOUT_CONTENT:
                    self._add_file(path, FLAGS[kind], "", seq, content=missing)

    def _call_of(self, answer: ToolAnswered) -> _CallContent:
        """Return what the call of an answer holds."""
        seq, response = self.newest_calls
        calls = [call for call in (response.calls if response else ()) if call.id == answer.call_id]
        if response is None or not calls:
            return _UNKNOWN_CALL
        call = calls[-1]
        contents = [written_content(short) for short in response.short if short.call_id == call.id]
        reads_part = tool_kind(call.name) == "read" and _reads_part(call)
        return _CallContent(seq, contents[-1] if contents else "", reads_part)

    def _add_use(
        self, path: str, kind: ToolKind, answer: ToolAnswered, seq: int, call: _CallContent, is_part: bool
    ) -> None:
        """Add what a call did to a file, with the newest content of it that is stored."""
        previous = self.files.get(path)
        file = previous if previous is not None and previous.is_file else None
        has_all = file is not None and file.holds_all
        if kind == "write":
            self._add_file(path, "w", call.content, seq, stored_seq=call.seq)
        elif kind == "edit" and call.content and not has_all:
            self._add_file(path, "e", call.content, seq, content="part", stored_seq=call.seq)
        elif kind == "edit" and file is not None:
            content: StoredContent = "before edits" if has_all else "part before edits"
            self._add_file(path, "e", file.digest, seq, content=content, stored_seq=file.stored_seq)
        elif file is not None and (kind in ("list", "search") or (is_part and has_all)):
            newest = file.seq if file.content in _EDITED else seq
            self._add_file(
                path, FLAGS[kind], file.digest, newest, content=file.content, stored_seq=file.stored_seq
            )
        else:
            digest = "" if kind == "edit" else answer.digest
            self._add_file(path, FLAGS[kind], digest, seq, content="part" if is_part else "newest")

    def _add_file(
        self,
        path: str,
        flag: str,
        digest: str,
        seq: int,
        state: FileState = "",
        content: StoredContent = "newest",
        stored_seq: int = 0,
    ) -> None:
        previous = self.files.pop(path, None)
        flags = previous.flags if previous and previous.state != "deleted" else ""
        if not state and previous and previous.state == "generated" and flag not in ("w", "e"):
            state = "generated"
        flags = flags if flag in flags else flags + flag
        stored = "" if digest == _NOTHING else digest
        self.files[path] = LedgerFile(path, flags, stored, seq, state, content, stored_seq or seq)

    def _add_command(self, answer: ToolAnswered, seq: int) -> None:
        ok = answer.ok and answer.exit_code in (0, None)
        described = described_result(answer.about, answer.exit_code)
        result_line = described if answer.about else last_telling_line(answer.text)
        result = (error_line(answer.text) or result_line) if not ok else result_line
        # The same command with another part of its output shown is one: else each `| tail -20` stands there.
        key = whole_command(answer.target)
        self.commands.pop(key, None)
        self.commands[key] = CommandRun(answer.target, answer.exit_code, answer.digest, seq, ok, result)
        call = self._call_of(answer) if "<<" in answer.target else _UNKNOWN_CALL
        content = call.content
        for path, by_tee in _generated_files(answer.target):
            digest, stored_seq = (content, call.seq) if content else (answer.digest if by_tee else "", seq)
            self._add_file(path, "", digest, seq, "generated", stored_seq=stored_seq)
        for path in _deleted_files(answer.target) if ok else ():
            self._add_file(path, "", "", seq, "deleted")

    def complete_from(self, earlier: Ledger) -> None:
        """Give the files that were only edited the complete text of before, which earlier messages hold."""
        for path, file in self.files.items():
            before = earlier.files.get(path)
            is_edited = file.flags == FLAGS["edit"] or file.content == "part before edits"
            if is_edited and before is not None and before.is_file and before.holds_all:
                self.files[path] = msgspec.structs.replace(
                    file, digest=before.digest, content="before edits", stored_seq=before.stored_seq
                )

    def entries(self) -> dict[str, Sequence[LedgerEntry]]:
        """Return all entries by kind, each newest first, the kinds in the order of the ledger."""
        files = [*reversed(self.files.values())]
        runs = _with_others([*reversed(self.commands.values())])
        failures = [run for run in runs if not run.ok] + [*self.failures.values()]
        return {
            "changed": [use for use in files if use.is_changed],
            "deleted": [use for use in files if use.state == "deleted"],
            "attached": [*reversed(self.attached.values())],
            "failed": sorted(failures, key=lambda failure: -failure.seq),
            "commands": [run for run in runs if run.ok],
            "read": [use for use in files if not use.state and not use.is_changed],
        }

    def text(self, cap: int) -> str:
        """Return the ledger in about `cap` tokens at most.

        Written files come first, then deleted ones, attachments, failures, commands, and what was only read;
        each kind has its share, newest first, and what one leaves the next ones take. Omitted lines are
        counted.
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


def _with_others(runs: Sequence[CommandRun]) -> list[CommandRun]:
    """Return the runs, each with the commands most like it of those that would stand in the same words."""
    by_words: dict[str, list[CommandRun]] = {}
    for run in runs:
        by_words.setdefault(shown_command(run.command, COMMAND_CHARS), []).append(run)
    others: dict[int, tuple[str, ...]] = {}
    for same in by_words.values():
        for earlier, run in pairwise(sorted(same, key=lambda run: whole_command(run.command))):
            others[earlier.seq] = (*others.get(earlier.seq, ()), run.command)
            others[run.seq] = (*others.get(run.seq, ()), earlier.command)
    return [
        msgspec.structs.replace(run, others=others[run.seq]) if run.seq in others else run for run in runs
    ]


def _fit(entries: Mapping[str, Sequence[LedgerEntry]], max_chars: int) -> dict[str, list[str]]:
    """Return the lines of each kind that fit its share, and then, in order, what is left."""
    fitting: dict[str, dict[int, str]] = {kind: {} for kind in entries}
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
        elif fitting:  # an older line that happens to be shorter is not more telling
            break
    return chars_left


def _missing(answer: ToolAnswered, kind: ToolKind) -> StoredContent | None:
    """Return that a lookup found nothing, or failed, as its answer says; None if it found something.

    What a file says is no answer, and an empty one is there.
    """
    if answer.size > _OUTCOME_BYTES:
        return None
    is_file = kind == "read" and _is_path(_LINES.sub("", answer.target))
    if not is_file and (not answer.text.strip() or _FOUND_NOTHING.search(answer.text)):
        return "no match"
    return "failed" if _FAILED_LOOKUP.match(answer.text) else None


@lru_cache(_REMEMBERED_CALLS)
def written_content(call: MaskedCall) -> str:
    """Return the digest of what a call writes, among its large arguments; empty if it is none of them.

    What an edit replaces is not what it writes.
    """
    arguments = decode_arguments(call.arguments)
    markers = [
        key
        for key, value in (arguments.items() if isinstance(arguments, dict) else ())
        if isinstance(value, str) and value.startswith(MARKER_START)
    ]
    if len(markers) != len(call.digests):
        return ""
    contents = [
        digest for key, digest in zip(markers, call.digests, strict=True) if not key.startswith("old")
    ]
    return contents[-1] if contents else ""


@lru_cache(_REMEMBERED_CALLS)
def _reads_part(call: ToolCall) -> bool:
    """Return True if a call that reads a file asks for some lines of it, or for what may not be its text."""
    use = file_use(call)
    return use is not None and use.lines != ALL_LINES


def _is_part(answer: ToolAnswered, call: _CallContent) -> bool:
    """Return True if a read returned some lines of a file, as its call or its target says."""
    return (call.reads_part or bool(_LINES.search(answer.target))) and not _ALL_LINES.match(answer.text)


def build_ledger(items: Iterable[LogItem]) -> Ledger:
    """Return the ledger of these messages, in their order."""
    ledger = Ledger()
    for item in items:
        ledger.add(item)
    return ledger


def _paths(target: str, kind: ToolKind) -> Sequence[str]:
    """Return the files that a call's target names: without lines, and each of those changed together."""
    if kind == "read":
        return (_LINES.sub("", target),)
    parts = target.split(", ")
    return parts if kind in ("write", "edit") and all(map(_is_path, parts)) else (target,)


@lru_cache(_REMEMBERED_CALLS)
def _is_path(target: str) -> bool:
    """Return True if a call's target is a file, and not a label or an issue."""
    return ("/" in target or "." in target) and target in identifiers_in(target)


def _generated_files(command: str) -> Iterator[tuple[str, bool]]:
    """Yield the files that a command writes, and whether its output is what it writes."""
    if ">" not in command and "tee" not in command:
        return
    for match in _GENERATING_COMMAND.finditer(command[:_PARSED_CHARS]):
        path = match[1]
        if not path.startswith(("/dev/", "$", "&")) and _is_path(path):
            yield path, match[0].startswith("tee")


def _deleted_files(command: str) -> Iterator[str]:
    """Yield the files that a command removes."""
    for names in _DELETING_COMMAND.findall(command[:_PARSED_CHARS]):
        for name in names.split():
            path = name.strip("\"'")
            if path and not path.startswith(("-", "$")):
                yield path
