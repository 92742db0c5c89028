"""The commands that work on a workspace without a window."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.approval import AlwaysAnswers
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.agent.update import ArrivalVoided, Arriving, Happened, Update
from helix_desktop.app.desk import Desk
from helix_desktop.config.paths import DataDir
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import WorkspaceMissing
from helix_desktop.context.event import HandoverFailed, HandoverMade, Redone, SweepMade, TurnEnded, Undone

FAILED = 1
_Work = Callable[[Desk, Room], Coroutine[Any, Any, int]]


def run_turn(given: argparse.Namespace) -> int:
    """One turn: the answer on standard output, or every event as a JSON line. 0 only if it ended well."""

    async def work(desk: Desk, room: Room) -> int:
        if given.base_url or given.model or given.window:
            await room.use(await desk.models.adhoc(given.model, given.base_url, given.window))
        conversation = await _session(room, given.session)
        conversation.session.listen(_as_json if given.json else _as_text)
        ended = await conversation.run(given.message)
        await conversation.settle()
        _say_end(ended, given.json)
        return 0 if ended.how == "done" else FAILED

    return _in_room(given, work, add=True, approve=given.yes)


async def _session(room: Room, wanted: str) -> Conversation:
    """The named session, the last one, or a new one. Raises WorkspaceMissing when there is none such."""
    if not wanted:
        return await room.begin()
    sessions = await room.sessions()
    found = [one.id for one in sessions if one.id.startswith(wanted) or wanted == "last"]
    if not found:
        raise WorkspaceMissing(
            f"This workspace has no session {wanted!r}.", fix="Leave --session out to begin one."
        )
    return await room.open(found[0])


def _as_json(update: Update) -> None:
    if isinstance(update, Happened):
        _out(msgspec.json.encode(update.recorded).decode())


def _as_text(update: Update) -> None:
    match update:
        case Arriving(text=text, reasoning=False):
            sys.stdout.write(text)
            sys.stdout.flush()
        case ArrivalVoided(attempt=attempt, wait_s=wait_s, reason=reason):
            _err(f"asked again in {wait_s:.0f} s (attempt {attempt}): {reason}")
        case Happened(recorded=recorded):
            _tell(recorded.event)
        case _:
            pass


def _tell(event: object) -> None:
    from helix_desktop.context.event import AssistantSpoke, ToolAnswered

    match event:
        case AssistantSpoke(text=text) if text:
            _out("")
        case ToolAnswered() as answer:
            state = "ok" if answer.ok else answer.outcome.replace("ran", "failed")
            _err(f"[{answer.name} {answer.target}: {state}, {size_text(answer.size)}, {answer.digest[:12]}]")
        case SweepMade() as sweep:
            _err(f"[sweep: {len(sweep.masked)} outputs became markers, {sweep.saved} tokens saved]")
        case HandoverMade() as made:
            _err(f"[handover: {made.messages} messages, {made.before} -> {made.after} tokens]")
        case _:
            pass


def _say_end(ended: TurnEnded, as_json: bool) -> None:
    if ended.how != "done":
        _err(f"helix-desktop: the turn {ended.how}. {ended.what} {ended.why} {ended.fix}".rstrip())
    elif as_json:
        sys.stdout.flush()


def cache(given: argparse.Namespace) -> int:
    """List, show or verify the cached outputs of a workspace."""
    verbs: dict[str, Callable[[argparse.Namespace, Room], Coroutine[Any, Any, int]]] = {
        "list": _list,
        "show": _show,
        "verify": _verify,
    }
    return _in_room(given, lambda _, room: verbs[given.verb](given, room))


async def _list(given: argparse.Namespace, room: Room) -> int:
    entries = [entry async for page in _pages(room) for entry in page]
    if given.json:
        _out(json.dumps([msgspec.to_builtins(entry) for entry in entries], indent=1))
        return 0
    for entry in entries:
        size = f"{size_text(entry.size):>8}  {entry.tokens:>7} tokens"
        _out(f"{entry.digest}  {size}  {entry.tool} {entry.target}".rstrip())
    totals = await room.store.totals()
    _err(f"{totals.entries} entries, {size_text(totals.size)}, {size_text(totals.stored_size)} on disk")
    return 0


async def _pages(room: Room) -> AsyncIterator[Any]:
    cursor = ""
    while True:
        page = await room.store.page(cursor, 500)
        yield page.entries
        cursor = page.cursor
        if not cursor:
            return


async def _show(given: argparse.Namespace, room: Room) -> int:
    data = await room.store.get(await room.resolve(given.sha))
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


async def _verify(given: argparse.Namespace, room: Room) -> int:
    if given.sha:
        digests = [await room.resolve(given.sha)]
    else:
        digests = [entry.digest async for page in _pages(room) for entry in page]
    verdicts = [await room.verify(digest) for digest in digests]
    damaged = [verdict for verdict in verdicts if not verdict.sound]
    if given.json:
        _out(json.dumps({"verified": len(verdicts), "damaged": [one.digest for one in damaged]}))
    else:
        for verdict in damaged:
            _out(f"{verdict.digest}  DAMAGED  {verdict.text}")
        _out(f"{len(verdicts)} verified, {len(damaged)} damaged")
    return FAILED if damaged else 0


def timeline(given: argparse.Namespace) -> int:
    """The handovers, sweeps, undos and redos of a workspace, session by session."""

    async def work(_: Desk, room: Room) -> int:
        kinds = (HandoverMade, HandoverFailed, SweepMade, Undone, Redone)
        found: list[dict[str, Any]] = []
        for session in await room.sessions():
            log = await room.store.events(session.id)
            events = [msgspec.to_builtins(one) for one in log if isinstance(one.event, kinds)]
            found.append({"session": session.id, "title": session.title, "events": events})
        if given.json:
            _out(json.dumps(found, indent=1))
        else:
            for session_events in found:
                _print_timeline(session_events)
        return 0

    return _in_room(given, work)


def _print_timeline(session: dict[str, Any]) -> None:
    _out(f"{session['title']}  ({session['session'][:8]})")
    for recorded in session["events"]:
        event = recorded["event"]
        text = {
            "handover-made": "handover: {messages} messages, {before} -> {after} tokens, {model}",
            "handover-failed": "not handed over: {what}",
            "sweep-made": "sweep: {saved} tokens saved",
            "undone": "undone: e{target}",
            "redone": "redone: e{target}",
        }[event["kind"]]
        _out(f"  e{recorded['seq']}  {text.format(**event)}")
    if not session["events"]:
        _out("  nothing was swept or handed over yet")


def _in_room(given: argparse.Namespace, work: _Work, add: bool = False, approve: bool = False) -> int:
    async def run() -> int:
        async with _opened(given, add, approve) as (desk, room):
            return await work(desk, room)

    return asyncio.run(run())


@asynccontextmanager
async def _opened(given: argparse.Namespace, add: bool, approve: bool) -> AsyncIterator[tuple[Desk, Room]]:
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    data.ensure()
    desk = Desk(data, os.environ, AlwaysAnswers("once" if approve else "deny"), pause_s=0.0)
    try:
        path: Path = given.workspace
        record = desk.registry.add(path) if add else desk.registry.at(path)
        if record is None:
            raise WorkspaceMissing(
                f"{path} is no workspace of Helix Desktop.",
                "Nothing has been run there yet.",
                "Open the folder in the window, or run a turn in it.",
            )
        yield desk, await desk.room(record.id)
    finally:
        await desk.close()


def _out(text: str) -> None:
    sys.stdout.write(text + "\n")


def _err(text: str) -> None:
    sys.stderr.write(text + "\n")
