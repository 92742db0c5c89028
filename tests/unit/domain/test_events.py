"""Events: a stored format that must always be readable; their digests, which are references; titles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import (
    HandoverTrigger,
    PlacementReason,
    RewriteKind,
    SweepReason,
)
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.text_format import title_line
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, conversation_with, histories
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE
from tests.support.tables import for_each
from tests.unit.foreign.test_readers import written

FOLDER = Path(__file__).parents[2] / "golden" / "events"
SESSIONS = (
    "v1", "v2", "v3-intake", "v4-summaries", "v5-images", "v6-approvals", "v6-delegating", "v8-kinds",
    "v9-accepted-model", "v26-checkpoints", "v29-handover-drafts",
)  # fmt: skip
"""The files that hold a session from its beginning."""
REQUESTS = FOLDER.with_name("event_requests.json")
# A file is written once and never again: a change that breaks one breaks users' sessions. What comes later
# (a kind, a field) gets a file of its own.
FILES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("v*.json"))
}
GOLDEN = [row for rows in FILES.values() for row in rows]


_KINDS = {
    ("trigger", "85 %"): "threshold",
    ("trigger", "by hand"): "manual",
    ("reason", "by hand"): "manual",
    ("reason", "no room"): "overflow",
}
"""What the files of the first versions hold as texts, and the kinds these are now."""


def holds(now: object, stored: object) -> bool:
    """Return True if everything stored then is still present now, at any depth; of old texts the kind."""
    if isinstance(now, dict) and isinstance(stored, dict):
        return all(name in now and holds(now[name], kind_of(name, value)) for name, value in stored.items())
    if isinstance(now, list) and isinstance(stored, list):
        return len(now) == len(stored) and all(map(holds, now, stored))
    return now == stored


def kind_of(name: str, value: object) -> object:
    """Return what a stored field is read as: itself, or the kind for a text of the first versions."""
    return _KINDS.get((name, value), value) if isinstance(value, str) else value


def read(row: dict[str, Any]) -> RecordedEvent:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=RecordedEvent)


@for_each("row", GOLDEN)
def test_a_stored_event_is_read(row: dict[str, Any]) -> None:
    """Nothing of a stored event is lost or renamed: encoded again it is the same."""
    recorded = read(row)
    assert holds(json.loads(msgspec.json.encode(recorded)), row)
    assert msgspec.json.decode(msgspec.json.encode(row), type=RecordedEvent) == recorded


def test_every_kind_and_field_is_covered() -> None:
    """Each kind of event is in one of the files, with all its fields."""
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(Event)}
    assert {row["event"]["kind"] for row in GOLDEN} == set(kinds)
    for tag, kind in kinds.items():
        fields = {name for row in GOLDEN if row["event"]["kind"] == tag for name in row["event"]}
        assert fields - {"kind"} == {field.encode_name for field in msgspec.structs.fields(kind)}


def known_of(log: list[RecordedEvent]) -> dict[str, Any]:
    """Return the request of a log, and what else the engine knows of it."""
    transcript = Transcript(log)
    frame = PromptFrame(ModelInfo("openai", "gpt", images=True), "You are an agent.")
    request = project(transcript, PROFILES["balanced"], frame).request
    rewrites = transcript.rewrites
    known = {
        "messages": [
            [
                message.role,
                message.text,
                [call.id for call in message.calls],
                [it.digest for it in message.images],
            ]
            for message in request.messages
        ],
        "digests": sorted({digest for recorded in log for digest in digests_in(recorded.event)}),
        "names": [transcript.title, transcript.mode, transcript.announced_mode, transcript.model_role],
        "spent": [transcript.spending.tokens, round(transcript.spending.cost, 9)],
        "budgets": [transcript.budget, transcript.warned_budget],
        "policy": transcript.session_policy,
        "queued": [[seq, it.text, it.steer] for seq, it in transcript.queued_messages.items()],
        "open": [sorted(transcript.pending_outputs), sorted(transcript.subagent_sessions)],
        "rewrites": [sorted(rewrites.handovers), sorted(rewrites.undone), sorted(rewrites.pinned)],
        "forms": [[seq, form.form, form.asked] for seq, form in rewrites.chosen_forms.items()],
        "checkpoints": sorted(transcript.checkpoints),
        "models": [transcript.chosen_model, transcript.accepted_model],
    }
    return cast("dict[str, Any]", json.loads(msgspec.json.encode(known)))


def test_a_stored_log_gives_the_request_that_it_always_gave() -> None:
    """Byte for byte, as when `HELIX_WRITE_GOLDEN=1 pytest` on this file wrote it last."""
    now = {name: known_of(list(map(read, FILES[name]))) for name in SESSIONS}
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        REQUESTS.write_text(written(now, 3) + "\n", encoding="utf-8")
    assert now == json.loads(REQUESTS.read_text(encoding="utf-8"))


def test_a_deferred_output_is_known_until_its_call_is_answered() -> None:
    """A log that ends between output and decision still has the call's answer."""
    log = [read(row) for row in FILES["v3-intake"]]
    assert set(Transcript(log[:5]).pending_outputs) == {"call_1", "call_2"}


