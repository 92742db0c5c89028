"""Events: a stored format that must always be readable; their digests, which are references; titles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.events.conversation import OutputHeld
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in, format_problem
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    SavedHandoverDraft,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.text_format import title_line
from tests.support.histories import SessionSimulator, histories
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE
from tests.support.tables import for_each
from tests.unit.foreign.test_readers import written

LOG = Path(__file__).parents[2] / "golden" / "log.json"
"""One session with every kind of event and every field, as this version writes it."""
REQUESTS = LOG.with_name("event_requests.json")
# The log is not written again: a change that breaks it breaks users' sessions. What comes later (a kind, a
# field) is added at its end.
GOLDEN: list[dict[str, Any]] = json.loads(LOG.read_text(encoding="utf-8"))
_PART = 25  # events between two requests that are compared


def holds(now: object, stored: object) -> bool:
    """Return True if everything stored then is still present now, at any depth."""
    if isinstance(now, dict) and isinstance(stored, dict):
        return all(name in now and holds(now[name], value) for name, value in stored.items())
    if isinstance(now, list) and isinstance(stored, list):
        return len(now) == len(stored) and all(map(holds, now, stored))
    return now == stored


def read(row: dict[str, Any]) -> RecordedEvent:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=RecordedEvent)


@for_each("row", GOLDEN)
def test_a_stored_event_is_read(row: dict[str, Any]) -> None:
    """Nothing of a stored event is lost or renamed: encoded again it is the same."""
    recorded = read(row)
    assert holds(json.loads(msgspec.json.encode(recorded)), row)
    assert msgspec.json.decode(msgspec.json.encode(row), type=RecordedEvent) == recorded


def test_every_kind_and_field_is_covered() -> None:
    """Each kind of event is in the log, with all its fields."""
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


def test_a_stored_log_gives_the_requests_that_it_always_gave() -> None:
    """Byte for byte, as when `HELIX_WRITE_GOLDEN=1 pytest` on this file wrote them last."""
    log = list(map(read, GOLDEN))
    ends = [*range(_PART, len(log), _PART), len(log)]
    now = {f"up to event {end}": known_of(log[:end]) for end in ends}
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        REQUESTS.write_text(written(now, 3) + "\n", encoding="utf-8")
    assert now == json.loads(REQUESTS.read_text(encoding="utf-8"))


def test_a_deferred_output_is_known_until_its_call_is_answered() -> None:
    """A log that ends between output and decision still has the call's answer."""
    log = list(map(read, GOLDEN))
    held = [recorded for recorded in log if isinstance(recorded.event, OutputHeld)]
    assert held
    for recorded in held:
        assert isinstance(recorded.event, OutputHeld)
        call_id = recorded.event.answer.call_id
        assert call_id in Transcript(log[: recorded.seq]).pending_outputs


@for_each(
    ("tag", "field", "text"),
    [
        ("handover-made", "trigger", "85 %"),
        ("handover-made", "trigger", "by hand"),
        ("observations-placed", "reason", "at once"),
        ("observations-placed", "reason", "level"),
        ("sweep-made", "reason", "no room"),
        ("sweep-made", "reason", "85 %"),
    ],
)
def test_a_text_that_is_no_kind_is_refused(tag: str, field: str, text: str) -> None:
    """Neither an older spelling nor damage is taken for another event."""
    row = next(row for row in GOLDEN if row["event"]["kind"] == tag)
    with pytest.raises(msgspec.ValidationError):
        read({**row, "event": {**row["event"], field: text}})


@for_each("tag", ["handover-made", "observations-made"])
@for_each("version", [0, 4, 6])
def test_a_summary_with_words_of_another_version_is_of_another_format(tag: str, version: int) -> None:
    row = next(row for row in GOLDEN if row["event"]["kind"] == tag and "origin" not in row["event"])
    assert format_problem(read(row).event) == ""
    other = read({**row, "event": {**row["event"], "text_version": version}})
    assert f"text version {version}, not 5" in format_problem(other.event)
    if tag == "handover-made":
        assert isinstance(other.event, HandoverMade)
        for within in (
            HandoverDiscarded(prepared=HandoverPrepared(other.event)),
            HandoverDiscarded(draft=SavedHandoverDraft(other.event, "", "")),
        ):
            assert format_problem(within) == format_problem(other.event)


def test_a_session_that_continues_one_without_a_summary_is_of_this_format() -> None:
    row = next(row for row in GOLDEN if row["event"]["kind"] == "handover-made")
    event = {**row["event"], "origin": "a" * 32, "origin_title": "A title"}
    del event["text_version"]
    assert format_problem(read({**row, "event": event}).event) == ""


def test_an_unknown_field_is_ignored() -> None:
    """A session that a newer version wrote to can still be opened."""
    row = {**GOLDEN[0], "event": {**GOLDEN[0]["event"], "of a later version": 1}}
    assert read(row) == read(GOLDEN[0])


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
