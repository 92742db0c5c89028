"""Outputs count as reachable when their very bytes come back through what stands in the window."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentDamaged, DigestUnknown
from helix_desktop.domain.messages import Message, ToolCall
from helix_desktop.replay.reachability import (
    OriginalOutputs,
    Reachability,
    argument_values,
    find_handles,
    measure_reachability,
)

OUTPUTS = {"a": "A" * 100, "b": "B" * 20, "c": "é" * 5, "d": ""}
ASKED = Message("user", "Go.")


def originals(**outputs: str) -> OriginalOutputs:
    made = OriginalOutputs()
    for call_id, text in (outputs or OUTPUTS).items():
        made.add(Message("tool", text, call_id=call_id, name="read"))
    return made


def digest(text: str) -> str:
    return digest_of(text.encode())


class Stored(dict[str, bytes]):
    """Contents by digest."""

    def __init__(self, *texts: str) -> None:
        super().__init__({digest(text): text.encode() for text in texts})

    def recall(self, key: str) -> bytes:
        if key not in self:
            raise DigestUnknown("unknown")
        return self[key]


def reach(request: list[Message], stored: Stored, known: OriginalOutputs | None = None) -> Reachability:
    return measure_reachability(7, request, known or originals(), stored.recall)


def test_whole_outputs_in_the_window_count_and_others_do_not() -> None:
    request = [
        ASKED,
        Message("tool", OUTPUTS["a"], call_id="a"),
        Message("tool", OUTPUTS["b"][:-1], call_id="b"),
        Message("user", OUTPUTS["c"]),
    ]
    found = reach(request, Stored())
    assert found == Reachability(7, 4, 130, 100, 100, lost=("b", "c"))
    assert found.reachable_share == pytest.approx(100 / 130)


def test_an_output_under_another_call_does_not_count() -> None:
    assert reach([Message("tool", OUTPUTS["a"], call_id="b")], Stored()).reachable_bytes == 0


def test_handles_in_texts_and_arguments_are_followed() -> None:
    call = ToolCall("x", "write", json.dumps({"body": bare_marker(digest(OUTPUTS["c"]))}))
    request = [
        Message("user", f"see {bare_marker(digest(OUTPUTS['b']))}."),
        Message("assistant", "", (call,)),
    ]
    found = reach(request, Stored(OUTPUTS["b"], OUTPUTS["c"]))
    assert (found.window_bytes, found.reachable_bytes, found.lost) == (0, 30, ("a",))


def test_indexes_are_followed_to_any_depth() -> None:
    first = f"before:\n{digest(OUTPUTS['a'])}"
    second = f"before: {digest(first)}\n{digest(OUTPUTS['b'])} {digest(OUTPUTS['c'])}"
    request = [Message("user", bare_marker(digest(second)))]
    assert (
        reach(request, Stored(first, second, OUTPUTS["a"], OUTPUTS["b"], OUTPUTS["c"])).reachable_share == 1.0
    )
    without = reach(request, Stored(second, OUTPUTS["a"], OUTPUTS["b"], OUTPUTS["c"]))
    assert without.lost == ("a",)


def test_indexes_that_name_each_other_end() -> None:
    stored = Stored()
    one, other = "1" * 64, "2" * 64
    stored[one], stored[other] = other.encode(), f"{one} {other}".encode()
    assert reach([Message("user", one)], stored).reachable_bytes == 0


def test_handles_quoted_by_an_original_are_no_way() -> None:
    """An output, or a body that the agent wrote, may quote handles: no index stands behind them."""
    quoting = f"log: {digest(OUTPUTS['a'])}"
    written = f"# see {digest(OUTPUTS['b'])}"
    known = originals(a=OUTPUTS["a"], b=OUTPUTS["b"], q=quoting)
    known.add(Message("assistant", "", (ToolCall("w", "write", json.dumps({"edits": [{"text": written}]})),)))
    stored = Stored(quoting, written, OUTPUTS["a"], OUTPUTS["b"])
    found = reach([Message("user", f"{digest(quoting)} {digest(written)}")], stored, known)
    assert found.lost == ("a", "b")


def test_wrong_bytes_are_not_the_output() -> None:
    stored = Stored()
    stored[digest(OUTPUTS["a"])] = OUTPUTS["a"].encode() + b"\n"
    assert reach([Message("user", digest(OUTPUTS["a"]))], stored).reachable_bytes == 0


def test_equal_outputs_are_found_together() -> None:
    known = originals(a="same", b="same")
    assert reach([Message("user", digest("same"))], Stored("same"), known).reachable_bytes == 8


def test_a_damaged_content_is_not_passed_over() -> None:
    def recall(key: str) -> bytes:
        raise ContentDamaged(f"{key} is damaged.")

    with pytest.raises(ContentDamaged):
        measure_reachability(1, [Message("user", "0" * 64)], originals(), recall)


def test_only_whole_runs_of_64_are_handles() -> None:
    text = f"{'a' * 63} {'b' * 65} {'C' * 64} x{'d' * 64}y"
    assert list(find_handles([Message("user", text)])) == ["d" * 64]


def test_nothing_to_reach_is_all_of_it() -> None:
    assert reach([ASKED], Stored(), OriginalOutputs()).reachable_share == 1.0


@given(st.lists(st.booleans(), min_size=3, max_size=3))
def test_what_is_stored_and_named_is_what_is_reached(kept: list[bool]) -> None:
    names = [name for name, one in zip("abc", kept, strict=True) if one]
    request = [Message("user", " ".join(digest(OUTPUTS[name]) for name in names))]
    found = reach(request, Stored(*OUTPUTS.values()))
    assert found.reachable_bytes == sum(len(OUTPUTS[name].encode()) for name in names)


def test_the_values_of_arguments() -> None:
    nested = '{"a": ["x", {"b": "y"}], "n": 1}'
    assert argument_values(nested) == (nested.encode(), b"x", b"y")
    assert argument_values("free text") == (b"free text",)
    assert argument_values('"\\ud800"')[1] == b"\xed\xa0\x80"  # half a pair is a text too
    assert len(argument_values("[" * 100_000)) == 1


def test_arguments_are_reachable_in_their_call_or_through_handles() -> None:
    body, path, text = "B" * 50, "src/a.py", "*** free text"
    known = OriginalOutputs()
    calls = (
        ToolCall("w", "write", json.dumps({"path": path, "body": body})),
        ToolCall("p", "patch", text),
        ToolCall("e", "edit", json.dumps({"path": "b", "n": 1})),
    )
    known.add(Message("assistant", "", calls))

    def shares(*now: ToolCall, stored: tuple[str, ...] = (), said: str = "") -> tuple[int, int]:
        found = reach([Message("user", said), Message("assistant", "", now)], Stored(*stored), known)
        return found.argument_bytes, found.reachable_argument_bytes

    assert shares(*calls) == (50 + 8 + 13 + 1, 72)
    assert shares() == (72, 0)
    masked = ToolCall("w", "write", json.dumps({"path": path, "body": bare_marker(digest(body))}))
    assert shares(masked, *calls[1:]) == (72, 22)
    assert shares(masked, *calls[1:], stored=(body,)) == (72, 72)
    assert shares(ToolCall("x", "write", calls[0].arguments)) == (72, 0)  # another call
    whole = calls[0].arguments
    assert shares(said=f"{digest(whole)} {digest(text)}", stored=(whole, text)) == (72, 71)
