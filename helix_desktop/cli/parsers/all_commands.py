"""The grammar of all commands."""

from __future__ import annotations

import argparse

from helix_desktop.cli.parsers.demo import add_demo_commands
from helix_desktop.cli.parsers.installation import add_installation
from helix_desktop.cli.parsers.options import Commands
from helix_desktop.cli.parsers.recordings import add_replay
from helix_desktop.cli.parsers.run import add_run
from helix_desktop.cli.parsers.sessions import add_sessions, add_slash_commands, add_timeline
from helix_desktop.cli.parsers.workspace_data import add_backup, add_cache, add_changes, add_mcp, add_move


def add_commands(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add all commands; `common` holds the options that each of them has."""
    add_run(commands, common)
    add_slash_commands(commands, common)
    add_sessions(commands, common)
    add_cache(commands, common)
    add_changes(commands, common)
    add_timeline(commands, common)
    add_backup(commands, common)
    add_move(commands, common)
    add_replay(commands, common)
    add_mcp(commands, common)
    add_installation(commands, common)
    add_demo_commands(lambda name, text: commands.add_parser(name, parents=[common], help=text))
