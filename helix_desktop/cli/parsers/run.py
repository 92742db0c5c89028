"""The arguments of `run`."""

from __future__ import annotations

import argparse
from typing import get_args

from helix_desktop.app.exit_codes import USAGE
from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_model, add_patience, add_workspace, keys_text
from helix_desktop.domain.choices import EFFORT_LEVELS, PermissionMode
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_run(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `run`."""
    run = commands.add_parser(
        "run",
        parents=[common],
        help=tr("run one turn without the window"),
        description=tr(
            "Run one turn. It fails with exit code {code} in a folder that isn't trusted: files there could "
            "act on this computer. Trust a folder with {trust} or in the window.",
            trust="--trust",
            code=str(USAGE),
        ),
        epilog=keys_text(),
    )
    add_workspace(run)
    run.add_argument(
        "--message",
        type=argument_types.non_empty_text,
        required=True,
        metavar="TEXT",
        help=tr("message to send"),
    )
    run.add_argument(
        "--attach",
        type=argument_types.attached_file,
        action="append",
        default=[],
        metavar="FILE[:LINES]",
        help=tr(
            "file to send with the message: text, code, a PDF or an image; {example} sends lines of it, and "
            "{mention} in the message does the same for a file of the workspace",
            example="app.py:10-40",
            mention="@app.py:10-40",
        ),
    )
    add_model(run)
    session = run.add_mutually_exclusive_group()
    session.add_argument(
        "--session",
        action=argument_types.NonEmptyText,
        default="",
        metavar="ID",
        help=tr("session to continue ({last} = the newest)", last="last"),
    )
    session.add_argument(
        "--from-handover",
        action=argument_types.NonEmptyText,
        default="",
        metavar="ID[:EVENT]",
        help=tr(
            "start a new session with the handover of this one as it would be now, or with the handover of "
            "an event ({last} = the newest session)",
            last="last",
        ),
    )
    _add_run_limits(run)
    run.add_argument("--json", action="store_true", help=tr("print every event as a JSON line"))


def _add_run_limits(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--budget-tokens",
        type=argument_types.token_budget,
        metavar="N",
        help=tr("token budget of the session (0 = unlimited)"),
    )
    run.add_argument(
        "--budget-usd",
        type=argument_types.usd,
        metavar="X",
        help=tr("budget of the session in US dollars (0 = unlimited)"),
    )
    add_patience(run)
    run.add_argument(
        "--effort",
        choices=("default", *EFFORT_LEVELS),
        default="",
        metavar="LEVEL",
        help=tr(
            "reasoning effort of the session: {levels} (default: the session's)",
            levels=", ".join(("default", *EFFORT_LEVELS)),
        ),
    )
    run.add_argument(
        "--mode",
        choices=get_args(PermissionMode),
        default="",
        help=tr("permission mode (default: the session's)"),
    )
    instructions = run.add_mutually_exclusive_group()
    instructions.add_argument(
        "--instructions",
        type=argument_types.path,
        metavar="FILE",
        help=tr("also tell the agent the instructions in FILE"),
    )
    instructions.add_argument(
        "--no-instructions",
        action="store_true",
        help=tr("read no instructions: neither yours nor AGENTS.md and CLAUDE.md"),
    )
    run.add_argument("--trust", action="store_true", help=tr("trust the folder from now on"))
    run.add_argument("--yes", action="store_true", help=tr("approve all requests"))
