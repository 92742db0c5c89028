"""What another agent's summary and the managed context name of a session's facts, and what a recall does."""

from __future__ import annotations

import json

import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.replay.measure import RecordingFigures, measure_messages
from helix_desktop.replay.recording import RawMessage, recording_facts

RULE = "Never change the schema of the billing database."

ANSWER = """Three documents were wrong or out of date:

- Edited docs/method.md: 1 replacement at line 5. Lines: 26 -> 26: the spike limit is 0.35 m.
- Edited docs/formats.md: 1 replacement at line 19. Lines: 27 -> 27: the threshold is 5.20 m.
- Edited README.md: 1 replacement at line 35. Lines: 48 -> 49: the examples name `summary`.

Numbers left in `docs`: No match for '0\\\\.40 m|5\\\\.30 m'. Tests after the change: OK."""


def _session(steps: int) -> list[RawMessage]:
    """A user's rule, an answer, and as many commands, each with an output of about 400 tokens."""
    messages: list[RawMessage] = [
        {"role": "user", "content": f"{RULE} Which numbers are left?"},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "Find what is slow."},
    ]
    for number in range(steps):
        command = f'cd src && grep -n "handler_{number}" part_{number}.py 2>&1 | head -40'
        call = {"id": f"c{number}", "name": "bash", "arguments": json.dumps({"command": command})}
        output = "\n".join(f"{line}: handler_{number} waits for row {line * 7}" for line in range(30))
        messages += [
            {"role": "assistant", "content": f"Part {number} is next.", "tool_calls": [call]},
            {"role": "tool", "content": output, "tool_call_id": call["id"], "name": "bash"},
        ]
    return [*messages, {"role": "assistant", "content": f"Part 7 is slow, by {steps} ms."}]


@pytest.fixture(scope="module")
def figures() -> RecordingFigures:
    """A session that outgrows its context window and was compacted twice, once without a readable summary."""
    messages = _session(90)
    compactions = [
        (len(messages) // 2, ForeignCompaction("The agent worked on it.", 7, 150_000)),
        (len(messages) - 1, ForeignCompaction()),
    ]
    return measure_messages("session", messages, PROFILES["balanced"], recording_facts(16_000), compactions)


def test_each_fact_is_in_context_or_one_call_away(figures: RecordingFigures) -> None:
    (compared, unreadable) = figures.compactions
    assert (compared.before, compared.tokens, unreadable.facts) == (150_000, 7, ())
    for facts in (*compared.facts, *figures.at_end):
        assert facts.total == len(facts.items) == facts.in_context + facts.one_call
        assert facts.in_context == sum(item.place == "context" for item in facts.items)
        assert facts.in_summary == sum(item.in_summary for item in facts.items)
    assert sum(facts.one_call for facts in figures.at_end) > 0
    (rules,) = (facts for facts in compared.facts if facts.kind == "instructions")
    assert [(rule.text, rule.in_summary) for rule in rules.items if "billing" in rule.text] == [(RULE, False)]


def test_the_end_has_the_facts_that_came_later_too(figures: RecordingFigures) -> None:
    totals = [
        {facts.kind: facts.total for facts in compared}
        for compared in (figures.compactions[0].facts, figures.at_end)
    ]
    assert sum(totals[0].values()) < sum(totals[1].values())


def test_without_management_all_is_in_context_as_long_as_it_fits() -> None:
    messages = _session(12)
    figures = measure_messages("session", messages, PROFILES["off"], recording_facts(1_000_000), [])
    assert figures.at_end
    assert all(facts.in_context == facts.total for facts in figures.at_end)


def test_a_recording_has_no_facts_to_compare() -> None:
    figures = measure_messages("recording", _session(4), PROFILES["balanced"], recording_facts(16_000))
    assert (figures.at_end, figures.compactions) == ((), ())


def test_progress_is_reported_up_to_the_last_message() -> None:
    messages, reported = _session(4), list[tuple[int, int]]()
    measure_messages(
        "session",
        messages,
        PROFILES["balanced"],
        recording_facts(16_000),
        (),
        lambda *done: reported.append(done),
    )
    assert reported == [(number, len(messages)) for number in range(len(messages))]
