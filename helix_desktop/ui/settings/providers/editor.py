"""The fields of one provider, extra headers among them, and the buttons that save, test and use it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import msgspec
from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QSizePolicy, QWidget

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.secrets import KeySource
from helix_desktop.config.settings import ModelEntry, Provider, is_provider_name
from helix_desktop.domain.dialects import DIALECTS
from helix_desktop.domain.model_spec import ResolvedModelSpec, SourcedSpec
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.provider_check import CheckStep, CheckStepName, CheckStepState
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead
from helix_desktop.ui.design.labels import IconLabel, SelectableText, label
from helix_desktop.ui.design.layout import FlowBox, VerticalScrollArea, clear_layout, column, pane, row
from helix_desktop.ui.design.style.theme import Themed, restyle
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.kit.forms import Choice, Draft, FieldRow, Form, Line
from helix_desktop.ui.settings.page_layout import EditConflict, page_column
from helix_desktop.ui.settings.providers.models import (
    EMPTY_DRAFT,
    IncompleteExtras,
    ProviderDraft,
    ProviderModels,
    ProviderStatus,
    provider_name,
    validate_provider,
    web_address,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_BODY_PX, _FIELD_PAD_PX = 84, 26


class _HeaderRow(QWidget):
    def __init__(self, form: ExtrasForm, name: str, value: str, is_secret: bool) -> None:
        super().__init__()
        self.name, self.value = QLineEdit(name), QLineEdit(value)
        self.name.setObjectName("header_name")
        self.value.setObjectName("header_value")
        self.name.setPlaceholderText(tr("Header name"))
        self.name.setAccessibleName(tr("Header name"))
        self.value.setAccessibleName(tr("Header value"))
        keep_secret = tr("Keep secret: in the system's keychain only")
        self.secret = IconButton("lock", keep_secret, name="header_secret")
        self.secret.setCheckable(True)
        remove = IconButton("trash-2", tr("Remove header"), name="remove_header")
        remove.clicked.connect(lambda: form.remove(self))
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

    def refresh(self) -> None:
        """Show dots for a secret value, and whether one is kept."""
        is_secret = self.secret.isChecked()
        self.secret.set_icon("lock" if is_secret else "lock-open")
        self.value.setEchoMode(QLineEdit.EchoMode.Password if is_secret else QLineEdit.EchoMode.Normal)
        is_saved = is_secret and self.is_saved
        self.value.setPlaceholderText(tr("Saved. Type to replace it.") if is_saved else tr("Value"))


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
        self._column = column(gap=5)
        add = PushButton(tr("Add header"), "", "plus", name=f"{name}_add_header", on_click=self._add_empty)
        example = '{"service_tier": "flex"}'
        self.body_field = TextArea(words=tr("Extra body fields"), placeholder=example, height_px=_BODY_PX)
        self.body_field.setObjectName(f"{name}_body")
        self._body_row = FieldRow("", self.body_field, room=2, is_labeled=False)
        of_headers = tr("Headers of every request. Secret values are never written to a file.")
        of_body = tr("Fields added to the body of every request, as a JSON object.")
        words = [label(each, "faint", wrap=True) for each in (of_headers, of_body)]
        parts = (words[0], self._column, row(add, None), words[1], self._body_row)
        content = pane(column(*parts, margins=(20, 0, 0, 4), gap=6))
        self.setLayout(column(self.head, content, gap=2))
        content.hide()
        self.head.toggled.connect(content.setVisible)
        self.body_field.textChanged.connect(
            lambda: self.take_edit() if self._body() is not None else self.edited.emit()
        )
        self.body_field.installEventFilter(self)

    def show_extras(
        self, owner: str, extras: RequestExtras, saved: Collection[str], typed: Mapping[str, str]
    ) -> None:
        """Fill the fields for an owner, and leave them alone if they hold the same: the user may be typing.

        `saved` names secrets that are kept, `typed` has values of others.
        """
        if owner != self._owner or extras != self.extras():
            self._owner = owner
            headers = [(name, value, False) for name, value in extras.headers.items()]
            headers += [(name, typed.get(name, ""), True) for name in extras.secret_headers]
            self._fill(headers, json.dumps(extras.body, indent=2, ensure_ascii=False) if extras.body else "")
            self._show_error("")
            self.head.setChecked(bool(extras))
        for header in self._rows:
            header.is_saved = header.name.text().strip() in saved
            header.refresh()
        self._show_count()

    def show_incomplete(self, typed: IncompleteExtras) -> None:
        if typed != self.incomplete():
            self._fill(typed.headers, typed.body)
            self.head.setChecked(True)
            self._show_count()
            self.validate("")

    def _fill(self, headers: Iterable[tuple[str, str, bool]], body: str) -> None:
        clear_layout(self._column)
        self._rows = []
        for header in headers:
            self._add(*header)
        with QSignalBlocker(self.body_field):
            self.body_field.setPlainText(body)

    def clear(self) -> None:
        self.show_extras("", NO_EXTRAS, (), {})
        self._owner = None

    def extras(self) -> RequestExtras:
        """Return what is filled in; without the body while that is no JSON object."""
        named = [header for header in self._headers() if header[0]]
        return RequestExtras(
            {name: value for name, value, is_secret in named if not is_secret},
            tuple(name for name, _, is_secret in named if is_secret),
            self._body() or {},
        )

    def _headers(self) -> list[tuple[str, str, bool]]:
        return [(name.strip(), value.strip(), is_secret) for name, value, is_secret in self._typed_headers()]

    def _typed_headers(self) -> tuple[tuple[str, str, bool], ...]:
        return tuple(
            (header.name.text(), header.value.text(), header.secret.isChecked()) for header in self._rows
        )

    def incomplete(self) -> IncompleteExtras | None:
        """Return what is typed if it can't be sent; None if it can."""
        if self._body() is not None and not self._has_nameless() and not self.extras().fault(""):
            return None
        return IncompleteExtras(self._typed_headers(), self.body_field.toPlainText())

    def _has_nameless(self) -> bool:
        return any(value and not name for name, value, _ in self._headers())

    def secret_values(self) -> dict[str, str]:
        return {name: value for name, value, is_secret in self._headers() if is_secret and value}

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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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


