"""What a command plausibly destroys although nothing can bring it back, and which secrets it surely shows.

Programs that use a secret (`source .env && pytest`) do not show it: what may run the project's code may read
its `.env` anyway, and a question before each start would be answered unread.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.permissions.git_loss import git_history_is_lost, git_paths, git_words
from helix_desktop.permissions.program import (
    AWKS,
    Program,
    found_paths,
    printed_paths,
    sed_scripts,
    target_folder,
    written_by_options,
)
from helix_desktop.permissions.shell_programs import read_command, read_script
from helix_desktop.permissions.shell_tokens import ReadingBudget, TooMuchToRead
from helix_desktop.permissions.shell_words import ANYTHING

_MADE_AGAIN = frozenset({
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs",
    ".cache",
    ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".gradle", "node_modules", "bower_components",
    "dist", "build", "target", "out", "coverage", "htmlcov", ".coverage", ".DS_Store",
})  # fmt: skip
_MADE_AGAIN_ENDS = (".pyc", ".pyo", ".o", ".obj", ".class", ".egg-info", ".tsbuildinfo")
_OUTPUT_ENDS = (".log", ".out", ".txt", ".tmp", ".err", ".xml", ".html", ".lcov", ".pid")
"""Of files whose content programs replace at each run."""
_WILDCARD = re.compile(r"[*?\[]")
_REMEMBERED = 2_048  # paths: each target is compared with each place
_TWICE = (ANYTHING, ANYTHING)  # stands for no more paths than once, and takes far longer to compare
_LONGEST_NAME = 1_000  # characters of one with wildcards; file systems take 255
_LAST = "\U0010ffff"
_PLACES_PER_STEP = 8

Extent = Literal["file", "tree", "tracked", "untracked", "ignored", "content", "moved"]
"""What is destroyed of a path: a file; all below it; of that what git tracks, does not track, or not even
ignored files are spared; a file's content, by other content; or all of it, as it leaves the workspace.
"""


class Target(msgspec.Struct, frozen=True):
    """A path in the workspace with its wildcards, and what of it is destroyed."""

    path: str
    extent: Extent


class PlaceIndex:
    """The uncovered places of a workspace by path: there may be 100,000."""

    def __init__(self, places: Iterable[UncoveredPlace]) -> None:
        self._places = sorted(places, key=lambda place: place.path)
        self._paths = [place.path for place in self._places]

    def find(self, path: str) -> UncoveredPlace | None:
        at = bisect_left(self._paths, path)
        return self._places[at] if self._paths[at : at + 1] == [path] else None

    def git(self) -> list[UncoveredPlace]:
        """Return where git keeps its history, first."""
        return [place for place in self._places if place.reason == "git"][:1]

    def destroyed(self, target: Target, budget: ReadingBudget) -> Iterator[UncoveredPlace]:
        """Yield the places that are gone or changed, or what of them the target names.

        Raises TooMuchToRead.
        """
        for place in self._near(target, budget):
            budget.spend(4 + len(_names(target.path)))
            if _reaches(target, place, budget):
                yield _narrowed(place, target)

    def _near(self, target: Target, budget: ReadingBudget) -> Iterator[UncoveredPlace]:
        """Yield the folders around a target, and the places that have the text of its path in theirs."""
        head = "" if target.path == "." else _WILDCARD.split(target.path, maxsplit=1)[0]
        for end in (at for at, char in enumerate(head) if char == "/"):
            if (folder := self.find(head[:end])) is not None:
                yield folder
        first = bisect_left(self._paths, head)
        last = bisect_left(self._paths, head + _LAST)
        budget.spend((last - first) // _PLACES_PER_STEP)
        text = _longest_text(target.path)
        yield from (place for place in self._places[first:last] if place.is_folder or text in place.path)


def is_made_again(path: str) -> bool:
    """Return True for what tools make again, such as caches."""
    names = path.split("/")
    return bool(_MADE_AGAIN & set(names)) or path.endswith(_MADE_AGAIN_ENDS)


def _longest_text(path: str) -> str:
    """Return the longest text without wildcards that each path has that a path with wildcards stands for."""
    if "[" in path or path == ".":
        return ""
    return max((part for name in _names(path) for part in re.split(r"[*?]", name)), key=len, default="")


def _is_spared(target: Target, place: UncoveredPlace) -> bool:
    """Return True if what is at a place is none of what is destroyed, or no loss."""
    match place.reason:
        case "ignored":
            is_spared = target.extent in ("tracked", "untracked")
            is_output = ANYTHING in target.path or place.path.endswith(_OUTPUT_ENDS)
            return (
                is_spared
                or (target.extent == "content" and is_output)
                or is_made_again(place.path)
                or is_made_again(target.path)
            )
        case "git":
            return target.extent in ("tracked", "untracked", "ignored") or target.path.endswith(".lock")
        case "secret":  # git seldom tracks it
            return target.extent == "tracked" and target.path != place.path
    return place.reason == "special"


def _reaches(target: Target, place: UncoveredPlace, budget: ReadingBudget) -> bool:
    """Return True if what is at a place would be gone or changed."""
    pattern = _names(target.path)
    names = _names(place.path)
    if _is_spared(target, place):
        return False
    budget.spend(len(pattern) * len(names) // 4)
    reached = list(_positions(pattern, names))
    passed = [len(names) in at for at in reached]
    is_whole_path = passed[-1] and len(passed) == len(pattern) + 1
    if target.extent == "content":
        return not place.is_folder and is_whole_path
    end = next((at for at, part in enumerate(pattern) if part == ANYTHING), len(pattern) - 1)
    if place.is_folder and any(passed[1 : end + 1]):
        return True  # the target is in it
    if target.extent == "file":
        return not place.is_folder and is_whole_path
    return len(reached) == len(pattern) + 1 and bool(reached[-1])


def _positions(pattern: Sequence[str], names: Sequence[str]) -> Iterator[set[int]]:
    """Yield how many names each beginning of a pattern may stand for, until it stands for none."""
    reached = {0}
    yield reached
    for part in pattern:
        if part == ANYTHING:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and _fits(part, names[at])}
        yield reached
        if not reached:
            return


def _fits(part: str, name: str) -> bool:
    """Return True if a name with wildcards stands for a name."""
    if not _WILDCARD.search(part):
        return part == name
    if name.startswith(".") and part[0] in "*?[" and not part.startswith(ANYTHING):
        return False
    return len(part) > _LONGEST_NAME or fnmatchcase(name, part)


@lru_cache(maxsize=_REMEMBERED)
def _names(path: str) -> tuple[str, ...]:
    names = [name for name in path.split("/") if name not in ("", ".")]
    return tuple(name for before, name in zip(["", *names], names, strict=False) if (before, name) != _TWICE)


def _narrowed(place: UncoveredPlace, target: Target) -> UncoveredPlace:
    """Return a place, or what of it a target names."""
    is_inside = target.path.startswith(f"{place.path}/") and not _WILDCARD.search(target.path)
    return UncoveredPlace(target.path, place.reason) if is_inside else place


_SHOWING = frozenset({
    "base64", "bat", "batcat", "cat", "comm", "diff", "head", "hexdump", "less", "more", "nl", "od", "paste",
    "rev", "sort", "strings", "tac", "tail", "xxd",
})  # fmt: skip
"""Programs that show the content of each file that they are given."""
_SEARCHING = frozenset({"egrep", "fgrep", "grep", "rg"})
_SHOWS_NO_LINE = re.compile(r"-[A-Za-z]*[qclL][A-Za-z]*|--(?:quiet|silent|count|files-with(?:out)?-match\w*)")
_PATTERN_OPTION = re.compile(r"-[A-Za-z]*[ef].*|--(?:regexp|file)\b.*")
_PRINTING_SCRIPT = re.compile(r"[\d,$;p ]+")


def secrets_read(program: Program) -> Iterator[str]:
    """Yield the paths of files with keys or passwords whose content a program shows or copies."""
    is_kept = program.outputs and all(path == "/dev/null" or is_secret_path(path) for path in program.outputs)
    if not program.is_hidden and not is_kept:
        inputs = program.inputs if program.name in _SHOWING else ()
        yield from filter(_may_be_secret, (*_shown_paths(program), *inputs))


def _may_be_secret(path: str) -> bool:
    name = posixpath.basename(path)
    return is_secret_path(path) or (name.startswith(".") and fnmatchcase(".env", name))


def _shown_paths(program: Program) -> Sequence[str]:
    words = program.words
    operands = [word for word in words if not word.startswith("-")]
    match program.name:
        case name if name in _SHOWING:
            return operands
        case name if name in _SEARCHING and not any(map(_SHOWS_NO_LINE.fullmatch, words)):
            return operands if any(map(_PATTERN_OPTION.fullmatch, words)) else operands[1:]
        case "sed" if all(map(_PRINTING_SCRIPT.fullmatch, sed_scripts(words))):
            return operands
        case "cp" | "mv" | "ln" | "install" if operands:
            *sources, place = operands
            is_folder = place.endswith("/") or posixpath.basename(place) in (".", "..")
            return [] if is_folder or is_secret_path(place) else sources
    return []


_HARMLESS = frozenset({
    "", ".", "[", "[[", "basename", "bat", "cat", "chmod", "chown", "cmp", "cut", "diff", "dirname", "echo",
    "egrep", "export", "fgrep", "file", "find", "git", "grep", "head", "less", "ls", "md5sum", "mkdir",
    "more", "printf", "readlink", "realpath", "rg", "sha256sum", "source", "stat", "tail", "test", "touch",
    "tree", "wc",
})  # fmt: skip
"""Programs that change the content of no file that they are given."""
_WITH_OWN_RULES = frozenset({"cp", "install", "ln", "mv", "perl", "rsync", "sed", "tee"})
"""Programs of which it is known which of their files they change."""
_PRECIOUS = frozenset({"secret", "too_large", "hard_links", "quota", "unreadable"})
_REMOVERS = frozenset({"rm", "unlink", "shred", "truncate", "rmdir", "srm", "trash", "rimraf"})
_READ_BY_OPTION = re.compile(r"--env-file[ =]\S+")
_PATHS = re.compile(r"[^\s'\"=<>|;,:(){}]+")
_OUTSIDE = re.compile(r"/(?:dev|proc|sys)(?:/|$)")
_REMOVING_CODE = re.compile(
    r"\b(?:rmtree|unlink|unlinkSync|rmSync|rmdirSync|rm_rf|rm_r|removeSync|os\.remove|truncate|File\.delete)\b"
    r"|\brm(?:_f)?\("
)
_WRITING_CODE = re.compile(
    r"\bwrite|put_contents|\bopen\([^)\n]{0,200},\s*(?:mode=)?b?['\"]\s*\+?[wx+>]|\b(?:rename|os\.replace|move|copy\w*)\("
)
_STRINGS = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|\bqq?[({\[]([^(){}\[\]\n]+)[)}\]]")
_AWK_FILE = re.compile(r">\s*\"([^\"\n]+)\"")
_SED_FILE = re.compile(r"[wW][ \t]+([^\n;}]+)")
_FEW = 8  # strings of a program that may be parts of one path, files that get another name
_MANY = 32  # other names of paths
_LONGEST_PATH = 4_096  # characters that a system takes
_EMPTY = frozenset({"", ":", "true"})


class CommandEffects(msgspec.Struct, frozen=True):
    """What a command plausibly does that its user may not want.

    `lost` are the places that it destroys for good, ignored ones last; `changed` the paths in the workspace,
    some with wildcards, whose content it changes; `secrets` those with keys or passwords that it shows.
    `is_whole` is False if it was not read to its end.
    """

    lost: tuple[UncoveredPlace, ...] = ()
    changed: tuple[str, ...] = ()
    is_whole: bool = True
    secrets: tuple[str, ...] = ()


def find_effects(
    command: str,
    coverage: FileCoverage | None,
    folder: str = "",
    root: str = "",
    scripts: Sequence[tuple[str, str]] = (),
    links: Sequence[tuple[str, str]] = (),
) -> CommandEffects:
    """Return what a command plausibly destroys and writes, as far as it can be read in bounded time.

    `folder` is where it runs in the workspace, `root` the workspace's own path. What tools make again, such
    as caches, does not count. Where it is not known what can be undone (`coverage` None, or not complete),
    whatever is destroyed counts, as not copied yet. `scripts` are paths with their texts: they are read as
    a part of the command if it runs them. `links` are paths with the paths in the workspace where they lead.
    """
    budget = ReadingBudget()
    texts = dict(scripts)
    reading = read_command(command, folder, budget)
    finder = _LossFinder(coverage, root, budget, dict(links))
    programs = reading.programs
    is_whole = reading.is_whole
    for script_folder, path in reading.scripts if texts else ():
        inside = _relative(posixpath.join(script_folder, path), root) or ""
        if text := texts.pop(inside, ""):
            script = read_script(path, text, script_folder, budget)
            programs = [*programs, *script.programs]
            is_whole = is_whole and script.is_whole
    try:
        for program in programs:
            finder.add(program)
        finder.compare()
    except TooMuchToRead:
        is_whole = False
    lost = sorted(finder.lost.values(), key=lambda place: place.reason == "ignored")
    return CommandEffects(tuple(lost), tuple(finder.changed), is_whole, tuple(finder.secrets))


def find_scripts(command: str, folder: str, root: str) -> tuple[str, ...]:
    """Return the paths in the workspace of the scripts that a command may run; some may not exist."""
    scripts = read_command(command, folder, ReadingBudget()).scripts
    paths = (_relative(posixpath.join(script_folder, path), root) for script_folder, path in scripts)
    return tuple(dict.fromkeys(path for path in paths if path))


class _LossFinder:
    def __init__(
        self, coverage: FileCoverage | None, root: str, budget: ReadingBudget, links: dict[str, str]
    ) -> None:
        self.lost: dict[str, UncoveredPlace] = {}
        self.changed: dict[str, None] = {}
        self.secrets: dict[str, None] = {}
        self._root = root
        self._budget = budget
        self._links = links
        self._is_known = coverage is not None and coverage.is_complete and not coverage.error
        self._places = PlaceIndex(coverage.places if coverage is not None else ())
        self._targets: dict[Target, None] = {}
        self._other_names: dict[str, tuple[str, bool]] = {}  # the path behind it, and if it was moved

    def add(self, program: Program) -> None:
        """Note what a program destroys and writes, but for the places that its paths stand for."""
        if _destroys_history(program, self._root):
            git = self._places.git()
            self._lose(git or (() if self._is_known else [UncoveredPlace(".git", "git", is_folder=True)]))
        self._lose(self._handed_over(program))
        read_paths = (
            _relative(posixpath.join(program.folder, path), self._root) for path in secrets_read(program)
        )
        self.secrets |= dict.fromkeys(path for path in read_paths if path is not None)
        added = _operands(program.words) if program.name == "tee" else ()
        paths = (_relative(posixpath.join(program.folder, path), self._root) for path in added)
        self.changed |= dict.fromkeys(path for path in paths if path is not None)
        for target, is_content in _targets(program, self._root):
            self._budget.spend(4 + len(target.path) // 50)
            self._add_target(target)
            for real in self._behind_other_names(target, is_content):
                self._add_target(real)
        self._note_other_names(program)

    def _add_target(self, target: Target) -> None:
        self._targets[target] = None
        if target.extent == "content":
            self.changed[target.path] = None
            if real := self._links.get(target.path):
                self._targets[Target(real, "content")] = None
                self.changed[real] = None

    def _note_other_names(self, program: Program) -> None:
        """Note the paths that a program makes stand for others, by links or by moving them."""
        is_linked = program.name == "cp" and _has_option(program.words, "ls", "--link")
        if program.name not in ("ln", "mv") and not is_linked:
            return
        *sources, place = _without_target_option(program.words, _operands(program.words))
        is_symbolic = _has_option(program.words, "s", "--symbolic")
        for source in sources[:_FEW]:
            base = posixpath.dirname(place) if is_symbolic else ""
            real = _relative(posixpath.join(program.folder, base, source), self._root)
            for path in (place, posixpath.join(place, posixpath.basename(source.rstrip("/")))):
                name = _relative(posixpath.join(program.folder, path), self._root)
                if real is not None and name not in (None, ".", real) and len(self._other_names) < _MANY:
                    self._other_names[str(name)] = (real, program.name == "mv")

    def _behind_other_names(self, target: Target, is_content: bool) -> Iterator[Target]:
        """Yield what a target means by names that links made or that were moved.

        A removed link is none, unless what is in it is removed (`is_content`: its path ends with a slash).
        """
        self._budget.spend(len(self._other_names))
        for name, (real, is_moved) in self._other_names.items():
            if target.path.startswith(f"{name}/"):
                yield Target(posixpath.normpath(real + target.path.removeprefix(name)), target.extent)
            elif target.path == name and (is_moved or is_content or target.extent == "content"):
                yield Target(real, target.extent)
            elif is_moved and target.extent == "tree" and name.startswith(f"{target.path}/"):
                yield Target(real, "tree")

    def compare(self) -> None:
        """Note the places that the programs' paths stand for."""
        for target in self._targets:
            places = self._places.destroyed(target, self._budget)
            is_hit = self._lose(place for place in places if place.path not in self.lost)
            is_removed = target.extent in ("file", "tree", "moved") and not is_made_again(target.path)
            if not is_hit and not self._is_known and is_removed and target.path not in self.lost:
                self._lose([UncoveredPlace(target.path, "pending")])

    def _lose(self, places: Iterable[UncoveredPlace]) -> bool:
        """Note places as lost; return True if there are any."""
        count = len(self.lost)
        for place in places:
            self.lost[place.path] = place
        return len(self.lost) > count

    def _handed_over(self, program: Program) -> Iterator[UncoveredPlace]:
        """Yield the places among the words of a program that may change the files it is given."""
        if program.name in _HARMLESS | _WITH_OWN_RULES | _REMOVERS or program.code:
            return
        is_unknown = ANYTHING in program.name
        text = _READ_BY_OPTION.sub("", " ".join((program.name, *program.words)))
        for path in dict.fromkeys(_PATHS.findall(text)):
            self._budget.spend(4)
            inside = _relative(posixpath.join(program.folder, path), self._root)
            place = self._places.find(inside) if inside is not None else None
            if place is not None and (place.reason in _PRECIOUS or (is_unknown and place.reason == "git")):
                yield place


