"""The request on screen in panel, chart and chat: the next one, or that of an earlier step."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.steps import Step
from helix_desktop.context.log.undo_targets import summaries_of_block, sweep_of_one
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.compaction_due import NO_COMPACTION, compaction_outlook
from helix_desktop.context.window.past_windows import PastWindow
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.errors import CompactionRefused, OutputFormUnavailable
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.chat.actions import CacheNow, RowKey
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.ui.design.dialogs import confirm
from helix_desktop.ui.design.viewer.paged_content import PagedContent
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.intents import SendAll, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.outputs.entry_actions import SendInFull
from helix_desktop.ui.panel import from_window
from helix_desktop.ui.panel.panel_state import PanelState, RequestTexts, RowAction, WindowRow
from helix_desktop.ui.panel.request_list import (
    ActOnRow,
    ShowRowText,
    change_price_text,
    send_full_price_text,
)
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.rewrite_controller import context_notice, notify_with, restoring_notice
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.button_labels import action_label
from helix_desktop.words.context_changes import restored_output, restoring_text
from helix_desktop.words.steps import looking_at_text, sent_at_step, sent_at_text, step_figures, step_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
_text = TextContext("Panel")


class PastController(WindowPart):
    """Shows the step that the scrubber stands at; only the newest one that is asked for, when many are.

    What runs goes on; what is sent, or would change the session, leads back to now.
    """

    def __init__(self, window: MainWindow, windows: WindowGroup, chat: ChatPresenter) -> None:
        super().__init__(window, windows)
        self._views = window.pages
        self._chat = chat
        self._conversation: Conversation | None = None  # whose steps were looked at
        self.step: Step | None = None
        """The step that is looked at; None: now."""
        self.window: PastWindow | None = None
        """Its request, once it is computed."""
        self._is_following = False
        self._chat_step: Step | None = None  # in the chat
        self._place: tuple[RowKey, float] | None = None  # in the chat of now; None: its end
        self._reveal: int = 0  # an event to be shown in the chat, once that shows the step
        chat_page = self._views.chat
        for sent in (chat_page.composer.submitted, chat_page.composer.steered):
            sent.connect(lambda _: self.leave())
        window.page_shown.connect(lambda _: self._follow_soon())
        self._session.changed.connect(self._forget)
        self._session.on_refresh(self._refresh)

    def _refresh(self) -> None:
        self._show_strip()
        if self.step is None:
            self._chat.recount()

    def request_on_screen(self) -> tuple[Window, tuple[WindowItem, ...]]:
        """Return the request that the panel shows, the next one or one of the past, and its parts."""
        if self.window is not None:
            return self.window.window, self.window.items()
        window = self._session.conversation.window
        return window.measure()[0], window.items()

    @handles(intents.LookAtStep)
    def look_at(self, seq: int) -> None:
        """Look at the step whose answer is an event; 0: come back to now."""
        if not seq:
            self.leave()
            return
        step = self._views.timeline.get().chart.scrubber.step_of(seq)
        if step is None or step == self.step:
            return
        if self.step is None:
            viewport = self._views.chat.view.chat_viewport
            layout = viewport.scroll_layout
            self._place = None
            if not viewport.is_following and len(viewport.model):
                self._place = viewport.model.raw_row(layout.anchor).key, layout.offset
        self.step = step
        self._conversation = self._session.conversation
        self._views.timeline.get().show_past(step)
        self._show_strip()
        self._views.chat.past_strip.show()
        self._views.chat.view.is_past = True
        self._views.chat.next_messages.show_past(True)
        self._follow_soon()

    def _show_strip(self) -> None:
        """Say above the message field which step is looked at, and where a message goes."""
        if self.step is None:
            return
        words = tr("Messages you send go to the end of the session.")
        if self._session.conversation.asks:
            words = tr(
                "The agent waits for your answer at the end of the session. Messages you send go there."
            )
        self._views.chat.past_strip.show_text(looking_at_text(self.step), words)

    def leave(self) -> None:
        if self.step is None:
            return
        place = self._place if self._chat_step is not None else None
        self._forget()
        self._start(self._show_now(place), "back to now")

    def show_event(self, seq: int) -> bool:
        """Show an event in the chat of the past; False if it came later than that, or now is shown."""
        if self.step is None or seq > self.step.seq:
            return False
        self._reveal = seq if seq < self.step.seq else 0  # the answer of the step is where the chat is cut
        self._window.show_page("chat")
        self._follow_soon()
        return True

    def _forget(self) -> None:
        if self._conversation is not None:
            self._conversation.window.forget_past()
            self._conversation = None
        self.step = self.window = self._chat_step = None
        self._reveal = 0
        if (timeline := self._views.timeline.find()) is not None:
            timeline.show_past(None)
        self._views.chat.past_strip.hide()
        self._views.chat.view.is_past = False
        self._views.chat.next_messages.show_past(False)

    async def _show_now(self, place: tuple[RowKey, float] | None) -> None:
        self._session.schedule_refresh()
        await self._chat.show_now()
        index = self._views.chat.model.index_of(place[0]) if place is not None else None
        if place is not None and index is not None and self.step is None:
            self._views.chat.view.chat_viewport.show_row(index, -place[1])

    def _follow_soon(self) -> None:
        if self.step is not None and not self._is_following:
            self._start(self._follow(), "look at a step")

    async def _follow(self) -> None:
        """Show the step that is looked at, until it is the one that the user wants."""
        self._is_following = True
        try:
            while (step := self.step) is not None and (
                self._needs_window(step) or (self._window.page() == "chat" and self._chat_step != step)
            ):
                if self._needs_window(step):
                    await self._show_window(step)
                else:
                    await self._show_chat(step)
            past = self.window
            if self._reveal and past is not None and self._chat_step == self.step:
                recorded = self._session.conversation.session.log[self._reveal - 1]
                self._views.chat.view.jump_to(self._chat.key_of_event(recorded, past.transcript))
                self._reveal = 0
        finally:
            self._is_following = False

    def _needs_window(self, step: Step) -> bool:
        return self.window is None or self.window.answer_seq != step.seq

    async def _show_window(self, step: Step) -> None:
        conversation = self._session.conversation
        past = await conversation.window.window_at(step.seq)
        state = await asyncio.to_thread(past_panel_state, past, step, conversation.window.policy)
        if self._session.shows(conversation) and self.step is not None:
            self.window = past
            self._views.panel.set_state(state)

    async def _show_chat(self, step: Step) -> None:
        """Let the chat end where the request of a step did."""
        past = self.window
        if past is None:
            return
        text = tr("{step}: later messages are hidden", step=step_name(step))
        below = DividerRow(RowKey(step.seq, part="past"), "past", text)
        await self._chat.show_past(past.seq, below)
        if self.step is None:  # it was left meanwhile
            await self._chat.show_now()
        else:
            self._chat_step = step


def past_panel_state(past: PastWindow, step: Step, policy: ContextPolicy) -> PanelState:
    transcript = past.transcript
    gauge = past.gauge
    outlook = compaction_outlook(transcript, policy, gauge, transcript.last_event_at_ms)
    state = from_window.panel_state(past.items(), gauge, transcript, policy, outlook)
    note = ""
    if past.is_exact is False:
        note = tr("The policy, system prompt or tools have changed since. They are shown as they are now.")
    return replace(state, past=sent_at_step(step), past_figures=step_figures(step), past_note=note)


_BRING_BACK = frozenset[RowAction]({"send_full", "include"})
_NAME_CHARS = 40  # of a row, in the title of a question
_DETAILS = "inspector_details"  # whether the panel's details are open


class PanelPresenter(WindowPart):
    """Shows the next request, or that of the step which is looked at, and changes it for the user."""

    def __init__(self, window: MainWindow, windows: WindowGroup, past: PastController) -> None:
        super().__init__(window, windows)
        self._past = past
        self._panel = window.pages.panel
        self._outlook = NO_COMPACTION
        # What it was read for: session, newest event, policy and frame.
        self._outlook_for: tuple[str, RecordedEvent | None, ContextPolicy, PromptFrame] | None = None
        details = self._panel.details
        stored = window.layout_store
        details.setChecked(stored.load(_DETAILS) == b"on")
        details.toggled.connect(lambda is_open: stored.save(_DETAILS, b"on" if is_open else b"off"))
        self._session.changing.connect(self._panel.close_page)
        self._session.on_refresh(self.refresh)

    async def refresh(self) -> None:
        session = self._session
        if not session.has_conversation:
            return
        conversation = session.conversation
        transcript = session.transcript
        if not transcript.opening_seq:
            session.start(conversation.plan_opening(), "plan the first message")
        made_for = (session.id, transcript.newest, conversation.window.policy, conversation.window.frame)
        if made_for != self._outlook_for:
            outlook = await conversation.window.read_outlook()
            if session.shows(conversation):
                self._outlook = outlook
                self._outlook_for = made_for
        if not session.shows(conversation):
            return
        self._panel.follow_request(_parts_of_next_request(conversation))
        if self._past.step is not None:
            return
        _, gauge = conversation.window.measure()  # something may have come while the store was asked
        policy = conversation.window.policy
        outlook = self._outlook
        items = conversation.window.items()
        cost = conversation.window.cost()
        state = from_window.panel_state(items, gauge, transcript, policy, outlook, cost.fresh)
        state = from_window.with_request_cost(state, cost)
        discount = from_window.discount_text(conversation.budget.spent)
        self._panel.set_state(replace(state, discount_text=discount))

    @handles(ShowRowText)
    def _show_row(self, row: WindowRow) -> None:
        text = from_window.request_row_text(*self._past.request_on_screen(), row)
        if row.way_back == "undo" and self._past.step is None:
            row = _with_undo(self._session.conversation, row)
        self._panel.show_page(row.label, text, row)

    @handles(intents.ShowRequest)
    async def show_request(self) -> None:
        conversation = self._session.conversation
        request = self._past.request_on_screen()
        past = self._past.window
        step = self._past.step
        made_of = () if past is not None else _parts_of_next_request(conversation)
        body = await conversation.window.wire_body(past)
        title = tr("Next request")
        notes = []
        if past is not None and step is not None:
            title = sent_at_text(step)
            if body is not None:
                notes.append(tr("In today's format, which may differ from what was sent."))
        elif conversation.window.policy.enabled and not conversation.session.transcript.on_hold:
            notes.append(tr("Parts of it may be cached or compacted just before it is sent."))
        if body is None:
            notes.append(tr("This model has no server, so the JSON is Helix's own."))
        texts = await asyncio.to_thread(_texts, title, " ".join(notes), *request, body)
        if not self._session.shows(conversation):
            return
        if not self._window.commands.toggle_inspector.isChecked():
            self._window.perform(intents.TogglePane("panel"))
        self._panel.show_request(replace(texts, made_of=made_of))
        self._panel.follow_request(_parts_of_next_request(conversation))  # it may be another by now

    @handles(ActOnRow)
    def _act(self, action: RowAction, row: WindowRow) -> None:
        conversation = self._session.conversation
        match action:
            case "show":
                self._show_place(row.seq)
            case "open":
                self._session.perform(intents.OpenOutput(row.digest))
            case _:
                self._start(self._change(conversation, action, row), action)

    def _show_place(self, seq: int) -> None:
        """Show an event's place, and leave the keyboard in the list: a page that is shown takes it."""
        focused = QApplication.focusWidget()
        is_by_keyboard = self._window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        self._session.perform(intents.ShowEvent(seq))
        if focused is not None and self._panel.isAncestorOf(focused):
            reason = Qt.FocusReason.ShortcutFocusReason if is_by_keyboard else Qt.FocusReason.OtherFocusReason
            focused.setFocus(reason)

    @handles(SendInFull)
    async def send_entry_in_full(self, digest: str) -> None:
        """Ask, with the cost, whether to send a cached content in full again where it stands, and do it.

        Raises HelixError.
        """
        workspace = self._session.workspace
        conversation = self._session.conversation
        rows = _rows(conversation)
        row = next((row for row in rows if row.digest == digest and _BRING_BACK & {*row.actions}), None)
        if row is None:
            raise OutputFormUnavailable(
                _text("This can't be sent as a whole."),
                _text("It isn't part of this session, or all of it is sent."),
                _text("Recall it into the message instead."),
            )
        entry = await workspace.store.entry(digest)
        what = tr("Send all of “{name}”?", name=_short_name(row))
        why = tr("All of it is sent again where it was. You can undo this.")
        cost = send_full_price_text(output_tokens(entry.tokens) - row.tokens, row.resent)
        window = conversation.window
        room = from_window.with_room(row, window.measure()[1], window.policy).room_text
        why = "\n\n".join(filter(None, (cost, room, why)))
        if await confirm(self._window, what, why, "send", tr("Send all of it"), "primary"):
            await self._change(conversation, "include" if "include" in row.actions else "send_full", row)

    def _change(
        self, conversation: Conversation, action: RowAction, row: WindowRow
    ) -> Coroutine[Any, Any, None]:
        window = conversation.window
        match action:
            case "cache":
                return self._cache(conversation, row)
            case "exclude":
                return self._exclude(conversation, row)
            case "include":
                return window.undo(row.excluded)
            case "send_full":
                return self.send_all(row.seq)
            case "undo":
                return self._bring_back(conversation, row)
            case "unpin":
                return window.unpin(row.seq)
        return window.pin(row.seq)

    async def _bring_back(self, conversation: Conversation, row: WindowRow) -> None:
        """Undo what compacted the messages that a row stands for."""
        self._session.perform(intents.Undo(_undo_seqs(conversation, row)))

    @handles(SendAll)
    async def send_all(self, seq: int) -> None:
        """Send all of an output again.

        What one sweep alone cached is sent in full by its undo: then its line no longer holds.
        """
        conversation = self._session.conversation
        transcript = conversation.session.transcript
        if sweep := sweep_of_one(transcript, seq):
            self._session.perform(intents.Undo((sweep,)))
            return
        row = next((row for row in _rows(conversation) if row.seq == seq), None)
        await conversation.window.send_all(seq)
        if row is None:
            return
        what = tr("All of “{name}” is in the context.", name=_short_name(row))
        if output := restored_output(transcript.window.last_rewrite_seq, transcript):
            what = restoring_text(output, is_cached=False)
        self._offer_undo(conversation, what, restoring_notice(self._session, conversation))

    @handles(CacheNow)
    async def _cache_output(self, seq: int) -> None:
        """Ask, with the cost, whether to replace the output of an event by a marker, and do it.

        Raises OutputFormUnavailable.
        """
        conversation = self._session.conversation
        row = next((row for row in _rows(conversation) if row.seq == seq and "cache" in row.actions), None)
        if row is None:
            raise OutputFormUnavailable(
                _text("This output can't be cached now."),
                _text("Its short description would take as many tokens."),
                _text("To take it out of the requests, leave it out in the context panel."),
            )
        await self._cache(conversation, row)

    async def _cache(self, conversation: Conversation, row: WindowRow) -> None:
        name = _short_name(row)
        saved = await conversation.window.caching_savings(row.seq)
        what = tr("Cache “{name}” now?", name=name)
        why = tr("A short description takes its place, and the agent can recall it. You can undo this.")
        why = f"{change_price_text(saved, row.resent)}\n\n{why}"
        if await confirm(self._window, what, why, "cache", tr("Cache now"), "primary"):
            await conversation.window.cache_now(row.seq)
            self._offer_undo(conversation, tr("Cached “{name}”.", name=name))

    async def _exclude(self, conversation: Conversation, row: WindowRow) -> None:
        name = _short_name(row)
        what = tr("Leave “{name}” out of the requests?", name=name)
        why = tr("A line says that you left it out, and the agent can recall it. You can undo this.")
        saved = await conversation.window.exclusion_savings(row.seq, row.part)
        why = f"{change_price_text(saved, row.resent)}\n\n{why}"
        if await confirm(self._window, what, why, "exclude", tr("Leave out"), "primary"):
            await conversation.window.exclude(row.seq, row.part)
            self._offer_undo(conversation, tr("Left out “{name}”.", name=name))

    def _offer_undo(self, conversation: Conversation, what: str, coming: Notice | None = None) -> None:
        """Say what was changed, with its undo, as its row may be out of sight by now, and what is coming."""
        seq = conversation.session.transcript.window.last_rewrite_seq
        undo = partial(self._session.perform, intents.Undo((seq,)))
        answer = Answer(action_label("undo"), undo, "undo", ends=True)
        notify_with(self._session, context_notice(conversation, what, "", answer), coming)