TestState = Literal["running", "ok", "failed"]
_STEP_NAMES: dict[CheckStepName, str] = {
    "reach": text("Connection"),
    "tls": text("TLS"),
    "auth": text("API key"),
    "streaming": text("Streaming"),
    "tools": text("Tools"),
}
_STATES: dict[CheckStepState, tuple[str, str, str]] = {
    "waiting": (text("not tested"), "circle", "faint"),
    "running": (text("running"), "loader-circle", "muted"),
    "ok": (text("passed"), "circle-check", "ok"),
    "failed": (text("failed"), "circle-x", "error"),
    "skipped": (text("skipped"), "minus", "faint"),
}
"""The words for the state of a step, its icon and the color of that."""
_NAME_PX, _BOLD_PX = 78, 8  # the least width of the names, and what the bold one of a failed step adds
_MAX_HEIGHT_SHARE = 0.4  # of the window's height that results may take


class CheckNotice(msgspec.Struct, frozen=True):
    """A notice of what was done, or of what went wrong; `server_text` on request."""

    name: str
    state: TestState
    detail: str = ""
    server_text: str = ""


class _Result(QWidget):
    """A sign, perhaps a name, what there is to say, and on request what the server said."""

    def __init__(
        self, state: CheckStepState, name: QLabel | None, words: Iterable[QLabel], server_text: str
    ) -> None:
        super().__init__()
        _, icon_name, color = _STATES[state]
        top = [IconLabel(icon_name, px=15, color_token=color), *([name] if name is not None else [])]
        texts = column(*words, gap=1)
        if server_text:
            details = SelectableText(server_text, 12, "faint")
            texts.addWidget(Disclosure(DisclosureHead(tr("Server response"), "", "muted"), details))
        self.setLayout(row(*top, texts, gap=8, stretch=len(top), top=top))


