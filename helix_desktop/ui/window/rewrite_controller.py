"""User actions on a session's context: compact, edit handovers, undo and redo, pause compaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.rewrite_state import RewriteEvent
from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import (
    covers_around,
    has_change,
    has_undone,
    last_change,
    newest_change,
)
from helix_desktop.context.log.window_layout import SummaryBlock
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.ui.chat.actions import CompactUpTo
from helix_desktop.ui.handover.versions import NOW
from helix_desktop.ui.handover.window import HandoverWindow, Place
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import REDOABLE_CHANGE, SENT_MESSAGE, UNDOABLE_CHANGE
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import REFUSED_COMPACTION, Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.timeline.cards import TimelineCard, UndoCard
from helix_desktop.ui.timeline.cards_from_events import build_cards, merge_changes
from helix_desktop.ui.timeline.summary_cards import ChangeCard, HandoverCard
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.context_changes import limit_text, pin_text
from helix_desktop.words.next_compaction import restored_text
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.state_words import hold_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

CONTEXT_CHANGE = "context-change"
"""The name of the notice about what was undone or redone."""
_HOLD = "hold"
_HOLD_ENDS_WITH = (Redone, UserSpoke, HandoverMade, FoldMade, SweepMade, ObservationsPlaced)


class RewriteController(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self.handover_window: HandoverWindow | None = None
        session = self._session
        session.changed.connect(self._show_hold)
        session.changed.connect(self._offer)
        session.on(HoldSet, lambda _: self._show_hold())
        session.on(HoldSet, lambda event: window.pages.chat.view.announce(hold_text(event.on)))
        session.on(Undone | FormChosen, self._show_after_restoring)
        session.on(RewriteEvent | UserSpoke, lambda _: self._offer())
        self._offer()

    @handles(intents.Undo)
    async def undo(self, seqs: tuple[int, ...]) -> None:
        """Undo rewrites of the window. Raises CompactionRefused where a wider one covers them."""
        await self._change_and_say(self._session.conversation, seqs, is_undo=True)

    @handles(intents.Redo)
    async def redo(self, seqs: tuple[int, ...]) -> None:
        """Let undone rewrites hold again. Raises CompactionRefused where a wider one covers them."""
        await self._change_and_say(self._session.conversation, seqs, is_undo=False)

    @handles(intents.Observe)
    def observe(self) -> None:
        """Compact older messages into dated facts, its price first, or use what waits. Raises HelixError."""
        self._session.conversation.observations.start(is_price_shown=True)

    @handles(intents.Compact)
    async def compact(self, focus: str) -> None:
        """Open the window of the handovers, once; with what a new one is to dwell on, as typed.

        Where only the newest turn could be summarized, the active handover is run again with a typed focus.
        """
        conversation = self._session.conversation
        active = conversation.session.transcript.window.handover
        rerun_seq = 0
        if focus and active is not None and not active[1].origin:
            proposed = conversation.handovers.writer
            ranges = await proposed.ranges()
            is_new = bool(ranges) and (not ranges[0].kept_seq or conversation.session.transcript.turn_open)
            rerun_seq = 0 if is_new and not proposed.frees_little() else active[0]
        await self._show_handover(rerun_seq or NOW, focus=focus, is_compaction=True)

    @handles(CompactUpTo)
    async def compact_up_to(self, seq: int) -> None:
        """Open the same window with the range that ends at an event, or as near before it as can be.

        What the active handover covers already is summarized by running that one again.
        """
        active = self._session.transcript.window.handover
        rerun_seq = 0
        if active is not None and not active[1].origin and seq <= active[1].upto:
            rerun_seq = active[0]
        await self._show_handover(rerun_seq or NOW, upto=seq, is_compaction=True)

    @handles(intents.RetryFailed)
    def retry(self, kind: str) -> None:
        if kind == "handover":
            self._session.perform(intents.Compact())
        elif kind == "observations":
            self.observe()
        else:
            self._start(self._session.conversation.retry(), "retry")

    @handles(intents.ShowHandover)
    async def _show_handover(
        self, seq: int, place: Place = "text", *, focus: str = "", upto: int = 0, is_compaction: bool = False
    ) -> None:
        conversation = self._session.conversation
        if self.handover_window is not None:
            return
        window = HandoverWindow(self._window, conversation, self._session.actions)
        self.handover_window = window
        if is_compaction:
            self._session.notices.end(REFUSED_COMPACTION)
        try:
            with self._reveal_new_handover(conversation):
                await window.run(seq, place, focus=focus, upto=upto, is_compaction=is_compaction)
        finally:
            self.handover_window = None

    @contextmanager
    def _reveal_new_handover(self, conversation: Conversation) -> Iterator[None]:
        """Bring the card of a handover that the window made into sight: it stands above the one it is of."""
        previous = conversation.session.transcript.window.handover
        yield
        active = conversation.session.transcript.window.handover
        is_shown = self._session.shows(conversation) and self._window.page() == "timeline"
        if is_shown and active is not None and active != previous:
            self._session.perform(intents.ShowInTimeline(active[0]))

    @handles(intents.CancelCompaction)
    def cancel_current(self) -> None:
        """Cancel what the running card shows: the handover, or the observations while none is written."""
        conversation = self._session.conversation
        if conversation.handovers.is_busy:
            conversation.handovers.cancel()
        else:
            conversation.observations.cancel()

    def _show_hold(self) -> None:
        is_on_hold = self._session.transcript.on_hold
        self._window.commands.hold_compaction.setChecked(is_on_hold)
        self._session.notices.end(_HOLD)
        if is_on_hold:
            why = tr("The context stays as it is while it fits, until you resume.")
            resume = Answer(tr("Resume context changes"), lambda: self._set(False), "resume")
            notice = Notice(_HOLD, tr("Context changes paused."), why, answers=(resume,))
            self._session.notices.notify_here(notice)

    def _show_after_restoring(self, event: Undone | FormChosen) -> None:
        """Say that the context will be compacted again, and offer Hold while the next request fits."""
        if isinstance(event, Undone) and event.refused:
            return
        notice = restoring_notice(self._session, self._session.conversation)
        if notice is not None:
            self._session.notices.notify_here(notice)
        elif not self._session.transcript.on_hold:
            self._session.notices.end(_HOLD)

    @handles(intents.PauseCompaction)
    def pause(self) -> None:
        self._set(not self._session.transcript.on_hold)

    def _set(self, on: bool) -> None:
        self._start(self._session.conversation.hold(on), "hold")

    def _offer(self) -> None:
        self._window.commands.set_met(SENT_MESSAGE, bool(self._session.transcript.messages.items))
        self._window.commands.set_met(UNDOABLE_CHANGE, has_change(self._session.transcript))
        self._window.commands.set_met(REDOABLE_CHANGE, has_undone(self._session.transcript))

    @handles(intents.UndoLast)
    def undo_last(self) -> None:
        """Undo the newest change of the context that holds: a recall or a pin is one as a handover is."""
        self._change_last(is_undo=True)

    @handles(intents.RedoLast)
    def redo_last(self) -> None:
        """Redo the newest change that was undone; if later ones cover them all, that is said."""
        self._change_last(is_undo=False)

    def _change_last(self, *, is_undo: bool) -> None:
        conversation = self._session.conversation
        transcript = self._session.transcript
        last = last_change(transcript)
        pinned = transcript.rewrites.pinned
        log = conversation.session.log
        inside = covers_around(transcript)
        changed_seq = last
        target = last
        if not is_undo:
            changed_seq, target = newest_change(
                log, Undone, lambda seq: transcript.can_redo(seq) and seq not in inside
            )
        pin = Pinned if is_undo else Unpinned  # one that holds, or the removal of one that does not
        pinned_seq, output = newest_change(log, pin, lambda seq: (seq in pinned) == is_undo)
        if pinned_seq > changed_seq:
            self._start(self._pin_and_say(conversation, output, is_pinned=not is_undo), "pin")
        elif target:
            self._start(self._change_row(conversation, target, is_undo=is_undo), "undo or redo")
        elif not is_undo and (covered := tuple(filter(transcript.can_redo, inside))):
            self._start(conversation.window.redo(*covered), "undo or redo")
        else:
            undo = tr("Nothing to undo in the context.")
            redo = tr("Nothing to redo in the context.")
            self._session.notify(context_notice(conversation, undo if is_undo else redo))

    async def _change_row(self, conversation: Conversation, target: int, *, is_undo: bool) -> None:
        """Undo or redo a rewrite with all that the timeline's row of it has."""
        rows = (row.undo_seqs for row in await self._read_changes(conversation))
        seqs = next((seqs for seqs in rows if target in seqs), (target,))
        await self._change_and_say(conversation, seqs, is_undo=is_undo)

    @staticmethod
    async def _read_changes(conversation: Conversation) -> list[TimelineCard]:
        """Return what the timeline shows, newest first."""
        log = list(conversation.session.log)
        transcript = conversation.session.transcript
        return await asyncio.to_thread(lambda: merge_changes(build_cards(log, transcript), read_steps(log)))

    async def _change_and_say(
        self, conversation: Conversation, seqs: tuple[int, ...], *, is_undo: bool
    ) -> None:
        """Undo or redo rewrites; name them as the timeline does, with all that went along: it may be unseen.

        What was undone and is redone by then is not said.
        """
        inside = {
            seq for seq, around in covers_around(conversation.session.transcript).items() if around in seqs
        }
        if is_undo:
            await conversation.window.undo(*seqs)
        else:
            await conversation.window.redo(*seqs)
        go_back = partial(self._change_and_say, conversation, seqs, is_undo=not is_undo)
        words, name = (tr("Redo"), "redo") if is_undo else (tr("Undo"), "undo")
        way_back = Answer(words, lambda: self._start(go_back(), "undo or redo"), name)
        transcript = conversation.session.transcript
        is_choice = all(isinstance(transcript.rewrites.by_seq.get(seq), FormChosen) for seq in seqs)
        coming = restoring_notice(self._session, conversation) if is_undo or is_choice else None
        how_long = self._how_long(conversation) if is_undo and not is_choice and coming is None else ""
        cards = await self._read_changes(conversation)
        if is_undo and transcript.rewrites.undone.keys().isdisjoint(seqs):
            return
        changes = (card for card in cards if isinstance(card, UndoCard) and {*card.targets} & {*seqs})
        named = next(changes, None)
        name = named.title if named is not None else tr("Context changed.")
        why = also_changed(cards, transcript, seqs, named.targets if named is not None else seqs[:1])
        earlier = sum(isinstance(it, SummaryBlock) and it.seq in inside for it in transcript.window.entries())
        if earlier and is_undo:
            back = tr.plural(
                earlier,
                "%n earlier handover summary is in its place again.",
                "%n earlier handover summaries are in its place again.",
            )
            why = " ".join(filter(None, (back, why)))
        why = " ".join(filter(None, (why, how_long)))
        notify_with(self._session, context_notice(conversation, name, why, way_back), coming)

    @staticmethod
    def _how_long(conversation: Conversation) -> str:
        """Return how long what an undo brought back stays in the context; empty if for good."""
        if conversation.session.transcript.on_hold:
            return tr("What it restored stays while context changes are paused.")
        if not conversation.window.policy.enabled:
            return ""
        return restored_text(conversation.window.measure()[1].trigger)

    async def _pin_and_say(self, conversation: Conversation, output: int, *, is_pinned: bool) -> None:
        change = Pinned(output) if is_pinned else Unpinned(output)
        await (conversation.window.pin(output) if is_pinned else conversation.window.unpin(output))
        words = pin_text(change, conversation.session.transcript)
        self._session.notify(context_notice(conversation, words))


