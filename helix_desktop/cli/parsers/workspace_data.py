"""The arguments of the commands on the data of workspaces: cache, MCP server, changes, backup, its place."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.cache.parser import AddCommand, add_cleanup_commands, add_find_commands
from helix_desktop.cli.changes.parser import add_changes_commands
from helix_desktop.cli.parsers.options import Commands, add_json, add_workspace
from helix_desktop.domain.choices import ARCHIVE_SUFFIX, TRANSCRIPT_SUFFIX
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
_SERVED_TOOLS = ("recall_cached_content", "search_cached_content", "list_cached_content")


def add_cache(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `cache` with its verbs."""
    cache = commands.add_parser("cache", help=tr("work with the cached outputs of a workspace"))
    add = _verbs_of(cache, common)
    add_find_commands(add)
    show = add("show", tr("write the exact bytes of an entry"))
    show.add_argument(
        "sha", type=argument_types.non_empty_text, metavar="SHA", help=tr("SHA-256, or its first digits")
    )
    verify = add("verify", tr("check everything, or one entry, without changing it"))
    verify.add_argument(
        "sha",
        type=argument_types.non_empty_text,
        metavar="SHA",
        nargs="?",
        help=tr("entry to check (default: everything)"),
    )
    add("repair", tr("check everything and repair damage"))
    export = add("export", tr("write sessions and cached outputs to one file"))
    export.add_argument(
        "file",
        type=argument_types.path,
        metavar="FILE",
        help=tr(
            "file to write; {suffix} is added if missing. With {option}, a name that ends in {markdown} gets "
            "a transcript to read",
            suffix=ARCHIVE_SUFFIX,
            option="--session",
            markdown=TRANSCRIPT_SUFFIX,
        ),
    )
    argument_types.add_text(
        export,
        "--session",
        "ID",
        tr("only this session, with its subagents and its outputs ({last} = the newest)", last="last"),
    )
    export.add_argument("--force", action="store_true", help=tr("overwrite FILE if it exists"))
    importing = add("import", tr("add what a file contains; nothing is overwritten"))
    importing.add_argument(
        "file",
        type=argument_types.path,
        metavar="FILE",
        help=tr("exported file ({suffix})", suffix=ARCHIVE_SUFFIX),
    )
    add_cleanup_commands(add)


def _verbs_of(command: argparse.ArgumentParser, common: argparse.ArgumentParser) -> AddCommand:
    """Return what adds a verb to a command; its usage and errors list those that were added."""
    verbs = command.add_subparsers(dest="verb", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        verb = verbs.add_parser(name, parents=[common], help=text)
        add_workspace(verb)
        add_json(verb)
        verbs.metavar = "|".join(verbs.choices)
        return verb

    return add


def add_mcp(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help=tr("share a workspace's cache over MCP (Model Context Protocol)"),
        description=tr(
            "Offer the tools {tools} over standard input and output. With {http}, programs on this computer "
            "that have the token can use them. The workspace can stay open in the window.",
            tools=_SERVED_TOOLS,
            http="--http",
        ),
    )
    add_workspace(mcp)
    mcp.add_argument("--http", action="store_true", help=tr("use HTTP on the loopback address"))
    mcp.add_argument(
        "--port",
        type=argument_types.port,
        default=0,
        metavar="N",
        help=tr("port for {http} (default: any free one)", http="--http"),
    )


def add_changes(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `changes` with its verbs."""
    changes = commands.add_parser(
        "changes",
        help=tr("list, compare, revert and redo changes to files"),
        description=tr(
            "Work with what the agent and its commands changed in the files of a workspace, which can stay "
            "open in the window."
        ),
    )
    add_changes_commands(_verbs_of(changes, common))


def add_backup(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `backup`."""
    backup = commands.add_parser(
        "backup", parents=[common], help=tr("back up every workspace to its own file")
    )
    backup.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("folder for the backup files")
    )
    backup.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("back up only this project folder"),
    )
    add_json(backup)


def add_move(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `move-data`."""
    move = commands.add_parser("move-data", parents=[common], help=tr("move the data directory"))
    move.add_argument(
        "folder", type=argument_types.path, metavar="FOLDER", help=tr("an empty folder, or a new one")
    )
    move.add_argument(
        "--remove-old", action="store_true", help=tr("delete the old copy after everything is verified")
    )
    add_json(move)
    move.add_argument("--window", action="store_true", help=argparse.SUPPRESS)  # how the window calls it
