"""The command `changes`: its verbs, which changes its options mean, and changes as lines of text."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import as_builtins, print_err, print_json, print_notice, print_out, write_text
from helix_desktop.cli.sessions import find_session
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.file_history.changes import (
    ChangeKind,
    PlannedFile,
    RecordedChanges,
    RevertPlan,
    RevertScope,
    RevertSelection,
    SessionChanges,
    counted_changes,
)
from helix_desktop.domain.file_history.diff import patch_text
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.git import select_paths
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.words.file_changes import (
    auto_run_reason,
    changed_lines_text,
    plan_status_text,
    problem_text,
    revert_effect_text,
    revert_name,
)
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Command line")
text = TextContext("Command line")

_SHORT_ID = 8  # digits of a capture's id
_KINDS: dict[ChangeKind, TranslatableText] = {
    "created": text("created"),
    "deleted": text("deleted"),
    "changed": text("changed"),
    "moved": text("moved"),
    "mode": text("permissions"),
}


def changes_lines(changes: SessionChanges, rows: Sequence[RecordedChanges]) -> Iterator[str]:
    statuses = {file.path: file.status for file in changes.files}
    turn = None
    for row in rows:
        if row.turn != turn:
            turn = row.turn
            yield _turn_line(row)
        yield f"  {_step_line(row)}"
        for change in row.changes:
            name = escape_hidden_name(change.path)
            if change.kind == "moved":
                name = f"{escape_hidden_name(change.moved_from)} -> {name}"
            parts = [f"{translate(_KINDS[change.kind]):<12}{name}"]
            if change.path in row.reverted:
                parts.append(tr("reverted"))
            elif statuses.get(change.path) == "accepted":
                parts.append(tr("reviewed"))
            if not change.is_covered:
                parts.append(tr("can't be undone"))
            yield f"    {' · '.join(parts)}"
    if not rows:
        yield tr("No such changes") if changes.captures else tr("No changes yet")


def removed_auto_run_lines(changes: Sequence[AutoRunChange]) -> Iterator[str]:
    """Yield what was taken back after commands of the workspace, with the ids to restore it by."""
    if changes:
        yield tr(
            "Undone after commands, because other programs would run these files by themselves (all sessions)"
        )
    for change in changes:
        name = f"{change.change_id[:_SHORT_ID]}  {escape_hidden_name(change.path)}"
        parts = [name, auto_run_reason(change)]
        yield f"  {' · '.join(filter(None, parts))}"


def _turn_line(row: RecordedChanges) -> str:
    if not row.turn:
        return tr("Before the first message")
    title = escape_hidden_name(ellipsize(row.turn_title))
    return tr("Turn {number}: {title}", number=row.turn, title=title)


def _step_line(row: RecordedChanges) -> str:
    lines = changed_lines_text(
        row.added_lines, row.removed_lines, row.binary, len(counted_changes(row.changes))
    )
    parts = [
        f"{row.capture_id[:_SHORT_ID]}  {_maker(row)}",
        f"e{row.seq}" if row.seq else "",
        lines,
        tr("found after a crash") if row.is_after_crash else "",
        tr("reverted") if row.is_reverted else "",
        tr("its list isn't in the file history") if row.is_removed else "",
    ]
    return " · ".join(filter(None, parts))


def _maker(row: RecordedChanges) -> str:
    if row.source == "outside":
        return tr("You or another program")
    if row.source == "revert":
        return revert_name(row.scope, is_redo=row.is_redo)
    return escape_hidden_name(ellipsize(f"{row.tool} {row.target}".strip()))


def plan_lines(plan: RevertPlan) -> Iterator[str]:
    for file in plan.files:
        yield f"{escape_hidden_name(file.path)}: {_planned(file)}"
    if not plan.files:
        yield tr("Nothing to do")


def _planned(file: PlannedFile) -> str:
    if file.status == "ready":
        return revert_effect_text(file)
    if file.status == "blocked":
        return problem_text(file.problem)
    return plan_status_text(file.status)


_Step = TypeVar("_Step")


def select(args: argparse.Namespace, changes: SessionChanges) -> RevertSelection:
    """Return the selection that the options describe. Raises InvalidInput if it has no changes."""
    check_turn(args, changes)
    paths = files_of(args)
    ids = (
        (find_capture(args.step, changes.captures).capture_id,) if args.step else changes.by_agent(args.turn)
    )
    if paths:
        ids = tuple(
            row.capture_id
            for row in changes.captures
            if row.capture_id in ids and any(change.path in paths for change in row.changes)
        )
    if not ids:
        raise no_such_changes()
    return RevertSelection(ids, paths, scope=_scope(args))


def no_such_changes() -> InvalidInput:
    return InvalidInput(
        text("The session has no such changes."),
        fix=text("List them with {command}.", command="helix-desktop changes list"),
    )


def check_turn(args: argparse.Namespace, changes: SessionChanges) -> None:
    """Raise InvalidInput for a turn that the session does not have."""
    if args.turn is not None and args.turn > changes.turns:
        raise InvalidInput(
            text("The session has no turn {turn}.", turn=args.turn),
            text.plural(changes.turns, "It has %n turn.", "It has %n turns."),
            text("List the turns with changes with {command}.", command="helix-desktop changes list"),
        )


def find_capture(prefix: str, captures: Sequence[RecordedChanges]) -> RecordedChanges:
    """Return the capture whose id begins so. Raises InvalidInput for none or several."""
    return _only(prefix, [row for row in captures if row.capture_id.startswith(prefix)])


def find_step(
    args: argparse.Namespace, captures: Sequence[RecordedChanges], changes: Sequence[AutoRunChange]
) -> RecordedChanges | AutoRunChange:
    """Return the capture, or the saved change of a command, that `--step` means.

    Raises InvalidInput for none or several, and for options that say nothing about a saved change.
    """
    prefix = args.step
    matching: list[RecordedChanges | AutoRunChange] = [
        *(row for row in captures if row.capture_id.startswith(prefix)),
        *(change for change in changes if change.change_id.startswith(prefix)),
    ]
    found = _only(prefix, matching)
    options = ("session", "turn", "file", "on_conflict")
    other = next((option for option in options if getattr(args, option, None)), "")
    if other and isinstance(found, AutoRunChange):
        raise InvalidInput(
            text(
                "{option} doesn't go with the step {prefix}.",
                option=f"--{other.replace('_', '-')}",
                prefix=repr(prefix),
            ),
            text("It is one file that was changed by a command of any session."),
            text("Leave the option out."),
        )
    return found


def check_outcome(change: AutoRunChange, *, restore: bool) -> None:
    """Raise InvalidInput if a change is so already: restored (`restore`), or taken back."""
    if restore != (change.outcome == "removed"):
        name = escape_hidden_name(change.path)
        raise InvalidInput(
            text("{file} was not taken back, or was restored since.", file=name)
            if restore
            else text("{file} is taken back already.", file=name),
            fix=text("List what was taken back with {command}.", command="helix-desktop changes list"),
        )


def _only(prefix: str, found: Sequence[_Step]) -> _Step:
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            text("Several steps start with {prefix}.", prefix=repr(prefix)), fix=text("Enter more of its ID.")
        )
    raise InvalidInput(
        text("No step of the session starts with {prefix}.", prefix=repr(prefix)),
        fix=text("List them with {command}.", command="helix-desktop changes list"),
    )


def last_revert(changes: SessionChanges) -> RecordedChanges:
    """Return the newest revert that is not redone. Raises InvalidInput if there is none."""
    reverts: Sequence[RecordedChanges] = [
        row for row in changes.captures if row.source == "revert" and not row.is_redo and not row.is_reverted
    ]
    if not reverts:
        raise InvalidInput(
            text("The session has no revert to redo."),
            fix=text("List its changes with {command}.", command="helix-desktop changes list"),
        )
    return reverts[-1]


def files_of(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the files of the command line by their paths in the workspace. Raises InvalidInput."""
    return tuple(dict.fromkeys(_in_workspace(args.workspace, name) for name in args.file))


