"""The grammar of the `cache` commands that list, search, clean up and forget."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Literal, get_args

from helix_desktop.cli import argument_types
from helix_desktop.domain.choices import MAX_RECALL_CONTEXT, MAX_RECALL_TOKENS, MIN_RECALL_TOKENS, SortColumn
from helix_desktop.words.translation import Translator

tr = Translator("Command line")

AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Add a command by name and help, with `--workspace` and `--json`."""

_SEARCH_LIMIT = 20


def add_find_commands(add_command: AddCommand) -> None:
    """Add `cache list`, `cache search` and `cache recall`."""
    listed = add_command("list", tr("list entries, newest first"))
    _add_filters(listed)
    columns = get_args(SortColumn)
    listed.add_argument(
        "--sort",
        choices=columns,
        default="created",
        metavar="COLUMN",
        help=tr("column to sort by, largest first: {columns}", columns=columns),
    )
    listed.add_argument("--reverse", action="store_true", help=tr("reverse order"))
    listed.add_argument(
        "--limit",
        type=argument_types.positive_count,
        default=0,
        metavar="N",
        help=tr("maximum number of results"),
    )
    search = add_command("search", tr("find entries and summaries that contain all words"))
    search.add_argument(
        "query",
        metavar="QUERY",
        help=tr("words to find, in upper or lower case; {quotes} for a phrase", quotes='"…"'),
    )
    _add_filters(search)
    search.add_argument(
        "--limit",
        type=argument_types.positive_count,
        default=_SEARCH_LIMIT,
        metavar="N",
        help=tr("maximum number of results (default: {limit})", limit=_SEARCH_LIMIT),
    )

    search.add_argument(
        "--agent",
        action="store_true",
        help=tr("print what the agent of the session in {option} gets", option="--from-session"),
    )
    _add_recall(add_command)


def _add_recall(add_command: AddCommand) -> None:
    recall = add_command("recall", tr("print what the agent gets when it recalls"))
    recall.add_argument(
        "handle",
        metavar="HANDLE",
        help=tr("SHA-256, or its first digits; or entry numbers such as {entries}", entries="e39-e45"),
    )
    argument_types.add_text(recall, "--from-session", "ID", tr("the session whose agent recalls"))
    recall.add_argument("--pattern", default="", metavar="REGEX", help=tr("only lines that match"))
    line, tokens = (
        argument_types.positive_count,
        argument_types.number_between(MIN_RECALL_TOKENS, MAX_RECALL_TOKENS),
    )
    for option, kind, text in (
        ("--start-line", line, tr("first line, from 1")),
        ("--end-line", line, tr("last line")),
        ("--max-tokens", tokens, tr("maximum number of tokens")),
        (
            "--context",
            argument_types.number_between(0, MAX_RECALL_CONTEXT),
            tr("number of lines around each match"),
        ),
    ):
        recall.add_argument(option, type=kind, default=None, metavar="N", help=text)


def _add_filters(command: argparse.ArgumentParser) -> None:
    argument_types.add_text(command, "--tool", "NAME", tr("only outputs of this tool"))
    argument_types.add_text(command, "--path", "TEXT", tr("only targets that contain this text"))
    argument_types.add_text(command, "--from-session", "ID", tr("only entries that this session saved first"))
    command.add_argument(
        "--prefix",
        type=argument_types.hash_prefix,
        default=None,
        metavar="HEX",
        help=tr("only digests with this prefix"),
    )
    sizes: tuple[tuple[str, int | None, str], ...] = (
        ("--min-size", 0, tr("minimum size, such as 100KB or 2MB")),
        ("--max-size", None, tr("maximum size, such as 100KB or 2MB")),
    )
    for option, default, text in sizes:
        command.add_argument(
            option, type=argument_types.byte_count, default=default, metavar="SIZE", help=text
        )
    for option, text in (
        ("--newer", tr("only entries saved within this time, such as 12h, 7d or 4w")),
        ("--older", tr("only entries saved longer ago than this, such as 12h, 7d or 4w")),
    ):
        command.add_argument(option, type=argument_types.duration_ms, default=None, metavar="TIME", help=text)
    command.add_argument("--unused", action="store_true", help=tr("only entries that were never recalled"))
    command.add_argument("--orphan", action="store_true", help=tr("only unreferenced entries"))
    command.add_argument("--pinned", action="store_true", help=tr("only pinned entries"))


def _add_trash_ids(command: argparse.ArgumentParser, count: Literal["*", "+"]) -> None:
    command.add_argument(
        "ids",
        type=argument_types.non_empty_text,
        nargs=count,
        metavar="ID",
        help=tr("SHA-256 or session ID, or its first digits"),
    )


def add_cleanup_commands(add_command: AddCommand) -> None:
    """Add `cache gc`, `trash`, `restore`, `delete` and `forget`."""
    gc = add_command("gc", tr("move unreferenced entries to the trash"))
    gc.add_argument(
        "--dry-run", action="store_true", help=tr("show what would be moved, and why the rest stays")
    )
    gc.add_argument(
        "--quota",
        type=argument_types.byte_count,
        default=0,
        metavar="SIZE",
        help=tr("stop when the cache is down to this size"),
    )
    gc.add_argument(
        "--older-than",
        type=argument_types.duration_ms,
        default=0,
        metavar="TIME",
        help=tr("only entries not used for this long"),
    )
    trash = add_command("trash", tr("list the trash"))
    trash.add_argument("--empty", action="store_true", help=tr("permanently delete everything in the trash"))
    restore = add_command("restore", tr("restore entries and sessions from the trash"))
    _add_trash_ids(restore, "*")
    restore.add_argument("--all", action="store_true", help=tr("restore everything"))
    delete = add_command(
        "delete", tr("permanently delete items of the trash (dry run without {yes})", yes="--yes")
    )
    _add_trash_ids(delete, "+")
    delete.add_argument("--yes", action="store_true", help=tr("delete them; this can't be undone"))
    forget = add_command("forget", tr("permanently remove a secret (dry run without {yes})", yes="--yes"))
    forget.add_argument(
        "sha",
        type=argument_types.non_empty_text,
        nargs="*",
        metavar="SHA",
        help=tr("digests of outputs to redact"),
    )
    forget.add_argument(
        "--stdin", action="store_true", help=tr("also remove the text on standard input, wherever it occurs")
    )
    forget.add_argument("--yes", action="store_true", help=tr("remove it; this can't be undone"))
    forget.add_argument(
        "--lift", action="store_true", help=tr("allow removed outputs to be saved again instead")
    )
