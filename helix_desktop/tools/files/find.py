"""Finding files by their names, as git sees the workspace."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.files.ignore import LEFT_OUT, MarkedIgnoreFiles
from helix_desktop.tools.files.jail import Jail, SearchRoot
from helix_desktop.tools.files.search_text import gitignore_options, hidden_globs, release_folder
from helix_desktop.tools.process.ripgrep import Ripgrep, normalize_path
from helix_desktop.tools.process.runner import ProcessResult
from helix_desktop.tools.tool import UnguardedTool

_MAX_FILES = 1_000
_MAX_PLACES = 3  # of one name: more say nothing of the one that is looked for
_MAX_PATTERN = 400  # characters of a pattern
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}/]*\}|.", re.DOTALL)


class FindFilesArguments(Arguments, frozen=True):
    """The arguments of find_files."""

    pattern: str
    path: str = "."


class FindFiles(UnguardedTool[FindFilesArguments]):
    """Lists the files whose paths match a glob, in order."""

    name = "find_files"
    arguments_type = FindFilesArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(
        self, call_id: str, args: FindFilesArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the matching paths. Raises ToolError."""
        regex = _compile_glob(args.pattern)
        root, result = await list_files(self._jail, self._ripgrep, args.path)
        text = await asyncio.to_thread(_list_matches, result.output, regex, root.path, args.pattern)
        if result.dropped_bytes:
            text += "(there are too many files to look at all of them; name a folder as path)\n"
        text += LEFT_OUT if self._jail.limits.ignore_file.exists else ""
        return ToolResult(text.encode(), target=f"{args.pattern} in {root.path or '.'}")


async def list_files(jail: Jail, ripgrep: Ripgrep, path: str) -> tuple[SearchRoot, ProcessResult]:
    """Return a folder, and the sorted paths in it that tools may read, NUL-separated. Raises ToolError."""
    search_root = jail.hold_folder(path)
    root = await asyncio.to_thread(search_root.__enter__)
    try:
        if root.file_name:
            raise ToolError(f"{path} is a file.", fix="path names a folder to look in.")
        options = ["--files", "--null", "--sort=path", *gitignore_options(), *hidden_globs(jail, root), "."]
        result = await ripgrep.run(options, root.cwd)
        marked = MarkedIgnoreFiles(root.cwd)
        return root, await asyncio.to_thread(_without_ignored, jail, root, result, marked)
    finally:
        await release_folder(search_root)


async def same_name_hint(jail: Jail, ripgrep: Ripgrep, path: str) -> str:
    """Return where files with the name of a missing one are; empty if they are nowhere, or in many places."""
    try:
        _, result = await list_files(jail, ripgrep, ".")
    except ToolError:
        return ""
    places = await asyncio.to_thread(_places_of, path.rpartition("/")[2], result.output)
    return f"There is {' and '.join(places)}." if 0 < len(places) <= _MAX_PLACES else ""


def _places_of(name: str, output: bytes) -> list[str]:
    """Return the paths of files with a name among NUL-separated paths."""
    paths = (normalize_path(found.decode(errors="surrogateescape")) for found in output.split(b"\0"))
    return [escape_hidden_name(found) for found in paths if found.rpartition("/")[2] == name]


def _without_ignored(
    jail: Jail, root: SearchRoot, result: ProcessResult, marked: MarkedIgnoreFiles
) -> ProcessResult:
    decoded = result.output.decode(errors="surrogateescape").split("\0")
    names = [normalize_path(name) for name in decoded if name]
    unlisted = [name for name in names if not marked.ignores(name)]
    if len(unlisted) == len(names) and not jail.limits.ignore_file.exists:
        return result
    paths = jail.limits.ignore_file.without_ignored(root.path, unlisted)
    return replace(result, output="\0".join(paths).encode(errors="surrogateescape"))


def _compile_glob(pattern: str) -> re.Pattern[str]:
    pattern = pattern.strip().removeprefix("./")
    if not pattern or len(pattern) > _MAX_PATTERN:
        raise ToolError("pattern is empty or over 400 characters.", fix="Give a glob such as src/**/*.py.")
    anywhere = pattern if "/" in pattern else f"**/{pattern}"
    return re.compile(
        "".join(_part_regex(token) for token in _TOKEN.findall(anywhere.removeprefix("/"))), re.DOTALL
    )


def _part_regex(token: str) -> str:
    """Return one token of a glob as a regular expression; `*` and `?` never match a slash."""
    fixed = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token)
    if fixed is not None:
        return fixed
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside.replace('^', chr(92) + '^')}]"
    if token.startswith("{") and len(token) > 1:
        choices = ("".join(map(_part_regex, _TOKEN.findall(choice))) for choice in token[1:-1].split(","))
        return f"(?:{'|'.join(choices)})"
    return re.escape(token)


def _list_matches(output: bytes, regex: re.Pattern[str], folder: str, pattern: str) -> str:
    names = (normalize_path(name.decode(errors="surrogateescape")) for name in output.split(b"\0") if name)
    matches = sorted(name for name in names if regex.fullmatch(name))
    where = folder or "the workspace"
    if not matches:
        return f"No file matches {pattern!r} in {where}; files ignored by git are not looked at.\n"
    paths = [
        escape_hidden_name("/".join(part for part in (folder, name) if part)) for name in matches[:_MAX_FILES]
    ]
    omitted = len(matches) - len(paths)
    more = [f"(… {omitted:,} more files; narrow the pattern or the path)"] if omitted else []
    return "\n".join([f"{pluralize(len(matches), 'file')}:", *paths, *more]) + "\n"
