"""Where a session is listed: pinned on top, by its date, or in the archive."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.conversation import MessageQueued, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import SessionArchived, SessionBranched, SessionPinned
from helix_desktop.domain.events.summary import checkpoint_in

PLACE_EVENTS = (SessionPinned, SessionArchived)
"""What moves a session in the list and changes nothing else: it does not count as a use of the session."""


def is_no_use(event: Event) -> bool:
    """Return True if an event is no use of the session: it moves it in the list, or is a checkpoint."""
    return isinstance(event, PLACE_EVENTS) or checkpoint_in(event) is not None


class ListPlace(msgspec.Struct, frozen=True):
    """If the user pinned a session to the top of the list, and if they archived it: that outranks a pin."""

    pinned: bool = False
    archived: bool = False

    @property
    def rank(self) -> int:
        """Return the order of the groups: 0 pinned, 1 dated, 2 archived."""
        return 2 if self.archived else 0 if self.pinned else 1

    def after(self, event: Event) -> ListPlace:
        """Return the place after one more event of the session's log.

        What the user sends brings a session back from the archive; what waited in its queue was sent before.
        A branch begins in no group of its parent's.
        """
        match event:
            case SessionPinned(pinned=pinned):
                return ListPlace(pinned, self.archived)
            case SessionArchived(archived=archived):
                return ListPlace(self.pinned, archived)
            case UserSpoke(queued=0) | MessageQueued() | TurnRetried() if self.archived:
                return ListPlace(self.pinned)
            case SessionBranched():
                return ListPlace()
        return self

    def is_below(self, parent: ListPlace) -> bool:
        """Return True if a branch at this place is listed below its parent, not in a group of its own.

        A pin takes along what is below it. The archive takes the session alone, as the trash does: what is
        still in use must not leave the list with the session that it began with.
        """
        if self.archived or parent.archived:
            return self.archived and parent.archived
        return parent.pinned or not self.pinned
