"""Finding files by their names, as git sees the workspace."""

from __future__ import annotations

import asyncio
import re

from helix_desktop.context.errors import ToolError
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free
from helix_desktop.tools.jail import Jail
from helix_desktop.tools.ripgrep import Ripgrep, plain
from helix_desktop.tools.search import as_git_sees, let_go, sealed_globs

_MOST = 1_000
_LONGEST = 400  # characters of a pattern
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}/]*\}|.", re.DOTALL)


class FindFilesArguments(Arguments, frozen=True):
    """What find_files takes."""

    pattern: str
    path: str = "."


class FindFiles(Free):
    """Lists the files whose paths match a glob, in order."""

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail, self._ripgrep = jail, ripgrep

    async def run(self, call_id: str, given: FindFilesArguments, told: Progress = unheard) -> ToolResult:
        """The paths. Raises ToolError."""
        wanted = _compiled(given.pattern)
        held = self._jail.place(given.path)
        place = await asyncio.to_thread(held.__enter__)
        try:
            if place.name:
                raise ToolError(f"{given.path} is a file.", fix="path names a folder to look in.")
            options = ["--files", "--null", *as_git_sees(), *sealed_globs(self._jail, place), "."]
            ran = await self._ripgrep.run(options, place.cwd)
        finally:
            await let_go(held)
        text = await asyncio.to_thread(_listed, ran.output, wanted, place.rel, given.pattern)
        if ran.dropped:
            text += "(there are too many files to look at all of them; name a folder as path)\n"
        return ToolResult(text.encode(), target=f"{given.pattern} in {place.rel or '.'}")


def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.strip().removeprefix("./")
    if not pattern or len(pattern) > _LONGEST:
        raise ToolError("pattern is empty or over 400 characters.", fix="Give a glob such as src/**/*.py.")
    anywhere = pattern if "/" in pattern else f"**/{pattern}"
    return re.compile(
        "".join(_part(token) for token in _TOKEN.findall(anywhere.removeprefix("/"))), re.DOTALL
    )


def _part(token: str) -> str:
    """One part of a glob as a regular expression; `*` and `?` never match a slash."""
    fixed = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token)
    if fixed is not None:
        return fixed
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside.replace('^', chr(92) + '^')}]"
    if token.startswith("{") and len(token) > 1:
        choices = ("".join(map(_part, _TOKEN.findall(one))) for one in token[1:-1].split(","))
        return f"(?:{'|'.join(choices)})"
    return re.escape(token)


def _listed(output: bytes, wanted: re.Pattern[str], rel: str, pattern: str) -> str:
    names = (plain(name.decode(errors="replace")) for name in output.split(b"\0") if name)
    found = sorted(name for name in names if wanted.fullmatch(name))
    where = rel or "the workspace"
    if not found:
        return f"No file matches {pattern!r} in {where}; files ignored by git are not looked at.\n"
    shown = [revealed_name("/".join(part for part in (rel, name) if part)) for name in found[:_MOST]]
    left = len(found) - len(shown)
    more = [f"(… {left:,} more files; narrow the pattern or the path)"] if left else []
    return "\n".join([f"{len(found):,} file{'s' * (len(found) != 1)}:", *shown, *more]) + "\n"
