"""Summary tasks: transcript lines, the check of what came, the rate of fallbacks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.context.log.file_notes import reverts_note
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.summary_task import (
    FallbackRate,
    brief_lines,
    fallback_rate,
    short_lines,
    transcript_lines,
    truncate_middle,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, HandoverTrigger, Redone, Undone
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import (
    NO_MODEL,
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    ObservationsMade,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.todo import TODO, TodoItem, list_text
from helix_desktop.words.summaries import explain_fallback, fallback_advice, fallback_text
from tests.support.histories import NASTY_TEXTS


def handover(fallback: str = "", origin: str = "", model: str = NO_MODEL) -> HandoverMade:
    trigger = HandoverTrigger.CONTINUED if origin else HandoverTrigger.THRESHOLD
    writer = model if fallback else "box/small"
    return HandoverMade(
        9, 0, (), "", "ab", 1, 10, 100, 20, 8, writer, trigger, fallback=fallback, origin=origin,
        calls=0 if origin else 1,
    )  # fmt: skip


def observations(fallback: str = "") -> ObservationsMade:
    writer = NO_MODEL if fallback else "box/small"
    return ObservationsMade(1, 9, (), (), "", "ab", 1, 10, 100, 8, writer, fallback=fallback)


def output(asked: str = "", note: str = "") -> ToolAnswered:
    """A large output of which an extract was asked for, or nothing."""
    return ToolAnswered(
        "c1", "read_file", "…", "ab", 90_000, 90, 40, form="compact" if asked and not note else "preview",
        asked=asked, intake_note=note,
    )  # fmt: skip


def log(*events: Event) -> list[RecordedEvent]:
    return [RecordedEvent(seq, 1_000 * seq, event) for seq, event in enumerate(events, 1)]


def test_the_sessions_of_a_workspace_are_counted_together() -> None:
    """Handovers and observations; what a session began with was counted where it was written."""
    one = fallback_rate(log(SessionStarted("a"), handover(), observations("No model."), handover()))
    other = fallback_rate(log(handover("Too large.", origin="s1"), observations()))
    assert (one.summaries, one.fallbacks) == (3, 1)
    assert (other.summaries, other.fallbacks) == (1, 0)
    both = one + other
    assert (both.summaries, both.fallbacks, both.newest_reason) == (4, 1, "No model.")
    assert (other + one).newest_reason == "No model."


def test_a_checkpoint_counts_once_it_is_put_in_place() -> None:
    """No request has it before. Calls that came to nothing are no summary, nor is one that a user changed."""
    prepared = HandoverDiscarded(9, prepared=HandoverPrepared(handover(), 41_000, 6_000))
    in_parts = handover("box/large read it in parts.", model="box/large")
    read_in_parts = HandoverDiscarded(9, prepared=HandoverPrepared(in_parts, 41_000, 6_000))
    changed = HandoverDiscarded(prepared=HandoverPrepared(replace(handover(), revises=2)))
    as_it_is = replace(handover(), calls=0, checkpoint=2)
    rate = fallback_rate(log(prepared, read_in_parts, HandoverDiscarded(50), changed))
    assert (rate.summaries, rate.fallbacks) == (0, 0)
    rate = fallback_rate(log(prepared, as_it_is, replace(as_it_is, revises=2)))
    assert (rate.summaries, rate.fallbacks) == (1, 0)
    no_model = replace(handover("The server refused."), calls=0, checkpoint=1)
    assert fallback_rate(log(prepared, no_model)).newest_reason == "The server refused."


def test_a_summary_that_a_model_wrote_in_parts_or_when_asked_again_is_no_failure() -> None:
    in_parts = handover("box/large read it in parts. box/small: It is empty.", model="box/large")
    again = handover("box/small wrote it. box/small: Sections are missing.", model="box/small")
    rate = fallback_rate(log(in_parts, again))
    assert (rate.summaries, rate.fallbacks) == (2, 0)


def test_what_no_longer_stands_in_the_context_is_not_counted() -> None:
    """A model wrote it again, or it was undone; what is redone counts."""
    failed = handover("The server refused.")
    written_again = replace(handover(), replaces=(1,))
    rate = fallback_rate(log(failed, written_again))
    assert (rate.summaries, rate.fallbacks) == (1, 0)
    assert fallback_rate(log(failed, Undone(1))) == FallbackRate()
    rate = fallback_rate(log(failed, Undone(1), Redone(1)))
    assert (rate.summaries, rate.fallbacks) == (1, 1)


def test_extracts_count_that_had_to_do_without_their_model() -> None:
    """Those that the agent or the user asked for; an output that nobody was asked about is no extract."""
    by_user = FormChosen(1, "compact", "…", 90, "names", intake_note="box/small couldn't write it.")
    rate = fallback_rate(log(output("names"), output("names", "Too late."), output(note="No room."), by_user))
    assert (rate.parts, rate.failed_parts, rate.slow_parts, rate.summaries) == (3, 2, 0, 0)
    assert rate.newest_reason == "box/small couldn't write it."
    assert not fallback_advice(rate), "two are few"
    rate += rate
    assert fallback_advice(rate) == "A faster model can be set in Settings → Model roles."
    assert explain_fallback(rate).endswith("Latest reason: box/small couldn't write it.")
    failed = [RecordedEvent(seq, 9_000, handover("No model.")) for seq in (5, 6, 7)]
    later = fallback_rate([*log(*[output()] * 4), *failed])
    assert fallback_advice(later) == "Another model can be set in Settings → Model roles."
    assert fallback_advice(rate + later) == "Other models can be set in Settings → Model roles."
    late, full = replace(output(), chosen="timeout", intake_note="Late."), replace(output(), chosen="agent")
    rate = fallback_rate(log(late, full))
    assert (rate.parts, rate.failed_parts, rate.slow_parts, rate.newest_reason) == (2, 1, 1, "Late.")


@pytest.mark.parametrize(
    ("failed", "slow", "words"),
    [(1, 1, "was too slow to"), (2, 0, "failed to"), (2, 1, "was too slow or failed to")],
)
def test_what_was_sent_instead_of_a_part_is_said(failed: int, slow: int, words: str) -> None:
    rate = FallbackRate(parts=9, failed_parts=failed, slow_parts=slow)
    outputs = "1 large output; its" if failed == 1 else "2 large outputs; their"
    assert fallback_text(rate) == f"A model {words} shorten {outputs} first and last lines were sent."
    both = "Models failed at 2 large outputs and 1 summary; simpler versions were sent instead."
    assert fallback_text(FallbackRate(9, 1, parts=9, failed_parts=2, slow_parts=slow)) == both


def test_cuts_and_extracts_that_did_without_their_model_count() -> None:
    """An extract that came, a cut that no model was asked about, and previews alone are no fallbacks.

    Logs of before cuts said that are counted as they were: each cut stood for a summary.
    """
    older = FoldMade(1, 9, "left out", 5, "ab", 1, 2, 90, "truncate")
    cut = replace(older, no_model_asked=True)
    note = FoldMade(1, 9, "noted", 5, "ab", 1, 2, 90)
    refused = replace(older, fallback="The server refused.")
    rate = fallback_rate(log(cut, refused, note, output(), output("A, B")))
    assert (rate.summaries, rate.fallbacks, rate.newest_reason) == (1, 1, "The server refused.")
    assert (rate.parts, rate.failed_parts) == (1, 0)
    rate = fallback_rate(log(older, cut))
    assert (rate.summaries, rate.fallbacks) == (1, 1)
    assert rate.newest_reason == "Older messages were left out to make room."
    rate = fallback_rate(log(output("A"), output("A", "The extract wasn't ready.")))
    assert (rate.parts, rate.failed_parts, rate.newest_reason) == (2, 1, "The extract wasn't ready.")


@pytest.mark.parametrize(("fallbacks", "is_high"), [(0, False), (5, False), (6, True)])
def test_more_than_a_twentieth_says_what_to_do(fallbacks: int, is_high: bool) -> None:
    """Without one, nothing is said."""
    rate = FallbackRate(100, fallbacks, "No model answered.")
    text = f"A model failed to write {fallbacks} of 100 summaries; simpler ones were sent instead."
    assert fallback_text(rate) == (text if fallbacks else "")
    assert bool(fallback_advice(rate)) == is_high
    if is_high:
        assert "No model answered." in explain_fallback(rate)
        assert "Settings → Model roles" in fallback_advice(rate)
    assert fallback_text(FallbackRate()) == fallback_advice(FallbackRate()) == "", "no share of nothing"


def test_a_long_message_is_cut_between_words() -> None:
    """Half a word at either end would read as another one."""
    words = [f"word{number}" for number in range(400)]
    for cap in range(200, 212):
        head, _, tail = truncate_middle(" ".join(words), cap).partition(" … ")
        assert head.split() == words[: len(head.split())]
        assert tail.split() == words[-len(tail.split()) :]
        assert cap - 20 < len(head) + len(tail) <= cap
    assert truncate_middle("x" * 400, 90) == f"{'x' * 60} … {'x' * 30}", "nothing in it is a word"


@given(st.lists(st.sampled_from(NASTY_TEXTS), max_size=9), st.integers(3, 300))
def test_no_line_of_a_cut_message_begins_a_message(texts: list[str], cap: int) -> None:
    first, *further = truncate_middle("\n".join(texts), cap).split("\n")
    assert len("\n".join([first, *further])) <= cap + len(" …\n| … ")
    assert all(line.startswith("| ") or line in ("|", "") for line in further)


def test_items_of_a_list_on_both_sides_of_what_is_left_out_are_two_lines() -> None:
    """On one line they read as one finding: that a test was added, and skipped."""
    items = [
        "1. `gauge.py` - Read the level in bars",
        *("2. Renamed everything else" for _ in range(9)),
        "3. `tide.py` - Skipped as the table is short",
    ]
    cut = truncate_middle("\n".join(items), 90)
    assert (
        cut == "1. `gauge.py` - Read the level in bars\n| 2. Renamed  …\n| …  Skipped as the table is short"
    )
    assert "\n" not in truncate_middle(" ".join(items), 90)


def test_a_record_cuts_what_was_recalled_and_no_small_output() -> None:
    """A recalled copy like its cached original; of a small output each line may be a result."""
    file, script = "a line of a file\n" * 200, "\n".join(f"result {n} of the script" for n in range(30))
    items = [
        LogItem(seq, 0, 1, 1, ToolAnswered("c", "tool", text, "d" * 64, 9, 9, 9, recalled=recalled), 9, 9)
        for seq, (text, recalled) in enumerate([(file, ""), (script, ""), (file, "d" * 64)], 2)
    ]
    cached, small, copy = (line.text for line in transcript_lines(items, swept={2, 3}))
    assert copy.removeprefix("e4") == cached.removeprefix("e2")
    assert len(copy) < 800
    assert all(line in small for line in script.splitlines())


def test_a_record_has_a_file_of_a_kilobyte_whole() -> None:
    """As it was read, each line behind its number, and as it was written; of a larger one both ends."""
    lines = [f"setting_{n} = {n * n}  # of the tide gauge" for n in range(26)]
    for count, is_whole in ((1, True), (4, False)):
        file = "\n".join(lines * count)
        read = "\n".join(f"{number}: {line}" for number, line in enumerate(lines * count, 1))
        write = ToolCall("c", "write_file", json.dumps({"path": "tide.ini", "content": file}))
        items = [
            LogItem(2, 0, 1, 1, AssistantSpoke("", "m", 9, (write,)), 9, 9),
            LogItem(3, 0, 1, 1, ToolAnswered("c", "read_file", read, "d" * 64, 9, 9, 9), 9, 9),
        ]
        for line in transcript_lines(items, swept={3}):
            assert all(setting in line.text for setting in lines) == is_whole


def test_a_record_says_what_the_user_reverted_before_their_words() -> None:
    note = reverts_note(["tide.py"], [], shown=["tide.py"])
    (line,) = transcript_lines([LogItem(7, 0, 1, 1, UserSpoke("Take bars.", 3, note=note), 9, 9)])
    assert line.text == "e7 user: [The user reverted the changes to tide.py.] Take bars."


def test_a_todo_list_stands_with_its_tasks_in_a_record() -> None:
    """With "0 of 2 done" alone, a handover can name no task of it."""
    text = list_text((TodoItem("Rework the lexer", "in_progress"), TodoItem("Measure the pager")))
    output = ToolAnswered(
        "t1", TODO, text, "e" * 64, 9, 9, 9, target="0 of 2 done", about=text.splitlines()[0]
    )
    (line,) = short_lines([LogItem(7, 0, 1, 1, output, 9, 9)])
    assert line.text == (
        "e7 tool todo 0 of 2 done: Todo list, 0 of 2 done:\n| [>] Rework the lexer\n| [ ] Measure the pager"
    )


def test_a_short_record_says_what_was_found() -> None:
    """A prepared summary is written from it, and what it can't tell is lost to all later ones."""
    hits = "9 matching lines\n" + "\n".join(f"{n}: ERROR harbor mail refused id={n}" for n in range(9))
    source = "def fee(tons, days):\n    return tons * days\n" * 40
    outputs = (
        ToolAnswered("c", "run_command", "5 ERROR\n44 WARN", "d" * 64, 9, 9, 9, about="5 ERROR", exit_code=0),
        ToolAnswered("c", "search_text", hits, "d" * 64, 9, 9, 9, about="9 matching lines"),
        ToolAnswered("c", "run_command", hits * 9, "d" * 64, 9, 9, 9, about="took 3 s", exit_code=1),
        ToolAnswered("c", "read_file", "Berths from 8 days on cost more.", "d" * 64, 9, 9, 9, about="Berths"),
        ToolAnswered("c", "read_file", source, "d" * 64, 9, 9, 9, about="fee"),
    )
    items = [LogItem(seq, 0, 1, 1, output, 9, 9) for seq, output in enumerate(outputs, 2)]
    levels, found, cut, note, read = (line.text for line in short_lines(items))
    assert levels == "e2 tool run_command  exit 0: 5 ERROR\n| 44 WARN"
    assert all(line in found for line in hits.splitlines())
    assert "took 3 s" in cut
    assert all(line in cut for line in hits.splitlines()[:5])
    assert len(cut) < 800
    assert note.endswith("Berths from 8 days on cost more.")
    assert read == "e6 tool read_file : fee"


