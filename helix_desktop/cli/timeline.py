"""The command `timeline`: print the rewrites of a workspace, one line each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import print_out
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import Event, RecordedEvent
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.rewrite_reasons import placement_text, sweep_reason_text, trigger_text

REWRITES = (
    HandoverMade,
    HandoverFailed,
    SweepMade,
    FoldMade,
    ObservationsMade,
    ObservationsPlaced,
    ObservationsFailed,
    FormChosen,
    Pinned,
    Unpinned,
    Undone,
    Redone,
)
_FOLDS = {
    "fold": "fold: {} steps in a note",
    "condense": "condensed note: {} steps in a shorter one",
    "truncate": "removed: {} steps, only their index is left",
}
_CHANGES = {Pinned: "pinned", Unpinned: "unpinned", Undone: "undone", Redone: "redone"}


def timeline(args: argparse.Namespace) -> int:
    """Print all rewrites and undos in a workspace, session by session."""

    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        documents: list[dict[str, Any]] = []
        for session in await workspace.store.sessions():
            log = await workspace.store.events(session.id)
            if args.json:
                events = [
                    msgspec.to_builtins(recorded) for recorded in log if isinstance(recorded.event, REWRITES)
                ]
                documents.append({"session": session.id, "title": session.title, "events": events})
                continue
            lines = [escape_hidden_name(line) for line in timeline_lines(log)]
            print_out(f"{escape_hidden_name(ellipsize(session.title))}  ({session.id[:8]})")
            for line in lines or ["No rewrites yet"]:
                print_out(f"  {line}")
        if args.json:
            print_out(json.dumps(documents, indent=1))
        return 0

    return with_workspace(args, work)


def timeline_lines(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield a line for each rewrite of a session's log, oldest first, with the event's number before it."""
    reflections: set[int] = set()
    for recorded in log:
        if isinstance(recorded.event, ObservationsMade) and recorded.event.reflection:
            reflections.add(recorded.seq)
        if isinstance(recorded.event, REWRITES):
            text = _summary_line(recorded.event, reflections) or _rewrite_line(recorded.event)
            yield f"e{recorded.seq}  {text}"


def _summary_line(event: Event, reflections: set[int]) -> str:
    """Return the line of an event about handovers or observations; empty for other events."""
    match event:
        case HandoverMade() as made:
            why = trigger_text(made.trigger, made.threshold)
            change = f"{made.before} -> {made.after} tokens"
            return f"handover ({why}): {made.messages} messages, {change}, {made.model}"
        case HandoverFailed(what=what):
            return f"handover not made: {what}"
        case ObservationsMade() as made:
            name = "reflection" if made.reflection else "observations"
            return f"{name}: {made.messages} messages, {made.tokens} tokens, {made.model}"
        case ObservationsPlaced() as placed:
            name = "reflection" if placed.made in reflections else "observations"
            why = placement_text(placed.reason, placed.threshold)
            return f"{name} of e{placed.made} in place ({why}): {placed.saved} tokens saved"
        case ObservationsFailed(what=what):
            return f"observations not made: {what}"
    return ""


def _rewrite_line(event: Event) -> str:
    """Return the line of any other rewrite."""
    match event:
        case SweepMade() as sweep:
            why = sweep_reason_text(sweep.reason)
            return f"sweep{f' ({why})' if why else ''}: {sweep.saved} tokens saved"
        case FoldMade() as fold:
            return f"{_FOLDS[fold.how].format(fold.steps)}, {fold.saved} tokens saved"
        case FormChosen() as chosen:
            return f"output e{chosen.target} shown in another form: {chosen.form}, {chosen.tokens} tokens"
        case Pinned() | Unpinned() | Undone() | Redone():
            return f"{_CHANGES[type(event)]}: e{event.target}"
    return ""
