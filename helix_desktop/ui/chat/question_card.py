"""The cards of questions that wait: the agent's with options, by mouse, number or arrows; a server's form.

Real widgets fill its row, so that they type, read and tab as elsewhere; an answered one is painted.

Numbers work wherever on the page nothing else is written, so they come from the page: `take_key`.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLayout, QLineEdit, QSizePolicy, QWidget

from helix_desktop.domain.question import (
    FieldValue,
    FormField,
    Question,
    QuestionOption,
    QuestionReply,
    ServerQuestion,
    ServerReply,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.chat.actions import AnswerQuestion, FocusField, RowKey
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem, paragraph
from helix_desktop.ui.chat.rows.row_texts import reply_state_text
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from helix_desktop.ui.chat.style import BODY, SMALL, UI, ChatStyle
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import EnterActivates, PushButton, Switch
from helix_desktop.ui.design.labels import breakable, label
from helix_desktop.ui.design.layout import FlowBox, LayoutItem, column
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.theme import set_style_sheet
from helix_desktop.ui.kit.boxes import (
    Box,
    Column,
    Drawing,
    Frame,
    HitArea,
    Icon,
    Pen,
    Pill,
    Row,
    Space,
    Text,
)
from helix_desktop.ui.kit.forms import Choice, CustomField, Draft, Field, Form, Line, Toggle
from helix_desktop.ui.kit.words import Words
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_EXAMPLES = {
    "email": "name@example.org", "uri": "https://example.org", "date": "2026-12-31",
    "date-time": "2026-12-31T18:00:00Z",
}  # fmt: skip


class QuestionForm:
    """`widget` shows the fields of a question; `content` is what they hold."""

    def __init__(self, question: ServerQuestion) -> None:
        self._fields = {f"field:{number}": field for number, field in enumerate(question.fields)}
        self._draft = Draft({name: _first_value(field) for name, field in self._fields.items()})
        shown = [_shown_field(name, field) for name, field in self._fields.items()]
        self.widget = Form(shown, self._draft, is_dialog=bool(shown), gap=6)
        for name, field in self._fields.items():
            if field.kind == "boolean":  # else it would be read as "Yes" alone
                self.widget.controls[name].setAccessibleName(escape_invisible(field.title))

    def check(self) -> bool:
        """Say at each field why it can't be sent, and go to the first; return True if all can."""
        wrong = self.widget.errors()
        for name, field in self._fields.items():
            if name not in wrong and (why := problem(field, self._draft.get(name))):
                self.widget.show_error(name, why)
        return not self.widget.focus_error()

    @property
    def content(self) -> tuple[tuple[str, FieldValue], ...]:
        values = ((field.name, self._draft.get(name)) for name, field in self._fields.items())
        return tuple((name, value) for name, value in values if value not in (None, "", ()))


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
    if not text:
        return None
    if field.kind == "text":
        return text
    try:
        return int(text) if field.kind == "integer" else float(text.replace(",", "."))
    except ValueError:
        words = tr("Enter a whole number.") if field.kind == "integer" else tr("Enter a number.")
        raise ValueError(words) from None


def problem(field: FormField, value: FieldValue) -> str:
    """Return why a field can't have a value; empty if it can."""
    if value in (None, "", ()):
        return tr("Required.") if field.is_required else ""
    if isinstance(value, str) and field.kind == "text":
        return _text_problem(field, value)
    if isinstance(value, bool) or field.kind in ("choice", "boolean"):
        return ""
    amount = len(value) if isinstance(value, tuple) else value
    assert isinstance(amount, int | float)
    if field.least is not None and amount < field.least:
        least = f"{field.least:g}"
        many = tr("Choose at least {least}.", least=least)
        return many if field.kind == "choices" else tr("At least {least}.", least=least)
    if field.most is not None and amount > field.most:
        most = f"{field.most:g}"
        many = tr("Choose at most {most}.", most=most)
        return many if field.kind == "choices" else tr("At most {most}.", most=most)
    return "" if abs(amount) < float("inf") else tr("Enter a number.")


