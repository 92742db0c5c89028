"""The cards of questions: the agent's with options, those that are answered, and a server's form.

Real widgets fill the row of a form, so that they type, read and tab as elsewhere. The page has the numbers
that choose an option: they work wherever nothing else is written.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLayout, QLineEdit, QWidget

from helix_desktop.domain.question import (
    FieldValue,
    FormField,
    Question,
    QuestionReply,
    ServerQuestion,
    ServerReply,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.chat.actions import AnswerQuestion, FocusField, MarkOption, RowKey
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem, paragraph, paragraph_with_code
from helix_desktop.ui.chat.rows.row_texts import reply_state_text
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from helix_desktop.ui.chat.style import BODY, SMALL, UI
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.labels import breakable, label, show_text
from helix_desktop.ui.design.layout import FlowBox, LayoutItem, column
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Drawing,
    Flow,
    Frame,
    HitArea,
    Icon,
    Pen,
    Pill,
    Row,
    Space,
    Text,
    push_button,
)
from helix_desktop.ui.kit.forms import Choice, CustomField, Draft, Field, Form, Line, Toggle
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_EXAMPLES = {
    "email": "name@example.org", "uri": "https://example.org", "date": "2026-12-31",
    "date-time": "2026-12-31T18:00:00Z",
}  # fmt: skip


def _first_value(field: FormField) -> Any:
    empty = {"boolean": False, "choice": "", "choices": ()}
    return empty.get(field.kind) if field.default is None else field.default


def _shown_field(name: str, field: FormField) -> Field:
    title = escape_invisible(field.title)
    label = title if field.is_required or field.kind == "boolean" else tr("{title} (optional)", title=title)
    note = escape_invisible(field.description)
    if field.is_secret:
        note = tr("Servers must not ask for passwords or keys here. Leave it empty.")
    if field.kind == "boolean":
        return Toggle(name, label, note, words=tr("Yes"))
    if field.kind == "choice":
        values = tuple((value, escape_invisible(words)) for value, words in field.choices)
        if field.default is None or not field.is_required:
            values = (("", tr("Choose…") if field.is_required else "–"), *values)
        return Choice(name, label, note, room=1, choices=values)
    if field.kind == "choices":
        return CustomField(
            name, label, note, room=1,
            control=lambda form: _Switches(name, field, form),
            display=_Switches.show_value,
        )  # fmt: skip

    def parse(text: str) -> FieldValue:
        value = _parsed(field, text.strip() if field.kind != "text" or field.format else text)
        if value is not None and (why := problem(field, value)):
            raise ValueError(why)
        return value

    return Line(
        name, label, note, room=1, parse=parse, live=True, placeholder=_EXAMPLES.get(field.format, ""),
        format=lambda value: "" if value is None else str(value),
    )  # fmt: skip


class _Switches(QWidget):
    def __init__(self, name: str, field: FormField, form: Form) -> None:
        super().__init__()
        self._switches = {value: Switch(escape_invisible(title)) for value, title in field.choices}
        for number, switch in enumerate(self._switches.values(), 1):
            switch.setObjectName(f"{name}:{number}")
            switch.toggled.connect(lambda _: form.write(name, self._chosen()))
        self.setLayout(column(*self._switches.values(), gap=3))

    def _chosen(self) -> tuple[str, ...]:
        return tuple(value for value, switch in self._switches.items() if switch.isChecked())

    def show_value(self, value: tuple[str, ...]) -> None:
        for choice, switch in self._switches.items():
            switch.setChecked(choice in value)


def _parsed(field: FormField, text: str) -> FieldValue:
    if not text or field.kind == "text":
        return text or None
    try:
        return int(text) if field.kind == "integer" else float(text.replace(",", "."))
    except ValueError:
        words = tr("Enter a whole number.") if field.kind == "integer" else tr("Enter a number.")
        raise ValueError(words) from None


def problem(field: FormField, value: FieldValue) -> str:
    if value in (None, "", ()):
        return tr("Required.") if field.is_required else ""
    if isinstance(value, bool) or field.kind in ("choice", "boolean"):
        return ""
    amount = value if isinstance(value, int | float) else len(value or "")
    if field.least is not None and amount < field.least:
        least = f"{field.least:g}"
        if field.kind == "text":
            return tr("At least {least} characters.", least=least)
        many = tr("Choose at least {least}.", least=least)
        return many if field.kind == "choices" else tr("At least {least}.", least=least)
    if field.most is not None and amount > field.most:
        most = f"{field.most:g}"
        if field.kind == "text":
            return tr("At most {most} characters.", most=most)
        many = tr("Choose at most {most}.", most=most)
        return many if field.kind == "choices" else tr("At most {most}.", most=most)
    if isinstance(value, str):
        return _format_problem(field.format, value)
    return "" if abs(amount) < float("inf") else tr("Enter a number.")


def _format_problem(name: str, value: str) -> str:
    try:
        match name:
            case "email" if not _EMAIL.fullmatch(value):
                return tr("Enter an email address.")
            case "uri" if not (urlsplit(value).scheme and urlsplit(value).path + urlsplit(value).netloc):
                raise ValueError
            case "date":
                date.fromisoformat(value)
            case "date-time":
                datetime.fromisoformat(value)
    except ValueError:
        if name == "uri":  # also one that can't be split
            return tr("Enter an address such as https://example.org.")
        moment = tr("Enter a date and time such as 2026-12-31T18:00:00Z.")
        return tr("Enter a date such as 2026-12-31.") if name == "date" else moment
    return ""


_PAD = 16  # pixels
_ICON = 17  # pixels
_ASKER = 32  # characters of a subagent's title
_BADGE = 20  # pixels: the edge of an option's number


class FormCard(Themed, QWidget):
    """A question of an MCP server: a form to fill in, or a page to open. No key answers it from elsewhere.

    What is typed and checked stays in it until it is answered.
    """

    def __init__(self, row: QuestionRow, cards: FormCards) -> None:
        super().__init__()
        self._cards = cards
        self.row = row
        question = row.question
        assert isinstance(question, ServerQuestion)  # no other has a form
        self._title = label("", "question", wrap=True)
        self._asker = label("", "note", wrap=True)
        text = label(escape_invisible(question.text), "body", wrap=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        head = column(self._title, self._asker, gap=2)
        head.setContentsMargins(scaled(_ICON) + 9, 0, 0, 0)
        self._url = question.url
        self._fields = {f"field:{number}": field for number, field in enumerate(question.fields)}
        self._values = Draft({name: _first_value(field) for name, field in self._fields.items()})
        shown = [_shown_field(name, field) for name, field in self._fields.items()]
        self.form = Form(shown, self._values, is_dialog=bool(shown), gap=6)
        for name, field in self._fields.items():
            if field.kind == "boolean":  # else it would be read as "Yes" alone
                self.form.controls[name].setAccessibleName(escape_invisible(field.title))
        words = tr("Send") if question.fields else tr("Accept")
        if self._url:
            words = tr("Open in browser")
        self.accept = PushButton(words, "primary", name="accept")
        tip = tr("Tell {server} that you refuse; the call continues", server=question.server)
        self.decline = PushButton(tr("Decline"), name="decline", tip=tip)
        tip = tr("Give no answer; the call continues")
        self.cancel = PushButton(tr("Cancel"), name="cancel", tip=tip)
        parts: list[LayoutItem] = [head, text, self.form]
        if question.fields:
            hint = tr("Only {server} gets what you send.", server=question.server)
            parts.append(label(hint, "faint", wrap=True))
        else:
            self.form.hide()
        if self._url:
            host = urlsplit(self._url).hostname or ""
            parts.append(label(host, "strong", wrap=True))
            parts.append(label(self._url, "muted", wrap=True))
            if "xn--" in host:
                parts.append(label(tr("Letters in this address may imitate others."), "error", wrap=True))
            parts.append(label(tr("Check the address before you open it."), "faint", wrap=True))
        buttons = FlowBox((self.accept, self.decline, self.cancel))
        self._stack = column(*parts, buttons, margins=(scaled(_PAD),) * 4, gap=9)
        self._stack.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # `fit` sets the size
        self.setLayout(self._stack)
        self.accept.clicked.connect(self._accept)
        self.decline.clicked.connect(lambda: self._send(ServerReply(action="decline")))
        self.cancel.clicked.connect(lambda: self._send(ServerReply(action="cancel")))
        for line in self.form.findChildren(QLineEdit):
            line.returnPressed.connect(self._accept)
        self.show_row(row)

    def show_row(self, row: QuestionRow) -> None:
        self.row = row
        title = dotted((_title(row), row.position))
        self._title.setText(title)
        self.setAccessibleName(title)
        show_text(self._asker, _asker_text(row))

    def event(self, event: QEvent) -> bool:
        """Ask for another height where the parts need one: fields learn theirs when they are first shown."""
        is_done = super().event(event)
        is_request = event.type() == QEvent.Type.LayoutRequest
        if is_request and self._stack.totalHeightForWidth(self.width()) != self.height():
            self._cards.resized.emit(self.row.key)
        return is_done

    def fit(self, width: int) -> int:
        """Take a width and the height that it needs then; return that, pixels."""
        self.resize(width, self._stack.totalHeightForWidth(width))
        self._stack.activate()
        return self.height()

    @property
    def stops(self) -> list[QWidget]:
        fields = [
            part for part in self.form.findChildren(QWidget) if part.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]
        controls = (*fields, self.accept, self.decline, self.cancel)
        return [stop for stop in controls if stop.isEnabled() and stop.isVisibleTo(self)]

    def _send(self, reply: ServerReply) -> None:
        self._cards.answered.emit(self.row.key, AnswerQuestion(self.row.question.call_id, reply))

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        pen.box(QRectF(self.rect()), "surface", "accent", 12)
        line = QRectF(0, self._title.geometry().y(), self.width(), scaled(UI + 6))
        pen.write(Icon("circle-question-mark", "accent_text", _ICON), scaled(_PAD), line)

    def _accept(self) -> None:
        """Send what the fields hold; if some can't be sent, say why at each, and go to the first."""
        values = {name: self._values.get(name) for name in self._fields}
        wrong = self.form.errors()
        for name, field in self._fields.items():
            if not self._url and name not in wrong and (why := problem(field, values[name])):
                self.form.show_error(name, why)
        if self._url or not self.form.focus_error():
            named = ((field.name, values[name]) for name, field in self._fields.items())
            content = tuple((name, value) for name, value in named if value not in (None, "", ()))
            self._send(ServerReply(action="accept", content=content, url=self._url))


