"""The words of the command line that narrow, sort and search the cache."""

from __future__ import annotations

import argparse
from typing import get_args

from helix_desktop.app import values
from helix_desktop.app.keep_grammar import Verb
from helix_desktop.context.content import SortColumn


def add_find_verbs(add: Verb) -> None:
    """Add `list` and `search` to the verbs of `cache`."""
    listed = add("list", "all entries, or those that pass; newest first")
    _add_filters(listed)
    listed.add_argument(
        "--sort",
        choices=get_args(SortColumn),
        default="created",
        metavar="COLUMN",
        help=f"{', '.join(get_args(SortColumn))}; the greatest first",
    )
    listed.add_argument("--reverse", action="store_true", help="the other way round")
    listed.add_argument("--limit", type=values.limit, default=0, metavar="N", help="so many at most")
    search = add("search", "entries and handovers that hold all words")
    search.add_argument("query", metavar="QUERY", help='words in any case; "quoted words" are a phrase')
    _add_filters(search)
    search.add_argument(
        "--limit", type=values.limit, default=20, metavar="N", help="so many hits at most, by default 20"
    )


def _add_filters(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--tool", default="", metavar="NAME", help="only outputs of this tool")
    verb.add_argument("--path", default="", metavar="TEXT", help="only what has this in its target")
    verb.add_argument("--from-session", default="", metavar="ID", help="only what this session stored first")
    verb.add_argument(
        "--prefix", type=values.prefix, default=None, metavar="HEX", help="only hashes that begin so"
    )
    verb.add_argument("--min-size", type=values.size, default=0, metavar="SIZE", help="such as 100KB or 2MB")
    verb.add_argument(
        "--max-size", type=values.size, default=None, metavar="SIZE", help="such as 100KB or 2MB"
    )
    verb.add_argument(
        "--newer", type=values.time, default=None, metavar="TIME", help="stored in the last 12h, 7d, 4w"
    )
    verb.add_argument("--older", type=values.time, default=None, metavar="TIME", help="stored before that")
    verb.add_argument("--unused", action="store_true", help="only what was never recalled")
    verb.add_argument("--orphan", action="store_true", help="only what no event refers to")
    verb.add_argument("--pinned", action="store_true", help="only what is pinned")
