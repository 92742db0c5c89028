"""What the requests of a run add up to: sent, and billed at the prices of a provider's prompt cache."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import SummaryBlock
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.replay.request_totals import CACHED, FRESH, SUMMARIZED


class RequestSums:
    """Running sums, without the requests themselves; tokens as the model counts them.

    As `billed` of `SentTotals`, but of the first message that differs nothing counts as cached: what it has
    in common with the one before is a few tokens.
    """

    def __init__(self, transcript: Transcript, fixed_tokens: int) -> None:
        self._transcript, self._fixed_tokens = transcript, fixed_tokens
        self._previous = 0  # tokens of the request before, by our count
        self._changed_from: int | None = (
            None  # the first event that a rewrite changed since; None: no rewrite
        )
        self.sent = 0
        self._billed = 0.0

    def note_change(self, first_seq: int) -> None:
        """Note that the window changed from an event on; 0: perhaps from the first of all."""
        self._changed_from = first_seq if self._changed_from is None else min(self._changed_from, first_seq)

    def add(self, used: int, estimate: int) -> None:
        """Add the request that would be sent now: its tokens as the model counts them and by our count."""
        shared = min(self._previous, self._unchanged(estimate))
        scale = used / estimate if estimate else 0.0
        self.sent += used
        self._billed += (CACHED * shared + FRESH * (estimate - shared)) * scale
        self._previous, self._changed_from = estimate, None

    def billed(self, summary_tokens: int) -> float:
        """Return what all requests cost, with the input of the summarizing calls, in fresh input tokens."""
        return self._billed + SUMMARIZED * summary_tokens

    def _unchanged(self, estimate: int) -> int:
        """Return the leading tokens that no rewrite changed since the request before."""
        if self._changed_from is None:
            return estimate
        changed = 0
        for entry in reversed(self._transcript.window.entries()):
            if isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade):
                return (
                    self._fixed_tokens + self._transcript.opening_tokens
                )  # what it quotes is not counted here
            if entry.upto < self._changed_from:
                break
            changed += self._transcript.window.entry_tokens(entry)
        return estimate - changed