@for_each(
    ("tag", "field", "text", "kind"),
    [
        ("handover-made", "trigger", "85 %", HandoverTrigger.THRESHOLD),
        ("handover-made", "trigger", "by hand", HandoverTrigger.MANUAL),
        ("handover-made", "trigger", "no room", HandoverTrigger.OVERFLOW),
        ("observations-placed", "reason", "at once", PlacementReason.IMMEDIATE),
        ("observations-placed", "reason", "level", PlacementReason.THRESHOLD),
        ("observations-placed", "reason", "cold", PlacementReason.COLD),
        ("observations-placed", "reason", "rewrite", PlacementReason.REWRITE),
        ("observations-placed", "reason", "no room", PlacementReason.OVERFLOW),
        ("observations-placed", "reason", "by hand", PlacementReason.MANUAL),
        *(
            ("sweep-made", "reason", name, SweepReason(name))
            for name in ("batch", "cold", "fold", "observations", "handover")
        ),
        ("sweep-made", "reason", "no room", SweepReason.OVERFLOW),
        ("sweep-made", "reason", "by hand", SweepReason.MANUAL),
    ],
)
def test_an_old_text_is_read_as_its_kind(tag: str, field: str, text: str, kind: RewriteKind) -> None:
    """Every text that a released version stored; it does not say which threshold it was."""
    row = next(row for row in GOLDEN if row["event"]["kind"] == tag and "threshold" not in row["event"])
    recorded = read({**row, "event": {**row["event"], field: text}})
    assert getattr(recorded.event, field) is kind
    assert json.loads(msgspec.json.encode(recorded))["event"][field] == kind.value
    assert getattr(recorded.event, "threshold", 0.0) == 0.0


def test_an_unknown_text_is_refused() -> None:
    """A damaged event is not taken for another one."""
    row = next(row for row in GOLDEN if row["event"]["kind"] == "sweep-made")
    with pytest.raises(msgspec.ValidationError):
        read({**row, "event": {**row["event"], "reason": "85 %"}})


def test_an_unknown_field_is_ignored() -> None:
    """A session that a newer version wrote to can still be opened."""
    row = {**GOLDEN[0], "event": {**GOLDEN[0]["event"], "of a later version": 1}}
    assert read(row) == read(GOLDEN[0])


class DiscardedBefore(msgspec.Struct, frozen=True, tag_field="kind", tag="handover-discarded"):
    """What releases before checkpoints knew of this kind."""

    spent: int = 0
    cost: float = 0.0
    estimated: bool = False
    unpriced: int | None = None


HandoverBefore = msgspec.defstruct(
    "HandoverBefore",
    [
        (field.name, field.type)
        if field.default is msgspec.NODEFAULT
        else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(HandoverMade)
        if field.name != "checkpoint"
    ],
    frozen=True,
    omit_defaults=True,
    tag_field="kind",
    tag="handover-made",
)
_KINDS_BEFORE = {HandoverMade: HandoverBefore, HandoverDiscarded: DiscardedBefore}
_RECORDED_BEFORE = msgspec.defstruct(
    "RecordedBefore",
    [
        ("seq", int),
        ("at", int),
        ("event", reduce(or_, (_KINDS_BEFORE.get(kind, kind) for kind in get_args(Event)))),
    ],
)
"""An event as releases before checkpoints read it."""


def test_a_release_before_drafts_counts_what_one_spent() -> None:
    """A draft that was left is in the log beside its cost, and changes nothing else."""
    *before, row = FILES["v29-handover-drafts"]
    left = read(row).event
    assert isinstance(left, HandoverDiscarded)
    assert left.draft is not None
    assert (left.draft.rerun, left.draft.handover.focus) == (7, "the parser")
    old = msgspec.convert(row["event"], type=DiscardedBefore)
    assert old == DiscardedBefore(4_300, 0.012, unpriced=0)
    with_draft, without = Transcript(map(read, [*before, row])), Transcript(map(read, before))
    assert with_draft.spending.tokens == without.spending.tokens + 4_300
    assert with_draft.window.handover is None
    assert with_draft.checkpoints == {}


