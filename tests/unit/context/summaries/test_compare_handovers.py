"""What differs between two handovers: nothing is lost in the comparison, and nothing is invented."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.handover import UNSUPPORTED, comparable_sentence
from helix_desktop.context.summaries.handover_revision import ComparedSection, compare_handovers
from helix_desktop.domain.events.summary import SECTIONS, Bullet, Section

_WORDS = st.sampled_from(["the", "parser", "drops", "lines", "a.py", "9f3ac21e", "tests", "pass", "42", " "])
_BULLETS = st.builds(
    Bullet, st.lists(_WORDS, min_size=1, max_size=6).map(" ".join), st.just(()) | st.just((4,))
)
_HANDOVERS = st.lists(st.lists(_BULLETS, max_size=5), min_size=6, max_size=6).map(
    lambda lists: [Section(title, tuple(bullets)) for title, bullets in zip(SECTIONS, lists, strict=True)]
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
    first, other = f"{begin}Support reentrant orderly consumption", f"{begin}Add a size to the statistics"

    def changes(before: Bullet, after: Bullet) -> dict[str, list[str]]:
        title = SECTIONS[0]
        return _changes(compare_handovers([Section(title, (before,))], [Section(title, (after,))]))

    assert changes(Bullet(first, (12,)), Bullet(other, (40,))) == {SECTIONS[0]: ["dropped", "added"]}
    assert changes(Bullet(first, (12,)), Bullet(other, (12, 40))) == {SECTIONS[0]: ["changed"]}
    assert changes(Bullet(first), Bullet(other, (40,))) == {SECTIONS[0]: ["changed"]}
    passed = [Bullet(f"The tests pass: {count} of 120.", (count,)) for count in (80, 120)]
    assert changes(*passed) == {SECTIONS[0]: ["changed"]}


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
