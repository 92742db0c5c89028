"""The grammar of the `cache` commands that list, search, clean up and forget."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import get_args

from helix_desktop.cli import argument_types
from helix_desktop.domain.store.entries import SortColumn

AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Add a command by name and help, with `--workspace` and `--json`."""


def add_find_commands(add_command: AddCommand) -> None:
    """Add `cache list` and `cache search`."""
    listed = add_command("list", "all entries, or those that pass; newest first")
    _add_filters(listed)
    listed.add_argument(
        "--sort",
        choices=get_args(SortColumn),
        default="created",
        metavar="COLUMN",
        help=f"{', '.join(get_args(SortColumn))}; the greatest first",
    )
    listed.add_argument("--reverse", action="store_true", help="the other way round")
    listed.add_argument(
        "--limit", type=argument_types.positive_count, default=0, metavar="N", help="so many at most"
    )
    search = add_command("search", "entries and handovers that hold all words")
    search.add_argument("query", metavar="QUERY", help='words in any case; "quoted words" are a phrase')
    _add_filters(search)
    search.add_argument(
        "--limit",
        type=argument_types.positive_count,
        default=20,
        metavar="N",
        help="so many hits at most, by default 20",
    )


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tool", default="", metavar="NAME", help="only outputs of this tool")
    command.add_argument("--path", default="", metavar="TEXT", help="only what has this in its target")
    command.add_argument(
        "--from-session", default="", metavar="ID", help="only what this session stored first"
    )
    command.add_argument(
        "--prefix",
        type=argument_types.hash_prefix,
        default=None,
        metavar="HEX",
        help="only hashes that begin so",
    )
    command.add_argument(
        "--min-size", type=argument_types.byte_count, default=0, metavar="SIZE", help="such as 100KB or 2MB"
    )
    command.add_argument(
        "--max-size",
        type=argument_types.byte_count,
        default=None,
        metavar="SIZE",
        help="such as 100KB or 2MB",
    )
    command.add_argument(
        "--newer",
        type=argument_types.duration_ms,
        default=None,
        metavar="TIME",
        help="stored in the last 12h, 7d, 4w",
    )
    command.add_argument(
        "--older", type=argument_types.duration_ms, default=None, metavar="TIME", help="stored before that"
    )
    command.add_argument("--unused", action="store_true", help="only what was never recalled")
    command.add_argument("--orphan", action="store_true", help="only what no event refers to")
    command.add_argument("--pinned", action="store_true", help="only what is pinned")


def add_cleanup_commands(add_command: AddCommand) -> None:
    """Add `cache gc`, `trash`, `restore` and `forget`."""
    gc = add_command("gc", "move what nothing names to the trash")
    gc.add_argument("--dry-run", action="store_true", help="say what would go and why the rest stays")
    gc.add_argument(
        "--quota",
        type=argument_types.byte_count,
        default=0,
        metavar="SIZE",
        help="only until this much is left",
    )
    gc.add_argument(
        "--older-than",
        type=argument_types.duration_ms,
        default=0,
        metavar="TIME",
        help="only what was not used for so long",
    )
    trash = add_command("trash", "what lies in the trash")
    trash.add_argument("--empty", action="store_true", help="remove all of it for good")
    restore = add_command("restore", "bring back from the trash")
    restore.add_argument("ids", nargs="*", metavar="ID", help="SHA-256 or session, or its first digits")
    restore.add_argument("--all", action="store_true", help="everything")
    forget = add_command("forget", "remove a secret for good; shows what would change unless --yes is given")
    forget.add_argument("sha", nargs="*", metavar="SHA", help="outputs, with all that was shown of them")
    forget.add_argument("--stdin", action="store_true", help="also the text on standard input, anywhere")
    forget.add_argument("--yes", action="store_true", help="do it: it cannot be undone")
    forget.add_argument("--lift", action="store_true", help="let forgotten outputs be stored again instead")
