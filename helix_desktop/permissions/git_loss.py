"""What a git command destroys: commits and refs, or files of the working tree."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

_WITH_VALUE = frozenset({
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env",
})  # fmt: skip


class _Form(NamedTuple):
    """The arguments with which a subcommand destroys: short options, beginnings of words, its action."""

    letters: str = ""
    beginnings: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    is_always: bool = False


_HISTORY_LOSS = {
    "repack": _Form("a"),
    "symbolic-ref": _Form("d", ("--delete",)),
    "lfs": _Form(actions=("prune",)),
    "gc": _Form(beginnings=("--prune",)),
    "reflog": _Form(actions=("expire", "delete")),
    "reset": _Form(beginnings=("--hard",)),
    "push": _Form("fd", ("--force", "--delete", "--mirror", "--prune", "+", ":")),
    "branch": _Form("Df", ("--force",)),
    "tag": _Form("df", ("--force", "--delete")),
    "stash": _Form(actions=("drop", "clear")),
    "update-ref": _Form("d", ("--stdin",)),
    "worktree": _Form("f", ("--force",)),
    "checkout": _Form("B"),
    "switch": _Form("C", ("--force-create",)),
    "filter-branch": _Form(is_always=True),
    "filter-repo": _Form(is_always=True),
}


_FILE_LOSS = frozenset({
    "clean", "checkout", "switch", "checkout-index", "read-tree", "restore", "rm", "prune", "rebase",
})  # fmt: skip


def git_words(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the folder that git changes into, and its subcommand with what follows."""
    folder = ""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        if words[index] == "-C" and index + 1 < len(words):
            folder = posixpath.join(folder, words[index + 1])
        index += 2 if words[index] in _WITH_VALUE else 1
    return folder, words[index:]


def git_history_is_lost(words: Sequence[str]) -> bool:
    """Return True if commits, refs or what is staged may be gone: git can't bring them back, or hardly."""
    rest = words[1:]
    if words[:1] and words[0] == "prune":
        return not _has(rest, "n", "--dry-run")
    form = _HISTORY_LOSS.get(words[0]) if words else None
    return form is not None and (
        form.is_always
        or _has(rest, form.letters)
        or any(word.startswith(form.beginnings) for word in rest if form.beginnings)
        or bool(set(form.actions) & set(rest[:1]))
    )


def is_destroying_action(action: str) -> bool:
    """Return True for a subcommand that, with some arguments, destroys commits, refs or files."""
    return action in _HISTORY_LOSS or action in _FILE_LOSS


def git_paths(words: Sequence[str]) -> Iterator[tuple[str, Literal["tracked", "untracked", "ignored"]]]:
    """Yield the paths whose content in the working tree git replaces or removes."""
    rest = words[1:]
    at = list(rest).index("--") if "--" in rest else len(rest)
    operands = [word for word in rest[:at] if not word.startswith("-")] + list(rest[at + 1 :])
    is_forced = _has(rest[:at], "f", "--force")
    match words[0] if words else "":
        case "clean" if not _has(rest[:at], "n", "--dry-run"):  # -f may be a setting
            for path in operands or ["."]:
                yield path, "ignored" if _has(rest[:at], "xX") else "untracked"
        case "checkout" | "switch":
            everything = ["."] if is_forced or "--discard-changes" in rest else []
            for path in [*operands, *everything]:
                yield path, "tracked"
        case "checkout-index" | "read-tree" if is_forced or _has(rest, "u", "--reset"):
            yield ".", "tracked"
        case "restore" if not _has(rest, "S", "--staged") or _has(rest, "W", "--worktree"):
            for path in operands:
                yield path, "tracked"
        case "rm" if "--cached" not in rest:
            for path in operands:
                yield path, "tracked"


def _has(words: Sequence[str], letters: str, *long: str) -> bool:
    """Return True if one of these options is among words, a letter also in a row such as -fdx."""
    return any(
        word in long or (word.startswith("-") and not word.startswith("--") and set(letters) & set(word[1:]))
        for word in words
    )
