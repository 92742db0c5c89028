"""What a window has or leads to: outputs byte for byte, and facts beside those of another agent's summary."""

from __future__ import annotations

import json

import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.measure import (
    OriginalOutputs,
    Reachability,
    RecordingFigures,
    argument_values,
    find_handles,
    measure_messages,
    measure_reachability,
)
from helix_desktop.replay.recording import RawMessage, recording_facts

OUTPUTS = {"a": "A" * 100, "b": "B" * 20, "c": "é" * 5, "d": ""}
USER_MESSAGE = Message("user", "Go.")


def originals(**outputs: str) -> OriginalOutputs:
    originals_by_id = OriginalOutputs()
    for call_id, text in (outputs or OUTPUTS).items():
        originals_by_id.add(Message("tool", text, call_id=call_id, name="read"))
    return originals_by_id


def digest(text: str) -> str:
    return digest_of(text.encode())


class Stored(dict[str, bytes]):
    def __init__(self, *texts: str) -> None:
        super().__init__({digest(text): text.encode() for text in texts})

    def recall(self, key: str) -> bytes:
        if key not in self:
            raise DigestUnknown(verbatim("unknown"))
        return self[key]


def reach(request: list[Message], stored: Stored, outputs: OriginalOutputs | None = None) -> Reachability:
    return measure_reachability(7, request, outputs or originals(), stored.recall)


def test_complete_outputs_in_the_window_count_and_others_do_not() -> None:
    request = [
        USER_MESSAGE,
        Message("tool", OUTPUTS["a"], call_id="a"),
        Message("tool", OUTPUTS["b"][:-1], call_id="b"),
        Message("user", OUTPUTS["c"]),
    ]
    result = reach(request, Stored())
    assert result == Reachability(7, 4, 130, 100, 100, lost=("b", "c"), one_call_bytes=100)
    assert result.reachable_share == pytest.approx(100 / 130)


def test_handles_in_texts_and_arguments_are_followed() -> None:
    call = ToolCall("x", "write", json.dumps({"body": bare_marker(digest(OUTPUTS["c"]))}))
    request = [
        Message("user", f"see {bare_marker(digest(OUTPUTS['b']))}."),
        Message("assistant", "", (call,)),
    ]
    result = reach(request, Stored(OUTPUTS["b"], OUTPUTS["c"]))
    assert (result.window_bytes, result.reachable_bytes, result.lost) == (0, 30, ("a",))


def test_indexes_are_followed_to_any_depth() -> None:
    first = f"before:\n{digest(OUTPUTS['a'])}"
    second = f"before: {digest(first)}\n{digest(OUTPUTS['b'])} {digest(OUTPUTS['c'])}"
    request = [Message("user", bare_marker(digest(second)))]
    assert (
        reach(request, Stored(first, second, OUTPUTS["a"], OUTPUTS["b"], OUTPUTS["c"])).reachable_share == 1.0
    )
    without = reach(request, Stored(second, OUTPUTS["a"], OUTPUTS["b"], OUTPUTS["c"]))
    assert without.lost == ("a",)


def test_indexes_that_name_each_other_terminate() -> None:
    stored = Stored()
    first = "1" * 64
    other = "2" * 64
    stored[first] = other.encode()
    stored[other] = f"{first} {other}".encode()
    assert reach([Message("user", first)], stored).reachable_bytes == 0


def test_handles_quoted_by_an_original_do_not_count() -> None:
    """An output, or a body that the agent wrote, may quote handles: there is no index behind them."""
    quoting = f"log: {digest(OUTPUTS['a'])}"
    body = f"# see {digest(OUTPUTS['b'])}"
    outputs = originals(a=OUTPUTS["a"], b=OUTPUTS["b"], q=quoting)
    outputs.add(Message("assistant", "", (ToolCall("w", "write", json.dumps({"edits": [{"text": body}]})),)))
    stored = Stored(quoting, body, OUTPUTS["a"], OUTPUTS["b"])
    result = reach([Message("user", f"{digest(quoting)} {digest(body)}")], stored, outputs)
    assert result.lost == ("a", "b")


def test_wrong_bytes_are_not_the_output() -> None:
    stored = Stored()
    stored[digest(OUTPUTS["a"])] = OUTPUTS["a"].encode() + b"\n"
    assert reach([Message("user", digest(OUTPUTS["a"]))], stored).reachable_bytes == 0


def test_equal_outputs_are_found_together() -> None:
    outputs = originals(a="same", b="same")
    assert reach([Message("user", digest("same"))], Stored("same"), outputs).reachable_bytes == 8


def test_a_damaged_content_is_not_skipped() -> None:
    def recall(key: str) -> bytes:
        raise ContentDamaged(verbatim(f"{key} is damaged."))

    with pytest.raises(ContentDamaged):
        measure_reachability(1, [Message("user", "0" * 64)], originals(), recall)


def test_only_complete_runs_of_8_to_64_digits_are_handles() -> None:
    text = f"{'a' * 7} {'b' * 65} {'C' * 64} x{'d' * 64}y {'e' * 8}"
    assert list(find_handles([Message("user", text)])) == ["d" * 64, "e" * 8]


def test_the_values_of_arguments() -> None:
    nested = '{"a": ["x", {"b": "y"}], "n": 1}'
    assert argument_values(nested) == (nested.encode(), b"x", b"y")
    assert argument_values("free text") == (b"free text",)
    assert argument_values('"\\ud800"')[1] == b"\xed\xa0\x80"  # half a pair is a text too
    assert len(argument_values("[" * 100_000)) == 1


def test_arguments_are_reachable_in_their_call_or_through_handles() -> None:
    body = "B" * 50
    path = "src/a.py"
    text = "*** free text"
    outputs = OriginalOutputs()
    calls = (
        ToolCall("w", "write", json.dumps({"path": path, "body": body})),
        ToolCall("p", "patch", text),
        ToolCall("e", "edit", json.dumps({"path": "b", "n": 1})),
    )
    outputs.add(Message("assistant", "", calls))

    def shares(*now: ToolCall, stored: tuple[str, ...] = (), text: str = "") -> tuple[int, int]:
        result = reach([Message("user", text), Message("assistant", "", now)], Stored(*stored), outputs)
        return result.argument_bytes, result.reachable_argument_bytes

    assert shares(*calls) == (50 + 8 + 13 + 1, 72)
    assert shares() == (72, 0)
    swept = ToolCall("w", "write", json.dumps({"path": path, "body": bare_marker(digest(body))}))
    assert shares(swept, *calls[1:]) == (72, 22)
    assert shares(swept, *calls[1:], stored=(body,)) == (72, 72)
    assert shares(ToolCall("x", "write", calls[0].arguments)) == (72, 0)  # another call
    listed = json.dumps(["b", {"body": body}])  # as a list is stored
    assert shares(*calls[1:], text=digest(listed), stored=(listed,)) == (72, 14 + 50)
    arguments = calls[0].arguments
    assert shares(text=f"{digest(arguments)} {digest(text)}", stored=(arguments, text)) == (72, 71)


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
