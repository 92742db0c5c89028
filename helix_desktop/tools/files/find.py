"""Finding files by their names, as git sees the workspace, and searching them by regular expression."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, NamedTuple
from unicodedata import normalize

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name, escape_undecodable
from helix_desktop.tools.files.jail import LEFT_OUT, IgnoreFile, Jail, MarkedIgnoreFiles, SearchRoot
from helix_desktop.tools.files.letters import composed, in_either_form
from helix_desktop.tools.process import ProcessResult, Ripgrep, held, normalize_path
from helix_desktop.tools.tool import UnguardedTool

_MAX_LINES = 2_000
_MAX_HIT_FILES = 500
_MAX_BINARIES = 20
_BINARY = re.compile(r'(\./[^\0]*?|[^\0\n]+?): binary file matches \(found "\\0" byte around offset \d+\)\n')
_SECRETS_LEFT_OUT = "; files that may hold keys, such as .env, are not searched: read_file asks the user"
_OTHER_LETTERS = "(the letters of the text are composed otherwise, as e + U+0301 in place of é)\n"
_NARROW = "narrow the path, the glob or the pattern"


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
        self._jail = jail
        self._ripgrep = ripgrep

    async def run(
        self, call_id: str, args: SearchTextArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        if not args.pattern:
            raise ToolError("pattern is empty.", fix="Give the text or regular expression to look for.")
        note = ""
        async with held(self._jail.hold_folder(args.path)) as root:
            scope = [*(f"--glob={glob}" for glob in _spellings(args.glob)), *gitignore_options(root)]
            scope += hidden_globs(self._jail, root)
            place = ["--", f"./{root.file_name}" if root.file_name else "."]
            options = [*_OPTIONS, f"--context={args.context}", *scope]
            marked = MarkedIgnoreFiles(root.cwd)
            result, found = await self._search(root, [*options, f"--regexp={args.pattern}", *place], marked)
            either_form = in_either_form(args.pattern)
            if not found.files and either_form != args.pattern and "[" not in args.pattern:
                result, found = await self._search(
                    root, [*options, f"--regexp={either_form}", *place], marked
                )
                note = _OTHER_LETTERS if found.files else ""
            hides_secrets = False
            if not found.files:
                listed = await self._ripgrep.run(["--files", "--null", *scope, *place], root.cwd)
                hides_secrets = await asyncio.to_thread(_has_secrets, self._jail, root, listed, marked)
        where = "/".join(part for part in (root.path, escape_undecodable(root.file_name)) if part)
        if found.files:
            text = await asyncio.to_thread(_listed, found) + note
        else:
            typed = repr(args.pattern).replace("\\\\", "\\")  # a doubled backslash reads as a wrong pattern
            place_text = (where or "the workspace") + (f" (only {args.glob})" if args.glob else "")
            head = f"No match for {typed} in {'the text files of ' if found.binaries else ''}{place_text}"
            text = f"{head}{_SECRETS_LEFT_OUT if hides_secrets else ''}.\n"
        text += f"(there is too much to look at all of it; {_NARROW})\n" if result.dropped_bytes else ""
        text += _binary_text(found.binaries) + (LEFT_OUT if self._jail.limits.ignore_file.exists else "")
        return ToolResult(text.encode(errors="replace"), target=f"{args.pattern} in {where or '.'}")

    async def _search(
        self, root: SearchRoot, arguments: Sequence[str], marked: MarkedIgnoreFiles
    ) -> tuple[ProcessResult, _Hits]:
        result = await self._ripgrep.run(arguments, root.cwd)
        ignore_file = self._jail.limits.ignore_file
        return result, await asyncio.to_thread(_hits, result, root.path, ignore_file, marked)


_OPTIONS = ("--null", "--no-heading", "--with-filename", "--binary", "--sort=path")


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


def _spellings(glob: str) -> list[str]:
    """Return a glob, and the same with its brackets, its braces or both as characters of a name."""
    found = [glob] if glob else []
    for signs in ("[]", "{}"):
        if any(sign in glob for sign in signs):
            found += [re.sub(f"[{re.escape(signs)}]", r"[\g<0>]", each) for each in found]
    sets = (token[1:-1] for token in _TOKEN.findall(glob) if token.startswith("[") and token != "[")
    if _NO_SET in map(_set_regex, sets):  # ripgrep refuses a wrong range
        found = [each for each in found if "[[]" in each]
    spelled = [each for glob in found for each in (glob, normalize("NFD", glob), composed(glob))]
    return list(dict.fromkeys(spelled))


def _literal(path: str) -> str:
    """Return a glob that matches this path alone."""
    return re.sub(r"[*?\[\]{}]", r"[\g<0>]", path if os.name == "nt" else path.replace("\\", r"\\"))


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


class _Hits(NamedTuple):
    """What was found: the lines of each text file, with True for those that match, and binary files."""

    files: dict[str, list[tuple[str, bool]]]
    binaries: list[str]


def _hits(result: ProcessResult, rel: str, ignore_file: IgnoreFile, marked: MarkedIgnoreFiles) -> _Hits:
    found = _Hits({}, [])
    allowed: dict[str, bool] = {}
    is_after_gap = False
    for line in _lines(_before_gap(result)):
        if line is None:
            is_after_gap = True
            continue
        name = normalize_path(line.name)
        path = "/".join(part for part in (rel, name) if part)
        if name not in allowed:
            is_listed = not ignore_file.without_ignored(rel, [name]) or marked.ignores(name)
            # That a file with keys has a match is not told either: it would spell a key letter by letter.
            allowed[name] = not is_listed and not is_secret_path(path)
        if not allowed[name]:
            continue
        if line.rest is None:
            found.binaries.append(escape_hidden_name(path))
            continue
        digits = len(line.rest) - len(line.rest.lstrip("0123456789"))
        hits = found.files.setdefault(escape_hidden_name(path), [])
        hits += [("--", False)] if is_after_gap and hits else []
        hits.append((line.rest, line.rest[digits : digits + 1] == ":"))
        is_after_gap = False
    return found


def _before_gap(result: ProcessResult) -> bytes:
    """Return an output up to where bytes of it were dropped: behind that a line lacks its file."""
    if not result.dropped_bytes:
        return result.output
    return result.output.partition(
        f"\n[… {result.dropped_bytes:,} bytes of output dropped here …]\n".encode()
    )[0]


def _listed(found: _Hits) -> str:
    """Return the lines by file; where they are too many, the first of each file and the count of the rest."""
    shown = dict(islice(found.files.items(), _MAX_HIT_FILES))
    most = _most_of_each([*map(len, shown.values())], _MAX_LINES - 2 * len(shown))
    counts = {path: sum(is_match for _, is_match in hits) for path, hits in found.files.items()}
    matches = sum(counts.values())
    lines = [f"{pluralize(matches, 'matching line')} in {pluralize(len(counts), 'file')}:"]
    for path, hits in shown.items():
        part = hits[:most]
        if not any(is_match for _, is_match in part):
            part = [hit for hit in hits if hit[1]][:1]
        lines += [path, *(f"  {line}" for line, _ in part)]
        rest = counts[path] - sum(is_match for _, is_match in part)
        lines += [f"  … {pluralize(rest, 'more matching line')}"] if rest else []
    left = len(counts) - len(shown)
    rest = matches - sum(map(counts.__getitem__, shown))
    more = f"{pluralize(left, 'more file')} with {pluralize(rest, 'matching line')}; " if left else ""
    cut = [hits for hits in shown.values() if len(hits) > most]
    has_lines_around = any(not is_match for hits in cut for _, is_match in hits)
    more += "not all lines around matches are shown; " if has_lines_around else ""
    return "\n".join([*lines, *([f"(… {more}{_NARROW})"] if left or cut else [])]) + "\n"


def _most_of_each(counts: Sequence[int], room: int) -> int:
    """Return how many lines a file may show, so that all files together show at most so many."""
    for place, count in enumerate(sorted(counts)):
        if count * (len(counts) - place) > room:
            return room // (len(counts) - place)
        room -= count
    return max(counts)


def _has_secrets(jail: Jail, root: SearchRoot, listed: ProcessResult, marked: MarkedIgnoreFiles) -> bool:
    names = _names(_without_ignored(jail, root, listed, marked).output)
    return any(is_secret_path(f"{root.path}/{name}") for name in names)


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
_NO_SET = "(?!)"  # matches nothing
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\\[\[\]{}]|\[!?[^\]/]+\]|\{[^{}/]*\}|.", re.DOTALL)


class FindFilesArguments(Arguments, frozen=True):
    pattern: str
    path: str = "."


class FindFiles(UnguardedTool[FindFilesArguments]):
    name = "find_files"
    arguments_type = FindFilesArguments

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail = jail
        self._ripgrep = ripgrep

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
    async with held(jail.hold_folder(path)) as root:
        if root.file_name:
            raise ToolError(f"{path} is a file.", fix="path names a folder to look in.")
        options = ["--files", "--null", "--sort=path", *gitignore_options(root), *hidden_globs(jail, root)]
        result = await ripgrep.run([*options, "."], root.cwd)
        marked = MarkedIgnoreFiles(root.cwd)
        return root, await asyncio.to_thread(_without_ignored, jail, root, result, marked)


async def same_name_hint(jail: Jail, ripgrep: Ripgrep, path: str) -> str:
    """Return where files with the name of a missing one are; empty if they are nowhere, or in many places."""
    try:
        _, result = await list_files(jail, ripgrep, ".")
    except ToolError:
        return ""
    listed = await asyncio.to_thread(_names, result.output)
    name = path.rpartition("/")[2]
    places = [escape_hidden_name(found) for found in listed if found.rpartition("/")[2] == name]
    return f"There is {' and '.join(places)}." if 0 < len(places) <= _MAX_PLACES else ""


def _names(output: bytes) -> list[str]:
    """Return the paths of an output in which a NUL ends each."""
    return [normalize_path(name) for name in output.decode(errors="surrogateescape").split("\0") if name]


def _without_ignored(
    jail: Jail, root: SearchRoot, result: ProcessResult, marked: MarkedIgnoreFiles
) -> ProcessResult:
    names = _names(result.output)
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
    return re.compile(_regex(composed(anywhere.removeprefix("/"))), re.DOTALL)


def _regex(glob: str) -> str:
    return "".join(map(_part_regex, _TOKEN.findall(glob)))


def _part_regex(token: str) -> str:
    """Return one token of a glob as a regular expression; `*` and `?` never match a slash.

    Brackets and braces also stand for themselves: folders of web routes are named `[id]`.
    """
    fixed = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token)
    if fixed is not None:
        return fixed
    if token.startswith("\\") and len(token) > 1:
        return f"\\\\?{re.escape(token[1])}"
    if token.startswith("[") and len(token) > 1:
        return f"(?:{_set_regex(token[1:-1])}|{re.escape(token)})"
    if token.startswith("{") and len(token) > 1:
        choices = "|".join(map(_regex, token[1:-1].split(",")))
        return f"(?:{choices}|\\{{{_regex(token[1:-1])}\\}})"
    return re.escape(token)


def _set_regex(inside: str) -> str:
    """Return a set of characters as a regular expression; one that no character is in for a wrong range."""
    escaped = inside.replace("\\", "\\\\").replace("[", "\\[")
    found = f"[^/{escaped[1:]}]" if escaped.startswith("!") else f"[{escaped.replace('^', chr(92) + '^')}]"
    try:
        re.compile(found)
    except re.error:
        return _NO_SET
    return found


def _list_matches(output: bytes, regex: re.Pattern[str], folder: str, pattern: str) -> str:
    matches = sorted(name for name in _names(output) if regex.fullmatch(composed(name)))
    where = folder or "the workspace"
    if not matches:
        return f"No file matches {pattern!r} in {where}; files ignored by git are not looked at.\n"
    paths = [
        escape_hidden_name("/".join(part for part in (folder, name) if part)) for name in matches[:_MAX_FILES]
    ]
    omitted = len(matches) - len(paths)
    more = [f"(… {omitted:,} more files; narrow the pattern or the path)"] if omitted else []
    return "\n".join([f"{pluralize(len(matches), 'file')}:", *paths, *more]) + "\n"
