"""Staleness: what a later event made stale, repeated or replaced, and what the running turn works on.

Superseded are: the text of a file that changed since, or that a later read repeats; the arguments and outputs
of edits once something else says what the file holds there; earlier lists of things to do; an output that a
later one repeats; the result of a call that was made again; a probe that failed, once the agent went on.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from helix_desktop.context.log.file_notes import tells_of_files
from helix_desktop.context.log.message_log import forked
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.files.content import ChangedFile, FileVersion
from helix_desktop.domain.files.file_use import (
    ALL_LINES,
    UNKNOWN_LINES,
    FileUse,
    Lines,
    command_text,
    file_use,
    is_test_command,
    is_todo_tool,
    tool_kind,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.todo import TODO, TodoList, parse_items
from helix_desktop.domain.typed_text import typed_text

StalenessEvent = MessageEvent | FilesChanged
_Part = tuple[str, int]
"""A part of a message that is superseded for itself: a call of an answer ("" in an output), and which
of its files, from 0."""
_OUTPUT: _Part = ("", 0)
_FILE_NAME = re.compile(r"[\w@./-]+")
_NO_HITS = ("no match", "no file", "no result", "no hits", "nothing found", "found 0", "0 match", "0 result")
_REFUSED = ("<tool_use_error>", "the user doesn't want to proceed")


class _FileText(msgspec.Struct, frozen=True):
    """Text of a file in a part of a message: lines that were read, or the whole that was written.

    `is_in_full` is False where the window shows a preview or an extract of it. `fingerprint` is that of the
    file as it was then; empty where it is not known.
    """

    seq: int
    part: _Part
    lines: Lines
    is_in_full: bool
    digests: tuple[str, ...]
    fingerprint: str = ""

    def repeats(self, earlier: _FileText) -> bool:
        """Return True if this holds what an earlier one of the same file holds, and shows as much of it."""
        return self.lines.covers(earlier.lines) and (self.is_in_full or not earlier.is_in_full)


_TextChain = tuple[_FileText, "_TextChain | None"]
"""The newest text and those before it: to add one costs the same for any number, and forks share them."""


def _distinct_texts(chain: _TextChain | None) -> list[_FileText]:
    """Return the texts of a chain, oldest first; of those with the same contents only the newest."""
    found: dict[tuple[str, ...], _FileText] = {}
    while chain is not None:
        text, chain = chain
        found.setdefault(text.digests, text)
    return list(reversed(found.values()))


def _chain_of(texts: Iterable[_FileText]) -> _TextChain | None:
    chain: _TextChain | None = None
    for text in texts:
        chain = text, chain
    return chain


class _Edit(msgspec.Struct, frozen=True):
    """An edit of a file in a part of a message: its arguments with the new texts, or its output."""

    seq: int
    part: _Part
    new_texts: tuple[str, ...] | None = None

    def is_replaced_by(self, use: FileUse) -> bool:
        """Return True if a later edit of the file leaves nothing of this one that is not said again."""
        if self.new_texts is None or use.action == "write":
            return True
        return bool(self.new_texts) and all(
            any(new in old for old in use.old_texts) for new in self.new_texts
        )


class _Output(msgspec.Struct, frozen=True):
    seq: int
    is_in_full: bool
    form: tuple[str, str]


class Staleness:
    """What a session's content is worth after its events so far; only `apply` changes it.

    A function of the events alone. An event costs the same however long the log is, but for reads of ever
    other lines of one file and edits of one file that nothing replaced.

    `superseded` maps a message to the event that made it stale, repeated or replaced it; see the module.
    `stale_digests` maps a content of a file, read or written, to the event that changed that file; not where
    the file is as it was then again.
    `file_versions` are the files by path as calls last read or wrote them, newest last; without those that
    were found changed since. `unannounced` are those that changed, by path, of which neither the note of a
    message nor the answer to an edit told the model yet. `todo_list` is the newest list that was accepted.
    """

    def __init__(self, events: Iterable[tuple[int, StalenessEvent]] = ()) -> None:
        self.superseded: dict[int, int] = {}
        self.stale_digests: dict[str, int] = {}
        self.file_changes: list[tuple[int, FilesChanged]] = []
        self._parts: dict[int, frozenset[_Part]] = {}  # those of a message that nothing superseded yet
        self._step = 0
        self._calls: dict[str, ToolCall] = {}
        self._argument_digests: dict[str, tuple[str, ...]] = {}  # by call of the newest answer
        self._names: dict[str, tuple[str, ...]] = {}  # paths by their last component
        self._paths_as_spelled: dict[str, str] = {}  # the path of each spelling that never gets another one
        self._texts: dict[str, _TextChain] = {}  # by path, since its last change
        self._texts_by_version: dict[tuple[str, str], _TextChain] = {}  # by path and fingerprint
        self._edits: dict[str, tuple[_Edit, ...]] = {}
        self._newest_texts: dict[str, tuple[_FileText, ...]] = {}  # by path; also those that edits made stale
        self._path_of_digest: dict[str, str] = {}
        self._outputs: dict[str, _Output] = {}  # the newest of each digest
        self._results: dict[tuple[str, str], int] = {}  # the newest of each call
        self.todo_list = TodoList()
        self._todo_parts: tuple[tuple[int, _Part], ...] = ()
        self._failed_probes: tuple[int, ...] = ()
        self._edited_paths: dict[str, int] = {}  # each with its newest edit in the running turn
        self._open_calls: dict[str, ToolCall] = {}  # those of the newest answer without an output
        self._runs: dict[str, tuple[int, int]] = {}  # in it, too: newest result and number, by command
        self._user_texts: tuple[str, ...] = ()  # of its messages, as sent
        self._recalls: dict[str, int] = {}  # in it, too: the newest output of each recall, by its arguments
        self.file_versions: dict[str, FileVersion] = {}
        self.unannounced: dict[str, ChangedFile] = {}
        self._known_before: dict[str, FileVersion] = {}  # of these, as calls last read or wrote them
        self._in_work: dict[int, int] | None = None  # None: to be found
        for seq, event in events:
            self.apply(seq, event)

    def fork(self) -> Staleness:
        return forked(self)

    @property
    def in_work(self) -> dict[int, int]:
        """Return the messages that the running turn works on, each with the newest one that worked on it."""
        if self._in_work is not None:
            return self._in_work
        in_work = self._in_work = {
            seq: seq for command, (seq, count) in self._runs.items() if count > 1 or is_test_command(command)
        }
        open_uses = [use for call in self._open_calls.values() if (use := file_use(call)) is not None]
        open_paths = {path for use in open_uses if use.action == "edit" for path in use.paths}
        open_edits = ((self._known_path(path), self._step) for path in open_paths)
        for path, edit in (*self._edited_paths.items(), *open_edits):
            for text in self._newest_texts.get(path, ()):
                in_work[text.seq] = max(text.seq, edit, in_work.get(text.seq, 0))
        recalls = (seq for seq in self._recalls.values() if seq not in self.superseded)
        in_work.update({seq: max(seq, self._step) for seq in recalls})
        return in_work

    def named_by_user(self, queued: Iterable[str] = ()) -> dict[int, int]:
        """Return the newest texts of files that the user's words of the running turn name, as `in_work`.

        And those that the texts of `queued` messages name, with which the turn goes on or the next begins.
        """
        texts = (*map(typed_text, self._user_texts), *queued)
        named = tuple(map(_file_names, texts))
        return {
            text.seq: max(text.seq, self._step)
            for path, texts in self._newest_texts.items()
            if any(
                _is_named(path, name) for names in named for name in names.get(posixpath.basename(path), ())
            )
            for text in texts
        }

    def apply(self, seq: int, event: StalenessEvent) -> None:
        self._in_work = None
        match event:
            case UserSpoke():
                if not event.steered:
                    self._edited_paths = {}
                    self._runs = {}
                    self._recalls = {}
                    self._user_texts = ()
                if not event.steered or tells_of_files(event.note):
                    self.unannounced = {}
                self._user_texts = (*self._user_texts, event.text)
                self._add_attachments(seq, event)
            case AssistantSpoke():
                self._add_step(seq, event)
            case ToolAnswered(outcome=outcome, call_id=call_id):
                self._open_calls.pop(call_id, None)
                if outcome in ("ran", "stopped") or event.digest:
                    self._add_output(seq, event)
            case FilesChanged():
                self.file_changes.append((seq, event))
                for file in event.files:
                    self._add_found_change(file, unannounced=event.unannounced)
                    path = self._path(file.path)
                    self._end_texts(path, seq, file.after)
                    self._newest_texts.pop(path, None)

    def _add_found_change(self, file: ChangedFile, *, unannounced: bool) -> None:
        """Note that a file is not as the agent knows it, or is so again before anything told it."""
        known_before = self._known_before.pop(file.path, None)
        known = known_before if self.unannounced.pop(file.path, None) is not None else None
        version = self.file_versions.pop(file.path, known)
        if unannounced and version is not None and file.after and file.after == version.fingerprint:
            self.file_versions[file.path] = version
        elif unannounced:
            self.unannounced[file.path] = file
            if version is not None:
                self._known_before[file.path] = version

    def _add_attachments(self, seq: int, message: UserSpoke) -> None:
        """Add the files that the user put into a message: read like by a tool, but never superseded."""
        for place, attachment in enumerate(message.attachments):
            if (version := attachment.version) is None:
                continue
            self._set_version(version)
            if attachment.again:
                continue
            lines = Lines(attachment.first_line, attachment.last_line) if attachment.first_line else ALL_LINES
            text = _FileText(
                seq, ("", place), lines, attachment.form == "full", (attachment.digest,), version.fingerprint
            )
            self._add_text(self._path(version.path), text)

    def _set_version(self, version: FileVersion) -> None:
        self.file_versions.pop(version.path, None)  # so that the newest is last
        self.unannounced.pop(version.path, None)
        self.file_versions[version.path] = version

    def _add_step(self, seq: int, step: AssistantSpoke) -> None:
        for probe in self._failed_probes:
            self._supersede(probe, _OUTPUT, seq)
        self._failed_probes = ()
        self._step = seq
        self._calls = {call.id: call for call in step.calls}
        self._open_calls = self._calls.copy()
        self._argument_digests = {swept.call_id: swept.digests for swept in step.short}
        if step.short:
            self._parts[seq] = frozenset(
                (call_id, place)
                for call_id in self._argument_digests
                for place in range(self._files(call_id))
            )

    def _files(self, call_id: str) -> int:
        use = file_use(self._calls[call_id]) if call_id in self._calls else None
        return len(use.paths) if use else 1

    def _supersede(self, seq: int, part: _Part, by: int) -> None:
        """Note that a part of a message is superseded, and so the message if all its parts are."""
        left = self._parts.get(seq)
        if left is None:
            return
        left -= {part}
        if left:
            self._parts[seq] = left
        else:
            del self._parts[seq]
            self.superseded[seq] = by

    def _supersede_all(self, seq: int, by: int) -> None:
        for part in self._parts.get(seq, ()):
            self._supersede(seq, part, by)

    def _add_output(self, seq: int, output: ToolAnswered) -> None:
        call = self._calls.get(output.call_id)
        if call is None:
            return
        self._parts[seq] = frozenset({_OUTPUT})
        for file in output.files:
            self._set_version(file)
        is_ok = _is_ok(output)
        use = file_use(call)
        if self.unannounced and use is not None and use.action != "read":
            edited = self._paths(use, output)
            for path in [path for path in self.unannounced if self._path(path) in edited]:
                del self.unannounced[path]
        if is_todo_tool(call.name):
            self._add_todo_list(seq, call, is_ok)
        elif output.recalled:
            self._add_recall(seq, call, output)
        else:
            self._add_digest(seq, output)
            if use is not None and use.action != "read":
                self._add_change(seq, call, output, use, is_ok)
            elif tool_kind(call.name) == "command":
                self._add_run(seq, call)
                if use is not None and is_ok:
                    self._add_read(seq, output, use)
            else:
                self._add_finding(seq, call, output, use)

    def _add_todo_list(self, seq: int, call: ToolCall, is_ok: bool) -> None:
        if is_ok:
            for earlier, part in self._todo_parts:
                self._supersede(earlier, part, seq)
            self._todo_parts = ()
            if call.name == TODO and (items := parse_items(call.arguments)):
                self.todo_list = TodoList(self._step, seq, items)
        self._todo_parts += ((seq, _OUTPUT), (self._step, (call.id, 0)))

    def _add_digest(self, seq: int, output: ToolAnswered) -> None:
        """Supersede the newest output of the same content, if this one shows as much of it."""
        new = _Output(seq, output.whole, (output.form, output.asked))
        earlier = self._outputs.get(output.digest)
        if earlier and (new.is_in_full or (new.form == earlier.form and not earlier.is_in_full)):
            self._supersede_all(earlier.seq, seq)
        self._outputs[output.digest] = new

    def _add_result(self, seq: int, key: tuple[str, str]) -> None:
        """Supersede the result of the same call made before: who asks again wants the present answer."""
        if key in self._results:
            self._supersede_all(self._results[key], seq)
        self._results[key] = seq

    def _add_finding(self, seq: int, call: ToolCall, output: ToolAnswered, use: FileUse | None) -> None:
        """Add what was read, listed or searched."""
        kind = tool_kind(call.name)
        if kind not in ("read", "list", "search") and use is None:
            return
        if not _is_ok(output) or (kind == "search" and _found_nothing(output)):
            self._failed_probes += (seq,)
        elif use is not None:
            self._add_read(seq, output, use)
        if use is None or use.lines == UNKNOWN_LINES:
            self._add_result(seq, (call.name, call.arguments))

    def _add_run(self, seq: int, call: ToolCall) -> None:
        command = command_text(call)
        self._add_result(seq, ("", command))
        _, runs = self._runs.get(command, (0, 0))
        self._runs[command] = seq, runs + 1

    def _add_recall(self, seq: int, call: ToolCall, output: ToolAnswered) -> None:
        self._add_result(seq, (call.name, call.arguments))
        self._recalls[call.arguments] = seq
        path = self._path_of_digest.get(output.recalled)
        if path is not None:
            self._add_text(path, _FileText(seq, _OUTPUT, UNKNOWN_LINES, False, ()))

    def _add_read(self, seq: int, output: ToolAnswered, use: FileUse) -> None:
        paths = self._paths(use, output)
        self._parts[seq] = frozenset(("", place) for place in range(len(paths)))
        digests = (output.digest,) if output.digest else ()
        for place, path in enumerate(paths):
            text = _FileText(
                seq, ("", place), use.lines, output.whole, digests, _fingerprint(output, use, place)
            )
            self._add_text(path, text)
            if text.lines == ALL_LINES and text.is_in_full:
                # A read of some lines does not: whether they are those of the edit is not known.
                for edit in self._edits.pop(path, ()):
                    self._supersede(edit.seq, edit.part, seq)

    def _add_text(self, path: str, text: _FileText) -> None:
        left: list[_FileText] = []
        for earlier in self._newest_texts.get(path, ()):
            if text.repeats(earlier):
                self._supersede(earlier.seq, earlier.part, text.seq)
            else:
                left.append(earlier)
        self._newest_texts[path] = (*left, text)
        self._texts[path] = text, self._texts.get(path)
        if text.fingerprint:
            version = path, text.fingerprint
            self._texts_by_version[version] = text, self._texts_by_version.get(version)
        for digest in text.digests:
            self._path_of_digest[digest] = path
            self.stale_digests.pop(digest, None)

    def _end_texts(self, path: str, by: int, fingerprint: str) -> None:
        """Note that a file changed: all that was read of it is stale, but what it holds again."""
        for text in _distinct_texts(self._texts.pop(path, None)):
            self._supersede(text.seq, text.part, by)
            for digest in text.digests:
                if self._path_of_digest[digest] == path:
                    self.stale_digests[digest] = by
        self._take_again(path, fingerprint)

    def _take_again(self, path: str, fingerprint: str) -> None:
        """Note that a file is as it was once: what was read of it then is not stale."""
        version = path, fingerprint
        again = _distinct_texts(self._texts_by_version.get(version))
        chain = _chain_of(again)
        if chain is None:
            return
        self._texts[path] = self._texts_by_version[version] = chain
        for digest in (digest for text in again for digest in text.digests):
            if self._path_of_digest[digest] == path:
                self.stale_digests.pop(digest, None)

    def _add_change(self, seq: int, call: ToolCall, output: ToolAnswered, use: FileUse, is_ok: bool) -> None:
        """Add an edit or a write.

        What an edit put in place stays worth reading, in its arguments, while nothing else in the window says
        it: until the file is read whole, written whole, or edited again at that very place. Two edits of a
        file are usually of two places.
        """
        paths = self._paths(use, output)
        self._parts[seq] = frozenset(("", place) for place in range(len(paths)))
        for place, path in enumerate(paths):
            arguments = call.id, place
            if is_ok:
                self._edited_paths[path] = seq
                self._end_texts(path, seq, _fingerprint(output, use, place))
                self._end_edits(path, seq, use)
            if is_ok and use.action == "write":
                self._newest_texts.pop(path, None)
                digests = self._argument_digests.get(call.id, ())
                if digests:
                    version = _fingerprint(output, use, place)
                    text = _FileText(self._step, arguments, ALL_LINES, True, digests, version)
                    self._add_text(path, text)
                edits: tuple[_Edit, ...] = (_Edit(seq, ("", place)),)
            else:
                edits = (_Edit(seq, ("", place)), _Edit(self._step, arguments, use.new_texts))
            self._edits[path] = (*self._edits.get(path, ()), *edits)

    def _end_edits(self, path: str, by: int, use: FileUse) -> None:
        edits = self._edits.get(path, ())
        left: list[_Edit] = []
        for edit in edits:
            if edit.is_replaced_by(use):
                self._supersede(edit.seq, edit.part, by)
            else:
                left.append(edit)
        self._edits[path] = tuple(left)

    def _paths(self, use: FileUse, output: ToolAnswered) -> tuple[str, ...]:
        """Return the files of a call: as the tool found them behind links, else as the call spells them."""
        found = tuple(file.path for file in output.files)
        return tuple(self._path(path) for path in (found if len(found) == len(use.paths) else use.paths))

    def _path(self, path: str) -> str:
        """Return the one spelling of a path: the first that occurred."""
        settled = self._paths_as_spelled.get(path)
        if settled is not None:
            return settled

        known = self._known_path(path)
        name = posixpath.basename(known)
        names = self._names.get(name, ())
        if known not in names:
            self._names[name] = (*names, known)
        if known == _normalized(path):
            self._paths_as_spelled[path] = known
        return known

    def _known_path(self, path: str) -> str:
        """Return the spelling of a path that occurred before, if one did.

        An absolute path and a relative one are the same file if one ends with the other; not by the name
        alone, which many folders have.
        """
        path = _normalized(path)
        names = self._names.get(posixpath.basename(path), ())
        same = [] if path in names else [other for other in names if _is_same_file(path, other)]
        return max(same, key=len) if same else path


@lru_cache(maxsize=64)  # queued messages are read before each request
def _file_names(text: str) -> Mapping[str, Sequence[str]]:
    """Return the words of a text that may name files, by their last component."""
    names: dict[str, list[str]] = {}
    for name in {posixpath.normpath(word.rstrip(".")) for word in _FILE_NAME.findall(text)}:
        names.setdefault(posixpath.basename(name), []).append(name)
    return names


def _normalized(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


def _is_named(path: str, name: str) -> bool:
    return f"/{path}".endswith(f"/{name}") or f"/{name}".endswith(f"/{path}")


def _is_same_file(path: str, other: str) -> bool:
    short, long = sorted((path, other), key=len)
    return (
        long.startswith("/") and "/" in short[1:] and not short.startswith("/") and long.endswith(f"/{short}")
    )


def _fingerprint(output: ToolAnswered, use: FileUse, place: int) -> str:
    """Return the fingerprint of a file after a call, by its place from 0; empty where it is not known."""
    return output.files[place].fingerprint if len(output.files) == len(use.paths) else ""


def _is_ok(output: ToolAnswered) -> bool:
    return output.ok and not output.first_line.lower().startswith(_REFUSED)


def _found_nothing(output: ToolAnswered) -> bool:
    return not output.text.strip() or output.first_line.lower().startswith(_NO_HITS)
