"""Shows what happened to a conversation's window, and where in the list the user is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.handover_revision import (
    HandoverPreview,
    HandoverPreviewWriter,
    to_markdown,
)
from helix_desktop.context.summaries.summary_task import NO_SUMMARIES
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.errors import StoreError
from helix_desktop.ui.kit.intents import ShowInTimeline, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.timeline.card_data import Continuation, PreviewCard, RunningCard, TimelineState
from helix_desktop.ui.timeline.chart.usage_points import usage_points, with_current_usage
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.words.sessions import session_title
from helix_desktop.words.summary_coverage import missing_rules_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def build_preview_card(
    writer: HandoverPreviewWriter, transcript: Transcript, policy: ContextPolicy, window_size: int
) -> PreviewCard | None:
    """Return the card; None without messages. Its time grows with the log: call it in a thread."""
    if not transcript.messages.items:
        return None
    preview = writer.write(transcript, policy, window_size)
    return PreviewCard(
        translate(preview.counts.text),
        preview.sections,
        preview.ledger,
        missing=missing_rules_text(preview.coverage),
        markdown=_markdown(preview),
    )


def _markdown(preview: HandoverPreview) -> str:
    parts = [f"# {tr('Handover')}", to_markdown(preview.sections)]
    if preview.ledger:
        parts += [f"## {tr('Files, commands and errors')}", f"```\n{preview.ledger}\n```"]
    return "\n\n".join(part.strip() for part in parts) + "\n"


class TimelinePresenter:
    """Binds the timeline to the session on screen; it is built when `refresh` is called."""

    def __init__(self, view: Timeline, session: Session) -> None:
        self._view, self._session = view, session
        self._workspace_id = ""  # that the fallbacks were counted in
        self._conversation: Conversation | None = None  # whose cards are shown
        self._running: RunningCard | None = None
        self._fallbacks = NO_SUMMARIES
        self._writer: tuple[Conversation, HandoverPreviewWriter] | None = None
        self._present_lock = asyncio.Lock()
        self._preview: PreviewCard | None = None
        self._present_for: tuple[str, int, ContextPolicy, int] | None = None  # what it was written for
        self._last_begun = self._last_shown = 0  # numbers of refreshes: an older one may end later
        self._is_loaded = False  # whether it shows this conversation, and not the previous one
        self._pending_reveal = self._first_card = 0  # events whose cards are to be in sight
        session.changed.connect(self._leave)
        session.on_refresh_page("timeline", self.refresh)

    def _leave(self) -> None:
        """Show another session, or none, from the next `refresh` on."""
        if self._session.workspace_id != self._workspace_id:
            self._workspace_id, self._fallbacks = self._session.workspace_id, NO_SUMMARIES
        conversation = self._session.find_conversation()
        if conversation is not self._conversation:
            self._view.clear()
        self._conversation = conversation
        self._first_card, self._is_loaded = 0, False

    def set_running(self, card: RunningCard | None) -> None:
        self._running = card
        self._view.set_running(card)

    async def refresh(self) -> None:
        """Show the log as it is now. Reads it in a thread: a long log takes longer than a frame."""
        if not self._session.has_conversation:
            return
        workspace, conversation = self._session.workspace, self._session.conversation
        self._last_begun += 1
        number = self._last_begun
        transcript = conversation.session.transcript
        log, (window, gauge) = list(conversation.session.log), conversation.window.measure()
        last = transcript.messages.items[-1].seq if transcript.messages.items else 0
        at_ms = log[-1].at if log else 0
        if self._is_loaded:  # what follows may take a second on a busy machine
            self._view.show_usage(gauge, last, at_ms)
        sent = _handover_as_sent(conversation.window.items())
        policy, fixed_tokens = conversation.window.policy, conversation.window.frame.fixed_tokens
        points = await asyncio.to_thread(usage_points, log, policy, gauge.window, fixed_tokens)
        cards = await asyncio.to_thread(build_cards, log, transcript, sent, points)
        points = with_current_usage(points, last, gauge, at_ms)
        steps = await asyncio.to_thread(read_steps, log)
        preview = await self._preview_card(conversation)
        continuations = await self._continuations(workspace, conversation.session.id)
        if not self._session.shows(conversation) or number < self._last_shown:
            return
        self._last_shown = number
        policy = conversation.window.policy
        left_out = max(0, transcript.messages.full_total_tokens - sum(window.entry_tokens))
        self._view.set_state(
            TimelineState(
                cards,
                points,
                gauge.used,
                gauge.window,
                gauge.trigger,
                self._running,
                policy.enabled,
                round(left_out * gauge.ratio),
                preview,
                continuations,
                self._fallbacks,
                steps,
                is_estimated=not gauge.is_reported,
            )
        )
        self._view.reveal(self._pending_reveal or self._first_card, at_top=not self._pending_reveal)
        self._pending_reveal = self._first_card = 0
        self._is_loaded = True
        await self._show_fallbacks(workspace)  # may read many sessions: last

    async def _show_fallbacks(self, workspace: OpenWorkspace) -> None:
        with suppress(StoreError):  # it was closed meanwhile, or has damage that is reported elsewhere
            rate = await workspace.fallbacks.count()
            if self._session.shows(workspace):
                self._fallbacks = rate
                self._view.show_fallbacks(rate)

    @staticmethod
    async def _continuations(workspace: OpenWorkspace, session_id: str) -> tuple[Continuation, ...]:
        """Return the sessions that continue one; none while the store cannot be read."""
        with suppress(StoreError):
            others = await workspace.sessions()
            return tuple(
                Continuation(other.id, session_title(other.title))
                for other in others
                if other.origin == session_id
            )
        return ()

    async def _preview_card(self, conversation: Conversation) -> PreviewCard | None:
        """Return the handover as it would be now; written again only where the log went on."""
        transcript, policy = conversation.session.transcript, conversation.window.policy
        window_size = conversation.window.frame.info.window
        async with self._present_lock:
            if self._writer is None or self._writer[0] is not conversation:
                self._writer = conversation, HandoverPreviewWriter()
            made_for = (conversation.session.id, transcript.last_seq, policy, window_size)
            if made_for != self._present_for:
                writer = self._writer[1]
                self._preview = await asyncio.to_thread(
                    build_preview_card, writer, transcript.fork(), policy, window_size
                )
                self._present_for = made_for
            return self._preview

    @handles(ShowInTimeline)
    def reveal(self, seq: int, is_handover: bool = False) -> None:
        """Show the card of an event; one that is not made yet, as soon as it is."""
        self._pending_reveal = seq
        self._session.show_page("timeline")

    @property
    def is_reading(self) -> bool:
        """Return True while a refresh is under way: what is shown may be older than the log."""
        return self._last_shown < self._last_begun

    @property
    def is_revealing(self) -> bool:
        """Return True while a card is still to come into sight."""
        return bool(self._pending_reveal)

    def set_first_card(self, seq: int) -> None:
        """Let the list begin at the card of an event at the next `refresh`."""
        self._first_card = seq

    @property
    def first_card(self) -> int | None:
        """Return the event of the first card in sight, 0 at the top; None before the first `refresh`."""
        return self._view.first_visible_seq if self._is_loaded else None


def _handover_as_sent(items: Sequence[WindowItem]) -> dict[int, int]:
    """Return the tokens of the handover in the next request, by its event, as the inspector lists them."""
    return {row.seq: row.tokens for row in items if (row.kind, row.state) == ("handover", "summarized")}
