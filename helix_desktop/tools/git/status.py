"""The state of a checkout, read from `git status`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from helix_desktop.domain.git import GitEntry, GitStatus
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.git.program import Checkout, GitProgram, find_checkout, read_head

TIMEOUT_S = 10.0  # a checkout of 500,000 files on a cold disk
_ARGUMENTS = (
    *("status", "--porcelain=v2", "--branch", "-z", "--renames"),
    "--ignore-submodules=dirty",  # to look into one would obey its own configuration
)
_FIELDS = {"1": 8, "2": 9, "u": 10}  # fields before the path, by the kind of line
_NOTHING = "0" * 6


class CheckoutState(NamedTuple):
    """The state of a checkout, and the paths of the workspace that differ from its last commit.

    `prefix` is what stands before them in the checkout: empty, or a folder with a slash at its end.
    """

    status: GitStatus
    entries: tuple[GitEntry, ...] = ()
    prefix: str = ""


async def read_status(git: GitProgram, timeout_s: float = TIMEOUT_S) -> GitStatus | None:
    """Return the state of the checkout that a workspace is in; None: it is in none, or there is no git."""
    state = await read_checkout_state(git, "normal", timeout_s)
    return state and state.status


async def read_checkout_state(
    git: GitProgram, untracked: str = "all", timeout_s: float = TIMEOUT_S
) -> CheckoutState | None:
    """Return state and paths; `untracked` "all" lists each file of a new folder, "normal" the folder."""
    checkout = await asyncio.to_thread(find_checkout, git.root)
    if checkout is None or not await asyncio.to_thread(git.find):
        return None
    result = await git.run((*_ARGUMENTS, f"--untracked-files={untracked}", "--", "."), timeout_s)
    if result.problem:
        head = await asyncio.to_thread(read_head, checkout)
        status = GitStatus(*head, is_known=False, problem=result.problem)
        return CheckoutState(_with_place(status, checkout))
    state = parse_state(result.output, _prefix(git.root, checkout))
    return state._replace(status=_with_place(state.status, checkout))


def _prefix(root: Path, checkout: Checkout) -> str:
    """Return the path of the workspace in its checkout, with a slash at its end; empty: it is all of it."""
    inside = root.relative_to(checkout.top).as_posix()
    return "" if inside == "." else f"{inside}/"


def _with_place(status: GitStatus, checkout: Checkout) -> GitStatus:
    return msgspec.structs.replace(status, worktree=checkout.worktree, main_folder=checkout.main_folder)


def parse_state(output: bytes, prefix: str = "") -> CheckoutState:
    """Return what `git status --porcelain=v2 --branch -z` wrote; `prefix` is cut off its paths."""
    heads: dict[str, str] = {}
    entries: dict[str, GitEntry] = {}
    for line, source in _lines(output):
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            heads[name] = value
            continue
        entry = _entry(line, source, prefix)
        if entry is None:
            continue
        other = entries.get(entry.path)
        entries[entry.path] = entry if other is None else _joined(other, entry)
    counts = Counter(entry.letter for entry in entries.values())
    status = msgspec.structs.replace(
        _status(heads),
        changed=counts.total() - counts["?"],
        untracked=counts["?"],
        conflicts=counts["U"],
    )
    return CheckoutState(status, tuple(entries.values()), prefix)


def _lines(output: bytes) -> Iterator[tuple[str, str]]:
    """Return the lines, each with the source of a rename, which follows its line."""
    lines = iter(output.decode(errors="replace").split("\0"))
    for line in lines:
        if line:
            yield line, next(lines, "") if line.startswith("2 ") else ""


def _status(heads: dict[str, str]) -> GitStatus:
    branch, commit = heads.get("branch.head", ""), heads.get("branch.oid", "")
    is_detached = branch == "(detached)"
    ahead, _, behind = heads.get("branch.ab", "+0 -0").partition(" ")
    return GitStatus(
        "" if is_detached else escape_hidden_name(branch),
        commit if is_detached else "",
        commit != "(initial)",
        escape_hidden_name(heads.get("branch.upstream", "")),
        abs(int(ahead)),
        abs(int(behind)),
    )


def _entry(line: str, source: str, prefix: str) -> GitEntry | None:
    kind = line[0]
    if kind == "?":
        return GitEntry(line[2:].removeprefix(prefix), "?")
    fields = line.split(" ", _FIELDS.get(kind, 0))
    match kind:
        case "1":
            return _changed_entry(fields, fields[8].removeprefix(prefix))
        case "2":
            return _moved_entry(fields, fields[9].removeprefix(prefix), source.removeprefix(prefix))
        case "u":
            path, ours = fields[10].removeprefix(prefix), _content(fields[4], fields[8])
            return GitEntry(path, "U", *ours, int(fields[6], 8))
    return None  # a kind of line that did not exist when this was written


def _changed_entry(fields: list[str], path: str) -> GitEntry | None:
    before_mode, mode = fields[3], fields[5]
    if before_mode == mode == _NOTHING:
        return None  # added to the index, then deleted
    letter = _letter(fields[1], before_mode, mode)
    return GitEntry(path, letter, *_content(before_mode, fields[6]), int(mode, 8))


def _moved_entry(fields: list[str], path: str, source: str) -> GitEntry:
    mode, before = int(fields[5], 8), _content(fields[3], fields[6])
    if fields[8].startswith("C"):
        return GitEntry(path, "A", after_mode=mode)  # a copy: what it is of is still there
    if not mode:
        return GitEntry(source, "D", *before)
    return GitEntry(path, "R", *before, mode, source)


def _content(mode: str, digest: str) -> tuple[str, int]:
    return ("", 0) if mode == _NOTHING else (digest, int(mode, 8))


def _letter(letters: str, before_mode: str, mode: str) -> str:
    """Return the letter of a path against the last commit, of its two against the index and of the index."""
    if before_mode == _NOTHING:
        return "A"
    if mode == _NOTHING:
        return "D"
    return "T" if "T" in letters else "M"


def _joined(first: GitEntry, second: GitEntry) -> GitEntry:
    """Return one entry of a path that is deleted in the index and there all the same, untracked."""
    tracked = second if first.letter == "?" else first
    if not tracked.before:
        return tracked
    return msgspec.structs.replace(tracked, letter="M", after_mode=tracked.before_mode)