def _step_result(step: CheckStep) -> _Result:
    is_failed = step.state == "failed"
    name = label(translate(_STEP_NAMES[step.name]), "strong" if is_failed else "")
    widths = (name.fontMetrics().horizontalAdvance(translate(words)) for words in _STEP_NAMES.values())
    name.setFixedWidth(max(_NAME_PX, *(width + _BOLD_PX for width in widths)))
    details, fix = translate(join_sentences(step.detail, step.why)), translate(step.fix)
    words = [label(details, "error" if is_failed else "faint", wrap=True)]
    words += [label(fix, "note", wrap=True)] if fix else []
    result = _Result(step.state, name, words, translate(step.server_text))
    state = tr("{step}: {state}.", step=_STEP_NAMES[step.name], state=_STATES[step.state][0])
    result.setAccessibleName(join_sentences(state, details, fix).removesuffix("."))
    return result


def _notice_result(notice: CheckNotice) -> _Result:
    is_failed = notice.state == "failed"
    sentence = " · ".join(filter(None, (notice.name, notice.detail)))
    words = label(sentence, "error" if is_failed else "note", wrap=True)
    result = _Result(notice.state, None, [words], notice.server_text)
    spoken = tr("{name}: {detail}", name=notice.name, detail=notice.detail) if notice.detail else notice.name
    result.setAccessibleName(tr("Failed: {notice}", notice=spoken) if is_failed else spoken)
    return result


