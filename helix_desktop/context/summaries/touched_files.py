"""Which files a tool call or a command touched, and what of them it read or wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from helix_desktop.context.summaries.ledger_entries import StoredContent
from helix_desktop.domain.digest import MARKER_START
from helix_desktop.domain.events.conversation import AssistantSpoke, MaskedCall, ToolAnswered
from helix_desktop.domain.files.file_use import ALL_LINES, file_use
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tool_call_target import ToolKind, decode_arguments, tool_kind

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
    """Return what a call of a message holds; `seq` is the message's event."""
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
    """Yield the files that a command removes."""
    for names in _DELETING_COMMAND.findall(command[:_PARSED_CHARS]):
        for name in names.split():
            path = name.strip("\"'")
            if path and not path.startswith(("-", "$")):
                yield path
