"""The artifact ledger: files, attachments and commands that a range of events touched, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from helix_desktop.context.log.reverted_changes import FileRevert
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.command_lines import short_command, whole_command
from helix_desktop.context.summaries.git_commits import GitCommits
from helix_desktop.context.summaries.informative_lines import (
    described_result,
    error_line,
    failure_lines,
    last_informative_line,
    reports_failure,
)
from helix_desktop.context.summaries.ledger_entries import (
    COMMAND_CHARS,
    FLAGS,
    NOTHING,
    WITHOUT_CONTENT,
    AttachedContent,
    CommandRun,
    Failure,
    LedgerEntry,
    LedgerFile,
    LedgerFileState,
    StoredContent,
    WorkingTree,
)
from helix_desktop.context.summaries.touched_files import (
    UNKNOWN_CALL,
    CallContent,
    call_content,
    deleted_files,
    deletes_file,
    files_edited_in_place,
    generated_files,
    lookup_failure,
    returned_part,
    target_paths,
)
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.files.file_use import is_task_tool
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_call_target import ToolKind, tool_kind

_CHARS_PER_TOKEN = 3  # of paths and commands, a low estimate
_LOOKUPS: tuple[ToolKind, ...] = ("read", "list", "search")
_WITH_CONTENT: tuple[ToolKind, ...] = ("read", "write", "edit")  # calls whose content tells what is stored
_EDITED: tuple[StoredContent, ...] = ("before edits", "part before edits")
_COUNTED_OUTCOMES = ("ran", "stopped")
_SHARES = {
    "commits": 0.08,
    "changed": 0.36,
    "deleted": 0.06,
    "attached": 0.08,
    "failed": 0.18,
    "commands": 0.14,
    "read": 0.1,
}  # of the characters, for each kind, in the order of the ledger; what one leaves the next ones take
_NAMES = {
    "commits": "committed",
    "changed": "written",
    "deleted": "deleted",
    "attached": "attached",
    "failed": "failed",
    "read": "read",
}


class Ledger(msgspec.Struct):
    """Files by path, attachments by digest, commands by what they run, failures, commits; newest last."""

    files: dict[str, LedgerFile] = {}
    attached: dict[str, AttachedContent] = {}
    commands: dict[str, CommandRun] = {}
    failures: dict[tuple[str, str], Failure] = {}
    git: GitCommits = msgspec.field(default_factory=GitCommits)
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

    def _add_answer(self, output: ToolAnswered, seq: int) -> None:
        kind = tool_kind(output.name)
        self.failures.pop((output.name, output.target), None)
        if kind == "command":
            self.git.add(output, seq)
            self._add_command(output, seq)
        elif not output.ok:
            text = error_line(output.text) or output.first_line
            failure = Failure(output.name, output.target, text, seq, output.digest)
            self.failures[output.name, output.target] = failure
        elif deletes_file(output):
            self._add_file(output.target, "", "", seq, "deleted")
        elif output.target and kind in FLAGS and not is_task_tool(output.name):
            call = self._call_of(output) if kind in _WITH_CONTENT else UNKNOWN_CALL
            is_part = kind == "read" and returned_part(output, call)
            missing = lookup_failure(output, kind, call) if kind in _LOOKUPS else None
            for path in target_paths(output.target, kind):
                if missing is None:
                    self._add_use(path, kind, output, seq, call, is_part)
                elif path not in self.files or self.files[path].content in WITHOUT_CONTENT:
                    self._add_file(path, FLAGS[kind], "", seq, content=missing)

    def _call_of(self, output: ToolAnswered) -> CallContent:
        """Return what the call of an answer holds."""
        seq, response = self.newest_calls
        return call_content(response, seq, output.call_id)

    def _add_use(
        self, path: str, kind: ToolKind, output: ToolAnswered, seq: int, call: CallContent, is_part: bool
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
            digest = "" if kind == "edit" else output.digest
            self._add_file(path, FLAGS[kind], digest, seq, content="part" if is_part else "newest")

    def _add_file(
        self,
        path: str,
        flag: str,
        digest: str,
        seq: int,
        state: LedgerFileState = "",
        content: StoredContent = "newest",
        stored_seq: int = 0,
    ) -> None:
        previous = self.files.pop(path, None)
        flags = previous.flags if previous and previous.state != "deleted" else ""
        if not state and previous and previous.state == "generated" and flag not in ("w", "e"):
            state = "generated"
        flags = flags if flag in flags else flags + flag
        stored = "" if digest == NOTHING else digest
        self.files[path] = LedgerFile(path, flags, stored, seq, state, content, stored_seq or seq)

    def _add_command(self, output: ToolAnswered, seq: int) -> None:
        has_ended_well = output.ok and output.exit_code in (0, None)
        described = described_result(output.about, output.exit_code)
        result_line = described if output.about else last_informative_line(output.text)
        ok = has_ended_well and not reports_failure(
            result_line
        )  # as of tests whose output goes through a pipe
        result = result_line
        if not ok:
            reasons = failure_lines(output.text)[:1] if has_ended_well else [error_line(output.text)]
            result = next(filter(None, reasons), result_line)
        # The same command with another part of its output shown is one: else each `| tail -20` stands there.
        key = whole_command(output.target)
        self.commands.pop(key, None)
        self.commands[key] = CommandRun(output.target, output.exit_code, output.digest, seq, ok, result)
        call = self._call_of(output) if "<<" in output.target else UNKNOWN_CALL
        content = call.content
        for path, by_tee, appends in generated_files(output.target):
            before = self.files.get(path) if appends else None
            if before is not None and before.holds_all:
                self._add_file(
                    path, "e", before.digest, seq, content="before edits", stored_seq=before.stored_seq
                )
                continue
            digest, stored_seq = (content, call.seq) if content else (output.digest if by_tee else "", seq)
            self._add_file(path, "", digest, seq, "generated", stored_seq=stored_seq)
        for path in files_edited_in_place(output.target) if has_ended_well else ():
            self._add_use(path, "edit", output, seq, UNKNOWN_CALL, is_part=False)
        for path in deleted_files(output.target) if has_ended_well else ():
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

    def mark_reverted(self, reverts: Mapping[str, FileRevert]) -> None:
        """Say of the files that the user reverted, by path, since they were changed or deleted."""
        for path, file in self.files.items():
            revert = reverts.get(path.removeprefix("./"))
            if revert is not None and (file.has_changes or file.state == "deleted"):
                revert = revert if revert.seq > file.seq else None
                self.files[path] = msgspec.structs.replace(file, revert=revert)

    def entries(self) -> dict[str, Sequence[LedgerEntry]]:
        """Return all entries by kind, each newest first, the kinds in the order of the ledger."""
        files = [*reversed(self.files.values())]
        runs = _with_others([*reversed(self.commands.values())])
        failures = [run for run in runs if not run.ok] + [*self.failures.values()]
        return {
            "commits": [*filter(None, [self.working_tree]), *self.git.newest_first],
            "changed": [use for use in files if use.has_changes],
            "deleted": [use for use in files if use.state == "deleted"],
            "attached": [*reversed(self.attached.values())],
            "failed": sorted(failures, key=lambda failure: -failure.seq),
            "commands": [run for run in runs if run.ok],
            "read": [use for use in files if not use.state and not use.has_changes],
        }

    @property
    def working_tree(self) -> WorkingTree | None:
        """Return what git said last of the files that are not committed; None if a commit came since."""
        tree = self.git.working_tree
        if tree is None or self.git.last_commit_seq > tree.seq:
            return None
        is_older = any(use.seq > tree.seq and (use.has_changes or use.state) for use in self.files.values())
        return msgspec.structs.replace(tree, is_older=is_older)

    def text(self, cap: int) -> str:
        """Return the ledger in about `cap` tokens at most.

        Commits come first, then written files, deleted ones, attachments, failures, commands, and what was
        only read; each kind has its share, newest first, and what one leaves the next ones take. Omitted
        lines are counted.
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
        by_words.setdefault(short_command(run.command, COMMAND_CHARS), []).append(run)
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
        elif fitting:  # an older line that happens to be shorter is not more informative
            break
    return chars_left


def build_ledger(items: Iterable[LogItem]) -> Ledger:
    """Return the ledger of these messages, in their order."""
    ledger = Ledger()
    for item in items:
        ledger.add(item)
    return ledger
