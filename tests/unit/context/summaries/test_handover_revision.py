"""Handovers edited, written again, compared, previewed and continued."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.summaries.artifact_ledger import (
    CommandRun,
    Failure,
    LedgerEntry,
    LedgerFile,
)
from helix_desktop.context.summaries.handover import (
    UNSUPPORTED,
    comparable_sentence,
    previous_handover,
    render_handover,
)
from helix_desktop.context.summaries.handover_revision import (
    ComparedSection,
    compare_handovers,
    continued_handover,
    continued_title,
    from_fields,
    preview_handover,
    revised_handover,
    same_range,
)
from helix_desktop.context.summaries.legal_ranges import furthest_range, legal_ranges
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import Bullet, Section, SummaryCoverage
from tests.support.histories import (
    SessionSimulator,
    build_history,
    conversation_of,
    count_tokens,
    disable_folding,
    histories,
)
from tests.support.message_linter import lint
from tests.support.reachability import follow_handles, index_digests
from tests.support.session_rewrites import exclude, write_checkpoint


@pytest.mark.parametrize(
    ("typed", "bullet"),
    [
        ("- The tests pass. [e4]", Bullet("The tests pass.", (4,))),
        ("- The tests pass [e4].", Bullet("The tests pass", (4,))),
        ("- The tests pass. [e4] I saw it.", Bullet("The tests pass. I saw it.", (4,))),
        ("- The tests pass. [e4; e5] I saw it. [e9]", Bullet("The tests pass. I saw it.", (4, 5, 9))),
        ("- The tests pass. [e4]\n  I saw it.", Bullet("The tests pass. I saw it.", (4,))),
        ("- It prints `[e]` and [error].", Bullet("It prints `[e]` and [error].", ())),
    ],
)
def test_a_source_counts_wherever_more_was_typed(typed: str, bullet: Bullet) -> None:
    sections = from_fields({TITLES[0]: typed}, frozenset(range(10)))
    assert sections[0].bullets == (bullet,)


@given(histories())
def test_the_same_cut_has_the_tokens_that_the_window_shows(simulator: SessionSimulator) -> None:
    """Noted steps count as their note: the messages in it were counted in full."""
    transcript = simulator.transcript
    for cut in legal_ranges(transcript, 0, in_newest_turn=True):
        assert same_range(transcript, cut.upto, cut.kept_seq).tokens == cut.tokens


_WORDS = st.sampled_from(["the", "parser", "drops", "lines", "a.py", "9f3ac21e", "tests", "pass", "42", " "])
_BULLETS = st.builds(
    Bullet, st.lists(_WORDS, min_size=1, max_size=6).map(" ".join), st.just(()) | st.just((4,))
)
_HANDOVERS = st.lists(st.lists(_BULLETS, max_size=5), min_size=6, max_size=6).map(
    lambda lists: [Section(title, tuple(bullets)) for title, bullets in zip(TITLES, lists, strict=True)]
)


def _sentences(sections: list[Section]) -> Counter[tuple[str, str]]:
    return Counter(
        (section.title, comparable_sentence(bullet.text))
        for section in sections
        for bullet in section.bullets
    )


def _changes(sections: tuple[ComparedSection, ...]) -> dict[str, list[str]]:
    return {part.title: [item.change for item in part.items] for part in sections if part.items}


@given(_HANDOVERS, _HANDOVERS)
def test_every_sentence_of_both_is_there_once(before: list[Section], after: list[Section]) -> None:
    """Dropped, changed, moved and same ones are the former handover; all but dropped ones the newer."""
    compared = compare_handovers(before, after)
    old = Counter(
        (item.moved_from or part.title, comparable_sentence(item.before.text))
        for part in compared
        for item in part.items
        if item.before is not None
    )
    new = Counter(
        (part.title, comparable_sentence(item.after.text))
        for part in compared
        for item in part.items
        if item.after is not None
    )
    assert (old, new) == (_sentences(before), _sentences(after))
    dropped = {
        comparable_sentence(i.before.text) for p in compared for i in p.items if i.after is None and i.before
    }
    assert not dropped & {
        comparable_sentence(i.after.text) for p in compared for i in p.items if i.before is None and i.after
    }
    has_dropped = [bool(part.count("dropped")) for part in compared]
    assert has_dropped == sorted(has_dropped, reverse=True)


@given(_HANDOVERS)
def test_one_handover_says_the_same_as_itself(sections: list[Section]) -> None:
    """Whatever its spaces, sources and marks."""
    respaced = [
        Section(
            section.title,
            tuple(Bullet(f" {bullet.text.replace(' ', '  ')} {UNSUPPORTED}") for bullet in section.bullets),
        )
        for section in sections
    ]
    changes = {item.change for part in compare_handovers(sections, respaced) for item in part.items}
    assert changes <= {"same"}


def test_dropped_first_then_changed_moved_and_added() -> None:
    """The words that differ are marked; a sentence of other words is no changed one."""
    before = [
        Section("Technical Details", (Bullet("Port 8080 is the server's."), Bullet("Rows are cached."))),
        Section(
            "Current Issues", (Bullet("The login fails with code 401 in Firefox."), Bullet("Disk full."))
        ),
    ]
    after = [
        Section(
            "Current Issues",
            (Bullet("The login fails with code 403 in Firefox."), Bullet("Rows are cached.")),
        ),
        Section("TODO Items", (Bullet("Ship it."),)),
    ]
    compared = compare_handovers(before, after)
    assert _changes(compared) == {
        "Technical Details": ["dropped"],
        "Current Issues": ["dropped", "changed", "moved"],
        "TODO Items": ["added"],
    }
    dropped, changed, moved = compared[1].items
    assert dropped.before == Bullet("Disk full.")
    assert [changed.before.text[start:end] for start, end in changed.before_spans if changed.before] == [
        "401"
    ]
    assert moved.moved_from == "Technical Details"


def test_another_request_that_begins_alike_is_no_changed_one() -> None:
    """Of another event only a few characters may differ; of the same one, or of none, more."""
    begin = "The user asked: We're solving the following issue in our repository. Here's the issue text: "
    first = f"{begin}Support reentrant orderly consumption"
    other = f"{begin}Add a size to the statistics"

    def changes(before: Bullet, after: Bullet) -> dict[str, list[str]]:
        title = TITLES[0]
        return _changes(compare_handovers([Section(title, (before,))], [Section(title, (after,))]))

    assert changes(Bullet(first, (12,)), Bullet(other, (40,))) == {TITLES[0]: ["dropped", "added"]}
    assert changes(Bullet(first, (12,)), Bullet(other, (12, 40))) == {TITLES[0]: ["changed"]}
    assert changes(Bullet(first), Bullet(other, (40,))) == {TITLES[0]: ["changed"]}
    passed = [Bullet(f"The tests pass: {count} of 120.", (count,)) for count in (80, 120)]
    assert changes(*passed) == {TITLES[0]: ["changed"]}


def test_a_sentence_whose_fact_is_listed_below_the_sections_is_not_dropped() -> None:
    """In other words, too; but not for the fact of another event, nor for another one of its event."""
    texts = ("A test for zero was added to test_x.py.", "Rows are cached.", "Disk full.")
    before = [Section("Completed Work", tuple(Bullet(text, (50,)) for text in texts))]
    below = (Bullet("Done: a test for zero is added.", (50,)), Bullet("Rows are cached", (51,)))
    (section, *_) = compare_handovers(before, [], below)
    assert [(item.change, item.before.text) for item in section.items if item.before] == [
        ("dropped", "Rows are cached."),
        ("dropped", "Disk full."),
        ("below", "A test for zero was added to test_x.py."),
    ]


AS_SENT = PROFILES["balanced"], 128_000
"""The policy of the preview, and the tokens of the window."""


@given(histories())
def test_it_has_all_sections_and_records_nothing(simulator: SessionSimulator) -> None:
    log = list(simulator.log)
    preview = preview_handover(simulator.transcript, *AS_SENT)
    assert [section.title for section in preview.sections] == [*TITLES]
    assert simulator.log == log


def test_what_the_user_excludes_is_not_in_it() -> None:
    """Nor in the handover that is written next; an excluded handover feeds neither. Undo brings it back."""
    simulator = SessionSimulator(disable_folding(PROFILES["balanced"]))
    for word in ("Always zebra, never yak.", "Always quokka.", "On."):
        simulator.send_message(word)
        simulator.step("So it is.", 0)

    def names(word: str) -> tuple[bool, bool]:
        cut = furthest_range(simulator.transcript, 0)
        assert cut is not None
        handover_sections = simulator.handover_at(cut).sections
        present = preview_handover(simulator.transcript, *AS_SENT).sections
        return word in str(present), word in str(handover_sections)

    assert names("zebra") == (True, True)
    exclude(simulator, 0)
    assert names("zebra") == (False, False)
    simulator.undo(0)
    assert names("zebra") == (True, True)
    assert simulator.hand_over(0) is not None
    simulator.send_message("More of it.")
    simulator.step("So it is.", 0)
    assert names("quokka") == (True, True)
    exclude(simulator, 0)
    handover = simulator.transcript.window.handover
    assert handover is not None
    assert handover[0] in simulator.transcript.rewrites.excluded
    assert previous_handover(simulator.transcript) is None
    assert not names("quokka")[1]


def test_what_is_quoted_is_counted_as_kept() -> None:
    """As in the handover that would be made: the user's own words stand below it, the newest that fit."""
    simulator = SessionSimulator(disable_folding(PROFILES["balanced"]))
    for number in range(60):
        simulator.send_message(f"Never touch module{number}x.")
        simulator.step("So it is.", 0)

    def instructions(policy: ContextPolicy) -> SummaryCoverage:
        coverage = preview_handover(simulator.transcript, policy, 128_000).coverage
        return next(kind for kind in coverage if kind.kind == "instructions")

    all_fit = instructions(PROFILES["balanced"])
    assert all_fit.named + all_fit.verbatim == all_fit.total == 60
    assert not all_fit.missing
    few_fit = instructions(replace(PROFILES["balanced"], user_text_tokens=40))
    assert few_fit.verbatim < all_fit.verbatim
    assert few_fit.missing


