"""The user's home folder, also where `HOME` names none."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

NO_HOME = Path("/nonexistent")
"""Stands for a home folder that is not there: nothing is looked for in it, nothing is written to it."""

HomeFault = Literal["", "unset", "relative", "root", "missing", "no_folder"]
"""Why `HOME` can't be used; `root`: it is the top of the file system, which is nobody's own."""


def home_fault(environ: Mapping[str, str] = os.environ) -> HomeFault:
    """Return what is wrong with `HOME`; empty: nothing, or this system doesn't use it. Blocks."""
    if os.name == "nt":
        return ""
    return _fault(environ.get("HOME", ""))


def find_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that `HOME` names, else the account's one; NO_HOME if neither is one. Blocks."""
    if os.name == "nt":
        return Path.home()
    if not home_fault(environ):
        return Path(environ["HOME"])
    account = _account_home()
    return NO_HOME if _fault(account) else Path(account)


def _fault(home: str) -> HomeFault:
    if not home:
        return "unset"
    if not os.path.isabs(home):
        return "relative"
    real = os.path.realpath(home)
    if real == "/":
        return "root"
    try:
        mode = os.stat(real).st_mode
    except OSError:
        return "missing"
    return "" if stat.S_ISDIR(mode) else "no_folder"


def _account_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user without an account, as in some containers
        return ""
