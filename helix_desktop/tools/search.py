"""Searching the workspace's files by regular expression."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import AbstractContextManager
from typing import Annotated

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free
from helix_desktop.tools.jail import Jail, Place
from helix_desktop.tools.ripgrep import Ripgrep, plain

_MOST_LINES = 2_000


class SearchTextArguments(Arguments, frozen=True):
    """What search_text takes; context is in lines."""

    pattern: str
    path: str = "."
    glob: str = ""
    context: Annotated[int, msgspec.Meta(ge=0, le=20)] = 0


class SearchText(Free):
    """Finds lines in files, grouped by file."""

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(self, call_id: str, given: SearchTextArguments, told: Progress = unheard) -> ToolResult:
        """The matching lines with their numbers. Raises ToolError."""
        if not given.pattern:
            raise ToolError("pattern is empty.", fix="Give the text or regular expression to look for.")
        held = self._jail.place(given.path)
        place = await asyncio.to_thread(held.__enter__)
        try:
            ran = await self._ripgrep.run(self._options(given, place), place.cwd)
        finally:
            await let_go(held)
        where = "/".join(part for part in (place.rel, place.name) if part)
        named = where or "the workspace"
        data = await asyncio.to_thread(_grouped, ran.output, place.rel, given.pattern, named)
        return ToolResult(data, target=f"{given.pattern} in {where or '.'}")

    def _options(self, given: SearchTextArguments, place: Place) -> list[str]:
        options = ["--null", "--no-heading", "--with-filename", "--sort=path", f"--context={given.context}"]
        options += [f"--glob={given.glob}"] if given.glob else []
        options += [*as_git_sees(), *sealed_globs(self._jail, place), f"--regexp={given.pattern}", "--"]
        return [*options, f"./{place.name}" if place.name else "."]


def as_git_sees() -> tuple[str, ...]:
    """The options by which hidden files are looked at and those that the workspace's git ignores are not."""
    return ("--hidden", "--no-ignore-parent", "--no-ignore-global", "--no-require-git", "--glob=!.git")


def sealed_globs(jail: Jail, place: Place) -> list[str]:
    """The options that leave out what no tool may read."""
    inside = tuple(place.rel.split("/")) if place.rel else ()
    tops = [top[len(inside) :] for top in jail.limits.sealed if top[: len(inside)] == inside]
    return [f"--glob=!/{_literal('/'.join(top))}" for top in tops if top]


def _literal(path: str) -> str:
    """A path as a glob that matches it alone."""
    return re.sub(r"[*?\[\]{}]", r"[\g<0>]", path if os.name == "nt" else path.replace("\\", r"\\"))


async def let_go(held: AbstractContextManager[Place]) -> None:
    """Leave a place that is held; blocks elsewhere."""
    await asyncio.to_thread(held.__exit__, None, None, None)


def _grouped(output: bytes, rel: str, pattern: str, where: str) -> bytes:
    lines: list[str] = []
    files, matches, current = 0, 0, ""
    for line in output.decode(errors="replace").split("\n"):
        name, found, rest = line.partition("\0")
        if not found:
            lines += ["  --"] if line == "--" else []
            continue
        digits = len(rest) - len(rest.lstrip("0123456789"))
        matches += rest[digits : digits + 1] == ":"
        if name != current:
            current, files = name, files + 1
            lines.append("/".join(part for part in (rel, plain(name)) if part))
        lines.append(f"  {rest}")
    if not matches:
        return f"No match for {pattern!r} in {where}.\n".encode()
    left = len(lines) - _MOST_LINES
    cut = [f"(… {left:,} more lines; narrow the path, the glob or the pattern)"] if left > 0 else []
    head = f"{matches:,} matching line{'s' * (matches != 1)} in {files:,} file{'s' * (files != 1)}:"
    return ("\n".join([head, *lines[:_MOST_LINES], *cut]) + "\n").encode()
