"""The past of the session on screen: chart, inspector and chat show one earlier step; nothing changes."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.steps import Step
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites.planner import compaction_outlook
from helix_desktop.context.window.past_windows import PastWindow
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.store import StoreTotals
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.ui.inspector.from_window import inspector_state
from helix_desktop.ui.inspector.inspector_data import InspectorState
from helix_desktop.ui.kit.intents import LookAtStep, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.words.steps import looking_at_text, sent_at_step, step_figures, step_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")


class PastController(QObject):
    """Shows the step that the scrubber stands at; only the newest one that is asked for, when many are.

    What runs goes on; what is sent, or would change the session, leads back to now.
    """

    def __init__(self, window: MainWindow, session: Session, chat: ChatPresenter) -> None:
        super().__init__(window)
        self._window, self._views, self._session, self._chat = window, window.pages, session, chat
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
        window.intents.add(self)
        for sent in (chat_page.composer.submitted, chat_page.composer.steered):
            sent.connect(lambda _: self.leave())
        window.page_shown.connect(lambda _: self._follow_soon())
        session.changed.connect(self._forget)
        session.on_refresh(self._refresh)

    def _refresh(self) -> None:
        self._show_strip()
        if self.step is None:
            self._chat.recount()

    def request_on_screen(self) -> tuple[Window, tuple[WindowItem, ...]]:
        """Return the request that the inspector shows, the next one or one of the past, and its parts."""
        if self.window is not None:
            return self.window.window, self.window.items()
        window = self._session.conversation.window
        return window.measure()[0], window.items()

    @handles(LookAtStep)
    def look_at(self, seq: int) -> None:
        """Look at the step whose answer is an event; 0: come back to now."""
        if not seq:
            self.leave()
            return
        step = self._views.timeline.get().chart.scrubber.step_of(seq)
        if step is None or step == self.step:
            return
        if self.step is None:
            self._place = self._chat_place()
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
        waits = tr("The agent waits for your answer at the end of the session. Messages you send go there.")
        words = (
            waits
            if self._session.conversation.asks
            else tr("Messages you send go to the end of the session.")
        )
        self._views.chat.past_strip.show_text(looking_at_text(self.step), words)

    def leave(self) -> None:
        if self.step is None:
            return
        place = self._place if self._chat_step is not None else None
        self._forget()
        self._session.start(self._show_now(place), "back to now")

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

    def _chat_place(self) -> tuple[RowKey, float] | None:
        viewport = self._views.chat.view.chat_viewport
        if viewport.is_following or not len(viewport.model):
            return None
        layout = viewport.scroll_layout
        return viewport.model.raw_row(layout.anchor).key, layout.offset

    def _follow_soon(self) -> None:
        if self.step is not None and not self._is_following:
            self._session.start(self._follow(), "look at a step")

    async def _follow(self) -> None:
        """Show the step that is looked at, until it is the one that the user wants."""
        self._is_following = True
        try:
            while (step := self.step) is not None and (self._needs_window(step) or self._needs_chat(step)):
                if self._needs_window(step):
                    await self._show_window(step)
                else:
                    await self._show_chat(step)
            self._reveal_event()
        finally:
            self._is_following = False

    def _needs_window(self, step: Step) -> bool:
        return self.window is None or self.window.answer_seq != step.seq

    def _needs_chat(self, step: Step) -> bool:
        return self._window.page() == "chat" and self._chat_step != step

    async def _show_window(self, step: Step) -> None:
        conversation = self._session.conversation
        past = await conversation.window.window_at(step.seq)
        totals = await self._session.workspace.store.totals()
        policy = conversation.window.policy
        state = await asyncio.to_thread(past_inspector_state, past, step, policy, totals)
        if self._session.shows(conversation) and self.step is not None:
            self.window = past
            self._views.inspector.set_state(state)

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

    def _reveal_event(self) -> None:
        past = self.window
        if self._reveal and past is not None and self._chat_step == self.step:
            recorded = self._session.conversation.session.log[self._reveal - 1]
            self._views.chat.view.jump_to(self._chat.key_of_event(recorded, past.transcript))
            self._reveal = 0


def past_inspector_state(
    past: PastWindow, step: Step, policy: ContextPolicy, totals: StoreTotals
) -> InspectorState:
    transcript, gauge = past.transcript, past.gauge
    outlook = compaction_outlook(transcript, policy, gauge, transcript.last_event_at_ms)
    state = inspector_state(past.items(), gauge, transcript, policy, totals, outlook)
    note = ""
    if past.is_exact is False:
        note = tr("The policy, system prompt or tools have changed since. They are shown as they are now.")
    return replace(state, past=sent_at_step(step), past_figures=step_figures(step), past_note=note)