class ProviderCheckView(Themed, QWidget):
    """The ticks of the test, or short notices, above the buttons; nothing until there is something."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[tuple[CheckStep, QWidget]] = []
        self._results = column()
        self._close = IconButton("x", tr("Hide result"), px=13, edge=22, on_click=self.clear)
        content = pane(column(self._results, None, gap=0), "page")
        content.installEventFilter(self)
        self._scroll = VerticalScrollArea(content)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # for results without a button
        self.setLayout(row(self._scroll, self._close, margins=(28, 10, 16, 2), gap=6, top=[self._close]))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.clear()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # the words need another height
            self._fit()
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        width = max(1, self.width() - 28 - 16 - 6 - self._close.width() - 14)
        needed = self._results.totalHeightForWidth(width)
        self._scroll.setFixedHeight(min(max(24, needed), int(self.window().height() * _MAX_HEIGHT_SHARE)))

    def clear(self) -> None:
        clear_layout(self._results)
        self._steps.clear()
        self.hide()

    def show_steps(self, steps: Sequence[CheckStep]) -> None:
        """Show the steps of a test; those that are as before stay, with what is open of them."""
        if len(steps) != len(self._steps):
            self.clear()
            self._results.setSpacing(3)
        for place, step in enumerate(steps):
            if place == len(self._steps):
                self._steps.append((step, _step_result(step)))
                self._results.addWidget(self._steps[place][1])
            elif step != self._steps[place][0]:
                old, self._steps[place] = self._steps[place][1], (step, _step_result(step))
                self._results.replaceWidget(old, self._steps[place][1])
                old.deleteLater()
        self.show()
        self._fit()

    def show_notices(self, notices: Sequence[CheckNotice]) -> None:
        self.clear()
        self._results.setSpacing(4)
        for notice in notices:
            self._results.addWidget(_notice_result(notice))
        self.setVisible(bool(notices))
        self._fit()


class _Key(Line, frozen=True, kw_only=True):
    def beside(self, form: Form) -> QWidget:
        reveal = IconButton("eye", tr("Show key"))
        remove = IconButton("trash-2", tr("Remove the key when you save"), name="remove_key")
        for button in (reveal, remove):
            button.setCheckable(True)

        def show_key(is_shown: bool) -> None:
            mode = QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password
            form.line(self.name).setEchoMode(mode)
            reveal.set_icon("eye-off" if is_shown else "eye")
            reveal.set_tip(tr("Hide key") if is_shown else tr("Show key"))

        reveal.toggled.connect(show_key)
        return pane(row(reveal, remove, gap=2))


PROVIDER = (
    Line("name", text("Name"), live=True, room=1),
    Line("base_url", text("Base URL"), placeholder="http://127.0.0.1:11434/v1", live=True, room=1),
    Choice("dialect", text("API type"), text("Most servers use Chat Completions, local ones too."),
           choices=[(dialect, traits.title) for dialect, traits in DIALECTS.items()]),
    _Key("key", text("API key"), secret=True, live=True, room=1),
)  # fmt: skip


class ProviderEditor(QWidget):
    saved = Signal(object)
    edited = Signal()
    """What is filled in may differ from what is saved now."""
    discarded = Signal()
    edit_kept = Signal()
    test_requested = Signal(object)
    stop_requested = Signal()
    server_edited = Signal()
    """A test that runs is of another server now."""
    models_requested = Signal(object)
    remove_requested = Signal(str)
    use_requested = Signal(str)
    """The label PROVIDER/MODEL of the chosen model."""

    taken_names: Set[str] = frozenset()
    """The names of the other providers."""

    def __init__(self) -> None:
        super().__init__()
        self._form, self.is_testing = EMPTY_DRAFT, False
        self._catalog = ModelCatalog()
        self.models = ProviderModels()
        self.extras_form = ExtrasForm("provider_extras")
        self._draft = Draft({"name": "", "base_url": "", "dialect": "openai-chat", "key": ""})
        self._fields = Form(PROVIDER, self._draft, gap=8)
        self._fields.edited.connect(self._on_edited)
        self._draft.follow("name", self._show_saved_name)
        self._name, self._url, self.key = (self._fields.line(name) for name in ("name", "base_url", "key"))
        self._name.setObjectName("provider_name")
        self.key.setObjectName("api_key")
        self._url.editingFinished.connect(self._on_url_entered)
        remove_key = self._fields.trailing["key"].findChild(IconButton, "remove_key")
        assert remove_key is not None
        self._remove_key = remove_key
        self._remove_key.toggled.connect(lambda _: self._show_key_state())
        self._remove_key.clicked.connect(lambda: self._on_edited("key"))
        self._key_source: KeySource = "none"
        self.models.list_button.clicked.connect(lambda: self.models_requested.emit(self.form()))
        self.check_view = ProviderCheckView()
        self._test = PushButton(tr("Test", "verb: button"), "", "zap", name="test_provider")
        self._test.clicked.connect(self._test_or_stop)
        self._save = PushButton(tr("Save"), "primary", name="save_provider", on_click=self._validate_and_save)
        self._use = PushButton("", name="use_provider", on_click=self._save_and_use)
        self._discard = PushButton(tr("Discard"), name="discard_provider", on_click=self.discarded.emit)
        self._remove = PushButton(tr("Remove"), "danger", name="remove_provider")
        self._remove.clicked.connect(lambda: self.remove_requested.emit(self._form.id))
        self.conflict = EditConflict("provider", self.discarded.emit, self.edit_kept.emit)
        self.edit_kept.connect(lambda: self.show_conflict(False))
        keys = QKeySequence(QKeySequence.StandardKey.Save)
        self._save.setShortcut(keys)
        self._save.setToolTip(keys.toString(QKeySequence.SequenceFormat.NativeText))
        self.footer = QFrame()
        self.footer.setObjectName("settings_footer")
        buttons = FlowBox([self._remove, self._discard, self._use, self._test, self._save], right_from=1)
        self.conflict.setContentsMargins(28, 10, 28, 0)
        footer = column(self.check_view, self.conflict, row(buttons, margins=(28, 10, 28, 12)), gap=0)
        self.footer.setLayout(page_column(footer))
        self.setLayout(column(self._fields, self.extras_form, 6, self.models, None, gap=8))
        self.extras_form.edited.connect(self.edited)
        self.models.changed.connect(self.edited)
        self.edited.connect(self._show_discard)
        self.show_provider(EMPTY_DRAFT, ProviderStatus("", False, "none"))

    def _on_edited(self, name: str) -> None:
        """Drop what another server said of the models, and what a test with another one or key showed."""
        if name in ("base_url", "dialect"):
            server = web_address(self._draft.get("base_url")), self._draft.get("dialect")
            is_same = server == (self._form.base_url, self._form.dialect)
            self.models.take_figures(self._form.models if is_same else ())
        if name in ("base_url", "dialect", "key"):
            self.server_edited.emit()
            self.check_view.clear()
        self.edited.emit()

    def _show_discard(self) -> None:
        self._discard.setVisible(self.has_unsaved_edits())

    def _show_saved_name(self, typed: str) -> None:
        """Say under which name the provider will be saved, where that is another one than what is typed."""
        saved = provider_name(typed)
        note = tr("Will be saved as {name}.", name=saved) if typed.strip().lower() not in {"", saved} else ""
        self._fields.rows["name"].show_note(note)

    def set_catalog(self, catalog: ModelCatalog) -> None:
        self._catalog = catalog
        self.models.set_spec_lookup(self._resolve_spec)

    def show_scope(self, has_workspace: bool) -> None:
        """Say what the button to use a model is about: this workspace, or without one those to come."""
        tip = tr("Make it the default model of this workspace. Sessions can choose another.")
        self._use.setText(tr("Use in this workspace") if has_workspace else tr("Make default"))
        self._use.setToolTip(tip if has_workspace else tr("Make it the default model of new workspaces."))

    def show_provider(
        self, form: ProviderDraft, status: ProviderStatus, draft: ProviderDraft | None = None
    ) -> None:
        """Fill the fields; a key that is already kept stays where it is and is not shown.

        `draft` is what was edited earlier and is not saved.
        """
        self._fill(form, status)
        self._unedited = self.form()
        if draft is not None:
            self._fill(draft, status)
            self._form = form
        self._show_discard()

    def _fill(self, form: ProviderDraft, status: ProviderStatus) -> None:
        self._form = form
        for name in ("name", "base_url", "dialect", "key"):
            self._draft.set(name, getattr(form, name))
        self._key_source = status.key_source
        self._remove_key.setChecked(form.removes_key)
        self._remove_key.setVisible(status.key_source in ("keychain", "run"))
        self._show_key_state()
        self.extras_form.clear()
        self.extras_form.show_extras(form.id, form.extras, status.saved_headers, form.secret_headers)
        if form.incomplete_extras is not None:
            self.extras_form.show_incomplete(form.incomplete_extras)
        self.models.show_models(form.models, form.default_model, self._resolve_spec, form)
        vendor = self._catalog.vendor_for(form.base_url)
        if vendor is not None:  # these names are published, until the server lists its own
            names = [*vendor.begin, *(name for entry in vendor.model for name in entry.names)]
            self.models.set_suggestions(tuple(dict.fromkeys(names)))
        self.check_view.clear()
        self._fields.refresh()
        key_note = status.key_note or tr("Will be kept in the system's keychain, if there is one.")
        self._fields.rows["key"].show_note(key_note)
        self._use.setVisible(bool(form.id) and not (status.in_use and len(form.models) == 1))
        self._remove.setVisible(bool(form.id))

    def note_saved(self, form: ProviderDraft) -> None:
        self._unedited = form
        self._show_discard()

    def show_conflict(self, has_conflict: bool) -> None:
        """Save nothing until the user has decided which one counts."""
        self.conflict.setVisible(has_conflict)
        self._save.setEnabled(not has_conflict)
        self._use.setEnabled(not has_conflict)

    def has_unsaved_edits(self) -> bool:
        return self.form().without_tests() != self._unedited.without_tests()

    def _show_key_state(self) -> None:
        texts: dict[KeySource, str] = {
            "none": tr("Optional"),
            "run": tr("Entered. Type to replace it."),
            "environment": tr("Type to use another one."),
            "keychain": tr("Saved. Type to replace it."),
        }
        words = tr("Removed when you save") if self._remove_key.isChecked() else texts[self._key_source]
        self.key.setPlaceholderText(words)
        self.key.setMinimumWidth(self.key.fontMetrics().horizontalAdvance(words) + _FIELD_PAD_PX)

    def update_form(self, form: ProviderDraft) -> None:
        """Know what is saved of a provider now, if it is the one on screen; the fields stay as they are."""
        if form.id == self._form.id:
            self._form = form

    def focus_first_empty(self) -> None:
        empty = next((field for field in (self._name, self._url, self.key) if not field.text()), self.key)
        empty.setFocus(Qt.FocusReason.OtherFocusReason)

    def enter_key(self, key: str, is_ready: bool) -> None:
        """Fill in a key; the keyboard goes to Test if all is ready, else to the first empty field."""
        self._draft.set("key", key)
        self.edited.emit()
        if is_ready:
            self._test.setFocus(Qt.FocusReason.ShortcutFocusReason)  # seen, for Enter
        else:
            self.focus_first_empty()

    def show_testing(self, is_testing: bool) -> None:
        self.is_testing = is_testing
        self._test.setText(tr("Stop") if is_testing else tr("Test", "verb: button"))

    def show_offered(self, offered: Mapping[str, SourcedSpec]) -> bool:
        """Take over what the server has and says, to be checked.

        Its only model is added at once; return True if it was.
        """
        self.models.set_offered(offered)
        if len(offered) == 1 and not self.models.entries:
            self.models.add(next(iter(offered)))
            return True
        if offered:
            self.models.show_checklist()
        return False

    def form(self) -> ProviderDraft:
        return ProviderDraft(
            self._form.id,
            self._draft.get("name").strip(),
            web_address(self._draft.get("base_url")),
            self._draft.get("dialect"),
            self.models.entries,
            self.models.default_model,
            self._draft.get("key").strip(),
            extras=self.extras_form.extras(),
            secret_headers=self.extras_form.secret_values(),
            removes_key=self._remove_key.isChecked(),
            incomplete_extras=self.extras_form.incomplete(),
            invalid_figures={model: dict(typed) for model, typed in self.models.invalid_figures.items()},
        )

    def _on_url_entered(self) -> None:
        self._draft.set("base_url", web_address(self._draft.get("base_url")))
        self.models.set_spec_lookup(self._resolve_spec)

    def _resolve_spec(self, entry: ModelEntry) -> ResolvedModelSpec:
        name = self._draft.get("name").strip()
        if not is_provider_name(name):
            name = "server"  # figures say where they come from
        provider = Provider(name=name, base_url=web_address(self._draft.get("base_url")), models=(entry,))
        return provider.resolved_spec(entry.name, self._catalog)

    def _test_or_stop(self) -> None:
        if self.is_testing:
            self.stop_requested.emit()
        else:
            self.test_requested.emit(self.form())

    def _save_and_use(self) -> None:
        """Request to use the selected model as it is filled in: what was edited is saved first."""
        name = self.form().name
        if not self.has_unsaved_edits() or self._validate_and_save():
            self.use_requested.emit(f"{name}/{self.models.selected_model}")

    def _validate_and_save(self) -> bool:
        """Save what is filled in, if it is valid; else say what is wrong and return False."""
        self.models.add_typed()
        form = self.form()
        faults, saved = validate_provider(form), provider_name(form.name)
        if form.name and saved in self.taken_names:
            faults["name"] = tr("The provider {name} already exists. Enter another name.", name=saved)
        for name in self._fields.fields:
            self._fields.show_error(name, faults.get(name, ""))
        self.models.show_error(faults.get("models", ""))
        has_wrong_figures = self.models.show_faults()
        wrong = self.extras_form.validate(form.dialect)
        if wrong:
            self.extras_form.head.setChecked(True)
        if faults.keys() <= {"extras"} and not wrong and faults:  # of a model: they stand in the file alone
            self.models.show_error(faults["extras"])
        is_valid = not (faults or wrong or has_wrong_figures)
        self._fields.focus_error()  # it may have been scrolled out of sight
        if is_valid:
            self.saved.emit(form)
        return is_valid
