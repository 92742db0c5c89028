"""Which uncovered places a path with wildcards stands for, and what of them is destroyed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

import msgspec

from helix_desktop.domain.file_history.file_coverage import UncoveredPlace
from helix_desktop.domain.permissions.parameter_expansion import ANYTHING
from helix_desktop.domain.permissions.reading_budget import ReadingBudget

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
        """Return the place at exactly this path."""
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
        first, last = bisect_left(self._paths, head), bisect_left(self._paths, head + _LAST)
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
    pattern, names = _names(target.path), _names(place.path)
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
    if name.startswith(".") and part[0] in "*?[":
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