def _text_problem(field: FormField, value: str) -> str:
    if field.least is not None and len(value) < field.least:
        return tr("At least {least} characters.", least=f"{field.least:g}")
    if field.most is not None and len(value) > field.most:
        return tr("At most {most} characters.", most=f"{field.most:g}")
    try:
        match field.format:
            case "email" if not _EMAIL.fullmatch(value):
                return tr("Enter an email address.")
            case "uri" if not (urlsplit(value).scheme and urlsplit(value).path + urlsplit(value).netloc):
                return tr("Enter an address such as https://example.org.")
            case "date":
                date.fromisoformat(value)
            case "date-time":
                datetime.fromisoformat(value)
    except ValueError:
        return {
            "date": tr("Enter a date such as 2026-12-31."),
            "date-time": tr("Enter a date and time such as 2026-12-31T18:00:00Z."),
        }.get(field.format, tr("Enter an address such as https://example.org."))
    return ""


_PAD, _ICON = 16, 17  # pixels
_FIELD_X, _FIELD_Y = 8, 4  # pixels between the field and its frame
_ASKER = 32  # characters of a subagent's title

_OPTION_PAD, _OPTION_BADGE = 10, 20  # pixels around the texts of an option, and the edge of its number
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
_LEAVE = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right}


class OptionButton(EnterActivates, QAbstractButton):
    """Wraps its texts to its width; checkable where several may be chosen."""

    def __init__(self, number: int, option: QuestionOption, style: ChatStyle, checkable: bool) -> None:
        """`number` is the key that chooses it, from 1."""
        super().__init__()
        self.label = option.label
        self._number, self._chat_style = number, style
        self._is_marked = False
        self._title = breakable(escape_invisible(translate(option.label)))
        self._description = breakable(escape_invisible(translate(option.description)))
        self._box = self._make_box()
        self.setObjectName(f"option:{number}")
        self.setAccessibleName(f"{number}. {escape_invisible(option.label)}")
        self.setAccessibleDescription(escape_invisible(option.description))
        self.setCheckable(checkable)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_style(self, style: ChatStyle) -> None:
        self._chat_style, self._box = style, self._make_box()
        self.updateGeometry()
        self.update()

    @property
    def is_chosen(self) -> bool:
        """Return True if it is checked, or marked by its number."""
        return self._is_marked or self.isChecked()

    def set_marked(self, is_marked: bool) -> None:
        """Mark it: Enter sends it, where one is chosen; check it where several are."""
        if self.isCheckable():
            self.setChecked(is_marked)
        else:
            self._is_marked = is_marked
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(320))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, round(self._chat_style.px(_OPTION_BADGE + 2 * _OPTION_PAD)))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return round(self._box.height(width))

    def _make_box(self) -> Box:
        texts = [Words(self._title, 13, weight=500)]
        texts += [Words(self._description, 12, "muted")] if self._description else []
        side = _OPTION_BADGE
        line = [Drawing((side, side), self._paint_number), Column(texts, 1, grow=True, shrink=True)]
        return Frame(Row(line, _OPTION_PAD, True), (_OPTION_PAD, 8, _OPTION_PAD, 9))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press it with Space, and with Enter where one is chosen; leave the other keys to the card."""
        key = Qt.Key(event.key())
        if key in _LEAVE or (self.isCheckable() and key in _ENTER):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        pen, card = Pen.of_widget(self, self._chat_style.theme), QRectF(self.rect())
        lit = self.is_chosen or self.isDown()
        fill = "accent_soft" if lit else "hover" if self.underMouse() else "surface"
        pen.box(card, fill, "accent" if lit or self.hasFocus() else "border_strong", 8)
        if self.hasFocus():
            pen.box(card, "", "accent", 7.5, 2)
        self._box.place(card)
        self._box.paint(pen)

    def _paint_number(self, pen: Pen, badge: QRectF) -> None:
        checked = self.is_chosen
        pen.box(badge, "accent" if checked else "raised", "accent" if checked else "faint", 6)
        sign: Box = Icon("check", "on_accent", 13) if checked else Text(str(self._number), 11, "muted", 500)
        pen.write(sign, badge.center().x() - sign.width() / 2, badge)


class _AnswerField(Editor):
    """Takes other words than the options; the card paints its frame."""

    focus_changed = Signal()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave Esc, and Up on the first line, to the card."""
        up = event.key() == Qt.Key.Key_Up and not self.textCursor().block().previous().isValid()
        if up or event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)


