"""Finding files by their names, as git sees the workspace, and searching them by regular expression."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Annotated, NamedTuple

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name, escape_undecodable
from helix_desktop.tools.files.jail import LEFT_OUT, IgnoreFile, Jail, MarkedIgnoreFiles, SearchRoot
from helix_desktop.tools.process import ProcessResult, Ripgrep, normalize_path
from helix_desktop.tools.tool import Arguments, UnguardedTool

_MAX_LINES, _MAX_BINARIES = 2_000, 20
_BINARY = re.compile(r'(\./[^\0]*?|[^\0\n]+?): binary file matches \(found "\\0" byte around offset \d+\)\n')
_SECRETS_LEFT_OUT = "; files that may hold keys, such as .env, are not searched: read_file asks the user"


class SearchTextArguments(Arguments, frozen=True):
    """The arguments of search_text; context is in lines."""

    pattern: str
    path: str = "."
    glob: str = ""
    context: Annotated[int, msgspec.Meta(ge=0, le=20)] = 0


class SearchText(UnguardedTool[SearchTextArguments]):
    name = "search_text"
    arguments_type = SearchTextArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(
        self, call_id: str, args: SearchTextArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        if not args.pattern:
            raise ToolError("pattern is empty.", fix="Give the text or regular expression to look for.")
        search_root = self._jail.hold_folder(args.path)
        root = await asyncio.to_thread(search_root.__enter__)
        try:
            result = await self._ripgrep.run(self._options(args, root), root.cwd)
            where = "/".join(part for part in (root.path, escape_undecodable(root.file_name)) if part)
            where_text = (where or "the workspace") + (f" (only {args.glob})" if args.glob else "")
            ignore_file, marked = self._jail.limits.ignore_file, MarkedIgnoreFiles(root.cwd)
            data = await asyncio.to_thread(
                _grouped, result.output, root.path, args.pattern, where_text, ignore_file, marked
            )
        finally:
            await release_folder(search_root)
        return ToolResult(data, target=f"{args.pattern} in {where or '.'}")

    def _options(self, args: SearchTextArguments, root: SearchRoot) -> list[str]:
        options = [
            "--null",
            "--no-heading",
            "--with-filename",
            "--binary",
            "--sort=path",
            f"--context={args.context}",
        ]
        options += [f"--glob={args.glob}"] if args.glob else []
        options += [*gitignore_options(root), *hidden_globs(self._jail, root), f"--regexp={args.pattern}"]
        return [*options, "--", f"./{root.file_name}" if root.file_name else "."]


def gitignore_options(root: SearchRoot) -> list[str]:
    """Return the options to search hidden files, but none that the workspace's git ignores.

    In a folder of a repository ripgrep reads the ignore files above it as well, up to the repository's own.
    """
    workspace = os.path.join(root.cwd, *[os.pardir for _ in root.path.split("/") if root.path])
    is_repository = os.path.lexists(os.path.join(workspace, ".git"))
    anywhere = [] if is_repository else ["--no-ignore-parent", "--no-require-git"]
    return ["--hidden", "--no-ignore-global", *anywhere, "--glob=!.git"]


def hidden_globs(jail: Jail, root: SearchRoot) -> list[str]:
    """Return the options that leave out what no tool may read."""
    inside = tuple(root.path.split("/")) if root.path else ()
    tops = [top[len(inside) :] for top in jail.limits.hidden if top[: len(inside)] == inside]
    return [f"--glob=!/{_literal('/'.join(top))}" for top in tops if top]


def _literal(path: str) -> str:
    """Return a glob that matches this path alone."""
    return re.sub(r"[*?\[\]{}]", r"[\g<0>]", path if os.name == "nt" else path.replace("\\", r"\\"))


async def release_folder(context: AbstractContextManager[SearchRoot]) -> None:
    """Release a held folder, on another thread."""
    await asyncio.to_thread(context.__exit__, None, None, None)


class _Line(NamedTuple):
    """A line of ripgrep's output: its file, and what follows it; None for a binary file that matches."""

    name: str
    rest: str | None