def test_it_goes_on_from_the_newest_checkpoint() -> None:
    """What a model wrote since the last compaction stands in it, as in the handover that would be made."""
    simulator = conversation_of("Go on.")
    simulator.record(AssistantSpoke("It is begun.", "test/model", 1))
    write_checkpoint(simulator, "Threads were rejected, as they hide errors")
    sections = preview_handover(simulator.transcript, *AS_SENT).sections
    [details] = [section for section in sections if section.title == "Technical Details"]
    assert "Threads were rejected, as they hide errors" in [bullet.text for bullet in details.bullets]


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
    rule = "Never touch the table of users."
    finding = "`read_block` in src/parse.py:31 dropped the last block."
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
    assert "Answered request: Mend it." in text


def test_the_ledger_names_no_event_of_the_other_session() -> None:
    """Its digests can be recalled here; its event numbers would name other events, or none."""
    # As in logs of former releases.
    older = ("re a.py 0123456789ab e16 (edited since, e95)", "commit 2222222 e30: Mend it (main)")
    entries: tuple[LedgerEntry, ...] = (
        LedgerFile("b.py", "r", "123456789abc", seq=20, stored_seq=18),
        LedgerFile("c.py", "e", "", seq=21),
        CommandRun("make e2e", 0, "23456789abcd", 97, result="stage e5: 8 passed"),
        Failure("read_file", "e.py", "no such file", 26),
    )
    simulator = build_history(12, size=2_000)
    simulator.hand_over(1_000)
    (handover,) = simulator.transcript.rewrites.handovers.values()
    handover = msgspec.structs.replace(
        handover, ledger="\n".join([*older, *(entry.line for entry in entries)])
    )
    event, _ = continued_handover(simulator.transcript, "other", 0, simulator.policy, 100_000, handover)
    assert event.ledger.splitlines() == [
        "re a.py 0123456789ab (edited since)",
        "commit 2222222: Mend it (main)",
        "r b.py 123456789abc (edited since)",
        "e c.py",
        "$ make e2e (exit 0) 23456789abcd: stage e5: 8 passed",
        "! read_file e.py: no such file",
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
