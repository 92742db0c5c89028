"""Where a session is listed, by its log."""

from __future__ import annotations

import pytest

from helix_desktop.domain.events.conversation import MessageQueued, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import (
    SessionArchived,
    SessionBranched,
    SessionPinned,
    SessionRenamed,
)
from helix_desktop.domain.store import ListPlace

BOTH = (SessionPinned(), SessionArchived())


@pytest.mark.parametrize(
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
