"""Extreme content: empty, huge, a single repeated character, and invalid text."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.intake.marker import MIN_CHARS, sweep_arguments
from helix_desktop.context.intake.output_forms import preview_output
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import NO_OUTPUT
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import first_line
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, conversation_of
from tests.support.message_linter import lint, lint_alternating
from tests.support.reachability import unreachable_content
from tests.support.tables import for_each

MILLION = 1_000_000
HUGE = {
    "spaces": " " * MILLION,
    "line feeds": "\n" * 200_000,
    "one letter": "a" * MILLION,
    "one sign of four bytes": "𝄞" * 200_000,
    "nothing that shows": "\u200b\u2060\ufeff" * 100_000,
    "long lines of source": f"public {'a' * 100_000}\n" * 8,
    "one long line of data": msgspec.json.encode(list(range(120_000))).decode(),
}


@pytest.mark.parametrize("name", HUGE)
def test_any_output_survives_every_rewrite(name: str) -> None:
    """Shown, previewed, swept, folded, handed over: each request is valid, and every byte comes back."""
    text = HUGE[name]
    simulator = SessionSimulator(session_rewrites.eager_policy(PROFILES["balanced"]))
    simulator.send_message("Look.")
    simulator.step("I look.", 2)
    simulator.answer_call(0, text)
    simulator.answer_call(0, text + "x", form="preview")
    for number in range(3):
        simulator.step(f"More {number}.", 1)
        simulator.answer_call(0, "ok")
    session_rewrites.sweep_all(simulator, 2)
    assert unreachable_content(simulator) == []
    session_rewrites.fold_all(simulator)
    assert unreachable_content(simulator) == []
    simulator.hand_over(0)
    simulator.step("So.", 0)
    assert unreachable_content(simulator) == []
    for sent in simulator.sent_requests:
        assert lint(sent.request.messages) == []
        assert lint_alternating(sent.request.messages) == []
    assert simulator.contents[digest_of(text.encode())] == text.encode()


@pytest.mark.parametrize("is_source", [False, True])
@pytest.mark.parametrize("name", HUGE)
def test_a_preview_respects_its_budget(name: str, is_source: bool) -> None:
    """About the characters that its tokens allow, and one line at the end that leads to all of it."""
    preview = preview_output(HUGE[name], "ab" * 32, 600, is_source=is_source)
    assert len(preview) <= 600 * 4
    assert preview.splitlines()[-1].startswith("[CACHED]")
    assert len(first_line(HUGE[name])) <= 60


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n", "\u3000"])
def test_an_empty_output_is_valid_in_every_form(text: str) -> None:
    """No wire format takes an empty message: the text says that there was nothing."""
    simulator = conversation_of("Look.")
    simulator.step("", 1)
    simulator.answer_call(0, text)
    assert simulator.window().request.messages[-1].text == NO_OUTPUT
    target = session_rewrites.pin(simulator, 0)
    simulator.step("Done.", 0)
    simulator.send_message("And?")
    simulator.step("Fine.", 0)
    simulator.send_message("So?")
    simulator.hand_over(0)
    messages = simulator.window().request.messages
    assert target in simulator.transcript.rewrites.pinned
    assert (lint(messages), lint_alternating(messages), unreachable_content(simulator)) == ([], [], [])


ARGUMENTS = {
    "a file": '{"path": "a.py", "content": %s}',
    "an empty key": '{"": %s}',
    "a list": '{"edits": [{"old": "x", "new": %s}], "n": 1.50, "big": 123456789012345678901234567890}',
    "no object": "[%s]",
    "no JSON": "*** Begin Patch\n%s",
    "broken JSON": '{"content": %s',
    "half a character": '{"content": "\\ud83d", "rest": %s}',
    "the same key twice": '{"content": %s, "content": "short"}',
    "numbers as written": '{"n": [1.50, 1e3, -0], "big": 123456789012345678901234567890, "text": %s}',
}


@for_each("name", ARGUMENTS)
def test_large_arguments_of_any_kind_can_be_read_back(name: str) -> None:
    """As a marker a call is still one JSON object; its content is stored byte for byte."""
    body = msgspec.json.encode("def f():\n\treturn 'é\\u2028'\n" * 60).decode()
    arguments = ARGUMENTS[name].replace("%s", body)
    short = sweep_arguments(ToolCall("c", "write_file", arguments))
    assert short is not None
    assert isinstance(msgspec.json.decode(short.call.arguments), dict)
    assert len(short.call.arguments) < 600
    raw = arguments.partition('"edits": ')[2].partition(', "n"')[0] or arguments
    texts = [text.encode("utf-8", "surrogatepass") for text in short.texts]
    assert short.call.digests == tuple(map(digest_of, texts))
    assert short.call.sizes == tuple(map(len, texts))
    stored = b"\n".join(texts)
    assert (
        arguments.encode() in stored or msgspec.json.decode(body).encode() in stored or raw.encode() in stored
    )


def test_small_values_stay_as_the_model_wrote_them() -> None:
    """Numbers, escapes and all: only the large value is replaced."""
    body = msgspec.json.encode("x" * 900).decode()
    small = r'"n": 1.50, "at": "src\/a.py", "flags": [1e3,  null], "big": 12345678901234567890123'
    arguments = f'{{{small}, "new": {body}}}'
    short = sweep_arguments(ToolCall("c", "edit_file", arguments))
    assert short is not None
    for part in ('"n":1.50', '"at":"src\\/a.py"', '"flags":[1e3,  null]', '"big":12345678901234567890123'):
        assert part in short.call.arguments
    assert short.texts == ("x" * 900,)
    for size in (MIN_CHARS // 2, MIN_CHARS - 30):
        small = msgspec.json.encode({"content": "x" * size}).decode()
        assert sweep_arguments(ToolCall("c", "write_file", small)) is None, "a marker would save nothing"


@pytest.mark.parametrize(("value", "kind"), [("[%s]", "array"), ('{"new": %s}', "object"), ("%s", "")])
def test_a_marker_says_what_it_stands_for_if_that_was_no_string(value: str, kind: str) -> None:
    """It is a string, and the model imitated it where its tool takes an array of edits."""
    body = value.replace("%s", msgspec.json.encode("x = 1\n" * 300).decode())
    short = sweep_arguments(ToolCall("c", "multi_edit", f'{{"path": "a.py", "edits": {body}}}'), 12)
    assert short is not None
    (marker,) = [text for text in msgspec.json.decode(short.call.arguments).values() if "[CACHED]" in text]
    assert (f" KB, sent as a JSON {kind}" in marker) == bool(kind)
    assert ("sent as" in marker) == bool(kind)
