"""What a tool call or a shell command was about and does with files: which ones and lines; for any agent."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS, ToolKind
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_undecodable

_TARGET_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file")
_TARGET_KEYS = (*_TARGET_PATH_KEYS, "command", "cmd", "pattern", "query", "url", "prompt", "description")
PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: (.+)")
_BROKEN_TARGET = re.compile(rf'"(?:{"|".join(_TARGET_KEYS)})"\s*:\s*"((?:[^"\\]|\\.){{1,200}})')
_FIRST = re.compile(r'"((?:[^"\\]|\\.){1,200})"')
_CAP = 200  # characters
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KINDS: dict[str, ToolKind] = {
    **dict.fromkeys(("read", "view", "cat", "open", "get", "show"), "read"),
    **dict.fromkeys(("list", "ls", "glob", "tree", "dir"), "list"),
    **dict.fromkeys(("search", "grep", "find", "rg", "query"), "search"),
    **dict.fromkeys(("write", "create", "save", "touch"), "write"),
    **dict.fromkeys(("edit", "patch", "replace", "insert", "update", "multiedit"), "edit"),
    **dict.fromkeys(("bash", "shell", "command", "exec", "terminal", "run"), "command"),
}
_SYMBOL_WORDS = frozenset(
    ("symbol", "symbols", "references", "definition", "definitions", "usages", "callers", "callees", "lsp")
)


@lru_cache(256)
def tool_kind(tool: str) -> ToolKind:
    """Return the kind of a tool; of another agent's by the words in its name, the most invasive wins."""
    if (builtin := BUILTIN_TOOLS.get(tool)) is not None:
        return builtin.kind
    kinds = [_KINDS[word] for word in tool_words(tool) if word in _KINDS]
    order: tuple[ToolKind, ...] = ("command", "write", "edit", "search", "list", "read")
    return next((kind for kind in order if kind in kinds), "other")


@lru_cache(256)
def is_symbol_lookup(tool: str) -> bool:
    """Return True if a tool says where a symbol is defined or used, by the words in its name."""
    return not _SYMBOL_WORDS.isdisjoint(tool_words(tool)) and tool_kind(tool) in ("search", "read", "other")


@lru_cache(256)
def tool_words(tool: str) -> frozenset[str]:
    """Return the words in the name of a tool, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(tool))


def call_target(arguments: str) -> str:
    """Return the path, command or pattern of a call, on one line of at most 200 characters; may be empty.

    A path is spelled as the tools spell it: with codes for what ends a line.
    """
    args = decode_arguments(arguments)
    if isinstance(args, dict):
        if path := _first_text(args, _TARGET_PATH_KEYS):
            return ellipsize(escape_undecodable(path[: _CAP * 4]), _CAP)
        text = _target_of(args) or next((value for value in args.values() if isinstance(value, str)), "")
        text = text or ", ".join(dict.fromkeys(filter(None, map(_target_of, _parts(args)))))
    else:
        is_broken = arguments.lstrip().startswith("{")  # the first string of an object is a name
        first = _BROKEN_TARGET if is_broken else _FIRST
        found = PATCHED.search(arguments) or first.search(arguments)
        text = found.group(1) if found else arguments
    return ellipsize(" ".join(text[: _CAP * 4].split()), _CAP)


def mcp_call_target(arguments: str) -> str:
    """Return the first text that an MCP tool is given, else all that it is; empty for nothing."""
    args = decode_arguments(arguments)
    if not isinstance(args, dict):
        return ""
    texts = (value for value in args.values() if isinstance(value, str) and value.strip())
    text = next(texts, "") or ", ".join(f"{name}: {json.dumps(value)}" for name, value in args.items())
    return ellipsize(" ".join(text[: _CAP * 4].split()), _CAP)


def _target_of(args: dict[str, Any]) -> str:
    return escape_undecodable(_first_text(args, _TARGET_PATH_KEYS)) or _first_text(args, _TARGET_KEYS)


def _first_text(args: dict[str, Any], names: Iterable[str]) -> str:
    return next((args[name] for name in names if isinstance(args.get(name), str) and args[name]), "")


def _parts(args: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a call that does several things, such as edits of several files."""
    lists = (value for value in args.values() if isinstance(value, list))
    return [part for values in lists for part in values[:_CAP] if isinstance(part, dict)]