def restoring_notice(session: Session, conversation: Conversation) -> Notice | None:
    """Return what is said where what the user restored doesn't stay; None: it does until the threshold."""
    if conversation.session.transcript.on_hold or not conversation.window.policy.enabled:
        return None
    _, gauge = conversation.window.measure()
    outlook = conversation.window.compaction_outlook()
    if gauge.fits and not outlook.is_coming:
        return None
    what = tr(
        "The context no longer fits: {used} of {window}, and {reserve} are kept for the answer.",
        used=format_tokens(gauge.used),
        window=format_tokens(gauge.model_window),
        reserve=format_tokens(gauge.reserve),
    )
    why = tr("Sending caches or compacts older parts again, unless you choose a model with a larger window.")
    answers: tuple[Answer, ...] = ()
    if gauge.fits:
        what = tr("Something will leave the context again.")
        why = tr(
            "It is above {share} now: outputs are cached, or messages compacted. Pause keeps it as it is.",
            share=limit_text(gauge.trigger.kind, gauge.trigger.limit),
        )
        pause = partial(session.perform, intents.PauseCompaction())
        answers = (Answer(tr("Pause context changes"), pause, "hold"),)
    return Notice(_HOLD, what, why, answers=answers, ends_with=_HOLD_ENDS_WITH)


