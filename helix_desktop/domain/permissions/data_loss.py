"""What a command plausibly destroys although nothing can bring it back."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from helix_desktop.domain.file_history.file_coverage import FileCoverage, UncoveredPlace
from helix_desktop.domain.permissions.git_loss import git_history_is_lost, git_paths, git_words
from helix_desktop.domain.permissions.shell_programs import ANYTHING, Program, find_programs, found_paths

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
_MADE_AGAIN = frozenset({
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs",
    ".cache",
    ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".gradle", "node_modules", "bower_components",
    "dist", "build", "target", "out", "coverage", "htmlcov", ".coverage", ".DS_Store",
})  # fmt: skip
_MADE_AGAIN_ENDS = (".pyc", ".pyo", ".o", ".obj", ".class", ".egg-info", ".tsbuildinfo")
_REMOVERS = frozenset({"rm", "unlink", "shred", "truncate", "rmdir", "srm", "trash", "rimraf"})
_PATHS = re.compile(r"[^\s'\"=<>|;,:(){}]+")
_OUTSIDE = re.compile(r"/(?:dev|proc|sys)(?:/|$)")
_REMOVING_CODE = re.compile(
    r"\b(?:rmtree|unlink|unlinkSync|rmSync|rmdirSync|rm_rf|rm_r|removeSync|os\.remove|truncate|File\.delete)\b"
)
_WRITING_CODE = re.compile(
    r"\bwrite|\bopen\([^)\n]{0,200},\s*(?:mode=)?b?['\"][wx+]|\b(?:rename|os\.replace|move|copy\w*)\("
)
_STRINGS = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_WILDCARD = re.compile(r"[*?\[]")
_REMEMBERED = 2_048  # paths: each target is compared with each place
_TWICE = (ANYTHING, ANYTHING)  # stands for no more paths than once, and takes far longer to compare
_EMPTY = frozenset({"", ":", "true"})

Extent = Literal["file", "tree", "tracked", "untracked", "ignored", "content", "moved"]
"""What is destroyed of a path: a file; all below it; of that what git tracks, does not track, or not even
ignored files are spared; a file's content, by other content; or all of it, as it leaves the workspace.
"""


class _Target(msgspec.Struct, frozen=True):
    """A path in the workspace with its wildcards, and what of it is destroyed."""

    path: str
    extent: Extent


def find_data_loss(
    command: str, coverage: FileCoverage | None, folder: str = "", root: str = ""
) -> tuple[UncoveredPlace, ...]:
    """Return the places that a command plausibly destroys for good, ignored ones last.

    `folder` is where it runs in the workspace, `root` the workspace's own path. What tools make again, such
    as caches, does not count. Where it is not known what can be undone (`coverage` None, or not complete),
    whatever is destroyed counts, as not copied yet.
    """
    is_known = coverage is not None and coverage.is_complete and not coverage.error
    places = coverage.places if coverage is not None else ()
    precious = [place for place in places if place.reason in _PRECIOUS]
    lost: dict[str, UncoveredPlace] = {}
    targets: dict[_Target, None] = {}
    for program in find_programs(command, folder):
        if _destroys_history(program):
            git = [place for place in places if place.reason == "git"]
            lost |= _by_path(git[:1] if git or is_known else [UncoveredPlace(".git", "git", is_folder=True)])
        lost |= _by_path(_handed_over(program, precious, root))
        targets |= dict.fromkeys(_targets(program, root))
    for target in targets:
        hit = [
            _narrowed(place, target)
            for place in _near(places, target)
            if place.path not in lost and _reaches(target, place)
        ]
        is_removed = target.extent in ("file", "tree", "moved") and not _is_made_again(target.path)
        if not hit and not is_known and is_removed and target.path not in lost:
            hit = [UncoveredPlace(target.path, "pending")]
        lost |= _by_path(hit)
    return tuple(sorted(lost.values(), key=lambda place: place.reason == "ignored"))


def written_paths(command: str, folder: str = "", root: str = "") -> Iterator[str]:
    """Yield the paths in the workspace, some with wildcards, whose content a command plausibly changes."""
    for program in find_programs(command, folder):
        added = _operands(program.words) if program.name == "tee" else ()
        paths = (_relative(posixpath.join(program.folder, path), root) for path in added)
        yield from (path for path in paths if path is not None)
        yield from (target.path for target in _targets(program, root) if target.extent == "content")


def _by_path(places: Iterable[UncoveredPlace]) -> dict[str, UncoveredPlace]:
    return {place.path: place for place in places}


def _handed_over(program: Program, places: Iterable[UncoveredPlace], root: str) -> list[UncoveredPlace]:
    """Return the places among the words of a program that may change the files it is given."""
    if program.name in _HARMLESS | _WITH_OWN_RULES | _REMOVERS or program.code:
        return []
    words = _PATHS.findall(" ".join((program.name, *program.words)))
    paths = {_relative(posixpath.join(program.folder, path), root) for path in words}
    return [place for place in places if place.path in paths]


def _near(places: Iterable[UncoveredPlace], target: _Target) -> Iterator[UncoveredPlace]:
    """Yield the places that begin as a target does up to its first wildcard: there may be 100,000."""
    head = "" if target.path == "." else _WILDCARD.split(target.path, maxsplit=1)[0]
    return (place for place in places if place.path.startswith(head) or head.startswith(place.path))


def _destroys_history(program: Program) -> bool:
    return program.name == "git" and git_history_is_lost(git_words(program.words)[1])


def _targets(program: Program, root: str) -> Iterator[_Target]:
    for path, extent in _paths(program, root):
        inside = _relative(posixpath.join(program.folder, path), root)
        if inside is not None:
            yield _Target(inside, extent)


def _paths(program: Program, root: str) -> Iterator[tuple[str, Extent]]:
    """Yield the paths that a program destroys, and what of them."""
    words, operands = program.words, [*_operands(program.words), *_fed_paths(program)]
    is_emptied = program.name in _EMPTY or "/dev/null" in operands
    yield from ((path, "file" if is_emptied else "content") for path in program.outputs)
    yield from _paths_in_code(program.code)
    match program.name:
        case name if name in _REMOVERS:
            is_recursive = name == "rimraf" or _has_option(words, "rR", "--recursive")
            yield from ((path, "tree" if is_recursive else "file") for path in operands)
        case "find" if "-delete" in words:
            yield from ((path, "tree") for path in found_paths(words))
        case "dd":
            yield from ((word[3:], "file") for word in words if word.startswith("of="))
        case "rsync" if any(word.startswith("--del") for word in words):
            yield from ((path, "tree") for path in operands[-1:])
        case "cp" | "mv" | "install" | "ln" | "rsync":
            yield from _copied_paths(program, operands, root)
        case "tee" if not _has_option(words, "a", "--append"):
            yield from ((path, "content") for path in operands)
        case "sed" | "perl" if any(re.match(r"-[A-Za-z]*i|--in-place", word) for word in words):
            yield from ((path, "content") for path in operands)
        case "git":
            moved, rest = git_words(words)
            yield from ((posixpath.join(moved, path), extent) for path, extent in git_paths(rest))


def _paths_in_code(code: str) -> Iterator[tuple[str, Extent]]:
    strings = ["".join(found) for found in _STRINGS.findall(code)]
    if _WRITING_CODE.search(code):
        yield from ((path, "content") for path in strings)
    if _REMOVING_CODE.search(code):
        yield from ((path, "tree") for path in strings or [ANYTHING])


def _copied_paths(program: Program, operands: Sequence[str], root: str) -> Iterator[tuple[str, Extent]]:
    """Yield what a program that copies or moves files replaces, and what it takes out of the workspace."""
    *sources, place = _without_target_option(program.words, operands)
    yield place, "content"
    leaves = program.name == "mv" and _relative(posixpath.join(program.folder, place), root) is None
    for source in sources:
        yield posixpath.join(place, posixpath.basename(source.rstrip("/"))), "content"
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
    source = program.source
    if source is None:
        return [ANYTHING]
    if source.name == "find":
        return found_paths(source.words)
    if source.name == "git":  # it tracks them
        return []
    if source.name in ("grep", "rg"):
        names = [word.partition("=")[2] for word in source.words if word.startswith("--include=")]
        roots = _operands(source.words)[1:] or ["."]
        return [f"{root}/{ANYTHING}/{name}" for root in roots for name in names or [ANYTHING]]
    return [ANYTHING]


def _without_target_option(words: Sequence[str], operands: Sequence[str]) -> list[str]:
    """Return what is copied or moved, and last where to."""
    for option, value in pairwise(words):
        if option in ("-t", "--target-directory"):
            return [*(path for path in operands if path != value), value]
    return list(operands) or ["."]


def _relative(path: str, root: str) -> str | None:
    """Return a path in the workspace, `.` for all of it; None for one outside."""
    if path.startswith("~") or _OUTSIDE.match(path):
        return None
    path = posixpath.normpath(path)
    if not path.startswith("/"):
        return None if path.split("/")[0] == ".." else path
    inside = posixpath.relpath(path, root) if root else path
    above = inside.split("/")[0] == ".." and not (root + "/").startswith(path.rstrip("/") + "/")
    return None if above else "." if inside.startswith("..") else inside


def _is_made_again(path: str) -> bool:
    names = path.split("/")
    return bool(_MADE_AGAIN & set(names)) or path.endswith(_MADE_AGAIN_ENDS)


def _is_spared(target: _Target, place: UncoveredPlace) -> bool:
    """Return True if what is at a place is none of what is destroyed, or no loss."""
    match place.reason:
        case "ignored":
            is_spared = target.extent in ("tracked", "untracked", "content")
            return is_spared or _is_made_again(place.path) or _is_made_again(target.path)
        case "git":
            return target.extent in ("tracked", "untracked", "ignored") or target.path.endswith(".lock")
        case "secret":  # git seldom tracks it
            return target.extent == "tracked" and target.path != place.path
    return place.reason == "special"


def _reaches(target: _Target, place: UncoveredPlace) -> bool:
    """Return True if what is at a place would be gone or changed."""
    pattern, names = _names(target.path), _names(place.path)
    is_elsewhere = pattern[:1] != names[:1] and pattern and not _WILDCARD.search(pattern[0])
    if is_elsewhere or _is_spared(target, place):
        return False
    if target.extent == "content":
        return not place.is_folder and _fits(pattern, names)
    above = (pattern[:end] for end in range(1, len(pattern)) if ANYTHING not in pattern[:end])
    if place.is_folder and any(_fits(folder, names) for folder in above):
        return True
    if target.extent == "file":
        return not place.is_folder and _fits(pattern, names)
    return _fits([*pattern, ANYTHING], names)


@lru_cache(maxsize=_REMEMBERED)
def _names(path: str) -> tuple[str, ...]:
    names = [name for name in path.split("/") if name not in ("", ".")]
    return tuple(name for before, name in zip(["", *names], names, strict=False) if (before, name) != _TWICE)


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if a path with wildcards stands for a path."""
    if not pattern:
        return not names
    if pattern[0] == ANYTHING:
        return any(_fits(pattern[1:], names[at:]) for at in range(len(names) + 1))
    if not names or (names[0].startswith(".") and pattern[0][:1] in "*?["):
        return False
    return fnmatchcase(names[0], pattern[0]) and _fits(pattern[1:], names[1:])


def _narrowed(place: UncoveredPlace, target: _Target) -> UncoveredPlace:
    """Return a place, or what of it a target names."""
    is_inside = target.path.startswith(f"{place.path}/") and not _WILDCARD.search(target.path)
    return UncoveredPlace(target.path, place.reason) if is_inside else place
