"""Find the function that runs a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Command = Callable[[argparse.Namespace], int]
"""Run a command with its parsed arguments; return the exit code."""


def resolve_command(args: argparse.Namespace) -> Command:
    """Return the function of a command, imported only now: the window must not wait for the others."""
    match args.command:
        case "run" | "cache" | "changes" | "commands" | "timeline" | "backup" | "sessions" | "branch":
            return _workspace_command(f"{args.command} {getattr(args, 'verb', '')}".rstrip())
        case "replay" | "mcp":
            return _standalone_command(args.command)
        case "move-data":
            return _move_command(args.window)
        case "self-check" | "licenses" | "licences":
            return _installation_command(args.command)
        case "demo":
            return _demo_command()
    return _window_command()


def _window_command() -> Command:
    from helix_desktop.app.import_hook import remove_import_hook

    remove_import_hook()
    from helix_desktop.app.main import show_window

    return show_window


def _installation_command(command: str) -> Command:
    if command != "self-check":
        from helix_desktop.cli.licenses import licenses

        return licenses
    from helix_desktop.diagnostics.self_check import self_check

    return self_check


def _workspace_command(command: str) -> Command:
    from helix_desktop.cli import backup, commands, run, sessions, timeline
    from helix_desktop.cli.cache.command import cache

    if command.startswith("changes "):
        from helix_desktop.cli.changes.command import changes

        return changes
    functions: dict[str, Command] = {
        "run": run.run_turn,
        "commands": commands.list_commands,
        "timeline": timeline.timeline,
        "sessions": sessions.list_sessions,
        "branch": sessions.branch,
        "cache export": backup.export,
        "cache import": backup.import_file,
        "backup": backup.backup,
    }
    return functions.get(command, cache)


def _standalone_command(command: str) -> Command:
    if command == "mcp":
        from helix_desktop.cli.mcp_serve import serve_cache

        return serve_cache
    from helix_desktop.cli.replay import replay

    return replay


def _move_command(in_window: bool) -> Command:
    if in_window:
        from helix_desktop.app.data_move_window import move_in_window

        return move_in_window
    from helix_desktop.cli.move_data import move_data

    return move_data


def _demo_command() -> Command:
    from helix_desktop.app.import_hook import remove_import_hook

    remove_import_hook()
    from helix_desktop.demo.run_demo import demo

    return demo