def notify_with(session: Session, done: Notice, coming: Notice | None) -> None:
    """Say what was done, and what is coming of it, in one notice."""
    if coming is None:
        session.notify(done)
        return
    why = " ".join(filter(None, (done.why, coming.what, coming.why)))
    answers = (*done.answers, *coming.answers)
    session.notices.notify_here(coming._replace(what=done.what, why=why, answers=answers))


def context_notice(conversation: Conversation, what: str, why: str = "", *answers: Answer) -> Notice:
    session_id = conversation.session.id
    ends_with = (Undone, Redone, FormChosen)
    return Notice(
        CONTEXT_CHANGE, what, why, answers=answers, session_id=session_id, is_brief=True, ends_with=ends_with
    )


def also_changed(
    cards: Iterable[TimelineCard], transcript: Transcript, seqs: Sequence[int], named: Sequence[int]
) -> str:
    """Return what falls or returns with those of these rewrites that are named; empty for nothing.

    What stands inside a later rewrite changes nothing.
    """
    attached = (transcript.rewrites.attached_to(seq) for seq in seqs)
    changed = {*seqs, *attached}
    parts = set[int]()  # of what is named by its summary alone
    names = dict[int, str]()
    for card in cards:
        names[card.seq] = card.undo_title
        if isinstance(card, HandoverCard):
            names |= {part.seq: part.undo_title for part in card.parts}
            parts |= {part.seq for part in card.parts} if card.seq in named else set()
        elif isinstance(card, ChangeCard):  # named as one
            own = {part.seq for part in card.parts}
            names |= dict.fromkeys(own, "" if own & {*named} else card.undo_title)
    others = sorted(((changed - {0, *named}) | (changed & parts)) - covers_around(transcript).keys())
    titles = tuple(dict.fromkeys(names[seq] for seq in others if names.get(seq)))
    return tr("Together with it: {changes}.", changes=titles) if titles else ""