class QuestionFrame(QWidget):
    """The frame of one question; what is typed and checked stays in it until it is answered."""

    def __init__(self, row: QuestionRow, style: ChatStyle, cards: QuestionCards) -> None:
        super().__init__()
        self._cards = cards
        self._row, self._chat_style = row, style
        self.setObjectName("question_card")
        self._title, self._asker = label("", "title", wrap=True), label("", "muted", wrap=True)
        self._text = label(escape_invisible(translate(row.question.text)), wrap=True)
        self._text.setObjectName("question_text")
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _lay_out(self, *parts: LayoutItem) -> None:
        """Put who asks, the question and then the parts into the card."""
        style = self._chat_style
        head = column(self._title, self._asker, gap=2)
        set_margins(head, round(style.px(_ICON)) + 9, 0, 0, 0)
        stack = column(head, self._text, *parts, margins=(round(style.px(_PAD)),) * 4, gap=9)
        stack.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # `fit` sets the size
        self.setLayout(stack)

    def show_row(self, row: QuestionRow, style: ChatStyle) -> None:
        self._row, self._chat_style = row, style
        self._title.setText(_title(row))
        self.setAccessibleName(_title(row))
        asker = ellipsize(" ".join(escape_invisible(row.question.subagent_title).split()), _ASKER)
        self._asker.setText(tr("Subagent: {title}", title=asker) if asker else "")
        self._asker.setVisible(bool(asker))
        set_style_sheet(self, _style(style))

    def event(self, event: QEvent) -> bool:
        """Ask for another height where the parts need one: fields learn theirs when they are first shown."""
        is_done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self._height_for(self.width()) != self.height():
            self._cards.resized.emit(self._row.key)
        return is_done

    def fit(self, width: int) -> int:
        """Take a width and the height that it needs then; return that, pixels."""
        layout = self.layout()
        assert layout is not None  # set when it is made
        self.resize(width, self._height_for(width))
        layout.activate()
        return self.height()

    def _height_for(self, width: int) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(width) if layout is not None else 0

    @property
    def controls(self) -> list[QWidget]:
        raise NotImplementedError

    @property
    def stops(self) -> list[QWidget]:
        """Return those controls that can have the keyboard now."""
        return [stop for stop in self.controls if stop.isEnabled() and stop.isVisibleTo(self)]

    def _send(self, reply: QuestionReply) -> None:
        """Answer with a reply; an empty one skips the question."""
        self._cards.answered.emit(self._row.key, AnswerQuestion(self.question.call_id, reply))

    @property
    def question(self) -> Question:
        return self._row.question

    def paintEvent(self, event: QPaintEvent) -> None:
        style = self._chat_style
        pen = Pen.of_widget(self, style.theme)
        pen.box(QRectF(self.rect()), "surface", "accent", 12)
        self._paint_parts(pen)
        line = QRectF(0, self._title.geometry().y(), self.width(), style.px(UI + 6))
        pen.write(Icon("circle-question-mark", "accent_text", _ICON), style.px(_PAD), line)

    def _paint_parts(self, pen: Pen) -> None:
        """Paint what belongs to controls and not to the frame."""


