"""The commands that clean up a workspace's store, empty its trash, and forget."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from helix_desktop.agent.room import Room
from helix_desktop.app.desk import Desk
from helix_desktop.app.forgetting import forget_everywhere, preview_everywhere
from helix_desktop.app.voice import err, named, out
from helix_desktop.context.content import Entry
from helix_desktop.context.digest import count_text, ellipsize, is_digest, size_text
from helix_desktop.context.errors import DigestAmbiguous, DigestUnknown, InputUnusable
from helix_desktop.context.forgetting import Finds, Wanted
from helix_desktop.context.keeping import CleanUp, Plan
from helix_desktop.context.signs import revealed_name

_WHY = (
    ("named", "named by sessions"),
    ("indexed", "reached through index entries"),
    ("pinned", "pinned"),
    ("young", "used in the last 24 hours"),
    ("spared", "may go, not asked for"),
    ("trashed", "in the trash already"),
)


async def collect(given: argparse.Namespace, _: Desk, room: Room) -> int:
    """`cache gc`: say what would go, or move it to the trash."""
    keep = room.store.keep
    plan = await keep.plan(CleanUp(given.quota, given.older_than))
    digests = [one.digest for one in plan.going]
    if not given.dry_run:
        digests = list((await keep.collect(digests)).digests)
    if given.json:
        out(json.dumps(_plan_told(plan, digests, given.dry_run), indent=1))
        return 0
    gone = set(digests)
    for entry in plan.going:
        if entry.digest in gone:
            out(f"{entry.digest}  {_entry_line(entry)}")
    freed = sum(one.stored_size for one in plan.going if one.digest in gone)
    did = "would go" if given.dry_run else "went"
    err(f"{_entries(len(digests))}, {size_text(freed)} on disk, {did} to the trash")
    for name, why in _WHY:
        share = getattr(plan, name)
        if share.entries:
            stay = "stays" if share.entries == 1 else "stay"
            err(f"  {share.entries:,} {stay}, {size_text(share.stored_size)}: {why}")
    if plan.short:
        err(plan.shortfall)
    return 0


def _plan_told(plan: Plan, digests: list[str], dry: bool) -> dict[str, Any]:
    told = msgspec.to_builtins(plan)
    told["going"] = [one["digest"] for one in told["going"]]
    return {**told, "dry_run": dry, "gone": [] if dry else digests, "shortfall": plan.shortfall}


async def trash(given: argparse.Namespace, _: Desk, room: Room) -> int:
    """`cache trash`: what lies there, or remove it for good."""
    keep = room.store.keep
    if given.empty:
        swept = await keep.empty_trash()
        if given.json:
            out(json.dumps(msgspec.to_builtins(swept), indent=1))
        else:
            said = f"{_entries(len(swept.digests))}, {size_text(swept.stored_size)} on disk"
            out(f"removed for good: {said}, and {count_text(len(swept.sessions), 'session')}")
        return 0
    lying = await keep.trash()
    if given.json:
        out(json.dumps(msgspec.to_builtins(lying), indent=1))
        return 0
    for session in lying.sessions:
        out(f"{session.id}  session  {revealed_name(ellipsize(session.title))}")
    for entry in lying.entries:
        out(f"{entry.digest}  {_entry_line(entry)}")
    err(
        f"{_entries(len(lying.entries))}, {size_text(lying.stored_size)} on disk, "
        f"{count_text(len(lying.sessions), 'session')}"
    )
    return 0


async def restore(given: argparse.Namespace, _: Desk, room: Room) -> int:
    """`cache restore`: bring back from the trash. Raises DigestUnknown, DigestAmbiguous, InputUnusable."""
    keep = room.store.keep
    lying = await keep.trash()
    known = [*(one.digest for one in lying.entries), *(one.id for one in lying.sessions)]
    if not (given.all or given.ids):
        raise InputUnusable("Nothing to restore was named.", fix="Give a hash, a session's id, or --all.")
    wanted = known if given.all else [_one_of(known, prefix) for prefix in given.ids]
    sessions = {one.id for one in lying.sessions}
    swept = await keep.restore([one for one in wanted if one not in sessions])
    back = [one for session in wanted if session in sessions for one in await keep.restore_session(session)]
    if given.json:
        out(json.dumps({"digests": swept.digests, "sessions": back}, indent=1))
    else:
        out(f"brought back: {_entries(len(swept.digests))} and {count_text(len(back), 'session')}")
    return 0


def _entries(number: int) -> str:
    return count_text(number, "entry", "entries")


def _one_of(known: Sequence[str], prefix: str) -> str:
    found = [one for one in known if prefix and one.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        raise DigestAmbiguous(f"Several things in the trash begin with {prefix!r}.", fix="Give more digits.")
    raise DigestUnknown(
        f"Nothing in the trash begins with {prefix[:64]!r}.", fix="List it with `cache trash`."
    )


async def forget(given: argparse.Namespace, desk: Desk, room: Room) -> int:
    """`cache forget`: show where it stands, or remove it for good. Raises InputUnusable, DigestUnknown."""
    if given.lift:
        return await _lift(given, room)
    text = _typed(sys.stdin.read()) if given.stdin else ""
    wanted = Wanted(text, tuple([await room.resolve(one) for one in given.sha]))
    if given.yes:
        finds = await forget_everywhere(desk, room, wanted)
    else:
        finds = await preview_everywhere(desk, room, wanted)
    if given.json:
        out(json.dumps({**_finds_told(finds), "forgotten": given.yes}, indent=1))
        return 0
    for line in finds.lines:
        out(line)
    if finds.unreadable:
        damaged = count_text(len(finds.unreadable), "damaged entry", "damaged entries")
        err(f"{damaged} cannot be looked through: repair the store first")
    if finds.nothing:
        out("it stands nowhere in this workspace")
    elif not given.yes:
        err("nothing was changed; --yes does it, and it cannot be undone")
    return 0


def _typed(text: str) -> str:
    """What was piped in, without the line's end that `echo` adds."""
    return text.removesuffix("\n").removesuffix("\r")


def _finds_told(finds: Finds) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(finds)
    for name in ("contents", "indexes"):
        told[name] = [one["digest"] for one in told[name]]
    return told


async def _lift(given: argparse.Namespace, room: Room) -> int:
    if not given.sha or not all(is_digest(one) for one in given.sha):
        raise InputUnusable(
            "--lift takes the full hashes of forgotten outputs.",
            "Nothing is stored of them by which a part of a hash could be completed.",
            "Copy the 64 digits from the marker in the conversation.",
        )
    lifted = [one for one in given.sha if await room.store.forgetting.lift(one)]
    out(json.dumps({"lifted": lifted}) if given.json else f"{len(lifted):,} may be stored again")
    return 0


def _entry_line(entry: Entry) -> str:
    return f"{size_text(entry.stored_size):>8}  {named(entry)}".rstrip()


VERBS: dict[str, Callable[[argparse.Namespace, Desk, Room], Coroutine[Any, Any, int]]] = {
    "gc": collect,
    "trash": trash,
    "restore": restore,
    "forget": forget,
}
