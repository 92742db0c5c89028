"""The grammar of `cache gc`, `trash`, `restore` and `forget`: sizes, times, and what each command takes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from helix_desktop.context.keeping import DAY_MS, HOUR_MS

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_TIME = re.compile(r"(\d+)\s*([hdw])", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNITS = {"h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS}

Verb = Callable[[str, str], argparse.ArgumentParser]
"""Adds a command by name and help, with `--workspace` and `--json`."""


def size(text: str) -> int:
    """Bytes, from `2GB` or `500 MB`; 1 KB is 1,024 bytes. Raises ArgumentTypeError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 500MB or 2GB")
    return max(1, round(float(found[1]) * _FACTORS[found[2].upper()]))


def time(text: str) -> int:
    """Milliseconds, from `12h`, `30d` or `4w`. Raises ArgumentTypeError."""
    found = _TIME.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 12h, 30d or 4w")
    return int(found[1]) * _UNITS[found[2].lower()]


def add_keep_verbs(add: Verb) -> None:
    """Add the four commands."""
    gc = add("gc", "move what nothing names to the trash")
    gc.add_argument("--dry-run", action="store_true", help="say what would go and why the rest stays")
    gc.add_argument("--quota", type=size, default=0, metavar="SIZE", help="only until this much is left")
    gc.add_argument(
        "--older-than", type=time, default=0, metavar="TIME", help="only what was not used for so long"
    )
    trash = add("trash", "what lies in the trash")
    trash.add_argument("--empty", action="store_true", help="remove all of it for good")
    restore = add("restore", "bring back from the trash")
    restore.add_argument("ids", nargs="*", metavar="ID", help="SHA-256 or session, or its first digits")
    restore.add_argument("--all", action="store_true", help="everything")
    forget = add("forget", "remove a secret for good; shows what would change unless --yes is given")
    forget.add_argument("sha", nargs="*", metavar="SHA", help="outputs, with all that was shown of them")
    forget.add_argument("--stdin", action="store_true", help="also the text on standard input, anywhere")
    forget.add_argument("--yes", action="store_true", help="do it: it cannot be undone")
    forget.add_argument("--lift", action="store_true", help="let forgotten outputs be stored again instead")
