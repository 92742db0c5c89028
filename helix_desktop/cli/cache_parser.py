"""The grammar of the `cache` commands that list, search, clean up and forget."""

from __future__ import annotations

import argparse
from typing import get_args

from helix_desktop.cli import argument_types
from helix_desktop.cli.cache_cleanup_parser import AddCommand
from helix_desktop.domain.store.entries import SortColumn


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