def _destroys_history(program: Program, root: str) -> bool:
    if program.name != "git":
        return False
    folder, rest = git_words(program.words)
    is_inside = _relative(posixpath.join(program.folder, folder), root) is not None
    is_named = any(word.startswith("--git-dir") for word in program.words)
    return git_history_is_lost(rest) and (is_inside or is_named)


def _targets(program: Program, root: str) -> Iterator[tuple[Target, bool]]:
    """Yield what a program destroys, and if its path means what is in a folder."""
    for path, extent in _paths(program, root):
        inside = _relative(posixpath.join(program.folder, path), root)
        if inside is not None:
            yield Target(inside, extent), path.endswith("/")


def _paths(program: Program, root: str) -> Iterator[tuple[str, Extent]]:
    """Yield the paths that a program destroys, and what of them."""
    words = program.words
    operands = [*_operands(program.words), *_fed_paths(program)]
    is_emptied = program.name in _EMPTY or "/dev/null" in operands
    yield from ((path, "content") for path in program.outputs)
    yield from ((path, "file") for path in program.outputs if is_emptied)
    if AWKS.fullmatch(program.name):
        yield from ((path, "content") for word in words for path in _AWK_FILE.findall(word))
    yield from _paths_in_code(program.code)
    if program.name not in _HARMLESS or program.name == "git":
        yield from ((path, "content") for path in written_by_options(program.name, words) if path)
    match program.name:
        case name if name in _REMOVERS:
            is_recursive = name == "rimraf" or _has_option(words, "rR", "--recursive")
            yield from ((path, "tree" if is_recursive else "file") for path in operands)
        case "find":
            yield from _paths_of_find(words)
        case "dd":
            places = [word[3:] for word in words if word.startswith("of=")]
            yield from ((path, "file") for path in places)
            yield from ((path, "content") for path in places)
        case "cp" | "mv" | "install" | "ln" | "rsync":
            yield from _copied_paths(program, operands, root)
        case "tee" if not _has_option(words, "a", "--append"):
            yield from ((path, "content") for path in operands)
        case "sed" | "perl":
            yield from _edited_paths(program.name, words, operands)
        case "git":
            moved, rest = git_words(words)
            yield from ((posixpath.join(moved, path), extent) for path, extent in git_paths(rest))


