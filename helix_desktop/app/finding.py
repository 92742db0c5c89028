"""The commands that list and search the cache of a workspace."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from helix_desktop.agent.room import Room
from helix_desktop.app.desk import now_ms
from helix_desktop.app.voice import err, named, out
from helix_desktop.context.content import Entry, Filter, Found, HandoverHit, Hit, Sort
from helix_desktop.context.digest import count_text, size_text
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.signs import revealed_name

_PAGE = 500  # entries asked for at once


async def list_entries(given: argparse.Namespace, room: Room) -> int:
    """Print the entries that pass, in order."""
    entries = await _listed(given, room)
    if given.json:
        out(json.dumps([msgspec.to_builtins(entry) for entry in entries], indent=1))
        return 0
    for entry in entries:
        out(_line(entry))
    totals = await room.store.totals()
    some = f"{len(entries):,} of " if len(entries) != totals.entries else ""
    held = count_text(totals.entries, "entry", "entries")
    err(f"{some}{held}, {size_text(totals.size)}, {size_text(totals.stored_size)} on disk")
    return 0


async def search(given: argparse.Namespace, room: Room) -> int:
    """Print the newest entries and handovers that hold all words, each with its best lines."""
    found = await room.store.search(given.query, await _filter(given, room), given.limit)
    handovers = await room.store.search_handovers(given.query, given.limit)
    if given.json:
        out(json.dumps(_told(found, handovers), indent=1))
        return 0
    for hit in found.hits:
        out(_line(hit.entry))
        _print_lines(hit)
    for one in handovers:
        out(f"handover e{one.seq} of session {one.session}")
        _print_lines(one)
    more = ", and maybe more: raise --limit" if found.cursor else ""
    damaged = f", {found.unreadable} damaged" if found.unreadable else ""
    hits = count_text(len(found.hits), "entry", "entries")
    err(f"{hits}, {count_text(len(handovers), 'handover')}{damaged}{more}")
    return 0


VERBS: dict[str, Callable[[argparse.Namespace, Room], Coroutine[Any, Any, int]]] = {
    "list": list_entries,
    "search": search,
}


async def _listed(given: argparse.Namespace, room: Room) -> list[Entry]:
    wanted, order = await _filter(given, room), Sort(given.sort, not given.reverse)
    entries: list[Entry] = []
    cursor = ""
    while True:
        limit = min(_PAGE, given.limit - len(entries)) if given.limit else _PAGE
        page = await room.store.page(cursor, limit, order, wanted=wanted)
        entries += page.entries
        cursor = page.cursor
        if not cursor or len(entries) == given.limit:
            return entries


async def _filter(given: argparse.Namespace, room: Room) -> Filter:
    """What the command line lets pass. Raises InputUnusable when no session, or several, fit."""
    now = now_ms()
    return Filter(
        prefix=given.prefix or "",
        tool=given.tool,
        session=await _session(given.from_session, room),
        target=given.path,
        least_size=given.min_size,
        most_size=given.max_size,
        since=0 if given.newer is None else now - given.newer,
        until=None if given.older is None else now - given.older,
        unused=given.unused,
        orphan=given.orphan,
        pinned=True if given.pinned else None,
    )


async def _session(wanted: str, room: Room) -> str:
    if not wanted:
        return ""
    found = [one.id for one in await room.store.sessions() if one.id.startswith(wanted)]
    if len(found) == 1 or wanted in found:
        return wanted if wanted in found else found[0]
    if found:
        raise InputUnusable(f"Several sessions begin with {wanted!r}.", fix="Give more of its id.")
    raise InputUnusable(f"This workspace has no session {wanted!r}.", fix="See `helix-desktop timeline`.")


def _line(entry: Entry) -> str:
    size = f"{size_text(entry.size):>8}  {entry.tokens:>7} tokens"
    return f"{entry.digest}  {size}  {named(entry)}".rstrip()


def _print_lines(hit: Hit | HandoverHit) -> None:
    for spot in hit.sighting.best:
        out(f"  {spot.line}: {revealed_name(spot.excerpt)}")
    if not hit.sighting.lines:
        out("  in its name")


def _told(found: Found, handovers: tuple[HandoverHit, ...]) -> dict[str, Any]:
    """A search as a JSON document."""
    return {
        "entries": [
            {**msgspec.to_builtins(hit.entry), **msgspec.to_builtins(hit.sighting)} for hit in found.hits
        ],
        "handovers": [
            {"session": one.session, "seq": one.seq, **msgspec.to_builtins(one.sighting)} for one in handovers
        ],
        "unreadable": found.unreadable,
        "more": bool(found.cursor),
    }
