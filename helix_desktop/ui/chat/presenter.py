"""Keeps the chat's rows in step with one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.update import (
    ArrivalVoided,
    Arriving,
    CallProgress,
    CallStarted,
    CallWaiting,
    Happened,
    SubagentMoved,
    Trouble,
    TurnChanged,
    Update,
)
from helix_desktop.context.event import ApprovalGiven, AssistantSpoke, Recorded
from helix_desktop.context.tool import ApprovalAsk
from helix_desktop.ui.action_text import known_remedies
from helix_desktop.ui.chat.countdown import Countdown
from helix_desktop.ui.chat.from_events import ChatRows, all_rows, model_name
from helix_desktop.ui.chat.live_calls import LiveCalls
from helix_desktop.ui.chat.live_strip import Live
from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.rows import (
    ApprovalRow,
    AssistantRow,
    DividerRow,
    NoticeRow,
    Original,
    Row,
    ToolState,
)

_RETRY = "retry"
_INLINE = 2_000  # a log up to this many events is read without a thread


class ChatPresenter:
    """Shows one conversation at a time; `finished` and `asked` are called when the person should be told."""

    def __init__(self, model: ChatModel, finished: Callable[[], None], asked: Callable[[str], None]) -> None:
        self._model, self._finished, self._asked = model, finished, asked
        self._rows = ChatRows()
        self._conversation: Conversation | None = None
        self._leave: Callable[[], None] = lambda: None
        self._troubles = 0
        self._answers = 0
        self._live = _live(0)
        self._calls = LiveCalls(lambda: self._conversation, self._show_live)
        self._countdown = Countdown()

    async def show(self, conversation: Conversation | None) -> None:
        """Show another conversation, or none; what runs in the former one goes on unseen."""
        self._leave()
        self._leave = lambda: None
        self._countdown.stop()
        self._conversation = conversation
        if conversation is None:
            self._model.reset([])
            return
        log = list(conversation.session.log)
        if len(log) > _INLINE:
            rows, shown = await asyncio.to_thread(all_rows, log)
        else:
            rows, shown = all_rows(log)
        if self._conversation is not conversation:
            return  # the person went on to another session meanwhile
        self._rows = rows
        self._model.reset(shown)
        for recorded in conversation.session.log[len(log) :]:
            self._happened(recorded)
        self._catch_up(conversation)
        self._leave = conversation.session.listen(self._update)

    def show_original(self, key: str, original: Original) -> None:
        """Let a tool's card show what the cache holds of its output."""
        row = self._rows.with_original(key, original)
        if row is not None:
            self._put(row)

    def _catch_up(self, conversation: Conversation) -> None:
        """Show what is under way and not recorded yet."""
        asks = conversation.asks
        if conversation.running:
            for call in conversation.session.transcript.open_calls.values():
                self._state(call.id, "running")
                self._calls.moved(call.id)
            for moved in conversation.subagents.moves:
                self._moved(moved)
        for ask in asks:
            self._ask(ask)
        if conversation.partial:
            self._arriving(conversation.partial)
        if conversation.again:
            self._voided(conversation.again)

    def _update(self, update: Update) -> None:
        match update:
            case Happened(recorded=recorded):
                self._happened(recorded)
            case Arriving(text=text, reasoning=reasoning):
                self._arriving("" if reasoning else text)
            case ArrivalVoided() as voided:
                self._voided(voided)
            case CallWaiting(ask=ask):
                self._ask(ask)
            case CallStarted(call=call):
                self._state(call.id, "running")
            case SubagentMoved() as moved:
                self._moved(moved)
                self._calls.started()
            case CallProgress(call_id=call_id):
                self._calls.moved(call_id)
            case TurnChanged(running=running):
                self._turn_changed(running)
            case Trouble() as trouble:
                self._troubles += 1
                key = f"trouble{self._troubles}"
                actions = known_remedies(trouble.remedies)
                self._put(NoticeRow(key, "error", trouble.what, trouble.why, trouble.fix, actions))
            case _:
                pass

    def _happened(self, recorded: Recorded) -> None:
        conversation = self._conversation
        if conversation is None:
            return
        if isinstance(recorded.event, ApprovalGiven):
            self._drop(f"ask:{recorded.event.call_id}")
            _number_asks(self._model)
        rows = self._rows.apply(recorded, conversation.session.transcript)
        if isinstance(recorded.event, AssistantSpoke):
            rows = self._settle(rows)
        for row in rows:
            for key in row.replaces if isinstance(row, DividerRow) else ():
                self._drop(key)
            self._put(row)

    def _settle(self, rows: list[Row]) -> list[Row]:
        """Let the recorded answer take the place of the one that was arriving."""
        self._asked_again()
        if rows and isinstance(rows[0], AssistantRow) and self._model.index_of(self._live) is not None:
            self._model.replace(self._live, rows[0])
            self._next_live()
            return rows[1:]
        self._drop_live()
        return rows

    def _drop_live(self) -> None:
        self._drop(self._live)
        self._next_live()

    def _next_live(self) -> None:
        """A key is never used twice: the view keeps what it drew under one, also when its row has gone."""
        self._answers += 1
        self._live = _live(self._answers)

    def _arriving(self, text: str) -> None:
        self._asked_again()
        if self._model.index_of(self._live) is None:
            info = self._conversation.model if self._conversation else None
            name = model_name(info.label, info.demo) if info else ""
            self._model.append(AssistantRow(self._live, "", model=name, streaming=True))
        self._model.stream(self._live, text)

    def _voided(self, voided: ArrivalVoided) -> None:
        self._drop_live()

        def tell(left_s: int) -> None:
            when = f"in {left_s} s" if left_s else "now"
            what = f"Retrying {when} (attempt {voided.attempt})"
            actions = ("try_now", "stop") if left_s else ("stop",)
            why = f"{voided.reason[:1].upper()}{voided.reason[1:]}"
            self._put(NoticeRow(_RETRY, "warning", what, why, actions=actions))

        self._countdown.start(voided.wait_s, tell)

    def _asked_again(self) -> None:
        """What was announced has happened."""
        self._countdown.stop()
        self._drop(_RETRY)

    def _ask(self, ask: ApprovalAsk) -> None:
        self._state(ask.call_id, "approval")
        key = f"ask:{ask.call_id}"
        news = self._model.index_of(key) is None
        offers = tuple(rule.text for rule in ask.offers or (ask.rule,))
        self._put(
            ApprovalRow(
                *(key, ask.call_id, ask.tool, ask.summary, ask.detail, offers),
                *(ask.kind, ask.confined, ask.because),
                asker=ask.asker,
            )
        )
        _number_asks(self._model)
        if news:
            self._asked(ask.summary)

    def _moved(self, moved: SubagentMoved) -> None:
        row = self._rows.moved(moved)
        if row is not None:
            self._put(row)

    def _show_live(self, call_id: str, live: Live) -> None:
        row = self._rows.with_live(call_id, live)
        if row is not None:
            self._put(row)

    def _state(self, call_id: str, state: ToolState) -> None:
        row = self._rows.with_state(call_id, state)
        if row is not None:
            self._put(row)

    def _turn_changed(self, running: bool) -> None:
        if running:
            return
        self._drop_live()
        self._asked_again()
        for row in [one for one in self._model.shapes() if isinstance(one, ApprovalRow)]:
            self._drop(row.key)
        self._finished()

    def _put(self, row: Row) -> None:
        if self._model.index_of(row.key) is None:
            self._model.append(row)
        else:
            self._model.replace(row.key, row)

    def _drop(self, key: str) -> None:
        if self._model.index_of(key) is not None:
            self._model.remove(key)


def _number_asks(model: ChatModel) -> None:
    """Say at each question which of how many it is."""
    asked = [one for one in model.shapes() if isinstance(one, ApprovalRow)]
    for number, row in enumerate(asked, 1):
        place = f"{number} of {len(asked)}" if len(asked) > 1 else ""
        if row.place != place:
            model.replace(row.key, replace(row, place=place))


def _live(answer: int) -> str:
    return f"live{answer}"
