"""Extra headers and body fields of a provider."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.dynamic_style import restyle
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, pane, row
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.providers.draft import IncompleteExtras
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")

_BODY_PX = 84


class _HeaderRow(QWidget):
    def __init__(self, form: ExtrasForm, name: str, value: str, is_secret: bool) -> None:
        super().__init__()
        self.name, self.value = QLineEdit(name), QLineEdit(value)
        self.name.setObjectName("header_name")
        self.value.setObjectName("header_value")
        self.name.setPlaceholderText(tr("Header name"))
        self.name.setAccessibleName(tr("Header name"))
        self.value.setAccessibleName(tr("Header value"))
        self.secret = IconButton("lock", tr("Keep secret: in the system's keychain only"))
        self.secret.setObjectName("header_secret")
        self.secret.setCheckable(True)
        remove = IconButton("trash-2", tr("Remove header"), name="remove_header")
        fields = row(self.name, self.value, self.secret, remove, gap=6)
        fields.setStretch(0, 2)
        fields.setStretch(1, 3)
        self.setLayout(fields)
        self.is_saved = False
        self.secret.setChecked(is_secret)
        self.refresh()
        for field in (self.name, self.value):
            field.editingFinished.connect(form.take_edit)
            field.textEdited.connect(lambda _: form.edited.emit())
        self.secret.toggled.connect(lambda _: self.refresh())
        self.secret.toggled.connect(lambda _: form.take_edit())
        remove.clicked.connect(lambda: form.remove(self))

    def refresh(self) -> None:
        """Show dots for a secret value, and whether one is kept."""
        is_secret = self.secret.isChecked()
        self.secret.set_icon("lock" if is_secret else "lock-open")
        self.value.setEchoMode(QLineEdit.EchoMode.Password if is_secret else QLineEdit.EchoMode.Normal)
        self.value.setPlaceholderText(
            tr("Saved. Type to replace it.") if is_secret and self.is_saved else tr("Value")
        )


class ExtrasForm(QWidget):
    edited = Signal()
    """The user changed something, or is still typing."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._owner: str | None = None
        self._rows: list[_HeaderRow] = []
        self.head = DisclosureHead(tr("Extra headers and fields"))
        self.head.setObjectName(f"{name}_head")
        self._column = QVBoxLayout()
        self._column.setSpacing(5)
        self._add_button = PushButton(tr("Add header"), "", "plus", name=f"{name}_add_header")
        example = '{"service_tier": "flex"}'
        self.body_field = TextArea(words=tr("Extra body fields"), placeholder=example, height_px=_BODY_PX)
        self.body_field.setObjectName(f"{name}_body")
        self._body_row = FieldRow("", self.body_field, room=2, is_labeled=False)
        self._content = pane(
            column(
                label(
                    tr("Headers of every request. Secret values are never written to a file."),
                    "faint",
                    wrap=True,
                ),
                self._column,
                row(self._add_button, None),
                label(tr("Fields added to the body of every request, as a JSON object."), "faint", wrap=True),
                self._body_row,
                margins=(20, 0, 0, 4),
                gap=6,
            )
        )
        self.setLayout(column(self.head, self._content, gap=2))
        self._content.hide()
        self.head.toggled.connect(self._content.setVisible)
        self._add_button.clicked.connect(self._add_empty)
        self.body_field.textChanged.connect(self._on_body_changed)
        self.body_field.installEventFilter(self)

    def show_extras(
        self, owner: str, extras: RequestExtras, saved: Collection[str], typed: Mapping[str, str]
    ) -> None:
        """Fill the fields for an owner, and leave them alone if they hold the same: the user may be typing.

        `saved` names secrets that are kept, `typed` has values of others.
        """
        if owner != self._owner or extras != self.extras():
            self._owner = owner
            self._remove_rows()
            for name, value in extras.headers.items():
                self._add(name, value, is_secret=False)
            for name in extras.secret_headers:
                self._add(name, typed.get(name, ""), is_secret=True)
            with QSignalBlocker(self.body_field):
                text = json.dumps(extras.body, indent=2, ensure_ascii=False) if extras.body else ""
                self.body_field.setPlainText(text)
            self._show_error("")
            self.head.setChecked(bool(extras))
        for header in self._rows:
            header.is_saved = header.name.text().strip() in saved
            header.refresh()
        self._show_count()

    def show_incomplete(self, typed: IncompleteExtras) -> None:
        if typed == self.incomplete():
            return
        self._remove_rows()
        for header in typed.headers:
            self._add(*header)
        with QSignalBlocker(self.body_field):
            self.body_field.setPlainText(typed.body)
        self.head.setChecked(True)
        self._show_count()
        self.validate("")

    def _remove_rows(self) -> None:
        clear_layout(self._column)
        self._rows = []

    def clear(self) -> None:
        """Forget what is filled in, typed secrets too."""
        self.show_extras("", NO_EXTRAS, (), {})
        self._owner = None

    def extras(self) -> RequestExtras:
        """Return what is filled in; without the body while that is no JSON object."""
        entered = [
            (header, header.name.text().strip()) for header in self._rows if header.name.text().strip()
        ]
        return RequestExtras(
            {name: header.value.text().strip() for header, name in entered if not header.secret.isChecked()},
            tuple(name for header, name in entered if header.secret.isChecked()),
            self._body() or {},
        )

    def incomplete(self) -> IncompleteExtras | None:
        """Return what is typed if it can't be sent; None if it can."""
        if self._body() is not None and not self._has_nameless() and not self.extras().fault(""):
            return None
        return IncompleteExtras(
            tuple(
                (header.name.text(), header.value.text(), header.secret.isChecked()) for header in self._rows
            ),
            self.body_field.toPlainText(),
        )

    def _has_nameless(self) -> bool:
        return any(header.value.text().strip() and not header.name.text().strip() for header in self._rows)

    def secret_values(self) -> dict[str, str]:
        """Return the secret values that were typed, by the name of their header."""
        return {
            header.name.text().strip(): header.value.text().strip()
            for header in self._rows
            if header.secret.isChecked() and header.value.text().strip()
        }

    def validate(self, dialect: str) -> str:
        """Return what can't be sent, and show it; empty if everything can.

        An empty `dialect` is for while the user types: a header may have its value before its name.
        """
        if self._body() is None:
            error = tr("Enter the body fields as a JSON object, such as {example}.", example='{"top_p": 0.9}')
        elif dialect and self._has_nameless():
            error = tr("Enter a name for each header.")
        else:
            error = translate(self.extras().fault(dialect))
        self._show_error(error)
        return error

    def error_text(self) -> str:
        return self._body_row.error_text()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say what is wrong with the body when it loses the keyboard."""
        if event.type() == QEvent.Type.FocusOut:
            self.validate("")
        return super().eventFilter(watched, event)

    def _body(self) -> dict[str, Any] | None:
        """Return the fields of the body; None if the text is no JSON object."""
        text = self.body_field.toPlainText().strip()
        try:
            value = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _on_body_changed(self) -> None:
        if self._body() is not None:
            self.take_edit()
        else:
            self.edited.emit()

    def _add(self, name: str, value: str, is_secret: bool) -> _HeaderRow:
        header = _HeaderRow(self, name, value, is_secret)
        self._rows.append(header)
        self._column.addWidget(header)
        return header

    def _add_empty(self) -> None:
        self._add("", "", is_secret=False).name.setFocus()

    def remove(self, header: _HeaderRow) -> None:
        self._rows.remove(header)
        self._column.removeWidget(header)
        header.hide()
        header.deleteLater()
        self.take_edit()

    def take_edit(self) -> None:
        self._show_count()
        self.validate("")
        self.edited.emit()

    def _show_count(self) -> None:
        extras = self.extras()
        count = len(extras.headers) + len(extras.secret_headers) + len(extras.body)
        title = tr("Extra headers and fields")
        self.head.setText(f"{title} ({count})" if count else title)
        self.head.setAccessibleName(self.head.text())

    def _show_error(self, error: str) -> None:
        self._body_row.show_error(error)
        restyle(self.body_field, "invalid", self._body() is None and bool(error))
