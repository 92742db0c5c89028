"""The arguments of the commands on sessions: their list, branches, timeline, slash commands."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_json, add_workspace
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_slash_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `commands`."""
    listing = commands.add_parser(
        "commands",
        parents=[common],
        help=tr("list the slash commands and prompt files"),
        description=tr(
            "List the commands that can be typed as the first word of a message: built-in ones and those of "
            "prompt files. {run} expands prompt files too; built-in commands work in the window only.",
            run="run --message /NAME",
        ),
    )
    listing.add_argument(
        "--workspace",
        action=argument_types.SinglePath,
        type=argument_types.path,
        metavar="PATH",
        help=tr("also list the prompt files of this project folder"),
    )
    add_json(listing)


def add_sessions(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `sessions` and `branch`."""
    sessions = commands.add_parser(
        "sessions", parents=[common], help=tr("list sessions, each branch below its parent")
    )
    sessions.add_argument("--archived", action="store_true", help=tr("also list archived sessions"))
    branch = commands.add_parser(
        "branch",
        parents=[common],
        help=tr("branch a session: continue it from an earlier point"),
        description=tr(
            "Create a session that begins with the events of another one up to a point. Nothing is copied, "
            "and the other session stays as it is. Continue the branch with {run}.",
            run="run --session ID",
        ),
    )
    branch.add_argument(
        "session",
        type=argument_types.non_empty_text,
        metavar="SESSION",
        help=tr("session to branch ({last} = the newest)", last="last"),
    )
    branch.add_argument(
        "--at",
        type=argument_types.event_number,
        default=0,
        metavar="EVENT",
        help=tr("last event that the branch shares, such as {event} (default: all)", event="e39"),
    )
    branch.add_argument("--title", default="", metavar="TEXT", help=tr("title of the branch"))
    for command in (sessions, branch):
        add_workspace(command)
        add_json(command)


def add_timeline(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `timeline`."""
    timeline = commands.add_parser(
        "timeline",
        parents=[common],
        help=tr("list what was cached, noted, summarized, pinned or undone"),
    )
    add_workspace(timeline)
    add_json(timeline)