def _short_name(row: WindowRow) -> str:
    """Return what a row is called away from its turn: a message by its words."""
    return ellipsize(row.name if row.is_in_turn else row.label, _NAME_CHARS)


def _undo_seqs(conversation: Conversation, row: WindowRow) -> tuple[int, ...]:
    return summaries_of_block(conversation.session.transcript, row.seq)


def _with_undo(conversation: Conversation, row: WindowRow) -> WindowRow:
    """Return a row with what the undo of what it is of brings back, or why it can't be undone."""
    transcript = conversation.session.transcript
    window = conversation.window
    try:
        undone, gauge = window.after_undo(*_undo_seqs(conversation, row))
    except CompactionRefused as refused:
        return replace(row, undo_refused=translate(join_sentences(refused.why, refused.fix)))
    return from_window.with_undo(row, transcript, window.measure()[1], undone, gauge)


def _rows(conversation: Conversation) -> list[WindowRow]:
    """Return the rows of the next request, the newest first."""
    window = conversation.window
    fresh = round(window.cost().fresh / window.measure()[1].ratio)
    return [*reversed(from_window.window_rows(window.items(), fresh))]


def _parts_of_next_request(conversation: Conversation) -> tuple[object, ...]:
    window = conversation.window
    session = conversation.session
    return window.measure()[0].request, window.frame, session.effort


def _texts(
    title: str, note: str, window: Window, items: Sequence[WindowItem], wire_body: bytes | None
) -> RequestTexts:
    """Return a request as text and as JSON; its time grows with the request, so call it in a thread."""
    body = wire_body if wire_body is not None else from_window.window_json(window)
    text = from_window.request_text(window, items)
    json = from_window.indented_json(body)
    return RequestTexts(title, note, _pages(text), _pages(json))


def _pages(text: str) -> PagedContent:
    return PagedContent(text.encode("utf-8", "replace"))
