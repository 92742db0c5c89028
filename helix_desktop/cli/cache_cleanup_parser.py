"""The grammar of `cache gc`, `trash`, `restore` and `forget`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from helix_desktop.cli import argument_types

AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Add a command by name and help, with `--workspace` and `--json`."""


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
