"""The artifact ledger: files, attachments and commands that a range of events touched, without a model."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.window_layout import LogItem
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
    GitCommit,
    LedgerEntry,
    LedgerFile,
    LedgerFileState,
    PullRequest,
    StoredContent,
    WorkingTree,
    short_command,
    whole_command,
)
from helix_desktop.domain.digest import CACHE_TOOLS, MARKER_START
from helix_desktop.domain.events.conversation import AssistantSpoke, MaskedCall, ToolAnswered
from helix_desktop.domain.files.file_use import ALL_LINES, decode_arguments, file_use, is_task_tool, tool_kind
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.own_tools import ToolKind
from helix_desktop.domain.skills import skill_named
from helix_desktop.domain.text_format import ellipsize, one_line, pluralize

_COMMITTED = re.compile(r"^\[([^\]\n]+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_PUSHED = re.compile(
    r"^ [ +*=] (?:\[new branch\]|[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\[up to date\]) +(\S+) -> \S+",
    re.MULTILINE,
)
_ALL_PUSHED = re.compile(r"^Everything up-to-date$", re.MULTILINE)
_NEW_REPOSITORY = re.compile(r"^Initialized empty Git repository", re.MULTILINE)  # one to try something in
_REQUEST = re.compile(r"\b(?:gh pr|glab mr) create\b")
_REQUEST_ADDRESS = re.compile(r"https?://\S+/(?:pull|merge_requests)/\d+")
_SUBJECT_CHARS = 100  # of a commit
_COMMANDED = re.compile(
    r"\bgit\b[^|;&\n]* commit\b[^|;&\n]*? (?:-[a-z]*m|--message)[ =]?(?:'([^'\n]+)|\"([^\"$`\n]+))"
)
"""A commit with its message in the command: what it prints may be hidden."""
_LOGGED = re.compile(r"^([0-9a-f]{7,40}) (?:\((?:HEAD -> )?([^),\n]*)[^)\n]*\) )?(\S.*)$", re.MULTILINE)
"""A line of `git log --oneline`, with or without branches."""

_STATUS = re.compile(r"\bgit\b[^|;&\n]* status\b")
_COMMITS = re.compile(r"\bgit\b[^|;&\n]* commit\b")
_LONG_STATUS = re.compile(r"^(?:On branch |HEAD detached |nothing to commit)", re.MULTILINE)
_CLEAN = "working tree clean"
_CHANGED_LONG = re.compile(r"^\t(?:modified|new file|deleted|renamed|both \w+):\s+(\S.*)$", re.MULTILINE)
_CHANGED_SHORT = re.compile(r"^(?=[ MADRCUT]{2} )(?! {2} )[ MADRCUT]{2} (\S.*)$", re.MULTILINE)
_UNTRACKED_HEADING = "Untracked files:"
_UNTRACKED_LONG = re.compile(r"^\t(?![a-z ]+:\s)(\S.*)$", re.MULTILINE)
_UNTRACKED_SHORT = re.compile(r"^\?\? (\S.*)$", re.MULTILINE)


class GitCommits(msgspec.Struct):
    """Commits by their hash and pull requests by their address, each newest last."""

    commits: dict[str, GitCommit] = {}
    requests: dict[str, PullRequest] = {}
    unnamed: dict[str, int] = {}  # messages of commits whose hash is not known yet, each with its event
    working_tree: WorkingTree | None = None

    def add(self, output: ToolAnswered, seq: int) -> None:
        if "git" in output.target and not _has(_NEW_REPOSITORY, "Initialized", output.text):
            self._add_status(output, seq)
            self._add_commits(output, seq)
            self._add_from_log(output.text)
            self._add_pushes(output.text)
        if _REQUEST.search(output.target) and (found := _REQUEST_ADDRESS.search(output.text)):
            self.requests[found[0]] = PullRequest(found[0], seq)

    def _add_commits(self, output: ToolAnswered, seq: int) -> None:
        commanded = _COMMANDED.search(output.target) if output.ok else None
        if commanded and not _has(_COMMITTED, "] ", output.text):
            self.unnamed[ellipsize(one_line(commanded[1] or commanded[2]), _SUBJECT_CHARS)] = seq
        for branch, digest, subject in _COMMITTED.findall(output.text) if "] " in output.text else ():
            if "--amend" in output.target:
                same = [commit for commit in self.commits.values() if commit.branch == branch]
                for amended in same[-1:]:
                    del self.commits[amended.digest]
            title = ellipsize(one_line(subject), _SUBJECT_CHARS)
            self.commits[digest] = GitCommit(digest, branch, title, seq)

    def _add_status(self, output: ToolAnswered, seq: int) -> None:
        """Read which files are not committed, from `git status` in its long or its short form."""
        status_call = _STATUS.search(output.target)
        if status_call is None or not output.ok or _COMMITS.search(output.target, status_call.end()):
            return
        text = output.text
        is_long = _LONG_STATUS.search(text) is not None
        changed = _CHANGED_LONG.findall(text) if is_long else _CHANGED_SHORT.findall(text)
        listed = text.partition(_UNTRACKED_HEADING)[2] if is_long else text
        untracked = (_UNTRACKED_LONG if is_long else _UNTRACKED_SHORT).findall(listed)
        if changed or untracked or _CLEAN in text:
            self.working_tree = WorkingTree(
                seq, tuple(dict.fromkeys(changed)), tuple(dict.fromkeys(untracked))
            )

    def _add_from_log(self, text: str) -> None:
        """Find the hashes of commits that printed none, where a log names them by their message."""
        for digest, branch, subject in _LOGGED.findall(text) if self.unnamed else ():
            title = ellipsize(one_line(subject), _SUBJECT_CHARS)
            seq = self.unnamed.pop(title, 0)
            if seq:
                self.commits[digest] = GitCommit(digest, branch, title, seq)

    def _add_pushes(self, text: str) -> None:
        branches = {*_PUSHED.findall(text)} if " -> " in text else set()
        if self.commits and _has(_ALL_PUSHED, "up-to-date", text):
            branches.add([*self.commits.values()][-1].branch)
        for commit in self.commits.values() if branches else ():
            if commit.branch in branches:
                self.commits[commit.digest] = msgspec.structs.replace(commit, is_pushed=True)

    @property
    def last_commit_seq(self) -> int:
        """Return the event of the newest commit, 0 if there is none."""
        return max((*(commit.seq for commit in self.commits.values()), *self.unnamed.values()), default=0)

    @property
    def newest_first(self) -> list[GitCommit | PullRequest]:
        return sorted((*self.commits.values(), *self.requests.values()), key=lambda entry: -entry.seq)


def _has(pattern: re.Pattern[str], word: str, text: str) -> bool:
    """Return True if a pattern is in a text; its word is looked for first, much faster than the pattern."""
    return word in text and pattern.search(text) is not None


_PARSED_CHARS = 4_000  # characters of a command in which files are looked for
_FOUND_NOTHING = re.compile(
    r"^\s*(?:(?:no|0) (?:\w+ ){0,2}(?:match(?:es)?|results?|files?|occurrences|references|symbols?|tasks?)\b"
    r"|(?:nothing|none|null|\[\]|\{\})(?: found)?[.!]?\s*\Z)|\bcould not (?:find|be found)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_LOOKUP = re.compile(
    r"\s*(?:<\w*error>|error: |ENOENT\b|EISDIR\b|(?:file|path|directory) does not exist\b)", re.IGNORECASE
)
_SOUGHT_KEYS = ("pattern", "regex", "query", "search", "grep", "symbol", "symbol_name", "name", "name_path")
_OUTCOME_BYTES = 400  # of an answer that may say that a lookup found nothing
_DELETING_TOOL = re.compile(r"(?:^|_)(?:delete|remove|unlink|trash)(?=_|$)|Delete|Remove")
_LINES = re.compile(r":\d+(?:-\d*)?$")  # the lines that were read of a file
_ALL_LINES = re.compile(r"Lines 1-(\d+) of \1 of ")  # how the answer to a range of all lines begins
_REMEMBERED_CALLS = 1_024  # of files: condensed notes are made from the same ones again
_DELETING_COMMAND = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?(?:rm|unlink)\s+([^;&|<>\n]+)")
_ARGUMENT = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[^\s"';&|<>()])++"""
_IN_PLACE_COMMAND = re.compile(rf"(?:^|[;&|\n]\s*)(?:sed|perl)((?:[ \t]+{_ARGUMENT})++)")
_IN_PLACE_OPTION = re.compile(r"-[nplEraszuw0-9]*i|--in-place")
_GENERATING_COMMAND = re.compile(r"""(?:(?<![\d&<>=-])>{1,2}|\btee(?:\s+-a)?)\s*["']?([^\s"'|;&<>()]+)""")


