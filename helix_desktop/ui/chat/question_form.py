"""The form of a server's question: its fields in the terms of forms, and what each may hold."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.question import FieldValue, FormField, ServerQuestion
from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.kit.forms import Choice, Draft, Field, Form, Line, Own, Toggle
from helix_desktop.words.translation import Translator

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
        """The fields that have a value, by the server's names for them."""
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
        return Own(
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