def _title(row: QuestionRow) -> str:
    if row.question.is_from_app:
        return tr("Keep what runs by itself?")
    if isinstance(row.question, ServerQuestion):
        return tr("{server} asks", "an MCP server", server=row.question.server)
    return tr("The turn ended before you answered") if row.is_late else tr("The agent has a question")


class FormCards(QObject):
    """The forms in the chat: they outlive the items of their rows, with what is typed."""

    answered = Signal(object, object)
    """The key of the row, and the AnswerQuestion."""
    resized = Signal(object)
    """The key of a row that needs another height."""

    def __init__(self) -> None:
        super().__init__()
        self.by_key: dict[RowKey, FormCard] = {}

    def card_for(self, row: QuestionRow) -> FormCard:
        card = self.by_key.get(row.key)
        if card is not None and card.row.question == row.question:
            card.show_row(row)
            return card
        self.drop(row.key)  # of the question before of its call
        card = self.by_key[row.key] = FormCard(row, self)
        return card

    def drop(self, key: RowKey) -> None:
        card = self.by_key.pop(key, None)
        if card is not None:
            card.hide()
            card.deleteLater()


class FormItem(RowItem):
    def __init__(self, row: QuestionRow, context: ItemContext, tools: ItemTools, cards: FormCards) -> None:
        super().__init__(row, context, tools)
        self.widget = self._card = cards.card_for(row)

    def accessible_text(self) -> str:
        return ""

    def _arrange(self, width: float) -> float:
        height = self._card.fit(round(width))
        self.backward_entry = self._card.stops[0].objectName()  # where its keys work, as on an approval
        card = self._card
        places = [(stop, QRectF(QRect(stop.mapTo(card, QPoint()), stop.size()))) for stop in card.stops]
        self.hit_areas = [
            HitArea(stop.objectName(), FocusField(stop.objectName()), stop.accessibleName(), place)
            for stop, place in places
        ]
        return height


