"""The commands that work on a workspace without a window."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from helix_desktop.agent.approval import AlwaysAnswers
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports import Model
from helix_desktop.agent.room import Room
from helix_desktop.app import finding, keeping, repairing
from helix_desktop.app.crash import close_log, open_log
from helix_desktop.app.desk import Desk
from helix_desktop.app.exit_codes import FAILED, TERMINATED
from helix_desktop.app.timeline_text import REWRITES, timeline_lines
from helix_desktop.app.voice import Telling, Voice, err, out
from helix_desktop.config.paths import DataDir
from helix_desktop.context.digest import ellipsize
from helix_desktop.context.errors import HelixError, InputUnusable, WorkspaceMissing, WorkspaceUntrusted
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.spending import Budget
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.workspaces.record import WorkspaceRecord

_SERVERS_S = 30.0  # MCP servers get so long before a turn begins without them
_Work = Callable[[Desk, Room], Coroutine[Any, Any, int]]


def run_turn(given: argparse.Namespace) -> int:
    """One turn: the answer on standard output, or every event as a JSON line. 0 only if it ended well."""

    async def work(desk: Desk, room: Room) -> int:
        model = await _model(desk, given)
        if model is not None:
            await room.use(model)
        await desk.servers.settled(room.id, _SERVERS_S)
        this = asyncio.current_task()
        assert this is not None  # a coroutine always runs in a task
        voice = Voice(given.json, on_gone=this.cancel)  # as Ctrl+C does: the turn is recorded as stopped
        room.listen(voice.hear)
        try:
            conversation = await _session(room, given.session)
            if model is None:
                demand_chosen_model(conversation)
            _say_who_goes_on(conversation)
            await _allow(conversation, given)
            await conversation.set_mode(given.mode or conversation.mode)
            return await _turn(conversation, given.message, voice)
        except asyncio.CancelledError:
            if voice.gone is not None:
                raise voice.gone from None
            raise

    return in_room(given, work)


def demand_chosen_model(conversation: Conversation) -> None:
    """Raise InputUnusable if the model that was chosen for a session is not set up: nobody else is asked."""
    chosen = conversation.session.transcript.chosen_model
    if chosen and conversation.model.label != chosen:
        raise InputUnusable(
            f"{chosen} is chosen for this session, but isn't set up here.",
            fix="Set it up in Settings, Providers, or name another model with --model.",
        )


def _say_who_goes_on(conversation: Conversation) -> None:
    """Tell when another model than so far answers in a session: it is sent all that was said."""
    last, now = conversation.session.transcript.last_model, conversation.model.label
    if last not in ("", now):
        err(f"helix-desktop: {last} answered in this session so far; {now} goes on.")


async def _allow(conversation: Conversation, given: argparse.Namespace) -> None:
    """Set the session's budget, as far as the command line names one."""
    now = conversation.purse.budget
    tokens = now.tokens if given.budget_tokens is None else given.budget_tokens
    cost = now.cost if given.budget_usd is None else given.budget_usd
    if Budget(tokens, cost) != now:
        await conversation.purse.allow(Budget(tokens, cost))


async def _turn(conversation: Conversation, message: str, voice: Voice) -> int:
    ended = await conversation.run(message)
    await conversation.settle()
    voice.end(ended)
    return 0 if ended.how == "done" and not voice.troubled else FAILED


async def _model(desk: Desk, given: argparse.Namespace) -> Model | None:
    """The model that the command line names; None: the workspace's own. Raises InputUnusable."""
    if not (given.base_url or given.model or given.window):
        return None
    try:
        model = await desk.models.adhoc(given.model, given.base_url, given.window)
    except HelixError as error:
        raise InputUnusable(error.what, error.why, error.fix) from error
    if given.base_url and (key := desk.models.typed_key(given.model, given.base_url)).value:
        variable = key.source.removeprefix("environment: ")
        host = urlsplit(given.base_url).netloc.rpartition("@")[2]
        err(f"helix-desktop: the key in {variable} goes to {host}.")
    return model


async def _session(room: Room, wanted: str) -> Conversation:
    """The named session, the last one, or a new one. Raises InputUnusable when none or several fit."""
    if not wanted:
        return await room.begin()
    last = [one.id for one in await room.sessions()][:1]
    known = [one.id for one in await room.store.sessions()]  # those of subagents go by their id
    found = last if wanted == "last" else [one for one in known if one.startswith(wanted)]
    if len(found) == 1:
        return await room.open(found[0])
    if found:
        raise InputUnusable(f"Several sessions begin with {wanted!r}.", fix="Give more of its id.")
    raise InputUnusable(f"This workspace has no session {wanted!r}.", fix="Leave --session out to begin one.")


