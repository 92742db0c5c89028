"""The demo model's observations, reflections and merged handovers: extracted, cited, parsable."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import parse_handover
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import (
    full_request,
    handover_task,
    merge_task,
    split_task,
    transcript_lines,
)
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from helix_desktop.domain.messages import ModelRequest, ModelResponse
from helix_desktop.providers.demo.model import (
    DemoModel,
    write_handover,
    write_observations,
    write_reflection,
    write_summary,
)
from tests.support.histories import SessionSimulator, histories

DEMO = Path(__file__).resolve().parents[4] / "resources" / "demo"
RECORD = """[Write observations]
The messages to observe:
e3 user: Find the bug. Do not touch the data.
e4 assistant: I begin with the README. -> calls read_file {"path":"README.md"}
e5 tool read_file README.md: # Thing
|
| It does a thing with 3 parts.
e6 assistant: The cause is an offset of 12 bytes in `src/a.py`. Now let me see how `src/b.py` is read.
e7 tool edit_file src/a.py: Edited src/a.py: 1 place
e8 tool run_command make test exit 1 FAILED: Ran 9 tests in 0.1s
| FAIL: test_offset (tests.A)
| FAILED (failures=1)
e9 assistant: -> calls edit_file {"path":"src/a.py","old_text":"offset = 12 bytes"}"""


def observations_with(*facts: Observation) -> ObservationsMade:
    return ObservationsMade(1, 99, facts, (), "", "d" * 64, 0, 60, 400, 8, "m")


def reflected(*facts: Observation) -> str:
    return write_reflection(
        full_request(observation.reflection_task("", [observations_with(*facts)])).messages[1].text
    )


def test_important_facts_are_noted_in_order() -> None:
    """Request, cause, change and failure, each with its entry and its priority."""
    assert write_observations(RECORD).splitlines() == [
        "- (1) The user asked: Find the bug. Do not touch the data. [e3]",
        "- (1) Find the bug. Do not touch the data. [e3]",
        "- (2) The cause is an offset of 12 bytes in `src/a.py`. [e6]",
        "- (3) Changed src/a.py [e7]",
        "- (2) `make test` ended with 1: FAIL: test_offset (tests.A) [e8]",
    ]


def test_known_facts_are_not_repeated() -> None:
    known = "Known already:\nknown 1: observed (3) 2026-01-01: Changed src/a.py [e7]\nThe messages"
    assert "Changed src/a.py" not in write_observations(RECORD.replace("The messages", known, 1))


def test_a_reflection_has_each_fact_once_and_at_most_half_of_them() -> None:
    fact = "The cause is an offset of 12 bytes."
    remaining = reflected(
        Observation(1, 1, "The user asked: Find the bug", (3,)),
        Observation(2, 2, fact, (6,)),
        Observation(3, 3, "It is a remark of no weight at all that goes on for a while.", (19,)),
        Observation(4, 2, fact, (21,)),
    )
    assert remaining.splitlines() == ["- (1) The user asked: Find the bug [e3]", f"- (2) {fact} [e6, e21]"]


@given(histories(), st.integers(800, 4_000))
def test_the_demo_s_output_can_be_parsed(simulator: SessionSimulator, max_chars: int) -> None:
    """Observations, a reflection of them, a handover in parts: each is accepted, and cites its input."""
    items = simulator.transcript.messages.items
    seqs = {item.seq for item in items}
    brief = observation.observation_task("Note.", transcript_lines(items), ())
    facts = observation.parse_observations(write_summary(full_request(brief).messages[1].text), items)
    assert {seq for fact in facts for seq in fact.sources} <= seqs
    twice = full_request(
        observation.reflection_task("Refine.", [observations_with(*facts), observations_with(*facts)])
    )
    fewer = observation.parse_observations(write_summary(twice.messages[1].text), items)
    assert len(fewer) <= len(facts)
    assert {fact.text for fact in fewer} <= {fact.text for fact in facts}
    full_brief = handover_task("Write.", transcript_lines(items), None, "")
    if divided := split_task(full_brief, max_chars):
        texts = [write_summary(full_request(part).messages[1].text) for part in divided]
        merged_handover = write_summary(full_request(merge_task(full_brief, texts)).messages[1].text)
        assert [section.title for section in parse_handover(merged_handover, frozenset(seqs))] == [*TITLES]


def test_a_handover_of_observations_keeps_their_facts() -> None:
    """Each under its section, with its own entries."""
    facts = (
        Observation(1, 1, "The user asked: Find the bug", (3,)),
        Observation(2, 2, "Changed src/a.py", (17,)),
        Observation(3, 3, "The cause is an offset of 12 bytes.", (6, 9)),
    )
    record = "\n".join(
        line.text for line in observation.reflection_task("", [observations_with(*facts)]).lines
    )
    text = write_handover(f"[Write a handover]\nThe messages to hand over:\n{record}\ne20 user: And now?")
    sections = {section.title: section.bullets for section in parse_handover(text, frozenset(range(99)))}
    assert [bullet.text for bullet in sections["Project Background"]] == ["The user asked: Find the bug"]
    assert sections["Completed Work"][0].sources == (17,)
    assert sections["Technical Details"][0].sources == (6, 9)
    assert "And now?" in sections["TODO Items"][0].text


def test_when_parts_are_merged_what_is_open_is_as_the_later_one_says() -> None:
    first = "## Completed Work\n- Changed src/a.py [e7]\n## TODO Items\n- Find it. [e3]"
    second = "## Completed Work\n- Changed src/b.py [e17]\n## TODO Items\n- Ship it. [e20]"
    brief = handover_task("Write.", (), None, "")
    text = write_handover(full_request(merge_task(brief, [first, second])).messages[1].text)
    assert "Changed src/a.py [e7]" in text
    assert "Changed src/b.py [e17]" in text
    assert "- Ship it. [e20]" in text
    assert "Find it" not in text


@pytest.mark.parametrize("opening", [observation.OBSERVE, observation.REFINE, "[Write a handover]"])
async def test_the_demo_model_answers_each_kind(opening: str) -> None:
    """Streamed like all its answers, and deterministic."""
    request = full_request(
        msgspec.structs.replace(observation.observation_task("Note.", (), ()), opening=opening)
    )
    answers = []
    for _ in range(2):
        arrivals = DemoModel(DEMO, pause_s=0).stream(ModelRequest(request.messages))
        answers += [arrival.text async for arrival in arrivals if isinstance(arrival, ModelResponse)]
    assert answers[0] == answers[1] == write_summary(request.messages[1].text) != ""
