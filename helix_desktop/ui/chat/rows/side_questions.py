"""Side questions to rows: the question and its answer, each said to stand beside the conversation."""

from __future__ import annotations

from helix_desktop.domain.events.conversation import SideQuestionAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import AssistantRow, Row, UserRow
from helix_desktop.words.costs import cost_text
from helix_desktop.words.models import model_name
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


def side_question_rows(recorded: RecordedEvent, event: SideQuestionAnswered) -> list[Row]:
    cost = cost_text(event.spent, event.cost, event.demo, event.estimated, event.unpriced)
    note = " · ".join((tr("not in context"), cost))
    if event.stopped:
        note = f"{tr('canceled')} · {note}"
    name = model_name(event.model, event.demo)
    answer_key = RowKey(recorded.seq)
    return [
        UserRow(RowKey(recorded.seq, part="side"), event.question, recorded.at, is_side=True),
        AssistantRow(answer_key, event.answer, recorded.at, name, side_note=note),
    ]


class LiveSideQuestion:
    def __init__(self, model: ChatModel) -> None:
        self._model, self._count, self._answer = model, 0, ""
        self._is_shown = False

    @property
    def _question_key(self) -> RowKey:
        return RowKey(self._count, "question", "side")

    @property
    def _answer_key(self) -> RowKey:
        return RowKey(self._count, "answer", "side")

    def forget(self) -> None:
        self._is_shown = False

    def show(self, question: str, answer: str, name: str) -> None:
        if not self._is_shown:
            self._count, self._answer, self._is_shown = self._count + 1, "", True
            self._model.append(UserRow(self._question_key, question, is_side=True))
            self._model.append(self._empty_answer(name))
        if not answer.startswith(self._answer):
            self._model.replace(self._answer_key, self._empty_answer(name))
            self._answer = ""
        self._model.stream(self._answer_key, answer[len(self._answer) :])
        self._answer = answer

    def _empty_answer(self, name: str) -> AssistantRow:
        return AssistantRow(self._answer_key, "", model=name, streaming=True, side_note=tr("not in context"))

    def settle(self, rows: list[Row]) -> bool:
        """Put the recorded rows in the place of those shown. Return False if none are shown."""
        if not self._is_shown:
            return False
        self._is_shown = False
        for key, row in zip((self._question_key, self._answer_key), rows, strict=True):
            self._model.replace(key, row)
        return True

    def drop(self) -> None:
        if self._is_shown:
            self._is_shown = False
            for key in (self._answer_key, self._question_key):
                self._model.remove(key)