def test_a_release_before_checkpoints_opens_a_session_with_them() -> None:
    """It reads each event of the log, as the store holds it, and sends the same request."""
    simulator = conversation_with(4)
    session_rewrites.write_checkpoint(simulator)
    simulator.send_message("And then?")
    simulator.step("Then this.", 0)
    handover = simulator.hand_over(0)
    assert handover is not None
    made = max(simulator.transcript.rewrites.handovers)
    simulator.record(msgspec.structs.replace(handover, checkpoint=1, replaces=(made,)))
    session_rewrites.write_checkpoint(simulator, "It is done")
    before = Transcript()
    for stored in map(msgspec.msgpack.encode, simulator.log):
        read_then = msgspec.msgpack.decode(stored, type=_RECORDED_BEFORE)
        before.apply(msgspec.convert(msgspec.to_builtins(read_then), RecordedEvent))
    assert len(simulator.transcript.checkpoints) == 2
    assert before.checkpoints == {}
    requests = [
        project(transcript, simulator.policy, simulator.frame).request
        for transcript in (simulator.transcript, before)
    ]
    assert requests[0] == requests[1]
    assert before.spending == simulator.transcript.spending


HANDLES = {"digest", "digests", "recalled", "index"}
"""The fields of events that hold digests. A new one belongs here and into `digests_in`."""
KINDS: tuple[type[msgspec.Struct], ...] = Event.__args__


class Digests:
    def __init__(self) -> None:
        self.created: list[str] = []

    def new(self) -> str:
        self.created.append(f"{len(self.created):064x}")
        return self.created[-1]


def filled(kind: Any, digests: Digests, name: str = "") -> Any:
    """Return a value of a type, with a digest wherever one may be and one element in each list."""
    value: Any = 1
    match kind:
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            value = cls(**{field.name: filled(field.type, digests, field.name) for field in fields})
        case msgspec.inspect.StrType():
            value = digests.new() if name in HANDLES else f"{name} {'0' * 64}"
        case msgspec.inspect.VarTupleType(item_type=item):
            value = (filled(item, digests, name),)
        case msgspec.inspect.UnionType(types=types):
            value = filled(types[0], digests, name)
        case msgspec.inspect.LiteralType(values=values):
            value = values[0]
        case msgspec.inspect.DictType():
            value = {}
        case msgspec.inspect.BoolType():
            value = True
    return value


@for_each("kind", KINDS)
def test_each_digest_in_an_event_counts(kind: type[Event]) -> None:
    digests = Digests()
    event = filled(msgspec.inspect.type_info(kind), digests)
    assert sorted(digests_in(event)) == digests.created


def test_the_known_handle_fields_are_those_that_exist() -> None:
    def names(kind: Any) -> Iterator[str]:
        match kind:
            case msgspec.inspect.StructType(fields=fields):
                for field in fields:
                    yield field.name
                    yield from names(field.type)
            case msgspec.inspect.VarTupleType(item_type=item):
                yield from names(item)

    handles = {name for kind in KINDS for name in names(msgspec.inspect.type_info(kind))}
    assert handles >= HANDLES


def digests_within(value: Any) -> Iterator[str]:
    """Yield every string that is a digest, anywhere in plain data."""
    if isinstance(value, str) and is_digest(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from digests_within(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from digests_within(inner)


@given(histories())
def test_every_digest_in_a_log_is_a_reference(simulator: SessionSimulator) -> None:
    for recorded in simulator.log:
        digests = set(digests_within(msgspec.to_builtins(recorded.event)))
        assert digests <= set(digests_in(recorded.event))


LONG_LINE = "Read every module of the project and say which of them " + "talk to the network " * 10


@for_each(
    ("text", "title"),
    [
        (f"\n  {LONG_LINE} \nand then stop", LONG_LINE.strip()),
        ("seven " * 200, "seven " * 82 + "seven…"),
        ("x" * 2_000, "x" * 499 + "…"),
        (" \n\t ", ""),
    ],
)
def test_a_title_is_the_first_line_up_to_a_word_before_the_cap(text: str, title: str) -> None:
    assert title_line(text) == title
