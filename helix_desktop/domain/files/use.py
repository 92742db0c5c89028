"""What a tool call does with files: which ones, which lines; for the tools of any agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tool_call_target import PATCHED, decode_arguments, tool_kind, tool_words

TO_THE_END = 1 << 62  # the last line of a range that has no end

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
_TEST_COMMAND = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|mypy|ruff|tsc)\b"
    r"|\b(?:make|npm|pnpm|yarn|bun|deno|go|cargo|mvn|gradlew?|dotnet|swift|mix|rake|bazel|just|mise)\b[^|;&]*"
    r"\b(?:tests?|check|verify|lint|build)\b"
    r"|(?:^|[\s/;&|])(?:run[_-])?tests?(?:\.\w+)?(?:\s|$)"
)

FileAction = Literal["read", "write", "edit"]


class Lines(msgspec.Struct, frozen=True):
    """A range of lines, from 1, both ends included; an empty one stands for a part that is not known."""

    first: int = 1
    last: int = TO_THE_END

    def covers(self, other: Lines) -> bool:
        """Return True if all of another range lies in this one; all lines cover also what is not known."""
        return self == ALL_LINES or self.first <= other.first <= other.last <= self.last


ALL_LINES = Lines()
UNKNOWN_LINES = Lines(1, 0)


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
    """Return what a call does with files; None if it names none, or only lists or searches."""
    kind, args = tool_kind(call.name), decode_arguments(call.arguments)
    if not isinstance(args, dict):
        paths = tuple(dict.fromkeys(PATCHED.findall(call.arguments)))
        return FileUse("edit", paths) if kind == "edit" and paths else None
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


def is_todo_tool(name: str) -> bool:
    """Return True for a tool that holds an agent's list of things to do: todo, TodoWrite, update_plan."""
    words = tool_words(name)
    return bool(words & {"todo", "todos"}) or words >= {"update", "plan"}


def command_text(call: ToolCall) -> str:
    """Return the command of a call and the folder that it runs in, on one line; all arguments if unknown."""
    args = decode_arguments(call.arguments)
    command = (args.get("command") or args.get("cmd")) if isinstance(args, dict) else None
    if isinstance(command, list):
        command = " ".join(map(str, command))
    if not isinstance(command, str):
        return call.arguments
    folder = next((str(args[key]) for key in ("folder", "cwd", "workdir") if args.get(key)), "")
    return " ".join(f"{folder} {command}".split())


def is_test_command(command: str) -> bool:
    """Return True if a command looks as if it ran tests, a build or a linter."""
    return bool(_TEST_COMMAND.search(command))


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