class CallContent(msgspec.Struct, frozen=True):
    """What a call holds: the content that it writes, and its event; and whether it reads a part of a file.

    `looks_up` is True for one that reads what it finds in a file: a symbol, the lines with a pattern.
    """

    seq: int = 0
    content: str = ""
    reads_part: bool = False
    looks_up: bool = False


UNKNOWN_CALL = CallContent()


def call_content(response: AssistantSpoke | None, seq: int, call_id: str) -> CallContent:
    calls = [call for call in (response.calls if response else ()) if call.id == call_id]
    if response is None or not calls:
        return UNKNOWN_CALL
    call = calls[-1]
    contents = [_written_content(short) for short in response.short if short.call_id == call.id]
    is_read = tool_kind(call.name) == "read"
    return CallContent(
        seq, contents[-1] if contents else "", is_read and _reads_part(call), is_read and _looks_up(call)
    )


def deletes_file(output: ToolAnswered) -> bool:
    """Return True if a call other than a command deleted the file that is its target."""
    return bool(_DELETING_TOOL.search(output.name)) and _is_path(output.target)


def lookup_failure(output: ToolAnswered, kind: ToolKind, call: CallContent) -> StoredContent | None:
    """Return that a lookup found nothing, or failed, as its answer says; None if it found something.

    What a file says is no answer, and an empty one is there; but a read that looks for something in it
    answers.
    """
    if output.size > _OUTCOME_BYTES:
        return None
    is_file = kind == "read" and not call.looks_up and _is_path(_LINES.sub("", output.target))
    if not is_file and (not output.text.strip() or _FOUND_NOTHING.search(output.text)):
        return "no match"
    return "failed" if _FAILED_LOOKUP.match(output.text) else None