class QuestionCard(QuestionFrame):
    """A question of the agent."""

    def __init__(self, row: QuestionRow, style: ChatStyle, cards: QuestionCards) -> None:
        super().__init__(row, style, cards)
        question = row.question
        self._hint = label("", "faint")
        self.options = [
            OptionButton(number, option, style, question.multiple)
            for number, option in enumerate(question.options, 1)
        ]
        self.typed_numbers = ""
        """The numbers that marked options, not sent yet."""
        self.field = _AnswerField()
        self.field.setObjectName("answer_field")
        self.answer = PushButton(tr("Answer"), "primary", name="answer")
        self.skip = PushButton(tr("Skip"), name="skip")
        self._buttons = FlowBox((self.answer, self.skip, self._hint))
        field = column(self.field, margins=(_FIELD_X, _FIELD_Y, _FIELD_X, _FIELD_Y))
        self._lay_out(*self.options, field, self._buttons)
        self._connect()
        self.show_row(row, style)

    def _connect(self) -> None:
        for option in self.options:
            option.clicked.connect(lambda _=False, option=option: self._press(option))
        self.field.textChanged.connect(self._on_typed)
        self.field.focus_changed.connect(self.update)
        self.field.submitted.connect(self._submit)
        self.answer.clicked.connect(self._submit)
        self.skip.clicked.connect(lambda: self._send(QuestionReply()))

    def show_row(self, row: QuestionRow, style: ChatStyle) -> None:
        super().show_row(row, style)
        words = tr("Or answer in your own words…") if self.options else tr("Write your answer…")
        self.field.setPlaceholderText(words)
        self.field.setAccessibleName(words)
        self.skip.setVisible(not row.is_late and not row.question.is_from_app)
        self.field.setVisible(not row.question.is_from_app)
        self._hint.setText(self._hint_text())
        for option in self.options:
            option.set_style(style)
        self.field.fit_height()
        self._update()

    def _hint_text(self) -> str:
        count = len(self.options)
        if not count:
            return ""
        keys = "1" if count == 1 else tr("1–{count}", "number keys", count=count)
        if self._row.question.multiple:
            return tr("{keys} to check, Enter to answer", keys=keys)
        return tr("{keys}, then Enter to answer", keys=keys)

    @property
    def controls(self) -> list[QWidget]:
        return [*self.options, self.field, self.answer, self.skip]

    def _press(self, option: OptionButton) -> None:
        if self._row.question.multiple:
            self._update()
        else:
            self._send(QuestionReply((option.label,), self.field.toPlainText().strip()))

    def _submit(self) -> None:
        reply = self._reply()
        if not reply.is_skip:
            self._send(reply)

    @property
    def is_late(self) -> bool:
        """Return True if its turn has ended: the answer begins the next one."""
        return self._row.is_late

    @property
    def selection(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options if option.is_chosen)

    def _reply(self) -> QuestionReply:
        return QuestionReply(self.selection, self.field.toPlainText().strip())

    def _on_typed(self) -> None:
        self._update()
        if self._height_for(self.width()) != self.height():
            self._cards.resized.emit(self._row.key)

    def _update(self) -> None:
        self.answer.setEnabled(not self._reply().is_skip)

    def take_key(self, event: QKeyEvent) -> bool:
        """Mark an option by its number; then Enter sends what is marked, Backspace and Esc take it back.

        Return False for any other key.
        """
        key, text = event.key(), event.text()
        is_number = text.isdecimal() and text.isascii() and 1 <= int(text) <= len(self.options)
        if self.typed_numbers and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._submit()
        elif self.typed_numbers and key in (Qt.Key.Key_Backspace, Qt.Key.Key_Escape):
            self.take_numbers()
        elif is_number and (self._row.question.multiple or not self.typed_numbers):
            option = self.options[int(text) - 1]
            option.set_marked(not option.is_chosen)
            self.typed_numbers += text
            if QApplication.focusWidget() in self.options:  # where Enter presses the one that has it
                option.setFocus(Qt.FocusReason.ShortcutFocusReason)
            words = tr("No longer marked: {option}", option=option.label)
            if option.is_chosen:
                words = tr("Marked: {option}. Enter to answer.", option=option.label)
            announce(self, words)
            self._update()
        else:
            return False
        return True

    def take_numbers(self) -> str:
        """Return the numbers that were typed, and undo what they marked: they are a text, or nothing."""
        numbers, self.typed_numbers = self.typed_numbers, ""
        for number in numbers:
            option = self.options[int(number) - 1]
            option.set_marked(not option.is_chosen)
        self._update()
        return numbers

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the options with arrows, answer with Enter what is checked; the page has other keys."""
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._step(1 if key == Qt.Key.Key_Down else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self._reply().is_skip:
            self._submit()
        else:
            event.ignore()

    def _step(self, by: int) -> None:
        """Move the keyboard among options and field; Enter presses the option that has it."""
        self.take_numbers()
        stops: list[QWidget] = [*self.options, self.field]
        here = QApplication.focusWidget()
        at = stops.index(here) + by if here in stops else len(stops) - 1
        if 0 <= at < len(stops):
            stops[at].setFocus(Qt.FocusReason.TabFocusReason)

    def _paint_parts(self, pen: Pen) -> None:
        if not self.field.isHidden():
            lit = self.field.hasFocus()
            frame = QRectF(self.field.geometry()).adjusted(-_FIELD_X, -_FIELD_Y, _FIELD_X, _FIELD_Y)
            pen.box(frame, "canvas", "accent" if lit else "border_strong", 8, 2 if lit else 1)


class ServerQuestionCard(QuestionFrame):
    """A question of an MCP server: a form to fill in, or a page to open. No key answers it from elsewhere."""

    def __init__(self, row: QuestionRow, style: ChatStyle, cards: QuestionCards) -> None:
        super().__init__(row, style, cards)
        question = row.question
        assert isinstance(question, ServerQuestion)  # `card_for` has seen to it
        self._url, self.form = question.url, QuestionForm(question)
        words = tr("Open in browser") if self._url else tr("Send") if question.fields else tr("Accept")
        self.accept = PushButton(words, "primary", name="accept")
        self.decline = PushButton(tr("Decline"), name="decline")
        self.cancel = PushButton(tr("Cancel"), name="cancel")
        for button, words in (
            (self.decline, tr("Tell {server} that you refuse; the call continues", server=question.server)),
            (self.cancel, tr("Give no answer; the call continues")),
        ):
            button.setToolTip(words)
        parts: list[LayoutItem] = [self.form.widget]
        if question.fields:
            hint = tr("Only {server} gets what you send.", server=question.server)
            parts.append(label(hint, "faint", wrap=True))
        else:
            self.form.widget.hide()
        if self._url:
            host = urlsplit(self._url).hostname or ""
            parts.append(label(host, "strong", wrap=True))
            parts.append(label(self._url, "muted", wrap=True))
            if "xn--" in host:
                parts.append(label(tr("Letters in this address may imitate others."), "error", wrap=True))
            parts.append(label(tr("Check the address before you open it."), "faint", wrap=True))
        self._lay_out(*parts, FlowBox((self.accept, self.decline, self.cancel)))
        self.accept.clicked.connect(self._accept)
        self.decline.clicked.connect(lambda: self._send(ServerReply(action="decline")))
        self.cancel.clicked.connect(lambda: self._send(ServerReply(action="cancel")))
        for line in self.form.widget.findChildren(QLineEdit):
            line.returnPressed.connect(self._accept)
        self.show_row(row, style)

    @property
    def controls(self) -> list[QWidget]:
        form = self.form.widget
        fields = [part for part in form.findChildren(QWidget) if part.focusPolicy() & Qt.FocusPolicy.TabFocus]
        return [*fields, self.accept, self.decline, self.cancel]

    def _accept(self) -> None:
        if self._url or self.form.check():
            self._send(ServerReply(action="accept", content=self.form.content, url=self._url))


def _title(row: QuestionRow) -> str:
    if row.question.is_from_app:
        return tr("Keep what runs by itself?")
    if isinstance(row.question, ServerQuestion):
        title = tr("{server} asks", "an MCP server", server=row.question.server)
        return f"{title} · {row.position}" if row.position else title
    title = tr("The turn ended before you answered") if row.is_late else tr("The agent has a question")
    return f"{title} · {row.position}" if row.position else title


def _style(style: ChatStyle) -> str:
    theme = style.theme
    title = f"color: {theme.accent_text}; font-weight: 600; font-size: {style.px(UI):.0f}px;"
    return (
        "QuestionFrame QLabel { background: transparent; }"
        f'QLabel[role="title"] {{ {title} }}'
        f'QLabel[role="muted"] {{ color: {theme.muted}; font-size: {style.px(SMALL):.0f}px; }}'
        f"QLabel#question_text {{ color: {theme.text}; font-size: {style.px(BODY):.0f}px;"
        " font-weight: 400; }"
        f'QLabel[role="faint"] {{ color: {theme.faint}; font-size: {style.px(SMALL):.0f}px;'
        " font-weight: 400; }"
        f"QPlainTextEdit {{ background: transparent; color: {theme.text}; border: 0; padding: 0;"
        f" font-size: {style.px(UI):.0f}px; selection-background-color: {theme.text_selection};"
        f" selection-color: {theme.text}; }}"
    )


class QuestionCards(QObject):
    """The cards of the questions in the chat: they outlive the items of their rows, with what is typed."""

    answered = Signal(object, object)
    """The key of the row, and the AnswerQuestion."""
    resized = Signal(object)
    """The key of a row that needs another height."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: dict[RowKey, QuestionFrame] = {}

    def card_for(self, row: QuestionRow, style: ChatStyle) -> QuestionFrame:
        card = self._cards.get(row.key)
        if isinstance(card, ServerQuestionCard) and card.question != row.question:  # the next one of its call
            self.drop(row.key)
        elif card is not None:
            card.show_row(row, style)
            return card
        kind = ServerQuestionCard if isinstance(row.question, ServerQuestion) else QuestionCard
        card = self._cards[row.key] = kind(row, style, self)
        return card

    def find(self, key: RowKey) -> QuestionFrame | None:
        return self._cards.get(key)

    @property
    def keys(self) -> tuple[RowKey, ...]:
        return tuple(self._cards)

    def drop(self, key: RowKey) -> None:
        card = self._cards.pop(key, None)
        if card is not None:
            card.hide()
            card.deleteLater()

    def clear(self) -> None:
        for key in tuple(self._cards):
            self.drop(key)


class QuestionItem(RowItem):
    """The place of a card among the rows."""

    def __init__(
        self, row: QuestionRow, context: ItemContext, tools: ItemTools, cards: QuestionCards
    ) -> None:
        super().__init__(row, context, tools)
        self.widget = self._card = cards.card_for(row, tools.style)

    def accessible_text(self) -> str:
        """Return nothing: the card's widgets tell it."""
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


def answered_question(row: ToolRow, question: Question, tools: ItemTools) -> Box:
    """Return the card of a question that has its answer."""
    theme, reply = tools.style.theme, row.answer.reply
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
        words = paragraph(escape_invisible(text), tools, color)
        words.grow = words.shrink = True
        texts.append(Row([Frame(sign, (0, 3, 0, 0)), words], 9, True))
    column = Column([Frame(Row(head, 9), (0, 10, 0, 2)), *texts], 7)
    return Frame(column, (14, 0, 14, 13), "surface", "border", radius=10)
