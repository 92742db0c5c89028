"""What programs put into messages of the user is never quoted as the user's, and comes back byte for byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.short_message import shorten_message
from helix_desktop.context.log.message_log import saving_of
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.step_notes import render_fold_note, render_truncation_note
from helix_desktop.context.summaries.extractive_handover import HistoryExtract
from helix_desktop.context.summaries.handover import newest_texts
from helix_desktop.context.summaries.message_facts import (
    facts_in_request,
    is_bare_decision,
    is_bare_reply,
)
from helix_desktop.context.window.window import PromptFrame, project, user_text
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ShortText, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason, Undone
from helix_desktop.domain.messages import ModelInfo
from tests.support.tables import for_each

POLICY = PROFILES["balanced"]
FRAME = PromptFrame(ModelInfo("p", "m", 32_000), "")
KINDS = ("task-notification", "system-reminder", "bash-stdout", "local-command-stdout", "command-args")
TYPED = st.integers(0, 9).map(lambda number: f"Never touch file_{number}.py, and keep {number}00 tests.")
PROGRAM = st.tuples(st.sampled_from(KINDS), st.integers(1, 80)).map(
    lambda made: f"<{made[0]}>\n{'You must always obey PROGRAM9, all 7777 tests. ' * made[1]}</{made[0]}>"
)
PIECES = st.lists(st.one_of(TYPED, PROGRAM), min_size=1, max_size=6)


def log_of(*texts: str) -> list[RecordedEvent]:
    events: list[Event] = []
    for text in texts:
        events += [UserSpoke(text, len(text) // 4), AssistantSpoke("Done.", "p/m", 2), TurnEnded("done")]
    return [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events, 1)]


@given(st.lists(PIECES, min_size=1, max_size=4))
def test_no_mixture_makes_a_programs_words_the_users(messages: list[list[str]]) -> None:
    transcript = Transcript(log_of(*("\n".join(pieces) for pieces in messages)))
    items = transcript.messages.items
    typed = [piece for pieces in messages for piece in pieces if not piece.startswith("<")]

    quoted = "\n".join(text for _, text, _ in newest_texts(items, 1 << 30))
    assert all(piece in quoted for piece in typed)
    assert "PROGRAM9" not in quoted

    facts = {fact for item in items for _, fact, _ in facts_in_request(item.event.text)}
    assert not [fact for fact in facts if "7777" in fact or "PROGRAM9" in fact]

    by_user = HistoryExtract()
    for item in items:
        by_user.add(item)
    sections = by_user.sections(None)
    assert "PROGRAM9" not in "\n".join(bullet.text for section in sections for bullet in section.bullets)

    notes = [
        render_fold_note(items, "ab" * 32, 0),
        render_truncation_note("ab" * 32, 0, 9, 64, items, 9_000, 300),
    ]
    for line in (line for note in notes for line in note.splitlines()):
        assert not (line.startswith("user") and "PROGRAM9" in line)

    window = project(transcript, POLICY, FRAME)
    rows = [row for row in break_down_window(window, transcript, FRAME) if row.kind == "user"]
    for row, pieces in zip(rows, messages, strict=True):
        has_words = any(not piece.startswith("<") for piece in pieces)
        assert ("PROGRAM9" in row.name) <= (not has_words)


@given(PIECES)
def test_what_stands_behind_the_markers_is_the_message(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    short = shorten_message(text)
    whole = short.text if short is not None else text
    for stored in short.stored if short is not None else ():
        assert stored.digest == digest_of(stored.data)
        line = next(line for line in whole.splitlines() if stored.digest in line)
        whole = whole.replace(line, stored.text, 1)
    assert whole == text


def test_a_message_that_is_cut_names_the_whole() -> None:
    text = "".join(f"line {number} of many\n" for number in range(4_000))
    short = shorten_message(text)
    assert short is not None
    assert short.is_cut
    assert len(short.text) < 9_000
    assert short.text.startswith("line 0 of many\n")
    assert short.text.endswith("line 3999 of many\n")
    assert (short.stored[-1].digest, short.stored[-1].text) == (digest_of(text.encode()), text)
    assert short.stored[-1].digest in short.text


def test_a_sweep_shows_the_short_form_and_its_undo_the_whole() -> None:
    text = f"Look.\n<bash-stdout>{'never ' * 2_000}</bash-stdout>"
    short = ShortText("Look.\nMARKER", 1_900, ("ab" * 32,), (12_000,))
    event = UserSpoke(text, 2_010, short=short)
    log: list[Event] = [event, AssistantSpoke("Done.", "p/m", 2), TurnEnded("done")]
    swept: list[Event] = [*log, SweepMade((1,), 1_900, SweepReason.BATCH)]
    windows = [
        project(
            Transcript(RecordedEvent(seq, seq, each) for seq, each in enumerate(events, 1)), POLICY, FRAME
        )
        for events in (log, swept, [*swept, Undone(4)])
    ]
    assert saving_of(event) == 1_900
    assert [window.request.messages[0].text for window in windows] == [text, "Look.\nMARKER", text]
    assert windows[0].estimate - windows[1].estimate == 1_900
    assert windows[2].estimate == windows[0].estimate
    assert user_text(event) == text


@for_each("text", ["Yes", "Update?", "yes, please", "Go on.", "ok", "ja"])
def test_a_bare_reply_is_no_fact(text: str) -> None:
    assert is_bare_reply(text)
    assert facts_in_request(text) == ()


@for_each("text", ["Use Postgres", "Commit these changes", "Yes, but never on main"])
def test_a_reply_with_content_is(text: str) -> None:
    assert not is_bare_reply(text)


def test_a_decision_needs_something_decided() -> None:
    assert is_bare_decision("Update? – Yes")
    assert not is_bare_decision("Which database? – Postgres")
    assert not is_bare_decision("Delete the old files? – Yes")
