"""Events: a stored format that must always be readable; their digests, which are references; titles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.cost import Budget
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.rewrite import (
    HandoverTrigger,
    PlacementReason,
    RewriteKind,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.summary import HandoverDiscarded, HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.text_format import title_line
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, conversation_with, histories
from tests.support.store.stored_kinds import holds
from tests.support.tables import for_each

FOLDER = Path(__file__).parents[2] / "golden" / "events"
# A file is written once and never again: a change that breaks one breaks users' sessions. What comes later
# (a kind, a field) gets a file of its own.
FILES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("v*.json"))
}
RECALLED = "[Recalled from the cache: read_file notes.md, lines 3-9]\nline three\nline four"
GOLDEN = [row for rows in FILES.values() for row in rows]


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
        assert fields - {"kind"} == {field.name for field in msgspec.structs.fields(kind)}


def test_events_of_the_first_version_form_a_session() -> None:
    """They can be replayed together, and reference the contents they need."""
    log = [read(row) for row in FILES["v1"]]
    transcript = Transcript(log)
    assert transcript.title == "Fix the login"
    assert transcript.window.handover is not None
    assert transcript.window.masked == frozenset({7})
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {"a" * 64, "b" * 64, "c" * 64, "d" * 64}


def test_events_of_the_second_version_form_a_session() -> None:
    """Folds, observations, pins and forms come back unchanged."""
    log = [read(row) for row in FILES["v2"]]
    transcript = Transcript(log)
    (cover,) = transcript.window.covers
    assert (cover.seq, cover.after, cover.upto) == (17, 0, 10)
    assert transcript.window.masked == frozenset({3, 5})
    assert transcript.rewrites.chosen_forms[5].form == "preview"
    assert transcript.rewrites.pinned == frozenset()
    assert transcript.rewrites.undone.keys() == {19}
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {number * 64 for number in "123456"}


def test_a_deferred_output_is_known_until_its_call_is_answered() -> None:
    """A log that ends between output and decision still has the call's answer."""
    log = [read(row) for row in FILES["v3-intake"]]
    assert set(Transcript(log[:5]).pending_outputs) == {"call_1", "call_2"}
    transcript = Transcript(log)
    assert set(transcript.pending_outputs) == {"call_2"}
    assert transcript.rewrites.chosen_forms[6].asked == "line numbers"
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {"7" * 64, "8" * 64}


def test_summaries_record_their_origin() -> None:
    """Observations, and a handover that a user edited, come back unchanged."""
    log = [read(row) for row in FILES["v4-summaries"]]
    transcript = Transcript(log)
    assert transcript.window.handover is not None
    frame = PromptFrame(ModelInfo("openai", "gpt"), "You are an agent.")
    text = project(transcript, PROFILES["balanced"], frame).request.messages[1].text
    assert "- The parser drops the last line [e3]\n" in text
    assert "- Ask Ann\n" in text  # the user's own words are not marked as unsupported
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {"d" * 64, "e" * 64}


def test_images_and_their_substitutes_come_back() -> None:
    """An image in a tool's answer is sent; the user's is text and hash until that is undone."""
    log = [read(row) for row in FILES["v5-images"]]
    transcript = Transcript(log)
    frame = PromptFrame(ModelInfo("openai", "gpt", images=True), "You are an agent.")
    _, user_message, _, answer = project(transcript, PROFILES["balanced"], frame).request.messages
    assert user_message.images == ()
    assert user_message.text.startswith(
        "What is wrong here?\n\n[Image left out: shot.png, PNG image, 1000 × 700 pixels"
    )
    assert [image.digest for image in answer.images] == ["9" * 64]
    transcript.apply(RecordedEvent(6, log[-1].at, Undone(5)))
    _, user_message, _, _ = project(transcript, PROFILES["balanced"], frame).request.messages
    assert user_message.text.endswith("[Image: shot.png]")
    assert [(image.digest, image.tokens) for image in user_message.images] == [("f" * 64, 933)]
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {"f" * 64, "9" * 64}


def test_approvals_and_their_modes_come_back() -> None:
    """The mode is the session's, its note is before the user's text, answers keep their text."""
    log = [read(row) for row in FILES["v6-approvals"]]
    transcript = Transcript(log)
    assert (transcript.mode, transcript.announced_mode) == ("plan", "plan")
    frame = PromptFrame(ModelInfo("openai", "gpt"), "You are an agent.")
    text = project(transcript, PROFILES["balanced"], frame).request.messages[1].text
    assert text == "[Mode: plan] Only read and search from now on.\n\nRemove the old parser."
    approvals = [recorded.event for recorded in log if isinstance(recorded.event, ApprovalGiven)]
    assert [(approval.decision, approval.mode, approval.words, approval.saved) for approval in approvals] == [
        ("deny", "plan", "", ""),
        ("session", "", "", "Run: make test"),
        ("deny", "", "Not to main.", "Never: run: git push"),
    ]


def test_subagents_steering_and_costs_come_back() -> None:
    """A subagent's own limits, the queue's order, the call that started a subagent, and every cost."""
    log = [read(row) for row in FILES["v6-delegating"]]
    assert Transcript(log[:8]).subagent_sessions == {"call_1": "fedcba9876543210fedcba9876543210"}
    transcript = Transcript(log)
    assert (transcript.model_role, transcript.session_policy) == (
        "fast",
        msgspec.structs.replace(PROFILES["lean"], protect_steps=4),
    )
    assert [(seq, message.text, message.steer) for seq, message in transcript.queued_messages.items()] == [
        (6, "And go out", True),
        (5, "Then mend them", False),
    ]
    assert transcript.messages.turns == 1, "a message that steered a turn began none"
    assert (transcript.budget, transcript.warned_budget) == (Budget(50_000, 2.5), Budget(50_000, 2.5))
    assert transcript.spending.tokens == 1_100 + 200 + 300 + 5_000 + 6_000 + 7_000 + 8_000
    assert transcript.spending.cost == pytest.approx(0.0035 + 0.0005 + 0.001 + 0.02 + 0.03 + 0.04 + 0.05)
    digests = {digest for recorded in log for digest in digests_in(recorded.event)}
    assert digests == {"a" * 64, "b" * 64, "c" * 64}


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


def test_a_later_kind_of_rewrite_leaves_the_window_of_an_older_log_unchanged() -> None:
    """The window is the one that the first version showed of its session."""
    log = [read(row) for row in FILES["v1"]]
    frame = PromptFrame(ModelInfo("openai", "gpt"), "You are an agent.")
    texts = [
        message.text for message in project(Transcript(log), PROFILES["balanced"], frame).request.messages
    ]
    assert len(texts) == 4  # the prompt, the summary, two messages of the user
    assert texts[1].startswith("[Conversation History Summary]")
    assert texts[2:] == ["Hello", "And the tests, please.\n\n" + RECALLED]


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