def _in_workspace(workspace: Path, name: str) -> str:
    path = os.path.normpath(name)
    if os.path.isabs(path):
        path = os.path.relpath(path, os.path.abspath(workspace))
    if path.split(os.sep)[0] in ("..", "."):
        raise InvalidInput(
            text("{file} isn't a file of the workspace.", file=name),
            text("It lies outside of the folder {folder}.", folder=workspace),
            text("List the changed files with {command}.", command="helix-desktop changes list"),
        )
    return path.replace(os.sep, "/")


def _scope(args: argparse.Namespace) -> RevertScope:
    if args.file:
        return "file"
    if args.step:
        return "step"
    return "turn" if args.turn else "session"


def changes(args: argparse.Namespace) -> int:
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
            "undone_after_commands": [_as_document(change) for change in removed],
        }
        print_json(document)
        return 0
    is_auto_run = args.step and removed
    for line in (*(() if is_auto_run else changes_lines(found, rows)), *removed_auto_run_lines(removed)):
        print_out(line)
    return 0


async def _diff(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if args.head:
        return await _diff_with_head(args, services, workspace)
    change = await _auto_run_change(args, workspace)
    if change is not None:
        assert workspace.services.auto_run is not None  # it has this change
        patch = patch_text([await workspace.services.auto_run.patch(change.change_id)])
        return _print_patch(args, patch, change_id=change.change_id)
    session_id = await _session(args, workspace)
    selection = select(args, await workspace.changes.of_session(session_id))
    patch = await workspace.changes.patch(session_id, selection)
    return _print_patch(args, patch, session=session_id, captures=selection.capture_ids)


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
    return _print_patch(args, patch_text(files), changes=as_builtins([file.change for file in files]))


def _print_patch(args: argparse.Namespace, patch: str, **facts: object) -> int:
    """Print a patch: on a terminal to be read, else with the bytes that its files have; `facts` in JSON."""
    if args.json:
        print_json({**facts, "patch": patch})
    elif sys.stdout.isatty():
        write_text(sys.stdout, patch)
    else:
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
        return await _restore_or_remove(args, workspace, change, restore=False)
    session_id = await _session(args, workspace)
    selection = select(args, await workspace.changes.of_session(session_id))
    return await _carry_out(args, workspace, session_id, await workspace.changes.plan(session_id, selection))


async def _redo(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    change = await _auto_run_change(args, workspace)
    if change is not None:
        return await _restore_or_remove(args, workspace, change, restore=True)
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
        print_json({"session": session_id, "accepted": list(paths or sorted(changed))})
    elif paths:
        print_out(tr.plural(len(paths), "%n file marked as reviewed", "%n files marked as reviewed"))
    else:
        print_out(tr("All changes marked as reviewed"))
    return 0


async def _carry_out(
    args: argparse.Namespace, workspace: OpenWorkspace, session_id: str, plan: RevertPlan
) -> int:
    """Do what a plan says; nothing at all while a file needs a choice that was not made."""
    choices = _choices(args.on_conflict, plan)
    undecided = [file for file in plan.files if not file.can_apply and file.path not in choices]
    left = [path for path, choice in choices.items() if choice != args.on_conflict]
    does_revert = not (args.dry_run or undecided)
    event = await workspace.changes.revert(session_id, plan, choices) if does_revert else None
    changed = [
        file.path
        for file in plan.files
        if does_revert and file.status != "blocked" and plan.target(file, choices) != file.present
    ]
    if args.json:
        document = {"session": session_id, "dry_run": args.dry_run, "changed": changed, **as_builtins(plan)}
        print_json(document)
    else:
        for line in plan_lines(plan):
            print_out(line)
        if does_revert:
            count = len(plan.counted_changes(choices))
            print_err(tr.plural(count, "%n file changed", "%n files changed"))
            if left:
                print_err(tr.plural(len(left), "%n file couldn't be changed", "%n files couldn't be changed"))
            if changed and event is None:
                print_err(tr("The session is open in another Helix program, which records this."))
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
    return FAILED if undecided or left else 0


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
    store = workspace.services.auto_run
    return () if store is None else await store.auto_run_changes()


def _as_document(change: AutoRunChange) -> dict[str, Any]:
    """Return a change as an object of a JSON document; its id is not called as in stored events."""
    return {
        "change_id": change.change_id,
        **as_builtins({"path": change.path, "effect": change.effect, "reasons": change.reasons}),
    }


async def _auto_run_change(args: argparse.Namespace, workspace: OpenWorkspace) -> AutoRunChange | None:
    """Return the change of a command that `--step` means; None if it means a step of the session."""
    if not args.step:
        return None
    changes = await _auto_run_changes(workspace)
    if not any(change.change_id.startswith(args.step) for change in changes):
        return None
    has_session = bool(args.session or await workspace.sessions())
    found = await workspace.changes.of_session(await _session(args, workspace)) if has_session else None
    step = find_step(args, found.captures if found is not None else (), changes)
    return step if isinstance(step, AutoRunChange) else None


async def _restore_or_remove(
    args: argparse.Namespace, workspace: OpenWorkspace, change: AutoRunChange, *, restore: bool
) -> int:
    assert workspace.services.auto_run is not None  # it has this change
    check_outcome(change, restore=restore)
    if not args.dry_run:
        await workspace.services.auto_run.put(change.change_id, restore=restore)
    if args.json:
        changed = [] if args.dry_run else [change.path]
        print_json({"dry_run": args.dry_run, "changed": changed})
        return 0
    name = escape_hidden_name(change.path)
    print_out(tr("{file}: restored", file=name) if restore else tr("{file}: taken back", file=name))
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