_PASSED = "".join(f"test_{n} (test_tide.TestTide.test_{n}) ... ok\n" for n in range(60))
_OTHER = "  a line of a traceback\n" * 40


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            f"{_PASSED}FAIL: test_ebb (test_tide.TestTide.test_ebb)\n{_OTHER}"
            f"ERROR: test_flood (test_tide.TestTide.test_flood)\n{_OTHER}"
            "Ran 62 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n",
            ["FAIL: test_ebb (", "ERROR: test_flood (", "FAILED (failures=1, errors=1)"],
        ),
        (
            f"{_PASSED}FAILED tests/test_tide.py::test_ebb - {'assert 1 == 2 ' * 20}\n"
            f"FAILED tests/test_tide.py::test_flood[a b]\n=== 2 failed in 0.10s ===\n{_OTHER}",
            ["FAILED tests/test_tide.py::test_ebb - ", "::test_flood[a b]\n", "=== 2 failed in 0.10s ==="],
        ),
        (
            f"{_PASSED}Ran 75 tests in 0.1s\n\nOK\n{_OTHER}tide: must be 1 or more\n",
            ["Ran 75 tests in 0.1s\n| OK\n", "tide: must be 1 or more"],
        ),
    ],
)
def test_a_cut_output_keeps_the_lines_that_say_how_tests_went(text: str, kept: list[str]) -> None:
    """Which tests failed is what a summary has to say of a run, not which passed."""
    output = ToolAnswered("c", "run_command", text, "d" * 64, 9, 9, 9, about="exit 1", exit_code=1)
    (line,) = short_lines([LogItem(7, 0, 1, 1, output, 9, 9)])
    for cut in (line.text, truncate_middle(text, 300)):
        assert [part for part in kept if part not in cut] == []
    assert len(truncate_middle(text, 600)) <= 600 + len(" …\n| … ")