def _asker_text(row: QuestionRow) -> str:
    asker = ellipsize(" ".join(escape_invisible(row.question.subagent_title).split()), _ASKER)
    return tr("Subagent: {title}", title=asker) if asker else ""


def chosen_options(question: Question, marked: Collection[int]) -> tuple[str, ...]:
    return tuple(option.label for number, option in enumerate(question.options, 1) if number in marked)


class QuestionItem(RowItem):
    """A question of the agent: options, by mouse, number or arrows; other words are typed as a message is."""

    def __init__(self, row: QuestionRow, context: ItemContext, tools: ItemTools) -> None:
        question = row.question
        theme = tools.style.theme
        pills = [Pill(asker, "accent", "bot")] if (asker := _asker_text(row)) else []
        pills += [Pill(row.position)] if row.position else []
        title = Text(_title(row), 13, "accent_text", 600, grow=True, shrink=True)
        head = Row([Icon("circle-question-mark", "accent_text", _ICON), title, *pills], 8)
        words = paragraph_with_code(escape_invisible(question.text), tools, theme.text, BODY)
        options = [_option(question, number, context) for number in range(1, len(question.options) + 1)]
        parts = [Frame(head, (0, 0, 0, 2)), words, *options, *_own_words(row, tools)]
        if buttons := _answers(row, context):
            parts.append(Frame(Flow(buttons, 8, line_gap=8), (0, 3, 0, 0)))
        self.backward_entry = "option:1" if options else ""
        self.enter_area = "answer" if question.multiple else ""
        super().__init__(row, context, tools, Frame(Column(parts, 8), (16, 12, 16, 15), "surface", "accent"))


