"""The handover as it would be now: made without a model from the whole history, and never stored."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from helix_desktop.context.log.reverted_changes import FileRevert
from helix_desktop.context.log.rewrite_state import ExcludedCover
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.handover import (
    newest_checkpoint,
    previous_handover,
    section_text,
    user_text_seqs,
)
from helix_desktop.context.summaries.handover_fallback import HistoryExtract
from helix_desktop.context.summaries.summary_coverage import (
    CHARS_PER_TOKEN,
    CoveredFacts,
    check_summary_coverage,
)
from helix_desktop.domain.events.rewrite import Excluded
from helix_desktop.domain.events.summary import Section, SummaryCoverage
from helix_desktop.domain.store.entries import MessageCounts


class HandoverPreview(msgspec.Struct, frozen=True):
    """The handover of all messages up to event `upto`: six sections, ledger, and what they do not name.

    `counts` counts these messages.
    """

    upto: int
    counts: MessageCounts
    sections: tuple[Section, ...]
    ledger: str
    coverage: tuple[SummaryCoverage, ...]


class HandoverPreviewWriter:
    """Writes the preview of one session again and again, without reading any message twice.

    A first call reads the whole history (about 20 ms for 1,000 events: use a thread), later ones what came
    since. It may run beside the session, one call at a time: it reads messages only. What the user excluded
    is left out; another exclusion reads all again.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._extract = HistoryExtract()
        self._facts = CoveredFacts(self._extract.ledger)
        self._count = 0
        self._last: LogItem | None = None
        self._hidden: tuple[dict[int, Excluded], tuple[ExcludedCover, ...]] = ({}, ())
        self._reverts: Mapping[str, FileRevert] = {}

    def write(self, transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverPreview:
        """Return the preview, as it would be in a window of `window_size` tokens."""
        items, excluded = transcript.messages.items, transcript.rewrites.excluded
        end = len(items)
        hidden = excluded, transcript.rewrites.excluded_covers
        is_shorter = self._count > end or (self._count and items[self._count - 1] is not self._last)
        reverts = transcript.reverted_files.by_path
        if is_shorter or hidden != self._hidden or reverts != self._reverts:
            self._reset()  # a repeated step removed messages, others are excluded, or files were reverted
            self._hidden, self._reverts = hidden, dict(reverts)
        for item in transcript.window.without_excluded(items[self._count : end]):
            self._extract.add(item)
            self._facts.add(item)
        self._extract.ledger.mark_reverted(reverts)
        self._count, self._last = end, items[end - 1] if end else None
        checkpoint = newest_checkpoint(transcript)
        sections = self._extract.sections(checkpoint[1] if checkpoint else previous_handover(transcript))
        ledger = self._extract.ledger.text(policy.ledger_tokens)
        text = "\n".join([*(section_text(section, mark_unsupported=False) for section in sections), ledger])
        upto = self._last.seq if self._last else 0
        todo_list = transcript.todo_list_between(0, upto)
        quoted = user_text_seqs(transcript, upto, 0, policy.user_text_tokens, window_size)
        max_chars = policy.ledger_tokens * CHARS_PER_TOKEN
        coverage = check_summary_coverage(self._facts, text, max_chars, quoted, todo_list)
        return HandoverPreview(upto, transcript.messages.counts(upto=upto), sections, ledger, coverage)


def preview_handover(transcript: Transcript, policy: ContextPolicy, window_size: int) -> HandoverPreview:
    """Return the handover of the whole history as it would be now, without a model."""
    return HandoverPreviewWriter().write(transcript, policy, window_size)
