"""The command `changes` and its verbs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.exit_codes import FAILED
from helix_desktop.cli.changes.lines import changes_lines, plan_lines, removed_auto_run_lines
from helix_desktop.cli.changes.selection import (
    check_outcome,
    check_turn,
    files_of,
    find_capture,
    find_step,
    last_revert,
    no_such_changes,
    select,
)
from helix_desktop.cli.output import as_builtins, print_err, print_notice, print_out, write_text
from helix_desktop.cli.sessions import find_session
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.diff import patch_text
from helix_desktop.domain.file_history.revert import RevertPlan
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.git.changes import select_paths
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")


def changes(args: argparse.Namespace) -> int:
    """List, print, take back, redo or accept what a session changed of files."""
    return with_workspace(args, partial(_VERBS[args.verb], args))


async def _list(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    found = await workspace.changes.of_session(await _session(args, workspace))
    check_turn(args, found)
    paths = files_of(args)
    rows = [
        row
        for row in found.captures
        if args.turn in (None, row.turn)
        and (not paths or any(change.path in paths for change in row.changes))
    ]
    try:
        changes = await _auto_run_changes(workspace)
    except InvalidInput as error:  # what the session changed is to be seen all the same
        print_notice(error_text(error))
        changes = ()
    removed = [change for change in changes if change.outcome == "removed"]
    if args.step:
        step = find_step(args, found.captures, removed)
        rows = [row for row in rows if row == step]
        removed = [change for change in removed if change == step]
    if args.json:
        files = [file for file in found.files if not paths or file.path in paths]
        document = {
            "session": found.session,
            "captures": as_builtins(rows),
            "files": as_builtins(files),
            "taken_back": as_builtins(tuple(removed)),
        }
        print_out(json.dumps(document, indent=1))
        return 0
    is_auto_run = args.step and removed
    for line in (*(() if is_auto_run else changes_lines(found, rows)), *removed_auto_run_lines(removed)):
        print_out(line)
    return 0


async def _diff(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if args.head:
        return await _diff_with_head(args, services, workspace)
    session_id = await _session(args, workspace)
    selection = select(args, await workspace.changes.of_session(session_id))
    patch = await workspace.changes.patch(session_id, selection)
    if args.json:
        print_out(
            json.dumps({"session": session_id, "captures": selection.capture_ids, "patch": patch}, indent=1)
        )
        return 0
    return _print_patch(patch)


async def _diff_with_head(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Print what differs from the last commit, whatever changed it."""
    if args.session or args.turn or args.step:
        raise InvalidInput(
            text("{option} doesn't go with a session, turn or step.", option="--head"),
            text("It compares the files with the last git commit."),
            text("Leave it out, or use {option} to choose files.", option="--file"),
        )
    git = services.git.changes(workspace.id)
    files = await git.diffs(select_paths(await git.list(), files_of(args)))
    patch = patch_text(files)
    if args.json:
        changes = as_builtins(tuple(file.change for file in files))
        print_out(json.dumps({"changes": changes, "patch": patch}, indent=1))
        return 0
    return _print_patch(patch)