def _option(question: Question, number: int, context: ItemContext) -> Box:
    """Return an option: what is typed is not sent with a click on it, so that it is only chosen then."""
    option = question.options[number - 1]
    is_marked = number in context.marked
    title, description = map(escape_invisible, (option.label, option.description))

    def paint_number(pen: Pen, badge: QRectF) -> None:
        pen.box(badge, "accent" if is_marked else "raised", "accent" if is_marked else "faint", 6)
        sign: Box = Icon("check", "on_accent", 13) if is_marked else Text(str(number), 11, "muted", 500)
        pen.write(sign, badge.center().x() - sign.width() / 2, badge)

    texts = [Words(breakable(title), 13, weight=500)]
    texts += [Words(breakable(description), 12, "muted")] if description else []
    line = [Drawing((_BADGE, _BADGE), paint_number), Column(texts, 1, grow=True, shrink=True)]
    is_answer = not question.multiple and (question.is_from_app or not context.has_message)
    reply = AnswerQuestion(question.call_id, QuestionReply((option.label,)))
    name = f"option:{number}"
    label = ". ".join(filter(None, (f"{number}", title, description)))
    action = reply if is_answer else MarkOption(number)
    content = Frame(Row(line, 10, True), (10, 8, 10, 9))
    button = Button(name, action, content, label, "card", is_checked=is_marked)
    fill, edge = ("accent_soft", "accent") if is_marked else ("surface", "border_strong")
    return Frame(button, (0, 0, 0, 0), fill, edge, radius=8)


def _own_words(row: QuestionRow, tools: ItemTools) -> list[Box]:
    count = len(row.question.options)
    hint = ""
    if count:
        keys = "1" if count == 1 else tr("1–{count}", "number keys", count=count)
        hint = tr("{keys}, then Enter to answer", keys=keys)
        if row.question.multiple:
            hint = tr("{keys} to check, Enter to answer", keys=keys)
    if not row.question.is_from_app:
        own = tr("Or type an answer below.") if count else tr("Type an answer below.")
        hint = f"{hint}. {own}" if hint else own
    return [paragraph(hint, tools, tools.style.theme.faint, SMALL)]


def _answers(row: QuestionRow, context: ItemContext) -> list[Box]:
    """Return what sends the options that are chosen, and what is typed; what comes and goes stands last."""
    question = row.question
    chosen = chosen_options(row.question, context.marked)
    buttons: list[Box] = []
    if not (row.is_late or question.is_from_app):
        skip = AnswerQuestion(question.call_id, QuestionReply())
        buttons.append(push_button("skip", skip, tr("Skip"), high=30))
    if chosen:
        answer = AnswerQuestion(question.call_id, QuestionReply(chosen))
        buttons.append(push_button("answer", answer, tr("Answer"), look="primary", high=30))
    if context.has_message and not question.is_from_app:
        answer = AnswerQuestion(question.call_id, QuestionReply(chosen), has_message=True)
        words = tr("Answer with your message")
        buttons.append(push_button("answer:message", answer, words, high=30))
    return buttons


def answered_question(row: ToolRow, question: Question, tools: ItemTools) -> Box:
    theme = tools.style.theme
    reply = row.answer.reply
    is_answered = reply is not None and not reply.is_skip
    state = reply_state_text(row)
    pill = Pill(state, "ok", "check") if is_answered else Pill(state, fill="hover")
    head = [Icon("circle-question-mark"), Text(tr("Question"), 13, "text", 600, grow=True, shrink=True), pill]
    lines: list[tuple[Box, str, str]] = [(Space(15), question.text, theme.muted)]
    if reply is not None:
        answers = [("check", option) for option in reply.options] + [("user", reply.text.strip())]
        lines += [(Icon(icon, "accent_text"), text, theme.text) for icon, text in answers if text]
    texts = []
    for sign, text, color in lines:
        words = paragraph_with_code(escape_invisible(text), tools, color)
        words.grow = words.shrink = True
        texts.append(Row([Frame(sign, (0, 3, 0, 0)), words], 9, True))
    column = Column([Frame(Row(head, 9), (0, 10, 0, 2)), *texts], 7)
    return Frame(column, (14, 0, 14, 13), "surface", "border", radius=10)