def test_a_record_names_what_a_cut_edit_defines() -> None:
    """Else an observation could not name the tests that were written; what stood there before is not new."""
    old = "def test_kept():\n" + "    assert level() == 1\n" * 20
    new = old + "\n\n" + "def test_added():\n" + "    assert level() == 2\n" * 20
    edit = json.dumps({"path": "tests/test_gauge.py", "old_text": old, "new_text": new + old})
    patch = "*** Update File: A.java\n def test_context():\n+    public void addsLevels() {\n"
    patch += "+        run();\n" * 60 + '+it("adds levels", () => {\n'
    calls = (
        *(ToolCall("c1", "edit_file", edit), ToolCall("c2", "read_file", '{"path": "a.py"}')),
        ToolCall("c3", "apply_patch", json.dumps({"patch": patch})),
    )
    items = [LogItem(7, 0, 1, 1, AssistantSpoke("I add tests.", "m", 9, calls), 9, 9)]
    (whole,), (brief,) = transcript_lines(items), brief_lines(items)
    assert brief.text == (
        "e7 assistant: I add tests. -> calls edit_file (defines test_added), read_file, "
        "apply_patch (defines addsLevels, adds levels)"
    )
    assert " (defines test_added); read_file" in whole.text
    assert "test_kept)" not in whole.text
