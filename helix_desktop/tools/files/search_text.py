"""Searching the workspace's files by regular expression."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import AbstractContextManager
from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.secret_names import is_secret_path
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.files.ignore import LEFT_OUT, IgnoreFile
from helix_desktop.tools.files.jail import Jail, SearchRoot
from helix_desktop.tools.process.ripgrep import Ripgrep, normalize_path
from helix_desktop.tools.tool import UnguardedTool

_MAX_LINES = 2_000
_SECRETS_LEFT_OUT = "; files that may hold keys, such as .env, are not searched: read_file asks the user"


class SearchTextArguments(Arguments, frozen=True):
    """The arguments of search_text; context is in lines."""

    pattern: str
    path: str = "."
    glob: str = ""
    context: Annotated[int, msgspec.Meta(ge=0, le=20)] = 0


class SearchText(UnguardedTool[SearchTextArguments]):
    """Finds lines in files, grouped by file."""

    name = "search_text"
    arguments_type = SearchTextArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(
        self, call_id: str, args: SearchTextArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the matching lines with their numbers. Raises ToolError."""
        if not args.pattern:
            raise ToolError("pattern is empty.", fix="Give the text or regular expression to look for.")
        search_root = self._jail.hold_folder(args.path)
        root = await asyncio.to_thread(search_root.__enter__)
        try:
            result = await self._ripgrep.run(self._options(args, root), root.cwd)
        finally:
            await release_folder(search_root)
        where = "/".join(part for part in (root.path, root.file_name) if part)
        where_text = where or "the workspace"
        ignore_file = self._jail.limits.ignore_file
        data = await asyncio.to_thread(
            _grouped, result.output, root.path, args.pattern, where_text, ignore_file
        )
        return ToolResult(data, target=f"{args.pattern} in {where or '.'}")

    def _options(self, args: SearchTextArguments, root: SearchRoot) -> list[str]:
        options = ["--null", "--no-heading", "--with-filename", "--sort=path", f"--context={args.context}"]
        options += [f"--glob={args.glob}"] if args.glob else []
        options += [*gitignore_options(), *hidden_globs(self._jail, root), f"--regexp={args.pattern}", "--"]
        return [*options, f"./{root.file_name}" if root.file_name else "."]


def gitignore_options() -> tuple[str, ...]:
    """Return the options to search hidden files, but none that the workspace's git ignores."""
    return ("--hidden", "--no-ignore-parent", "--no-ignore-global", "--no-require-git", "--glob=!.git")


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


def _grouped(output: bytes, rel: str, pattern: str, where: str, ignore_file: IgnoreFile) -> bytes:
    lines: list[str] = []
    files, matches, current = 0, 0, ""
    allowed: dict[str, bool] = {}
    for line in output.decode(errors="replace").split("\n"):
        name, separator, rest = line.partition("\0")
        if not separator:
            lines += ["  --"] if line == "--" else []
            continue
        if name not in allowed:
            allowed[name] = bool(ignore_file.without_ignored(rel, [normalize_path(name)]))
        if not allowed[name]:
            continue
        path = "/".join(part for part in (rel, normalize_path(name)) if part)
        # That one has a match is not told either: it would spell a key letter by letter.
        if is_secret_path(path):
            continue
        digits = len(rest) - len(rest.lstrip("0123456789"))
        matches += rest[digits : digits + 1] == ":"
        if name != current:
            current, files = name, files + 1
            lines.append(path)
        lines.append(f"  {rest}")
    left_out = LEFT_OUT if ignore_file.exists else ""
    if not matches:
        return f"No match for {pattern!r} in {where}{_SECRETS_LEFT_OUT}.\n{left_out}".encode()
    left = len(lines) - _MAX_LINES
    cut = [f"(… {left:,} more lines; narrow the path, the glob or the pattern)"] if left > 0 else []
    head = f"{pluralize(matches, 'matching line')} in {pluralize(files, 'file')}:"
    return ("\n".join([head, *lines[:_MAX_LINES], *cut]) + "\n" + left_out).encode()
