"""`cache repair` and `cache verify`: the full check of a workspace's store, and what was mended."""

from __future__ import annotations

import argparse
import json
import sys

import msgspec

from helix_desktop.agent.ports import Store
from helix_desktop.agent.room import Room
from helix_desktop.app.desk import Desk
from helix_desktop.app.exit_codes import FAILED
from helix_desktop.app.voice import Telling, err, named, out
from helix_desktop.context.damage import Checked, Mending
from helix_desktop.store.remote.client import RemoteStore

_LEFT = (
    "helix-desktop: Not mended: this workspace is open in another running Helix Desktop. "
    "Close it there: it is mended when it is opened next."
)
_AGAIN = "helix-desktop: Not all of it could be mended. Restore a backup: helix-desktop cache import."


async def tell_mended(store: Store) -> None:
    """Say on standard error what was mended when the store was opened, once."""
    report = store.health.report
    if report is not None:
        err(f"helix-desktop: {report.notice}")
        await store.health.told()


async def repair(given: argparse.Namespace, desk: Desk, room: Room) -> int:
    """Check everything, and mend what is wrong; 0 when nothing is lost."""
    report = room.store.health.report
    found = await _check(room.store)
    if found.problems:
        await desk.close_room(room.id)
        told = Telling("mending: ").tell
        room = await desk.room(room.id, reading=True, told=told)  # opening mends what the check found
        report = room.store.health.report or report
        found = await _check(room.store)
    if given.json:
        out(json.dumps({**_plain(found), "mended": msgspec.to_builtins(report) if report else None}))
    else:
        _print(found, report)
    if found.problems:
        err(_LEFT if isinstance(room.store, RemoteStore) else _AGAIN)
    if report is not None:
        await room.store.health.told()
    return 0 if found.sound and (report is None or report.whole) else FAILED


async def verify(given: argparse.Namespace, room: Room) -> int:
    """Check everything, and change nothing; 0 when all is sound."""
    found = await _check(room.store)
    if given.json:
        out(json.dumps(_plain(found)))
        return 0 if found.sound else FAILED
    for one in found.damaged:
        out(f"{one.digest}  DAMAGED  {named(one)}".rstrip())
    for problem in found.problems:
        out(problem)
    out(f"{found.contents} verified, {len(found.damaged)} damaged")
    if found.problems:
        err("Mend it: helix-desktop cache repair --workspace PATH. It is mended at its next opening, too.")
    return 0 if found.sound else FAILED


async def _check(store: Store) -> Checked:
    if not sys.stderr.isatty():
        return await store.health.check()

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{done} of {total} verified")

    found = await store.health.check(show)
    sys.stderr.write("\r\x1b[K")
    return found


def _plain(found: Checked) -> dict[str, object]:
    damaged = [one.digest for one in found.damaged]
    return {"verified": found.contents, "damaged": damaged, "problems": list(found.problems)}


def _print(found: Checked, report: Mending | None) -> None:
    if report is not None:
        notice = report.notice
        out(f"{notice.what}\n{notice.why}\n{notice.fix}")
    for one in found.damaged:
        out(f"{one.digest}  LOST  {named(one)}".rstrip())
    for problem in found.problems:
        out(problem)
    out(f"{found.contents} verified, {len(found.damaged)} damaged")
    if report is None and found.sound:
        out("Nothing had to be mended.")
