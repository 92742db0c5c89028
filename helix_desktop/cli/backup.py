"""What goes to files and comes from them: `cache export`, `cache import`, `backup` and `import`."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import (
    ProgressPrinter,
    as_builtins,
    print_err,
    print_json,
    print_notice,
    print_out,
)
from helix_desktop.cli.sessions import find_session
from helix_desktop.cli.workspace_command import (
    named_files,
    resolve_workspace,
    with_services,
    with_workspace,
)
from helix_desktop.domain.choices import AGENT_NAMES, ARCHIVE_SUFFIX, SHARED_SUFFIXES
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.store import SessionSummary
from helix_desktop.domain.store_reports import ExportResult
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.sharing import Removal
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.words.foreign_sessions import data_records_text, sessions_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.private_values import kind_text
from helix_desktop.words.store_reports import export_summary, import_summary, removed_text
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Command line")
text = TextContext("Command line")

_MAX_REMOVED = 50  # values that were removed and are listed


def export(args: argparse.Namespace) -> int:
    """Write a workspace, or one session, to a file; return 1 if something of the store could not be read."""

    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        is_shared = bool(args.session) and args.file.suffix in SHARED_SUFFIXES
        place = args.file.absolute() if is_shared else _archive_path(args.file, bool(args.session))
        _check_new(place, args.force)
        on_progress = ProgressPrinter().update
        if not args.session:
            return _print_exports([await services.backup.export(workspace.id, place, on_progress)], args.json)
        session_id = await find_session(workspace, args.session)
        if is_shared:
            shared = await services.sharing.session(workspace.id, session_id)
            text_for_others = await asyncio.to_thread(shared.document, place.suffix)
            size = await services.sharing.save(place, text_for_others)
            places = sum(removal.count for removal in shared.removals)
            document = {"path": str(place), "file_size": size, "removed": places}
            if args.json:
                print_json(document)
            else:
                print_out(f"{place}  {format_size(size)}")
            if shared.removals:
                print_notice(removed_text(len(shared.removals)))
                for removal in shared.removals[:_MAX_REMOVED]:
                    print_notice(f"  {_removal_line(removal)}")
            return 0
        done = await services.backup.export_session(workspace.id, session_id, place, on_progress)
        return _print_exports([done], args.json)

    return with_workspace(args, work)


def _removal_line(removal: Removal) -> str:
    """Return why a value was removed and where, without the value: others may see the terminal."""
    kind = kind_text(removal.kind, removal.label)
    places = tr.plural(removal.count, "%n place", "%n places")
    return f"{kind}: {removal.place}, {places}: {escape_hidden_name(removal.line)}"


def import_file(args: argparse.Namespace) -> int:
    """Merge a file into a workspace, which is created if needed; return 1 if a session was not imported."""

    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        done = await services.backup.import_file(workspace.id, args.file.absolute(), ProgressPrinter().update)
        if args.json:
            print_json(as_builtins(done))
        else:
            print_out(translate(import_summary(done)))
        for session_id in done.busy:
            print_notice(
                tr(
                    "Session {session} is open and wasn't extended. Close it and import again.",
                    session=session_id[:8],
                )
            )
        return 0 if done.is_complete else FAILED

    return with_workspace(args, work)


def backup(args: argparse.Namespace) -> int:
    """Write every workspace, or one, to a file of its own; return 1 if one is incomplete."""

    async def work(services: AppServices) -> int:
        folder = args.folder.absolute()
        await services.backup.check_folder(folder)
        records = services.backup.stored_workspaces()
        errors = [*services.backup.unreadable_workspaces()]
        if args.workspace is not None:
            requested = resolve_workspace(services, args)
            errors = []
            records = [record for record in records if record.id == requested.id]
        for error in errors:
            print_notice(error_text(error))
        if not records and not errors:
            raise InvalidInput(
                text("Nothing to back up."),
                text("No workspace has data yet."),
                text("Open a project folder as a workspace first."),
            )
        if records:  # once: each workspace would say the same
            await services.backup.make_folder(folder)
        exports: list[ExportResult] = []
        for record in records:
            try:
                on_progress = ProgressPrinter(record.name).update
                exports.append(await services.backup.back_up(record.id, folder, on_progress))
            except HelixError as error:
                errors.append(error)
                print_notice(f"{record.name}: {error_text(error)}")
        return _print_exports(exports, args.json, as_list=True) or (FAILED if errors else 0)

    return with_services(args, work)


def _archive_path(path: Path, is_session: bool) -> Path:
    """Return the path of an export. Raises InvalidInput for a folder, or a name with another ending."""
    if path.is_dir():
        raise InvalidInput(
            text("{path} is a folder.", path=path),
            fix=text("Add the name of the file to write, such as {name}.", name=f"export{ARCHIVE_SUFFIX}"),
        )
    if path.suffix in SHARED_SUFFIXES:
        raise InvalidInput(
            text("Only a session can be exported as {suffix}.", suffix=path.suffix),
            fix=text(
                "Add {option}, or use {name}.", option="--session", name=path.with_suffix(ARCHIVE_SUFFIX).name
            ),
        )
    if path.suffix[1:].isdecimal():  # of a version or a date
        return path.with_name(path.name + ARCHIVE_SUFFIX).absolute()
    if path.suffix not in ("", ARCHIVE_SUFFIX):
        raise InvalidInput(
            text(
                "{name} must end in {suffix}, or in {others} to be read by others.",
                name=path.name,
                suffix=ARCHIVE_SUFFIX,
                others=", ".join(SHARED_SUFFIXES),
            )
            if is_session
            else text("{name} must end in {suffix}.", name=path.name, suffix=ARCHIVE_SUFFIX),
            text("Helix Desktop and file dialogs find exports by this ending."),
            text("Use {name}, or leave the ending out.", name=path.with_suffix(ARCHIVE_SUFFIX).name),
        )
    return path.with_suffix(ARCHIVE_SUFFIX).absolute()


def _check_new(path: Path, may_overwrite: bool) -> None:
    if os.path.lexists(path) and not may_overwrite:
        raise InvalidInput(
            text("{file} already exists.", file=path),
            fix=text("Choose another name, or overwrite it with {option}.", option="--force"),
        )


def _print_exports(exports: list[ExportResult], as_json: bool, as_list: bool = False) -> int:
    """Print what was written; return 1 if something is missing."""
    if as_json:
        documents: Any = [as_builtins(export) for export in exports]
        print_json(documents if as_list else documents[0])
    for export in exports:
        totals = export.totals
        if not as_json:
            print_out(f"{export.path}  {format_size(export.file_size)}")
            print_err(translate(join_sentences(export_summary(export), tr("Verified."))))
        for digest in totals.lost:
            print_notice(tr("The content {digest} is damaged or lost and isn't in the file.", digest=digest))
        for session_id in totals.left_out:
            print_notice(
                tr("Session {session} isn't in the file: its log can't be read.", session=session_id[:8])
            )
    return FAILED if any(export.totals.lost or export.totals.left_out for export in exports) else 0


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
        return import_file(args)
    if not (args.paths or args.all or args.list):
        raise InvalidInput(
            text("Nothing was chosen to import."),
            fix=text(
                "Name session files or folders, or use {option} for all that is found. {list} shows it.",
                option="--all",
                list="--list",
            ),
        )

    with named_files(args.paths) as paths:
        args.paths = paths
        if args.list:
            return with_services(args, lambda services: _list(services, args))
        return _import_found(args)


def _import_found(args: argparse.Namespace) -> int:
    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        found, errors = await _find(services, args)
        if not found and args.agent and not args.json:
            names = tuple(AGENT_NAMES[agent] for agent in args.agent)
            print_out(tr("Nothing to import: no sessions of {agents} were found.", agents=names))
            return FAILED if errors else 0
        done = await services.foreign_sessions.import_into(workspace.id, found, ProgressPrinter().update)
        if args.json:
            imported = _imported(done.sessions, found, await workspace.store.sessions())
            print_json({**as_builtins(done), "imported": imported})
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
        return FAILED if errors or done.failed or done.result.busy else 0

    return with_workspace(args, work)


def _imported(
    ids: Sequence[str], found: Sequence[FoundSession], stored: Sequence[SessionSummary]
) -> list[dict[str, Any]]:
    """Return each imported session as JSON, with the ids of its branches and of its subagents."""
    documents: list[dict[str, Any]] = []
    for session_id, session in zip(ids, found, strict=True):
        branches = _descendants(session_id, stored, lambda summary: summary.branch_of)
        subagents = _descendants(session_id, stored, lambda summary: summary.parent)
        document = {"session": session_id, "agent": session.agent, "id": session.id, "title": session.title}
        documents.append({**document, "branches": branches, "subagents": subagents})
    return [document for document in documents if document["session"]]


def _descendants(
    session_id: str, stored: Sequence[SessionSummary], parent_of: Callable[[SessionSummary], str]
) -> list[str]:
    """Return the sessions below one, at any depth, in the order of the list."""
    known = {session_id}
    descendants: list[str] = []
    while session_id:
        below = [each.id for each in stored if parent_of(each) in known and each.id not in known]
        if not below:
            break
        known.update(below)
        descendants += below
    return descendants


async def _list(services: AppServices, args: argparse.Namespace) -> int:
    found, errors = await _find(services, args)
    status = FAILED if errors else 0
    if args.json:
        print_json([_document(session) for session in found])
        return status
    for session in found:
        day = datetime.fromtimestamp(session.updated / 1000).strftime("%Y-%m-%d %H:%M")
        cells = (AGENT_NAMES[session.agent], day, format_size(session.size), session.folder, session.title)
        print_out("  ".join(escape_hidden_name(cell) for cell in cells if cell))
    if not found:
        print_err(tr("No sessions of other agents found."))
    return status


async def _find(
    services: AppServices, args: argparse.Namespace
) -> tuple[Sequence[FoundSession], Sequence[HelixError]]:
    """Return the sessions in the named paths, and the errors of paths without any, which are printed.

    Raises HelixError if none of the paths has any.
    """
    paths = [path.absolute() for path in args.paths]
    found, errors = await services.foreign_sessions.find_readable(paths)
    if errors and not found:
        raise errors[0]
    for error in errors:
        print_notice(error_text(error))
    return [session for session in found if not args.agent or session.agent in args.agent], errors


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