@lru_cache(_REMEMBERED_CALLS)
def _written_content(call: MaskedCall) -> str:
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
def _looks_up(call: ToolCall) -> bool:
    """Return True if a call that reads a file asks for what may not be in it."""
    arguments = decode_arguments(call.arguments)
    return isinstance(arguments, dict) and any(arguments.get(key) for key in _SOUGHT_KEYS)


@lru_cache(_REMEMBERED_CALLS)
def _reads_part(call: ToolCall) -> bool:
    """Return True if a call that reads a file asks for some lines of it, or for what may not be its text."""
    use = file_use(call)
    return use is not None and use.lines != ALL_LINES


def returned_part(output: ToolAnswered, call: CallContent) -> bool:
    """Return True if a read returned some lines of a file, as its call or its target says."""
    return (call.reads_part or bool(_LINES.search(output.target))) and not _ALL_LINES.match(output.text)


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


def generated_files(command: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the files that a command writes, whether its output is what it writes, and whether it appends."""
    if ">" not in command and "tee" not in command:
        return
    for match in _GENERATING_COMMAND.finditer(command[:_PARSED_CHARS]):
        path = match[1]
        if not path.startswith(("/dev/", "$", "&")) and _is_path(path):
            yield path, match[0].startswith("tee"), match[0].startswith((">>", "tee -a"))


def files_edited_in_place(command: str) -> Iterator[str]:
    """Yield the files that `sed -i` or `perl -pi` in a command edits."""
    if "sed" not in command and "perl" not in command:
        return
    for match in _IN_PLACE_COMMAND.finditer(command[:_PARSED_CHARS]):
        arguments = re.findall(_ARGUMENT, match[1])
        operands = [argument for argument in arguments if not argument.startswith("-")]
        if any(map(_IN_PLACE_OPTION.match, arguments)):  # the first operand is the script
            yield from (path for path in operands[1:] if _is_path(path))


def deleted_files(command: str) -> Iterator[str]:
    for names in _DELETING_COMMAND.findall(command[:_PARSED_CHARS]):
        for name in names.split():
            path = name.strip("\"'")
            if path and not path.startswith(("-", "$")):
                yield path


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
_SKILLS_SHARE = 0.2  # of the characters, at most, before all others: what they say is to be followed on
_NAMES = {
    "skills": "skills",
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
    standing: Container[str] = ()  # what messages behind it hold whole
    newest_calls: tuple[int, AssistantSpoke | None] = (0, None)  # the newest message with calls, by its event

    def add(self, item: LogItem) -> None:
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
        runs = _with_others([*reversed(self.commands.values())])
        failures = [run for run in runs if not run.ok] + [*self.failures.values()]
        used: list[LedgerFile | AttachedContent] = [*unchanged, *attached]
        # One that was attached and read stands there once.
        skills = {use.skill: use for use in sorted(used, key=lambda use: use.seq) if use.skill}
        skills = {name: use for name, use in skills.items() if use.digest not in self.standing}
        return {
            "skills": [*reversed(skills.values())],
            "commits": [*filter(None, [self.working_tree]), *self.git.newest_first],
            "changed": [use for use in files if use.has_changes],
            "deleted": [use for use in files if use.state == "deleted"],
            "attached": [content for content in attached if not content.skill],
            "failed": sorted(failures, key=lambda failure: -failure.seq),
            "commands": [run for run in runs if run.ok],
            "read": [use for use in unchanged if not use.skill],
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

        Skills come first, then commits, written files, deleted ones, attachments, failures, commands, and
        what was only read; each kind has its share, newest first, and what one leaves the next ones take.
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
