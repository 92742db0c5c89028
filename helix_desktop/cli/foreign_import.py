"""The command `import`: sessions of other agents, and files that an export wrote."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli import backup
from helix_desktop.cli.output import ProgressPrinter, as_builtins, print_err, print_notice, print_out
from helix_desktop.cli.workspace_command import with_services, with_workspace
from helix_desktop.domain.choices import AGENT_NAMES, ARCHIVE_SUFFIX
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.words.foreign_sessions import data_records_text, sessions_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")


def import_sessions(args: argparse.Namespace) -> int:
    """List or import sessions of other agents, or merge an exported file. Return 1 if something failed."""
    if not (args.list or args.workspace):
        raise InvalidInput(
            text("No workspace was named."),
            fix=text(
                "Add {option} with the project folder to import into. {list} shows what is found.",
                option="--workspace",
                list="--list",
            ),
        )
    if len(args.paths) == 1 and args.paths[0].suffix == ARCHIVE_SUFFIX and not args.list:
        args.file = args.paths[0]
        return backup.import_file(args)
    if args.list:
        return with_services(args, lambda services: _list(services, args))
    if not (args.paths or args.all):
        raise InvalidInput(
            text("Nothing was chosen to import."),
            fix=text(
                "Name session files or folders, or use {option} for all that is found. {list} shows it.",
                option="--all",
                list="--list",
            ),
        )

    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        found = await _find(services, args)
        done = await services.foreign_sessions.import_into(workspace.id, found, ProgressPrinter().update)
        if args.json:
            print_out(json.dumps(as_builtins(done), indent=1))
        else:
            print_out(f"{sessions_text(done.result, done.sessions)}.")
            if data_records := data_records_text(done.by_kind, done.damaged):
                print_err(data_records)
            for records in done.by_kind:
                print_err(f"  {records.count:>6}  {escape_hidden_name(records.kind)}")
        for name, why in done.failed:
            print_notice(
                tr("{session} can't be read: {reason}", session=escape_hidden_name(name), reason=why)
            )
        return FAILED if done.failed or done.result.busy else 0

    return with_workspace(args, work)


async def _list(services: AppServices, args: argparse.Namespace) -> int:
    found = await _find(services, args)
    if args.json:
        print_out(json.dumps([_document(session) for session in found], indent=1))
        return 0
    for session in found:
        day = datetime.fromtimestamp(session.updated / 1000).strftime("%Y-%m-%d %H:%M")
        cells = (AGENT_NAMES[session.agent], day, format_size(session.size), session.folder, session.title)
        print_out("  ".join(escape_hidden_name(cell) for cell in cells if cell))
    if not found:
        print_err(tr("No sessions of other agents found."))
    return 0


async def _find(services: AppServices, args: argparse.Namespace) -> Sequence[FoundSession]:
    found = await services.foreign_sessions.find([path.absolute() for path in args.paths])
    return [session for session in found if args.agent in ("", session.agent)]


def _document(session: FoundSession) -> dict[str, object]:
    return {
        "agent": session.agent,
        "id": session.id,
        "title": session.title,
        "folder": session.folder,
        "updated": session.updated,
        "size": session.size,
        "path": str(Path(session.source.path)),
        "subagents": len(session.subagents),
    }