def _print_patch(patch: str) -> int:
    """Print a patch: on a terminal to be read, else with the bytes that its files have."""
    if sys.stdout.isatty():
        write_text(sys.stdout, patch)
        return 0
    sys.stdout.buffer.write(patch.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
    return 0


async def _revert(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    if not (args.session or args.turn or args.step or args.file):
        raise InvalidInput(
            text("Nothing to revert was given."),
            fix=text(
                "Add {options}; {session} reverts all of the newest session.",
                options="--turn, --step, --file",
                session="--session last",
            ),
        )
    change = await _auto_run_change(args, workspace)
    if change is not None:
        return await _restore_or_remove(args, workspace, change, found=False)
    session_id = await _session(args, workspace)
    selection = select(args, await workspace.changes.of_session(session_id))
    return await _carry_out(args, workspace, session_id, await workspace.changes.plan(session_id, selection))


async def _redo(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    change = await _auto_run_change(args, workspace)
    if change is not None:
        return await _restore_or_remove(args, workspace, change, found=True)
    session_id = await _session(args, workspace)
    found = await workspace.changes.of_session(session_id)
    capture = find_capture(args.step, found.captures) if args.step else last_revert(found)
    return await _carry_out(
        args, workspace, session_id, await workspace.changes.plan_redo(session_id, capture.capture_id)
    )


async def _accept(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    session_id = await _session(args, workspace)
    paths = files_of(args)
    changed = {file.path for file in (await workspace.changes.of_session(session_id)).files}
    if not changed.issuperset(paths):
        raise no_such_changes()
    await workspace.changes.accept(session_id, paths)
    if args.json:
        print_out(json.dumps({"session": session_id, "accepted": list(paths or sorted(changed))}, indent=1))
    elif paths:
        print_out(tr.plural(len(paths), "%n file accepted", "%n files accepted"))
    else:
        print_out(tr("All changes accepted"))
    return 0


async def _carry_out(
    args: argparse.Namespace, workspace: OpenWorkspace, session_id: str, plan: RevertPlan
) -> int:
    """Do what a plan says; nothing at all while a file needs a choice that was not made."""
    choices = _choices(args.on_conflict, plan)
    undecided = [file for file in plan.files if not file.can_apply and file.path not in choices]
    does_revert = not (args.dry_run or undecided)
    if does_revert:
        await workspace.changes.revert(session_id, plan, choices)
    changed = [
        file.path
        for file in plan.files
        if does_revert and file.status != "blocked" and plan.target(file, choices) != file.present
    ]
    if args.json:
        document = {"session": session_id, "dry_run": args.dry_run, "changed": changed, **as_builtins(plan)}
        print_out(json.dumps(document, indent=1))
    else:
        for line in plan_lines(plan):
            print_out(line)
        if does_revert:
            print_err(tr.plural(len(changed), "%n file changed", "%n files changed"))
        elif undecided:
            print_err(
                tr(
                    "Nothing was changed: some files were changed since, or can't be reverted. Choose what "
                    "becomes of them with {option}, or revert others.",
                    option="--on-conflict",
                )
            )
        else:
            print_err(tr("Nothing was changed: this was a dry run."))
    return FAILED if undecided else 0


def _choices(on_conflict: RevertChoice | None, plan: RevertPlan) -> dict[str, RevertChoice]:
    """Return what becomes of each file that needs a choice; what can't be merged or taken back stays."""
    choices: dict[str, RevertChoice] = {}
    for file in plan.files:
        if file.can_apply or on_conflict is None:
            continue
        is_impossible = file.status == "blocked" or (on_conflict == "merged" and file.merged is None)
        choices[file.path] = "present" if is_impossible else on_conflict
    return choices


async def _auto_run_changes(workspace: OpenWorkspace) -> tuple[AutoRunChange, ...]:
    """Return what commands of the workspace changed that other programs run, and is kept."""
    store = workspace.services.auto_run
    return () if store is None else await store.auto_run_changes()


async def _auto_run_change(args: argparse.Namespace, workspace: OpenWorkspace) -> AutoRunChange | None:
    """Return the change of a command that `--step` means; None if it means a step of the session."""
    if not args.step:
        return None
    changes = await _auto_run_changes(workspace)
    if not any(change.kept_id.startswith(args.step) for change in changes):
        return None
    has_session = bool(args.session or await workspace.sessions())
    found = await workspace.changes.of_session(await _session(args, workspace)) if has_session else None
    step = find_step(args, found.captures if found is not None else (), changes)
    return step if isinstance(step, AutoRunChange) else None


async def _restore_or_remove(
    args: argparse.Namespace, workspace: OpenWorkspace, change: AutoRunChange, *, found: bool
) -> int:
    """Restore what was taken back after a command (`found`), or take it back again."""
    assert workspace.services.auto_run is not None  # it has this change
    check_outcome(change, found=found)
    if not args.dry_run:
        await workspace.services.auto_run.put(change.kept_id, found=found)
    if args.json:
        changed = [] if args.dry_run else [change.path]
        print_out(json.dumps({"dry_run": args.dry_run, "changed": changed}, indent=1))
        return 0
    name = escape_hidden_name(change.path)
    print_out(tr("{file}: restored", file=name) if found else tr("{file}: taken back", file=name))
    if args.dry_run:
        print_err(tr("Nothing was changed: this was a dry run."))
    return 0


async def _session(args: argparse.Namespace, workspace: OpenWorkspace) -> str:
    return await find_session(workspace, args.session or "last")


_VERBS: dict[str, Callable[[argparse.Namespace, AppServices, OpenWorkspace], Coroutine[Any, Any, int]]] = {
    "list": _list,
    "diff": _diff,
    "revert": _revert,
    "redo": _redo,
    "accept": _accept,
}
