"""Entries, searches and the tree of sessions as they cross the store's port."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import MessageQueued, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import (
    BranchKind,
    SessionArchived,
    SessionBranched,
    SessionPinned,
    SessionRenamed,
)
from helix_desktop.domain.store import (
    ListPlace,
    MessageCounts,
    SessionSummary,
    SessionVersions,
    session_tree,
    versions_with,
)
from helix_desktop.domain.text_search import MAX_QUERY_LENGTH, parse_query
from helix_desktop.words.translation import translate
from tests.support.tables import for_each

BOTH = (SessionPinned(), SessionArchived())


@for_each(
    ("events", "place"),
    [
        (BOTH, ListPlace(pinned=True, archived=True)),
        ((*BOTH, SessionRenamed("New")), ListPlace(pinned=True, archived=True)),
        ((*BOTH, SessionPinned(pinned=False)), ListPlace(archived=True)),
        ((*BOTH, SessionArchived(archived=False)), ListPlace(pinned=True)),
        ((*BOTH, UserSpoke("Go on", 2)), ListPlace(pinned=True)),
        ((*BOTH, MessageQueued("Go on")), ListPlace(pinned=True)),
        ((*BOTH, TurnRetried(1, 1)), ListPlace(pinned=True)),
        ((*BOTH, UserSpoke("sent before it was archived", 2, queued=1)), ListPlace(True, True)),
        ((*BOTH, SessionBranched("parent", 3, "Branch")), ListPlace()),
    ],
)
def test_what_is_sent_brings_a_session_back_and_a_branch_begins_in_no_group(
    events: tuple[Event, ...], place: ListPlace
) -> None:
    reached = ListPlace()
    for event in events:
        reached = reached.after(event)
    assert reached == place


@for_each(
    ("query", "words"),
    [
        ("tide", ("tide",)),
        ("  Tide\tGauge\n", ("tide", "gauge")),
        ('"High Water" level', ("high water", "level")),
        ('level"high water"', ('level"high', 'water"')),
        ('"high  water"', ("high  water",)),
        ('print("x")', ('print("x")',)),
        ('say "hello', ("say", '"hello')),
        ('"" x', ('""', "x")),
        ('"one\ntwo"', ("one", "two")),
        ('" " tide " "', ("tide",)),
        ("tide TIDE Tide", ("tide",)),
        ("Straße ΣΊΣΥΦΟΣ", ("strasse", "σισυφοσ")),
    ],
)
def test_a_query_is_words_and_phrases(query: str, words: tuple[str, ...]) -> None:
    assert parse_query(query) == words


@pytest.mark.parametrize("query", ["", "   ", "\n", '" "'])
def test_an_empty_query_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput, match=r"The query is empty\. Enter words"):
        parse_query(query)


def test_an_overlong_query_is_refused() -> None:
    assert parse_query("x" * MAX_QUERY_LENGTH)
    with pytest.raises(InvalidInput, match="has 201 characters; the limit is 200"):
        parse_query("x" * (MAX_QUERY_LENGTH + 1))


@given(st.text(max_size=200))
def test_any_query_is_parsed_or_refused(query: str) -> None:
    try:
        words = parse_query(query)
    except InvalidInput:
        return
    assert words
    assert all(word.strip() and "\n" not in word for word in words)


DATED = ListPlace()
PINNED = ListPlace(pinned=True)
ARCHIVED = ListPlace(archived=True)


def line(
    session_id: str, updated: int, branch_of: str = "", parent: str = "", place: ListPlace = DATED
) -> SessionSummary:
    return SessionSummary(
        session_id,
        session_id,
        0,
        updated,
        parent=parent,
        branch_of=branch_of,
        pinned=place.pinned,
        archived=place.archived,
    )


def drawn(*lines: SessionSummary) -> list[str]:
    return ["-" * row.depth + row.summary.id for row in session_tree(lines)]


def test_a_tree_is_as_new_as_the_newest_in_it() -> None:
    lines = (line("a", 1), line("b", 5), line("a1", 2, "a"), line("a2", 3, "a"), line("a1x", 9, "a1"))
    assert drawn(*lines) == ["a", "-a1", "--a1x", "-a2", "b"]


def test_a_branch_without_its_parent_is_at_the_top_and_no_subagent_is_listed() -> None:
    assert drawn(line("b", 1, "deleted"), line("s", 9, parent="b"), line("c", 2, "b")) == ["b", "-c"]


def test_any_depth_and_a_circle_are_listed_whole() -> None:
    chain = [line(f"{number:04}", number, f"{number - 1:04}" if number else "") for number in range(2_000)]
    assert [row.depth for row in session_tree(chain)] == list(range(2_000))
    assert drawn(line("x", 1, "y"), line("y", 2, "x")) == ["x", "-y"]


def test_a_pin_takes_its_branches_along_and_the_archive_takes_the_session_alone() -> None:
    pinned = (line("a", 1, place=PINNED), line("a1", 2, "a"), line("b", 9), line("b1", 3, "b", place=PINNED))
    assert drawn(*pinned) == ["b1", "a", "-a1", "b"]
    archived = (
        line("a", 9, place=ARCHIVED),
        line("a1", 2, "a"),
        line("a2", 3, "a", place=ARCHIVED),
        line("b", 1),
    )
    assert drawn(*archived) == ["a1", "b", "a", "-a2"]


def version(name: str, of: str, updated: int, how: BranchKind = "retry", created: int = 0) -> SessionSummary:
    return SessionSummary(name, name, created or updated, updated, branch_of=of, branch_seq=3, branch_how=how)


def test_versions_have_one_row_the_one_used_last() -> None:
    lines = [
        line("a", 1),
        version("a-retried", "a", 7),
        version("a-edited-again", "a-retried", 5, "edit"),
        version("rewound", "a-retried", 6, "rewind"),
        line("branch", 2, "a-edited-again"),
        line("other", 3),
    ]
    assert drawn(*lines) == ["a-retried", "-rewound", "-branch", "other"]
    rows = {row.summary.id: row.versions for row in session_tree(lines)}
    assert rows == {
        "a-retried": ("a", "a-edited-again", "a-retried"),
        "rewound": ("rewound",),
        "branch": ("branch",),
        "other": ("other",),
    }
    each = {row.summary.id for row in session_tree(lines, with_versions=True)}
    assert each == {summary.id for summary in lines}, "none is lost"


def test_versions_of_a_deleted_session_stay_versions_of_one_another() -> None:
    lines = [version("b", "gone", 4), version("c", "gone", 2), version("d", "c", 9, created=1)]
    assert drawn(*lines) == ["d"]
    assert SessionVersions(lines).ids_of("b") == ("d", "c", "b")
    assert SessionVersions(lines).ids_of("not listed") == ("not listed",)
    circle = [version("x", "y", 1), version("y", "x", 2)]
    assert [row.versions for row in session_tree(circle)] == [("x", "y")], "though no app writes that"


def test_an_event_is_in_the_versions_that_began_behind_it() -> None:
    lines = [
        line("a", 1),
        version("retried", "a", 7),
        version("edited", "retried", 8, "edit"),
        version("rewound", "a", 9, "rewind"),
    ]
    by_id = {summary.id: summary for summary in lines}
    assert versions_with(by_id, "a", 3) == ["a", "retried", "edited"]
    assert versions_with(by_id, "a", 4) == ["a"], "they began with event 3"
    assert versions_with(by_id, "retried", 5) == ["retried"]
    assert versions_with(by_id, "edited", 9) == ["edited"]
    assert versions_with(by_id, "rewound", 9) == ["rewound"]
    assert versions_with(by_id, "gone", 9) == ["gone"]


def test_a_version_that_is_in_use_keeps_its_session_out_of_the_archive() -> None:
    archived = line("a", 1, place=ARCHIVED)
    later = version("b", "a", 2)
    versions = SessionVersions([archived, later])
    assert versions.place_of(archived) == DATED
    assert [row.summary.id for row in session_tree([archived, later], with_archived=False)] == ["b"]
    assert session_tree([archived], with_archived=False) == []


@for_each(
    ("counts", "text"),
    [
        (MessageCounts(6, 21), "6 messages, 21 tool calls"),
        (MessageCounts(0, 13), "13 tool calls"),
        (MessageCounts(1, 0), "1 message"),
        (MessageCounts(), "0 messages"),
    ],
)
def test_counts_leave_out_what_there_is_none_of(counts: MessageCounts, text: str) -> None:
    assert translate(counts.text) == text