def _paths_of_find(words: Sequence[str]) -> Iterator[tuple[str, Extent]]:
    if "-delete" in words:
        yield from ((path, "tree") for path in found_paths(words))
    yield from (
        (path, "content") for option, path in pairwise(words) if option.startswith(("-fprint", "-fls"))
    )


def _edited_paths(name: str, words: Sequence[str], operands: Sequence[str]) -> Iterator[tuple[str, Extent]]:
    """Yield the files that sed or perl edits in place, and those that a script of sed writes."""
    if any(re.match(r"-[A-Za-z]*i|--i", word) for word in words):
        scripts = sed_scripts(words) if name == "sed" else ()
        yield from ((path, "content") for path in operands if path not in scripts)
    if name == "sed":
        yield from ((path.strip(), "content") for word in words for path in _SED_FILE.findall(word))


def _paths_in_code(code: str) -> Iterator[tuple[str, Extent]]:
    strings = ["".join(found).lstrip("+<>| ") for found in _STRINGS.findall(code)]
    if 1 < len(strings) <= _FEW:
        strings.append("".join(strings))
    if _WRITING_CODE.search(code):
        yield from ((path, "content") for path in strings)
    if _REMOVING_CODE.search(code):
        yield from ((path, "tree") for path in strings or [ANYTHING])


