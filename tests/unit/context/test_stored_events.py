"""Events are a stored format: what any released version wrote must always be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from helix_desktop.context.event import Event, Recorded, digests_in
from helix_desktop.context.transcript import Transcript

FOLDER = Path(__file__).parents[2] / "golden" / "events"
# A file is written once and never again: a change that breaks one breaks people's sessions. What comes later
# (a kind, a field) gets a file of its own.
FILES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("v*.json"))
}
GOLDEN = [row for rows in FILES.values() for row in rows]


def read(row: dict[str, Any]) -> Recorded:
    """An event from its stored form, through msgpack as the store keeps it."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=Recorded)


def holds(now: object, then: object) -> bool:
    """Whether everything that was written then is still said now, at any depth."""
    if isinstance(now, dict) and isinstance(then, dict):
        return all(name in now and holds(now[name], value) for name, value in then.items())
    if isinstance(now, list) and isinstance(then, list):
        return len(now) == len(then) and all(map(holds, now, then))
    return now == then


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['seq']}-{row['event']['kind']}")
def test_a_stored_event_is_read(row: dict[str, Any]) -> None:
    """Nothing of a stored event is lost or renamed: written again it says the same."""
    recorded = read(row)
    assert holds(json.loads(msgspec.json.encode(recorded)), row)
    assert msgspec.json.decode(msgspec.json.encode(row), type=Recorded) == recorded


def test_every_kind_and_field_is_there() -> None:
    """Each kind of event stands in one of the files, with all its fields."""
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(Event)}
    assert {row["event"]["kind"] for row in GOLDEN} == set(kinds)
    for tag, kind in kinds.items():
        written = {name for row in GOLDEN if row["event"]["kind"] == tag for name in row["event"]}
        assert written - {"kind"} == {field.name for field in msgspec.structs.fields(kind)}


def test_they_are_a_session() -> None:
    """Those of the first version can be replayed together, and name the contents they refer to."""
    log = [read(row) for row in FILES["v1"]]
    transcript = Transcript(log)
    assert transcript.title == "Fix the login"
    assert transcript.handover is not None
    assert transcript.masked == frozenset({7})
    named = {digest for one in log for digest in digests_in(one.event)}
    assert named == {"a" * 64, "b" * 64, "c" * 64, "d" * 64}


def test_an_unknown_field_is_passed_over() -> None:
    """A session that a newer version wrote to can still be opened."""
    row = {**GOLDEN[0], "event": {**GOLDEN[0]["event"], "of a later version": 1}}
    assert read(row) == read(GOLDEN[0])
