"""What a tool call does with files: which ones, which lines; for the tools of any agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from helix_desktop.domain.files.command_use import command_of, folder_of, printed_file
from helix_desktop.domain.files.line_range import ALL_LINES, TO_THE_END, UNKNOWN_LINES, Lines
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tool_call_target import PATCHED, decode_arguments, tool_kind, tool_words

_PATH_KEYS = (
    "file_path", "path", "notebook_path", "filename", "file", "file_name", "target_file", "relative_path",
    "absolute_path",
)  # fmt: skip
_LIST_KEYS = ("paths", "files", "file_paths", "edits")
_OLD_KEYS = ("old_text", "old_string", "old_str", "oldText", "search")
_NEW_KEYS = ("new_text", "new_string", "new_str", "newText", "replace")
_EDITOR_COMMANDS: Mapping[str, FileAction] = {
    "view": "read", "create": "write", "str_replace": "edit", "insert": "edit", "undo_edit": "edit"
}  # fmt: skip
_CONTENT_WORDS = frozenset({"read", "view", "cat", "open"})  # in the name of a tool that returns the lines
_SHORT_CHARS, _SHORT_CALLS = 4_000, 8_192  # characters of arguments, and how many calls are remembered

FileAction = Literal["read", "write", "edit"]


class FileUse(msgspec.Struct, frozen=True):
    """The files that a call reads or changes, as it spells them.

    `lines` are those that it reads; `old_texts` and `new_texts` are what an edit replaces, and by what, of
    all its files together.
    """

    action: FileAction
    paths: tuple[str, ...]
    lines: Lines = ALL_LINES
    old_texts: tuple[str, ...] = ()
    new_texts: tuple[str, ...] = ()


def file_use(call: ToolCall) -> FileUse | None:
    """Return what a call does with files; None if it names none, or only lists, searches or runs."""
    return _use_of_short(call) if len(call.arguments) <= _SHORT_CHARS else _use_of_long(call)


def _use_of(call: ToolCall) -> FileUse | None:
    kind, args = tool_kind(call.name), decode_arguments(call.arguments)
    if not isinstance(args, dict):
        paths = tuple(dict.fromkeys(PATCHED.findall(call.arguments)))
        return FileUse("edit", paths) if kind == "edit" and paths else None
    if kind == "command":
        return _command_use(command_of(args), folder_of(args))
    action = _EDITOR_COMMANDS.get(str(args.get("command"))) if kind in ("edit", "other") else None
    if action is None and kind in ("read", "write", "edit"):
        action = kind
    paths = tuple(dict.fromkeys(_paths_in(args)))
    if action is None or not paths:
        return None
    if action == "read":
        reads_content = kind != "read" or not _CONTENT_WORDS.isdisjoint(tool_words(call.name))
        return FileUse(action, paths, _lines_in(args) if reads_content else UNKNOWN_LINES)
    edits = [args, *(edit for edit in _listed(args.get("edits")) if isinstance(edit, dict))]
    return FileUse(
        action, paths, old_texts=_texts_in(edits, _OLD_KEYS), new_texts=_texts_in(edits, _NEW_KEYS)
    )


_use_of_short = lru_cache(_SHORT_CALLS)(_use_of)
_use_of_long = lru_cache(64)(_use_of)  # a call is looked at when it is made, and when it is answered


def _command_use(command: str, folder: str) -> FileUse | None:
    if patched := tuple(dict.fromkeys(PATCHED.findall(command))):
        return FileUse("edit", patched)
    printed = printed_file(command, folder)
    return FileUse("read", (printed[0],), printed[1]) if printed else None


def is_todo_tool(name: str) -> bool:
    """Return True for a tool that holds an agent's list of things to do: todo, TodoWrite, update_plan."""
    words = tool_words(name)
    return bool(words & {"todo", "todos"}) or words >= {"update", "plan"}


@lru_cache(256)
def is_task_tool(name: str) -> bool:
    """Return True for a tool that holds an agent's list of things to do, or a task of it: also TaskUpdate."""
    words = tool_words(name)
    return is_todo_tool(name) or (bool(words & {"task", "tasks"}) and tool_kind(name) in ("write", "edit"))


def command_text(call: ToolCall) -> str:
    """Return the command of a call and the folder that it runs in, on one line; all arguments if unknown."""
    args = decode_arguments(call.arguments)
    command = command_of(args) if isinstance(args, dict) else ""
    return " ".join(f"{folder_of(args)} {command}".split()) if command else call.arguments


def _paths_in(args: Mapping[str, Any]) -> Iterator[str]:
    for key in _PATH_KEYS:
        if isinstance(path := args.get(key), str) and path:
            yield path
            break
    for key in _LIST_KEYS:
        for item in _listed(args.get(key)):
            if isinstance(item, str):
                yield item
            elif isinstance(item, dict):
                yield from (str(item[name]) for name in _PATH_KEYS if isinstance(item.get(name), str))
    for key in ("input", "patch"):
        if isinstance(patch := args.get(key), str):
            yield from PATCHED.findall(patch)


def _lines_in(args: Mapping[str, Any]) -> Lines:
    view_first, view_last, *_ = *_listed(args.get("view_range")), 0, 0
    first = _number(args, "start_line", "offset") or view_first
    last = _number(args, "end_line") or view_last
    if args.get("tail") or args.get("line_number") or not isinstance(first, int) or not isinstance(last, int):
        return UNKNOWN_LINES
    first = max(1, first)
    if limit := _number(args, "limit", "head"):
        last = first + limit - 1
    return Lines(first, last if last > 0 else TO_THE_END)


def _number(args: Mapping[str, Any], *keys: str) -> int:
    return next((args[key] for key in keys if isinstance(args.get(key), int)), 0)


def _texts_in(edits: list[dict[str, Any]], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(edit[key] for edit in edits for key in keys if isinstance(edit.get(key), str) and edit[key])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
