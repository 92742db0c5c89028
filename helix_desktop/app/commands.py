"""Which code a command of the command line runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Command = Callable[[argparse.Namespace], int]
"""Does what was given on the command line; the exit code."""


def command(given: argparse.Namespace) -> Command:
    """The command's code, imported only when it runs: the window must not wait for the others."""
    match given.command:
        case "run" | "cache" | "timeline" | "backup":
            return _on_workspaces(f"{given.command} {getattr(given, 'verb', '')}".rstrip())
        case "replay" | "mcp":
            return _beside_the_window(given.command)
        case "move-data":
            return _moved(given.window)
        case "self-check" | "licences":
            return _on_itself(given.command)
        case "demo" | "screenshots":
            return _pictured(given.command)
    from helix_desktop.app.main import show_window

    return show_window


def _on_itself(command: str) -> Command:
    if command == "licences":
        from helix_desktop.app.licensing import licences

        return licences
    from helix_desktop.app.self_check import self_check

    return self_check


def _on_workspaces(command: str) -> Command:
    from helix_desktop.app import carrying, headless

    commands: dict[str, Command] = {
        "run": headless.run_turn,
        "timeline": headless.timeline,
        "cache export": carrying.export,
        "cache import": carrying.take_in,
        "backup": carrying.backup,
    }
    return commands.get(command, headless.cache)


def _beside_the_window(command: str) -> Command:
    if command == "mcp":
        from helix_desktop.app.cache_serving import serve_cache

        return serve_cache
    from helix_desktop.app.replaying import replay

    return replay


def _moved(in_window: bool) -> Command:
    if in_window:
        from helix_desktop.app.moving_window import move_in_window

        return move_in_window
    from helix_desktop.app.moving import move_data

    return move_data


def _pictured(command: str) -> Command:
    from helix_desktop.app.guided import demo, screenshots

    return demo if command == "demo" else screenshots
