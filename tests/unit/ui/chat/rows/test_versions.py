"""Versions of messages and answers, found from the list of sessions."""

from __future__ import annotations

from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.store import SessionSummary
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import Versions
from helix_desktop.ui.chat.rows.versions import find_versions

LOG = [
    RecordedEvent(1, 0, SessionStarted("T")),
    RecordedEvent(2, 0, UserSpoke("one", 1)),
    RecordedEvent(3, 0, TurnEnded("done")),
    RecordedEvent(4, 0, UserSpoke("two", 1)),
    RecordedEvent(5, 0, TurnEnded("done")),
]


def summary(name: str, of: str = "", seq: int = 0, how: str = "edit", created: int = 0) -> SessionSummary:
    made_for = how if of else ""
    return SessionSummary(
        name,
        name,
        created,
        created,
        branch_of=of,
        branch_seq=seq,
        branch_how=made_for,  # type: ignore[arg-type]  # of the three kinds
    )


def test_an_edited_message_has_the_versions_of_all_its_branches() -> None:
    listed = [summary("p"), summary("b", "p", 3, created=2), summary("a", "p", 3, created=1)]
    assert find_versions("p", LOG, listed) == {RowKey(4): Versions(("p", "a", "b"), 0)}
    assert find_versions("b", LOG, listed) == {RowKey(4): Versions(("p", "a", "b"), 2)}


def test_a_branch_of_a_branch_shows_the_version_that_it_comes_from() -> None:
    listed = [summary("p"), summary("a", "p", 1, created=1), summary("deep", "a", 3, created=2)]
    assert find_versions("deep", LOG, listed) == {
        RowKey(2): Versions(("p", "a"), 1),
        RowKey(4): Versions(("a", "deep"), 1),
    }
    assert find_versions("p", LOG, listed) == {RowKey(2): Versions(("p", "a"), 0)}


def test_a_retried_answer_has_its_versions_at_the_end_of_the_turn() -> None:
    listed = [summary("p"), summary("r", "p", 4, "retry", 1)]
    assert find_versions("p", LOG, listed) == {RowKey(5): Versions(("p", "r"), 0)}


def test_a_plain_branch_and_a_deleted_parent_make_no_version() -> None:
    assert find_versions("p", LOG, [summary("p"), summary("b", "p", 3, "")]) == {}
    assert find_versions("a", LOG, [summary("a", "gone", 3)]) == {}
    two = [summary("a", "gone", 3), summary("b", "gone", 3, created=1)]
    assert find_versions("b", LOG, two) == {RowKey(4): Versions(("a", "b"), 1)}