def _lines(output: bytes) -> Iterator[_Line | None]:
    """Yield the lines of an output, None for a gap between two parts of a file.

    A NUL ends each name, which may hold line feeds itself.
    """
    name, *pieces = output.decode(errors="surrogateescape").split("\0")
    for piece in [*pieces, None]:
        while True:
            if name.startswith("--\n"):
                name = name.removeprefix("--\n")
                yield None
            elif binary := _BINARY.match(name):
                name = name[binary.end() :]
                yield _Line(binary[1], None)
            else:
                break
        if piece is None:
            return
        rest, _, following = piece.partition("\n")
        yield _Line(name, rest.encode(errors="surrogateescape").decode(errors="replace"))
        name = following


def _grouped(
    output: bytes, rel: str, pattern: str, where: str, ignore_file: IgnoreFile, marked: MarkedIgnoreFiles
) -> bytes:
    lines: list[str] = []
    files, matches, current = 0, 0, ""
    allowed: dict[str, bool] = {}
    binaries: list[str] = []
    for found in _lines(output):
        if found is None:
            lines.append("  --")
            continue
        name = normalize_path(found.name)
        path = "/".join(part for part in (rel, name) if part)
        if name not in allowed:
            is_listed = not ignore_file.without_ignored(rel, [name]) or marked.ignores(name)
            # That a file with keys has a match is not told either: it would spell a key letter by letter.
            allowed[name] = not is_listed and not is_secret_path(path)
        if not allowed[name]:
            continue
        if found.rest is None:
            binaries.append(escape_hidden_name(path))
            continue
        digits = len(found.rest) - len(found.rest.lstrip("0123456789"))
        matches += found.rest[digits : digits + 1] == ":"
        if name != current:
            current, files = name, files + 1
            lines.append(escape_hidden_name(path))
        lines.append(f"  {found.rest}")
    left_out = LEFT_OUT if ignore_file.exists else ""
    binary = _binary_text(binaries)
    if not matches:
        typed = repr(pattern).replace("\\\\", "\\")  # a doubled backslash reads as a wrong pattern
        head = f"No match for {typed} in {'the text files of ' if binaries else ''}{where}"
        return f"{head}{_SECRETS_LEFT_OUT}.\n{binary}{left_out}".encode(errors="replace")
    left = len(lines) - _MAX_LINES
    cut = [f"(… {left:,} more lines; narrow the path, the glob or the pattern)"] if left > 0 else []
    head = f"{pluralize(matches, 'matching line')} in {pluralize(files, 'file')}:"
    text = "\n".join([head, *lines[:_MAX_LINES], *cut]) + "\n" + binary + left_out
    return text.encode(errors="replace")


def _binary_text(files: list[str]) -> str:
    """Return which files match that are no plain text, as they hold a NUL; empty if none."""
    if not files:
        return ""
    more = f" and {len(files) - _MAX_BINARIES:,} more" if len(files) > _MAX_BINARIES else ""
    has = "has" if len(files) == 1 else "have"
    names = ", ".join(files[:_MAX_BINARIES])
    return f"{pluralize(len(files), 'binary file')} {has} it, not shown: {names}{more}\n"


_MAX_FILES = 1_000
_MAX_PLACES = 3  # of one name: more say nothing of the one that is looked for
_MAX_PATTERN = 400  # characters of a pattern
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}/]*\}|.", re.DOTALL)


class FindFilesArguments(Arguments, frozen=True):
    pattern: str
    path: str = "."


class FindFiles(UnguardedTool[FindFilesArguments]):
    name = "find_files"
    arguments_type = FindFilesArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(
        self, call_id: str, args: FindFilesArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
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
        options = ["--files", "--null", "--sort=path", *gitignore_options(root), *hidden_globs(jail, root)]
        result = await ripgrep.run([*options, "."], root.cwd)
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