def decode_arguments(text: str) -> Any:
    """Return the arguments of a call as data; None if they are no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


TO_THE_END = 1 << 62  # the last line of a range that has no end


class Lines(msgspec.Struct, frozen=True):
    """A range of lines, from 1, both ends included; an empty one stands for a part that is not known."""

    first: int = 1
    last: int = TO_THE_END

    def covers(self, other: Lines) -> bool:
        """Return True if all of another range lies in this one; all lines cover also what is not known."""
        return self == ALL_LINES or self.first <= other.first <= other.last <= self.last


ALL_LINES = Lines()
UNKNOWN_LINES = Lines(1, 0)


_TEST = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|mypy|ruff|tsc)\b"
    r"|(?:^|[\s/;&|])(?:run[_-])?tests?(?:\.\w+)?(?:\s|$)"
)
_RUNNER = re.compile(
    r"\b(?:make|npm|pnpm|yarn|bun|deno|go|cargo|mvn|gradlew?|dotnet|swift|mix|rake|bazel|just|mise)\b"
)
_TASK = re.compile(r"\b(?:tests?|check|verify|lint|build)\b")  # what a runner is asked for behind its name
_JOIN = re.compile(r"[|;&]")
_FOLDER = re.compile(r"\s*cd\s+([\w./@+-]+)\s*&&\s*")
_NO_ERRORS = re.compile(r"\s*2>\s*(?:&1|/dev/null)")
_NOT_SIMPLE = re.compile(r"[;&<>`$*?~(){}\n]")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_PRINTED_LINES = re.compile(r"(\d+),(\d+)p")
_MAX_LENGTH = 400  # characters of a command that only prints a file
_HEAD_LINES = 10
_REMEMBERED = 4_096  # commands: before each request those of the running turn are asked about again


def command_of(args: dict[str, Any]) -> str:
    """Return the command in a call's arguments, of a list the shell's; empty if there is none."""
    command = args.get("command") or args.get("cmd")
    if isinstance(command, list):
        words = [str(word) for word in command]
        return words[-1] if words and _SHELL.fullmatch(words[0]) else " ".join(words)
    return command if isinstance(command, str) else ""


def folder_of(args: dict[str, Any]) -> str:
    """Return the folder in which a call runs its command; empty if it does not say."""
    return next((str(args[key]) for key in ("folder", "cwd", "workdir") if args.get(key)), "")


@lru_cache(maxsize=_REMEMBERED)
def is_test_command(command: str) -> bool:
    """Return True if a command looks as if it ran tests, a build or a linter."""
    if _TEST.search(command):
        return True
    return any(
        _TASK.search(part, runner.end()) for part in _JOIN.split(command) if (runner := _RUNNER.search(part))
    )


def printed_file(command: str, folder: str = "") -> tuple[str, Lines] | None:
    """Return the file that a command prints, and which lines; None if it does anything else, or more.

    Understood are cat, nl, head, tail and `sed -n 1,9p`, also `cat FILE | head`, after a `cd`.
    """
    if len(command) > _MAX_LENGTH:
        return None
    if moved := _FOLDER.match(command):
        folder = posixpath.join(folder, moved[1])
        command = command[moved.end() :]
    command = _NO_ERRORS.sub("", command)
    if _NOT_SIMPLE.search(command):
        return None
    try:
        programs = [shlex.split(part) for part in command.split("|")]
    except ValueError:
        return None
    path, lines = _printed(programs[0]) if programs[0] else ("", None)
    for words in programs[1:]:
        rest, part = _printed(words) if words else ("", None)
        lines = part if not rest and lines == ALL_LINES else None
    return (posixpath.join(folder, path), lines) if path and lines is not None else None


def _printed(words: Sequence[str]) -> tuple[str, Lines | None]:
    """Return the file that a program prints, empty for what it is fed, and which lines; None: not known."""
    program = words[0]
    options = [word for word in words[1:] if word.startswith("-")]
    names = [word for word in words[1:] if not word.startswith("-")]
    match program:
        case "cat" | "nl" | "bat":
            lines: Lines | None = ALL_LINES
        case "tail":
            names = _without_number(names)
            lines = UNKNOWN_LINES
        case "head":
            numbers = re.findall(r"\d+", " ".join([*options, *names[:-1]])) or [_HEAD_LINES]
            counts_bytes = any(option.startswith("-c") for option in options)
            names = _without_number(names)
            lines = UNKNOWN_LINES if counts_bytes else Lines(1, int(numbers[0]))
        case "sed" if options == ["-n"] and names and (printed := _PRINTED_LINES.fullmatch(names[0])):
            names = names[1:]
            lines = Lines(int(printed[1]), int(printed[2]))
        case _:
            lines = None
    return (names[0] if names else ""), (None if names[1:] else lines)


def _without_number(names: list[str]) -> list[str]:
    return [name for name in names if not name.isdigit()]


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
_SHORT_CHARS = 4_000  # characters of the arguments of a call that is remembered
_SHORT_CALLS = 8_192  # calls that are remembered

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
    remembered = _use_of_short if len(call.arguments) <= _SHORT_CHARS else _use_of_long
    return remembered(call.name, call.arguments)


def _use_of(name: str, arguments: str) -> FileUse | None:
    kind = tool_kind(name)
    args = decode_arguments(arguments)
    if not isinstance(args, dict):
        paths = tuple(dict.fromkeys(PATCHED.findall(arguments)))
        return FileUse("edit", paths) if kind == "edit" and paths else None
    if kind == "command":
        command = command_of(args)
        if patched := tuple(dict.fromkeys(PATCHED.findall(command))):
            return FileUse("edit", patched)
        printed = printed_file(command, folder_of(args))
        return FileUse("read", (printed[0],), printed[1]) if printed else None
    action = _EDITOR_COMMANDS.get(str(args.get("command"))) if kind in ("edit", "other") else None
    if action is None and kind in ("read", "write", "edit"):
        action = kind
    paths = tuple(dict.fromkeys(_paths_in(args)))
    if action is None or not paths:
        return None
    if action == "read":
        builtin = BUILTIN_TOOLS.get(name)
        by_name = kind != "read" or not _CONTENT_WORDS.isdisjoint(tool_words(name))
        reads_content = builtin.shows_lines if builtin is not None else by_name
        return FileUse(action, paths, _lines_in(args) if reads_content else UNKNOWN_LINES)
    edits = [args, *(edit for edit in _listed(args.get("edits")) if isinstance(edit, dict))]
    return FileUse(
        action, paths, old_texts=_texts_in(edits, _OLD_KEYS), new_texts=_texts_in(edits, _NEW_KEYS)
    )


_use_of_short = lru_cache(_SHORT_CALLS)(_use_of)
_use_of_long = lru_cache(64)(_use_of)  # a call is looked at when it is made, and when it is answered


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
    view_range = [*_listed(args.get("view_range")), 0, 0]
    view_first, view_last = view_range[:2]
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