def cache(given: argparse.Namespace) -> int:
    """List, search, show, verify, repair, clean up or forget the cached outputs of a workspace."""
    if given.verb == "repair":
        return in_room(given, lambda desk, room: repairing.repair(given, desk, room))
    verbs: dict[str, Callable[[argparse.Namespace, Room], Coroutine[Any, Any, int]]] = {
        **finding.VERBS,
        "show": _show,
        "verify": _verify,
    }
    if given.verb in keeping.VERBS:
        return in_room(given, lambda desk, room: keeping.VERBS[given.verb](given, desk, room))
    return in_room(given, lambda _, room: verbs[given.verb](given, room))


async def _show(given: argparse.Namespace, room: Room) -> int:
    digest = await room.resolve(given.sha)
    data = await room.store.get(digest)
    if given.json:
        about = msgspec.to_builtins(await room.store.entry(digest))
        out(json.dumps({**about, "base64": base64.b64encode(data).decode()}, indent=1))
        return 0
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


async def _verify(given: argparse.Namespace, room: Room) -> int:
    if not given.sha:
        return await repairing.verify(given, room)
    verdict = await room.verify(await room.resolve(given.sha))
    damaged = [] if verdict.sound else [verdict.digest]
    if given.json:
        out(json.dumps({"verified": 1, "damaged": damaged, "problems": []}))
    else:
        if damaged:
            out(f"{verdict.digest}  DAMAGED  {verdict.text}")
        out(f"1 verified, {len(damaged)} damaged")
    return FAILED if damaged else 0


def timeline(given: argparse.Namespace) -> int:
    """Everything that was rewritten in a workspace, and undone, session by session."""

    async def work(_: Desk, room: Room) -> int:
        found: list[dict[str, Any]] = []
        for session in await room.store.sessions():
            log = await room.store.events(session.id)
            if given.json:
                events = [msgspec.to_builtins(one) for one in log if isinstance(one.event, REWRITES)]
                found.append({"session": session.id, "title": session.title, "events": events})
                continue
            lines = [revealed_name(line) for line in timeline_lines(log)]
            out(f"{revealed_name(ellipsize(session.title))}  ({session.id[:8]})")
            for line in lines or ["No rewrites yet"]:
                out(f"  {line}")
        if given.json:
            out(json.dumps(found, indent=1))
        return 0

    return in_room(given, work)


def in_room(given: argparse.Namespace, work: _Work) -> int:
    """Run `work` in the workspace that is meant. Raises HelixError."""

    async def open_room(desk: Desk) -> int:
        record = record_of(desk, given)
        for problem in desk.problems:
            err(f"helix-desktop: {problem}")
        # What is stored can be looked at also when the project's folder is gone.
        told = Telling("mending the damaged store: ").tell
        room = await desk.room(record.id, reading=given.command != "run", told=told)
        if getattr(given, "verb", "") != "repair":
            await repairing.tell_mended(room.store)
        return await work(desk, room)

    return at_desk(given, open_room)


def at_desk(given: argparse.Namespace, work: Callable[[Desk], Coroutine[Any, Any, int]]) -> int:
    """Run `work` to its end, or until a signal ends it; the exit code. Raises HelixError."""

    async def run() -> int:
        this = asyncio.current_task()
        if sys.platform != "win32" and this is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
        async with _desk(given) as desk:
            return await work(desk)

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return TERMINATED


@asynccontextmanager
async def _desk(given: argparse.Namespace) -> AsyncIterator[Desk]:
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    data.ensure()
    handler = open_log(data.logs_dir)
    try:
        approver = AlwaysAnswers("once" if getattr(given, "yes", False) else "deny")
        patience_s = getattr(given, "patience", None)
        if patience_s is None:
            patience_s = PATIENCE_S
        desk = Desk(data, os.environ, approver, pause_s=0.0, beside=True, patience_s=patience_s)
        try:
            yield desk
        finally:
            await desk.close()
    finally:
        close_log(handler)


def record_of(desk: Desk, given: argparse.Namespace) -> WorkspaceRecord:
    """The workspace that is meant; `run` and `import` make one. Raises WorkspaceMissing, SettingsDamaged."""
    path: Path = given.workspace
    record = desk.registry.at(path)
    if record is None and desk.registry.problems and os.path.isdir(path):
        # This may be the folder of a record that cannot be read: a second one would hide its sessions.
        raise desk.registry.problems[0]
    if given.command != "run":
        if record is not None:
            return record
        if getattr(given, "verb", "") == "import":
            return desk.registry.add(path)
        raise WorkspaceMissing(
            f"{path} is no workspace of Helix Desktop.",
            "Nothing has been run there yet.",
            "Open the folder in the window, or run a turn in it.",
        )
    named = given.model or given.base_url or (record.model if record is not None else "")
    if desk.settings_damaged is not None and not named:
        raise desk.settings_damaged  # which model was chosen is not known: do not answer with another
    if os.path.isdir(path) and not (given.trust or (record is not None and record.trusted)):
        raise WorkspaceUntrusted(
            f"{path} is not trusted yet.",
            "A turn runs commands there and sends what it reads to a model.",
            "If you know what is in the folder, add --trust, or trust it in the window.",
        )
    return desk.registry.add(path, trusted=given.trust)
