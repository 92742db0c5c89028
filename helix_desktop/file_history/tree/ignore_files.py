"""Reads ignore files: those of a folder, and those of the checkout that a workspace is a folder of."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import NamedTuple

from helix_desktop.domain.files.ignore_rules import IgnoreRules
from helix_desktop.file_history.tree.folder import Handle, enter, leave, open_file, open_top, stat_in
from helix_desktop.file_history.tree.stamps import file_stamp

GIT_IGNORE = ".gitignore"
GIT_EXCLUDE = (".git", "info", "exclude")

_LONGEST = 64 * 1024  # bytes of an ignore file that count
_IGNORES_CASE = sys.platform in ("win32", "darwin")
_HIGHEST = 40  # folders above a workspace that are looked at


class IgnoreLevel(NamedTuple):
    """The rules of one ignore file, and the path that it knows a path of the workspace by.

    That is `lead`, and the path without its first `start` characters.
    """

    stamp: bytes
    rules: IgnoreRules
    start: int = 0
    lead: str = ""


def load_above(root: str, before: tuple[IgnoreLevel, ...]) -> tuple[IgnoreLevel, ...]:
    """Return the rules of the folders above a workspace up to its checkout's, the nearest first.

    There are none if the workspace is a checkout itself, or in none. `before` are those of the last time.
    """
    loaded = {level.lead: level for level in before}
    levels: list[IgnoreLevel] = []
    folder, lead = os.path.realpath(root), ""
    for _ in range(_HIGHEST):
        if os.path.lexists(os.path.join(folder, ".git")):
            return tuple(levels)
        parent, name = os.path.split(folder)
        if parent == folder:
            break
        folder, lead = parent, f"{name}/{lead}"
        last = loaded.get(lead, IgnoreLevel(b"", IgnoreRules("")))
        with suppress(OSError):
            handle = open_top(folder)
            try:
                stamp, rules = load_rules((last.stamp, last.rules), handle, GIT_IGNORE)
            finally:
                leave(handle)
            if stamp:
                levels.append(IgnoreLevel(stamp, rules, lead=lead))
    return ()


def load_rules(before: tuple[bytes, IgnoreRules], folder: Handle, name: str) -> tuple[bytes, IgnoreRules]:
    """Return an ignore file's stamp and rules; without a file that can be read there are none."""
    try:
        file_stat = stat_in(folder, name)
        stamp = file_stamp(file_stat)
        if stamp == before[0]:
            return before
        if not stat.S_ISREG(file_stat.st_mode):
            return stamp, IgnoreRules("")
        with open_file(folder, name) as file:
            data = os.read(file, _LONGEST)
    except OSError:
        return b"", IgnoreRules("")
    lines = data if len(data) < _LONGEST else data[: data.rfind(b"\n") + 1]
    return stamp, IgnoreRules(lines.decode(errors="replace"), _IGNORES_CASE)


def load_rules_below(
    before: tuple[bytes, IgnoreRules], top: Handle, parts: tuple[str, ...]
) -> tuple[bytes, IgnoreRules]:
    """Return the rules of a file in folders that are no links. Raises OSError."""
    *folders, name = parts
    entered: list[Handle] = []
    try:
        for folder in folders:
            entered.append(enter(entered[-1] if entered else top, folder))
        return load_rules(before, entered[-1], name)
    finally:
        for handle in entered:
            leave(handle)
