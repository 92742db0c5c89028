"""The handover that a session begins with, whatever happened in the one that it continues."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.handover_revision import (
    continued_handover,
    continued_title,
    revised_handover,
)
from helix_desktop.context.summaries.ledger_entries import (
    CommandRun,
    Failure,
    GitCommit,
    LedgerEntry,
    LedgerFile,
    PullRequest,
)
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from tests.support.histories import SessionSimulator, build_history, count_tokens, histories
from tests.support.message_linter import lint
from tests.support.reachability import follow_handles, index_digests


@given(histories())
def test_everything_of_the_other_session_is_reachable(simulator: SessionSimulator) -> None:
    """Each output and argument, by the handles in the first request, which is valid."""
    transcript = simulator.transcript
    if not transcript.messages.items:
        return
    policy = msgspec.structs.replace(simulator.policy, handle_digits=64)
    event, index_text = continued_handover(transcript, "other", 0, policy, simulator.frame.info.window)
    event = msgspec.structs.replace(event, tokens=count_tokens(render_handover(event, ())))
    start: tuple[Event, ...] = (SessionStarted("again"), event, UserSpoke("Go on.", 4))
    log = [RecordedEvent(seq, simulator.clock(), fact) for seq, fact in enumerate(start, 1)]
    window = project(Transcript(log), policy, simulator.frame)
    assert lint(window.request.messages) == []
    contents = simulator.contents | {event.index: index_text.encode("utf-8", "surrogatepass")}
    reached = follow_handles(window.request, contents, (*index_digests(simulator), event.index)).digests
    for item in transcript.messages.items:
        match item.event:
            case ToolAnswered(digest=digest) if digest:
                assert digest in reached
            case AssistantSpoke(short=short):
                assert {digest for call in short for digest in call.digests} <= reached


def test_a_session_continues_an_edited_handover_as_any_other() -> None:
    """Its words of the user go along; what it replaced is in the other session."""
    simulator = build_history(12, size=2_000)
    simulator.hand_over(1_000)
    ((seq, handover),) = simulator.transcript.rewrites.handovers.items()
    edited = msgspec.structs.replace(revised_handover(seq, handover, handover.sections), replaces=(1,))
    simulator.record(edited)
    event, _ = continued_handover(simulator.transcript, "other", seq + 1, simulator.policy, 100_000)
    log = [RecordedEvent(1, 1, SessionStarted("again")), RecordedEvent(2, 1, event)]
    assert Transcript(log).origin == event
    assert event.quotes
    assert event.replaces == ()


def test_what_stands_whole_below_is_not_said_above() -> None:
    """The user's words and the newest answer go along verbatim."""
    simulator = SessionSimulator(PROFILES["balanced"])
    rule, finding = (
        "Never touch the table of users.",
        "`read_block` in src/parse.py:31 dropped the last block.",
    )
    simulator.send_message(f"Find out why the end is lost. {rule}")
    simulator.step(f"It was because of a line end. {finding}", 0)
    answer = "`read_block` in src/parse.py:34 returns the rest now, and all 38 tests pass in 12 s."
    simulator.send_message("Mend it.")
    simulator.step(answer, 0)
    event, _ = continued_handover(simulator.transcript, "other", 0, simulator.policy, 100_000)
    text = render_handover(event, (), (), event.quotes)
    assert text.count(answer) == text.count("38 tests") == 1
    assert text.count(f"- {finding}") == 1, "of an earlier answer only this is left"
    assert "The user wrote" not in text
    assert "Last request, answered: Mend it." in text


def test_the_ledger_names_no_event_of_the_other_session() -> None:
    """Its digests can be recalled here; its event numbers would name other events, or none."""
    entries: tuple[LedgerEntry, ...] = (
        LedgerFile("a.py", "re", "0123456789ab", seq=95, stored_seq=16, content="before edits"),
        LedgerFile("b.py", "r", "123456789abc", seq=20, stored_seq=18, content="part before edits"),
        LedgerFile("c.py", "e", "", seq=21),
        LedgerFile("d.py", "r", "", seq=22, content="failed"),
        CommandRun("make e2e", 0, "23456789abcd", 97, result="stage e5: 8 passed"),
        Failure("read_file", "e.py", "no such file", 26),
        GitCommit("2222222", "main", "Read the last block", 30),
        PullRequest("https://example.com/pull/12", 31),
    )
    simulator = build_history(12, size=2_000)
    simulator.hand_over(1_000)
    (handover,) = simulator.transcript.rewrites.handovers.values()
    handover = msgspec.structs.replace(handover, ledger="\n".join(entry.line for entry in entries))
    event, _ = continued_handover(simulator.transcript, "other", 0, simulator.policy, 100_000, handover)
    assert event.ledger.splitlines() == [
        "re a.py 0123456789ab (edited since)",
        "r b.py 123456789abc (part; edited since)",
        "e c.py",
        "r d.py: failed",
        "$ make e2e (exit 0) 23456789abcd: stage e5: 8 passed",
        "! read_file e.py: no such file",
        "commit 2222222: Read the last block (main, no push since)",
        "pull request: https://example.com/pull/12",
    ]


@pytest.mark.parametrize(
    ("title", "titles", "following"),
    [
        ("Ports", (), "Ports (2)"),
        ("Ports", ("Ports (2)", "Ports (3)"), "Ports (4)"),
        ("Ports (2)", ("Ports (2)",), "Ports (3)"),
        ("Ports (8080)", (), "Ports (8080) (2)"),
        ("(2)", (), "(2) (2)"),
    ],
)
def test_titles_go_on(title: str, titles: tuple[str, ...], following: str) -> None:
    """With the next number that no session has."""
    assert continued_title(title, titles) == following