def _copied_paths(program: Program, operands: Sequence[str], root: str) -> Iterator[tuple[str, Extent]]:
    """Yield what a program that copies or moves files replaces, and what it takes out of the workspace."""
    *sources, place = _without_target_option(program.words, operands)
    yield place, "tree" if any(word.startswith("--del") for word in program.words) else "content"
    is_outside = _relative(posixpath.join(program.folder, place), root) is None
    leaves = (program.name == "mv" and is_outside) or "--remove-source-files" in program.words
    for source in sources:
        path = posixpath.join(place, posixpath.basename(source.rstrip("/")))
        if posixpath.normpath(path) != posixpath.normpath(source):
            yield path, "content"
        if leaves:
            yield source, "moved"


def _operands(words: Sequence[str]) -> list[str]:
    if "--" in words:
        at = list(words).index("--")
        return [*_operands(words[:at]), *words[at + 1 :]]
    return [word for word in words if not word.startswith("-")]


def _has_option(words: Iterable[str], letters: str, long: str) -> bool:
    return any(word == long or (re.match(r"-[A-Za-z]", word) and set(letters) & set(word)) for word in words)


def _fed_paths(program: Program) -> list[str]:
    """Return the paths that a program gets through a pipe."""
    if not program.is_fed:
        return []
    return [ANYTHING] if program.source is None else printed_paths(program.source)


def _without_target_option(words: Sequence[str], operands: Sequence[str]) -> list[str]:
    """Return what is copied or moved, and last where to."""
    if folder := target_folder(words):
        return [*(path for path in operands if path != folder), folder]
    return list(operands) or ["."]


def _relative(path: str, root: str) -> str | None:
    """Return a path in the workspace, `.` for all of it; None for one outside."""
    if len(path) > _LONGEST_PATH:
        return ANYTHING
    if path.startswith("~") or _OUTSIDE.match(path):
        return None
    path = posixpath.normpath(path)
    if path.startswith("..") and root:
        path = posixpath.normpath(posixpath.join(root, path))
    if not path.startswith("/"):
        return None if path.split("/")[0] == ".." else path
    inside = posixpath.relpath(path, root) if root else path
    above = inside.split("/")[0] == ".." and not (root + "/").startswith(path.rstrip("/") + "/")
    if above:
        return None
    return "." if inside.startswith("..") else inside
