"""Unused summaries: their model calls were paid for all the same, and count in the session's spending."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import EventRecorded, Update
from helix_desktop.domain.cost import Spending, unused_calls
from helix_desktop.domain.errors import StoreError, StoreWriteFailed
from helix_desktop.domain.events.summary import SavedHandoverDraft
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")


class UnusedSummaries:
    """Records what canceled and discarded summaries of one session spent.

    What the disk refuses is recorded after the next event that it takes.
    """

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime
        self._unrecorded = Spending()
        self._unrecorded_draft: SavedHandoverDraft | None = None
        runtime.session.listen(self._on_update)

    async def record(self, spent: Spending, draft: SavedHandoverDraft | None = None) -> None:
        """Record what a summary spent that is not used, with the draft that the user left of it.

        Does nothing if there is neither. Raises StoreError.
        """
        total, self._unrecorded = self._unrecorded + spent, Spending()
        draft, self._unrecorded_draft = draft or self._unrecorded_draft, None
        if not total.tokens and draft is None:
            return
        try:
            discarded = msgspec.structs.replace(unused_calls(total), draft=draft)
            await self._runtime.session.record(discarded)
        except StoreError as error:
            self._unrecorded += total
            self._unrecorded_draft = self._unrecorded_draft or draft
            if not isinstance(error, StoreWriteFailed):
                raise
            raise StoreWriteFailed(
                _text(
                    "A summary or noted facts weren't used. The conversation is unchanged. The cost isn't "
                    "saved yet."
                ),
                error.why or error.what,
                _text("Free up disk space. The cost is saved with the next change of the conversation."),
            ) from error

    def _on_update(self, update: Update) -> None:
        if isinstance(update, EventRecorded) and (self._unrecorded.tokens or self._unrecorded_draft):
            self._runtime.scope.start(self._record_again(), f"unused summaries {self._runtime.session.id}")

    async def _record_again(self) -> None:
        with suppress(StoreError):  # it is tried again after the next event
            await self.record(Spending())
