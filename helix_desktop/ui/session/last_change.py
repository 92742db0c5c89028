"""The newest change of a session's context: the commands that undo and redo it, on while there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import RewriteEvent, Undoable
from helix_desktop.context.window.window_breakdown import covers_around
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.ui.kit.intents import RedoLast, UndoLast, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.commands import REDOABLE_CHANGE, UNDOABLE_CHANGE
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.card_data import TimelineCard, UndoCard
from helix_desktop.ui.timeline.card_texts import card_title
from helix_desktop.ui.timeline.from_events import build_cards
from helix_desktop.words.rewrites import pin_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

CONTEXT_CHANGE = "context-change"
"""The name of the notice about what was undone or redone."""


class LastChangeController(QObject):
    """Binds undo and redo of the newest change to the conversation on screen.

    The keys of the timeline come here with nothing to undo, too: they get an answer.
    """

    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._session, self._commands = session, window.commands
        window.intents.add(self)
        session.changed.connect(self._offer)
        session.on(RewriteEvent, lambda _: self._offer())
        self._offer()

    def _offer(self) -> None:
        """Let the commands be used while there is something to undo or redo."""
        self._commands.meet(UNDOABLE_CHANGE, has_change(self._session.transcript))
        self._commands.meet(REDOABLE_CHANGE, has_undone(self._session.transcript))

    @handles(UndoLast)
    def undo(self) -> None:
        """Undo the newest change of the context that still holds, a recall or a pin as well as a handover."""
        conversation = self._session.conversation
        target, output = _newest_change(conversation)
        if output:
            self._start(partial(self._pin_and_say, is_pinned=False), conversation, output)
        elif target:
            self._start(self._undo_and_say, conversation, target)
        else:
            self._say(conversation, tr("Nothing to undo in the context."))

    @handles(RedoLast)
    def redo(self) -> None:
        """Let the change of the context that was undone last hold again, and say so."""
        conversation = self._session.conversation
        target, output = _newest_undone(conversation)
        if output:
            self._start(partial(self._pin_and_say, is_pinned=True), conversation, output)
        elif target:
            self._start(self._redo_and_say, conversation, target)
        else:
            self._say(conversation, tr("Nothing to redo in the context."))

    def _start(
        self,
        change: Callable[[Conversation, int], Coroutine[Any, Any, None]],
        conversation: Conversation,
        target: int,
    ) -> None:
        self._session.start(change(conversation, target), "undo or redo")

    async def _undo_and_say(self, conversation: Conversation, target: int) -> None:
        await conversation.window.undo(target)
        redo = partial(self._start, self._redo_and_say, conversation, target)
        await self._say_change(conversation, target, Answer(tr("Redo"), redo, f"redo:{target}"))

    async def _redo_and_say(self, conversation: Conversation, target: int) -> None:
        await conversation.window.redo(target)
        undo = partial(self._start, self._undo_and_say, conversation, target)
        await self._say_change(conversation, target, Answer(tr("Undo"), undo, f"undo:{target}"))

    async def _say_change(self, conversation: Conversation, target: int, way_back: Answer) -> None:
        """Name what was undone or redone as the timeline does: it may be out of sight."""
        log, transcript = list(conversation.session.log), conversation.session.transcript
        cards = await asyncio.to_thread(build_cards, log, transcript)
        changes = (card for card in cards if isinstance(card, UndoCard) and card.target == target)
        name = next(map(card_title, changes), "")
        self._say(
            conversation, name or tr("Context changed."), also_changed(cards, transcript, (target,)), way_back
        )

    async def _pin_and_say(self, conversation: Conversation, output: int, *, is_pinned: bool) -> None:
        """Pin an output again, or no longer, and say which one."""
        change = Pinned(output) if is_pinned else Unpinned(output)
        await (conversation.window.pin(output) if is_pinned else conversation.window.unpin(output))
        self._say(conversation, pin_text(change, conversation.session.transcript))

    def _say(self, conversation: Conversation, text: str, why: str = "", *answers: Answer) -> None:
        session_id = conversation.session.id
        self._session.notify(
            Notice(
                CONTEXT_CHANGE,
                text,
                why,
                answers=answers,
                session_id=session_id,
                is_brief=True,
                ends_with=(Undone, Redone),
            )
        )


def also_changed(cards: Iterable[TimelineCard], transcript: Transcript, seqs: Sequence[int]) -> str:
    """Return what falls or returns with the first of these rewrites, by its titles; empty for nothing."""
    attached = (transcript.rewrites.attached_to(seq) for seq in seqs)
    others = sorted({*seqs, *attached} - {0, seqs[0]})
    names = {card.seq: card_title(card) for card in cards}
    titles = tuple(names[seq] for seq in others if seq in names)
    return tr("Together with it: {changes}.", changes=titles) if titles else ""


def has_change(transcript: Transcript) -> bool:
    """Return True if undo has something to take back; read at each change, so nothing is compared for it."""
    rewrites = transcript.rewrites
    return bool(rewrites.pinned) or any(
        transcript.can_undo(seq) and not _is_attached(rewrite)
        for seq, rewrite in reversed(rewrites.by_seq.items())
    )


def has_undone(transcript: Transcript) -> bool:
    """Return True if redo has something to bring back."""
    rewrites = transcript.rewrites
    return bool(rewrites.unpinned) or any(map(transcript.can_redo, rewrites.undone))


def _newest_change(conversation: Conversation) -> tuple[int, int]:
    """Return what undo takes back: a rewrite, or else the output that was pinned; zeros for nothing."""
    rewrite = last_change(conversation.session.transcript)
    pin, output = _newest_pin(conversation, is_held=True)
    return (0, output) if pin > rewrite else (rewrite, 0)


def _newest_undone(conversation: Conversation) -> tuple[int, int]:
    """Return what redo brings back: a rewrite, or else the output that was unpinned; zeros for nothing."""
    undone, rewrite = _last_undone(conversation)
    unpinned, output = _newest_pin(conversation, is_held=False)
    return (0, output) if unpinned > undone else (rewrite, 0)


def last_change(transcript: Transcript) -> int:
    """Return the newest change of the context that can be undone, 0 for none.

    A sweep that was recorded with another rewrite does not count: it is undone with that one. Nor does what
    stands inside a wider rewrite: its undo would change no request.
    """
    inside = covers_around(transcript)
    active_seqs = (
        seq
        for seq, rewrite in reversed(transcript.rewrites.by_seq.items())
        if not _is_attached(rewrite) and transcript.can_undo(seq) and seq not in inside
    )
    return next(active_seqs, 0)


def _is_attached(rewrite: Undoable) -> bool:
    """Return True for a sweep that was recorded with another rewrite, and is undone with it."""
    return isinstance(rewrite, SweepMade) and rewrite.reason in ATTACHED_SWEEP_REASONS


def _last_undone(conversation: Conversation) -> tuple[int, int]:
    """Return the newest undo whose rewrite is still undone, and that rewrite; zeros for none."""
    transcript = conversation.session.transcript
    undos = (
        (entry.seq, entry.event.target)
        for entry in reversed(conversation.session.log)
        if isinstance(entry.event, Undone)
    )
    return next((undo for undo in undos if transcript.can_redo(undo[1])), (0, 0))


def _newest_pin(conversation: Conversation, *, is_held: bool) -> tuple[int, int]:
    """Return the newest pin that holds, or removal of one that does, and its output; zeros for none."""
    pinned, kind = conversation.session.transcript.rewrites.pinned, Pinned if is_held else Unpinned
    pins = (
        (entry.seq, entry.event.target)
        for entry in reversed(conversation.session.log)
        if isinstance(entry.event, kind)
    )
    return next((pin for pin in pins if (pin[1] in pinned) == is_held), (0, 0))
