"""The answer that the model gives: that it is silent, its text as it comes, when it is asked again."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.session_updates import ResponseReset
from helix_desktop.ui.chat.actions import ApplyRemedy, ButtonAction, ControlTurn
from helix_desktop.ui.chat.countdown import Countdown
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import AssistantRow, NoticeRow, Row
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_RETRY_SHOWN_S = 2  # how long a repeated request says that it is one, unless it fails again
_MINUTE_S = 60
_SETTINGS = (ApplyRemedy("provider_settings"),)
_RETRY_KEY = RowKey(part="retry")


class ArrivingAnswer:
    """The rows of an answer until it is recorded: its text, and the notice of a request that is repeated."""

    def __init__(self, model: ChatModel) -> None:
        self._model, self._countdown = model, Countdown()
        self._count = 1

    @property
    def _key(self) -> RowKey:
        return RowKey(self._count, part="arriving")

    def stop_countdown(self) -> None:
        """Announce no retry any more: the chat shows something else."""
        self._countdown.stop()

    def show_waiting(self, since_ms: int, model: str) -> None:
        """Say that the model of this name is silent since a time in milliseconds since 1970."""
        self._model.put(AssistantRow(self._key, "", model=model, streaming=True, waiting_since_ms=since_ms))

    def add_text(self, text: str, model: str) -> None:
        """Add text of the model of this name."""
        self.clear_retry()
        index = self._model.index_of(self._key)
        row = self._model.raw_row(index) if index is not None else None
        if row is None or (isinstance(row, AssistantRow) and row.waiting_since_ms):
            self._model.put(AssistantRow(self._key, "", model=model, streaming=True))
        self._model.stream(self._key, text)

    def settle(self, rows: list[Row]) -> list[Row]:
        """Put the row of the recorded answer in the place of its own; return the rows still to be shown."""
        self.clear_retry()
        if rows and isinstance(rows[0], AssistantRow) and self._model.index_of(self._key) is not None:
            self._model.replace(self._key, rows[0])
            self._count += 1
            return rows[1:]
        self._drop()
        return rows

    def drop(self) -> None:
        """Remove its rows: no answer comes."""
        self._drop()
        self.clear_retry()

    def show_retry(self, reset: ResponseReset, on_sent: Callable[[], None]) -> None:
        """Drop the text and count down to the next attempt; `on_sent` follows that attempt."""
        self._drop()

        def tell(left_s: int) -> None:
            if left_s == 0:  # nothing refused the request meanwhile: the model is silent
                self.clear_retry()
                on_sent()
                return
            left_s -= _RETRY_SHOWN_S
            what = (
                tr("Retrying in {seconds} s (attempt {attempt})", seconds=left_s, attempt=reset.attempt)
                if left_s > 0
                else tr("Retrying now (attempt {attempt})", attempt=reset.attempt)
            )
            stop = ControlTurn("stop")
            remedies = _SETTINGS if "provider_settings" in reset.remedies else ()
            now = (ControlTurn("try_now"),) if left_s > 0 else ()
            actions: tuple[ButtonAction, ...] = (*now, *remedies, stop)
            why = translate(reset.reason)
            self._model.put(NoticeRow(_RETRY_KEY, "warning", what, why, _end_text(reset), actions))

        self._countdown.start(reset.wait_s + _RETRY_SHOWN_S, tell)

    def clear_retry(self) -> None:
        """Remove the notice: what it announced has happened."""
        self._countdown.stop()
        self._model.discard(_RETRY_KEY)

    def _drop(self) -> None:
        """Remove the text, and take an unused key: the view keeps what it drew under one."""
        self._model.discard(self._key)
        self._count += 1


def _end_text(reset: ResponseReset) -> str:
    """Say for how long the request is repeated."""
    minutes = round(reset.patience_s / _MINUTE_S)
    return tr("Retries end {minutes} min after the first failure.", minutes=minutes) if minutes else ""
