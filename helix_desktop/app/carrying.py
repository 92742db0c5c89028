"""The commands that carry workspaces into files and back: `cache export`, `cache import`, `backup`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.room import Room
from helix_desktop.app.desk import Desk
from helix_desktop.app.exit_codes import FAILED
from helix_desktop.app.headless import at_desk, in_room
from helix_desktop.app.voice import Telling, err, out
from helix_desktop.context.archive import SUFFIX, Exported, exported_text, imported_text
from helix_desktop.context.digest import size_text
from helix_desktop.context.errors import HelixError, InputUnusable


def export(given: argparse.Namespace) -> int:
    """Write a workspace to a file; 1 when the store could not give all of it."""

    async def work(desk: Desk, room: Room) -> int:
        place = _archive(given.file)
        return _told([await desk.carrier.export(room.id, place, Telling().tell)], given.json)

    return in_room(given, work)


def take_in(given: argparse.Namespace) -> int:
    """Merge a file into a workspace, which is made if need be; 1 when a session had to be left."""

    async def work(desk: Desk, room: Room) -> int:
        done = await desk.carrier.take_in(room.id, _place(given.file), Telling().tell)
        if given.json:
            out(json.dumps(msgspec.to_builtins(done), indent=1))
        else:
            out(imported_text(done))
        for session in done.busy:
            err(f"helix-desktop: the session {session[:8]} is open and was not extended: close its window")
        return 0 if done.whole else FAILED

    return in_room(given, work)


def backup(given: argparse.Namespace) -> int:
    """Write every workspace, or one, to a file of its own; 1 when one could not be written whole."""

    async def work(desk: Desk) -> int:
        records = desk.carrier.stored()
        if given.workspace is not None:
            one = desk.registry.at(given.workspace)
            records = [record for record in records if one is not None and record.id == one.id]
        if not records:
            raise InputUnusable("There is nothing to back up.", "Nothing was stored there yet.")
        done: list[Exported] = []
        troubles: list[HelixError] = []
        for record in records:
            try:
                told = Telling(f"{record.name}: ").tell
                done.append(await desk.carrier.back_up(record.id, _place(given.folder), told))
            except HelixError as error:
                troubles.append(error)
                err(f"helix-desktop: {record.name}: {error}")
        return _told(done, given.json, listed=True) or (FAILED if troubles else 0)

    return at_desk(given, work)


def _archive(path: Path) -> Path:
    """Where an export is written. Raises InputUnusable for a name that ends in something else."""
    if path.suffix not in ("", SUFFIX):
        raise InputUnusable(
            f"{path.name} does not end in {SUFFIX}.",
            "Exports have this ending, so that file dialogs and people find them.",
            f"Name it {path.with_suffix(SUFFIX).name}; without an ending it is added.",
        )
    return _place(path.with_suffix(SUFFIX))


def _place(path: Path) -> Path:
    return path.absolute()


def _told(done: list[Exported], as_json: bool, listed: bool = False) -> int:
    """Say what was written; 1 when something of it is missing."""
    if as_json:
        found: Any = [msgspec.to_builtins(one) for one in done]
        out(json.dumps(found if listed else found[0], indent=1))
    for one in done:
        held = one.held
        if not as_json:
            out(f"{one.path}  {size_text(one.file_size)}")
            err(f"{exported_text(one)} Verified.")
        for digest in held.missing:
            err(f"helix-desktop: the content {digest} is damaged or lost and is not in the file")
        for session in held.left_out:
            err(f"helix-desktop: the log of session {session[:8]} is damaged and is not in the file")
    return FAILED if any(one.held.missing or one.held.left_out for one in done) else 0
