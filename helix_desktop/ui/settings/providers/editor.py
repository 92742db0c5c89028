"""The fields of one provider, each of which holds at once, and the buttons that test and remove it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.secrets import KeySource
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.dialects import DIALECTS
from helix_desktop.domain.model_spec import ResolvedModelSpec, SourcedSpec
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.provider_changes import ProviderEdit
from helix_desktop.services.provider_check import CheckStep, CheckStepName, CheckStepState
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead
from helix_desktop.ui.design.labels import IconLabel, SelectableText, label
from helix_desktop.ui.design.layout import FlowBox, card, clear_layout, column, pane, row
from helix_desktop.ui.kit.forms import Choice, Draft, Form, Line, Values
from helix_desktop.ui.settings.providers.models import (
    ProviderModels,
    ShownProvider,
    is_web_address,
    provider_name,
    web_address,
    with_server,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_FIELD_PAD_PX = 26

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
_NAME_PX = 78  # the least width of the names
_BOLD_PX = 8  # what the bold name of a failed step adds


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
    details = translate(join_sentences(step.detail, step.why))
    fix = translate(step.fix)
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


class ProviderCheckView(QWidget):
    """The ticks of the test, or short notices, below the buttons; nothing until there is something."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[tuple[CheckStep, QWidget]] = []
        self._results = column()
        self._close = IconButton("x", tr("Hide result"), px=13, edge=22, on_click=self.clear)
        results = pane(column(self._results, None, gap=0))
        self.setLayout(row(results, self._close, gap=6, stretch=0, top=[self._close]))
        self.clear()

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
                old = self._steps[place][1]
                self._steps[place] = (step, _step_result(step))
                self._results.replaceWidget(old, self._steps[place][1])
                old.deleteLater()
        self.show()

    def show_notices(self, notices: Sequence[CheckNotice]) -> None:
        self.clear()
        self._results.setSpacing(4)
        for notice in notices:
            self._results.addWidget(_notice_result(notice))
        self.setVisible(bool(notices))


class _Key(Line, frozen=True, kw_only=True):
    def beside(self, form: Form) -> QWidget:
        reveal = IconButton("eye", tr("Show key"), name="show_key")
        reveal.setCheckable(True)
        # A click leaves the keyboard in the field: what is typed is stored when it is left.
        reveal.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        remove = IconButton("trash-2", tr("Remove key"), name="remove_key")

        def show_key(is_shown: bool) -> None:
            mode = QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password
            form.line(self.name).setEchoMode(mode)
            reveal.set_icon("eye-off" if is_shown else "eye")
            reveal.set_tip(tr("Hide key") if is_shown else tr("Show key"))

        reveal.toggled.connect(show_key)
        return pane(row(reveal, remove, gap=2))


_URL = Line("base_url", text("Base URL"), placeholder="http://127.0.0.1:11434/v1", room=1)
PROVIDER = (
    Line("name", text("Name"), room=1),
    _URL,
    Choice("dialect", text("API type"), text("Most servers use Chat Completions, local ones too."),
           choices=[(dialect, traits.title) for dialect, traits in DIALECTS.items()]),
    _Key("key", text("API key"), secret=True, room=1),
)  # fmt: skip
NEW_SERVER = (_URL, Line("key", text("API key"), secret=True, room=1))


def _valid_address(typed: str) -> str:
    """Return a typed web address with its scheme. Raises ValueError for what is none."""
    address = web_address(typed)
    if not is_web_address(address):
        example = "http://localhost:11434/v1"
        raise ValueError(tr("Enter a web address such as {example}.", example=example))
    return address


class ProviderValues(Values):
    """The fields of the provider on screen; what is set goes out as a change of what is stored."""

    edited = Signal(object)
    """A `ProviderEdit`."""
    key_entered = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.provider = Provider(name="server", base_url="")
        self.taken_names: Set[str] = frozenset()
        """The names of all providers."""

    def get(self, name: str) -> Any:
        return "" if name == "key" else getattr(self.provider, name)

    def set(self, name: str, value: Any) -> None:
        match name:
            case "name":
                self._rename(value)
            case "base_url":
                address = _valid_address(value)
                if address != self.provider.base_url:
                    self.edited.emit(lambda provider: with_server(provider, base_url=address))
            case "dialect":
                # Raises ValueError where it forbids a field of the body that the file adds.
                with_server(self.provider, dialect=value)
                self.edited.emit(lambda provider: with_server(provider, dialect=value))
            case "key" if value.strip():
                self.key_entered.emit(value.strip())
        self.changed.emit(name)  # as it was understood

    def _rename(self, typed: str) -> None:
        if not typed.strip():
            raise ValueError(tr("Enter a name."))
        name = provider_name(typed)
        if name == self.provider.name:
            return
        if name in self.taken_names:
            raise ValueError(tr("The provider {name} already exists. Enter another name.", name=name))
        self.edited.emit(lambda provider: msgspec.structs.replace(provider, name=name))


class _NewServerValues(Draft):
    def set(self, name: str, value: Any) -> None:
        usable = _valid_address(value) if name == "base_url" else value.strip()
        super().set(name, usable)


class NewServer(QWidget):
    """The address of a server to be added, and its key, if it needs one; hidden until it is asked for."""

    add_requested = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self._draft = _NewServerValues({"base_url": "", "key": ""})
        self.form = Form(NEW_SERVER, self._draft, gap=4)
        self.form.line("key").setPlaceholderText(tr("Optional"))
        for name in ("base_url", "key"):
            self.form.line(name).returnPressed.connect(self._add)
        title = label(tr("New provider"), "strong")
        add = PushButton(tr("Add"), "primary", "plus", name="add_server", on_click=self._add)
        cancel = PushButton(tr("Cancel"), name="cancel_server", on_click=self.hide)
        body = column(title, self.form, row(None, cancel, add, gap=8), margins=(14, 10, 14, 12), gap=6)
        self.setLayout(column(card(body)))
        self.hide()

    def ask(self, key: str = "") -> None:
        self._draft.values.update(base_url="", key=key)
        self.form.refresh()
        self.show()
        self.form.line("base_url").setFocus(Qt.FocusReason.OtherFocusReason)

    def _add(self) -> None:
        for name in ("base_url", "key"):
            self.form.retry(name)
        address = self._draft.get("base_url")
        key = self._draft.get("key")
        if not (address or self.form.errors()):
            self.form.write("base_url", "")  # says what is missing
        if not self.form.focus_error():
            self.hide()
            self.add_requested.emit(address, key)


class ProviderEditor(QWidget):
    edited = Signal(str, object)
    """The name of a provider, and a `ProviderEdit` of it."""
    key_entered = Signal(str, str)
    """The name of a provider, and its key; empty: the stored one goes."""
    test_requested = Signal()
    stop_requested = Signal()
    server_edited = Signal()
    """A test that runs is of another server now."""
    models_requested = Signal()
    remove_requested = Signal(str)
    use_requested = Signal(str)
    """The label PROVIDER/MODEL of the chosen model."""
    model_removed = Signal(str, str)
    """The names of a provider and of the model that goes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_testing = False
        self._catalog = ModelCatalog()
        self.models = ProviderModels()
        self.values = ProviderValues()
        self.form = Form(PROVIDER, self.values, gap=8)
        self.values.edited.connect(self._edit)
        self.values.key_entered.connect(self._enter_key)
        self.key = self.form.line("key")
        self.key.setObjectName("api_key")
        self.form.line("name").setObjectName("provider_name")
        self.form.line("name").textEdited.connect(self._show_saved_name)
        for name in ("base_url", "key"):
            self.form.line(name).textEdited.connect(self._drop_test)
        remove_key = self.form.trailing["key"].findChild(IconButton, "remove_key")
        assert remove_key is not None
        self._remove_key = remove_key
        self._remove_key.clicked.connect(lambda: self.key_entered.emit(self.provider.name, ""))
        self.models.list_button.clicked.connect(lambda: self._request(self.models_requested.emit))
        self.models.edited.connect(self._edit)
        self.models.remove_requested.connect(lambda model: self.model_removed.emit(self.provider.name, model))
        self.models.spec_form.use_button.clicked.connect(self._use)
        self.check_view = ProviderCheckView()
        self._test = PushButton(tr("Test", "verb: button"), "", "zap", name="test_provider")
        self._test.clicked.connect(self._test_or_stop)
        self._remove = PushButton(tr("Remove provider"), "danger", name="remove_provider")
        self._remove.clicked.connect(lambda: self.remove_requested.emit(self.provider.name))
        buttons = FlowBox([self._test, self._remove], right_from=1)
        self.setLayout(column(self.form, buttons, self.check_view, 6, self.models, None, gap=8))

    @property
    def provider(self) -> Provider:
        """The provider on screen, as it is stored or is about to be."""
        return self.values.provider

    def _edit(self, edit: ProviderEdit) -> None:
        """Show a change of the provider at once; who listens stores it. Raises ValueError."""
        before = self.provider
        changed = edit(before)
        if changed == before:
            return
        is_same = (changed.base_url, changed.dialect) == (before.base_url, before.dialect)
        if not is_same:
            self._drop_test()
        self._show(changed, is_other=False)
        self.edited.emit(before.name, edit)

    def _enter_key(self, key: str) -> None:
        self._drop_test()
        self.key.clear()
        self.key_entered.emit(self.provider.name, key)

    def _drop_test(self) -> None:
        """Forget what a test with another server or key has shown."""
        self.server_edited.emit()
        self.check_view.clear()

    def _show_saved_name(self, typed: str) -> None:
        """Say under which name the provider will be saved, where that is another one than what is typed."""
        saved = provider_name(typed)
        is_same = typed.strip().lower() in {"", saved}
        note = "" if is_same else tr("Will be saved as {name}.", name=saved)
        self.form.rows["name"].show_note(note)

    def set_catalog(self, catalog: ModelCatalog) -> None:
        self._catalog = catalog

    def show_scope(self, has_workspace: bool) -> None:
        """Say what the button to use a model is about: this workspace, or without one those to come."""
        use = self.models.spec_form.use_button
        use.setText(tr("Use in this workspace") if has_workspace else tr("Use by default"))
        tip = tr("Make it the default model of this workspace. Sessions can choose another.")
        use.setToolTip(tip if has_workspace else tr("Make it the default model of new workspaces."))

    def show_provider(self, shown: ShownProvider, *, is_other: bool = True) -> None:
        """Show a provider; a key that is already kept stays where it is and is not shown.

        Where it is the same one as before, what is typed in a field and is not done stays.
        """
        provider = shown.provider
        assert provider is not None  # the demo model has no fields
        self._show(provider, is_other=is_other)
        self._show_key_state(shown)
        if is_other:
            self.key.clear()
            self.check_view.clear()
            vendor = self._catalog.vendor_for(provider.base_url)
            if vendor is not None:  # these names are published, until the server lists its own
                names = [*vendor.begin, *(name for entry in vendor.model for name in entry.names)]
                self.models.set_suggestions(tuple(dict.fromkeys(names)))

    def _show(self, provider: Provider, *, is_other: bool) -> None:
        before = self.values.provider
        self.values.provider = provider
        for name in ("name", "base_url", "dialect"):
            if is_other or getattr(before, name) != getattr(provider, name):
                self.values.changed.emit(name)
        self._show_saved_name(provider.name)
        self.models.show_provider(provider, self._resolve_spec, is_other=is_other)

    def _show_key_state(self, shown: ShownProvider) -> None:
        texts: dict[KeySource, str] = {
            "none": tr("Optional"),
            "run": tr("Entered. Type to replace it."),
            "environment": tr("Type to use another one."),
            "keychain": tr("Saved. Type to replace it."),
        }
        words = texts[shown.key_source]
        self.key.setPlaceholderText(words)
        self.key.setMinimumWidth(self.key.fontMetrics().horizontalAdvance(words) + _FIELD_PAD_PX)
        self._remove_key.setVisible(shown.key_source in ("keychain", "run"))
        note = shown.key_note or tr("Will be kept in the system's keychain, if there is one.")
        self.form.rows["key"].show_note(note)

    def show_testing(self, is_testing: bool) -> None:
        self.is_testing = is_testing
        self._test.setText(tr("Stop") if is_testing else tr("Test", "verb: button"))

    def focus_test(self) -> None:
        self._test.setFocus(Qt.FocusReason.ShortcutFocusReason)  # seen, for Enter

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

    def _resolve_spec(self, entry: ModelEntry) -> ResolvedModelSpec:
        provider = Provider(name="server", base_url=self.provider.base_url, models=(entry,))
        return provider.resolved_spec(entry.name, self._catalog)

    def _request(self, request: Callable[[], object]) -> None:
        """Hold what is typed, and do what was asked for; where something can't be, only that is said."""
        for name in ("name", "base_url", "key"):
            self.form.retry(name)
        if not self.form.focus_error():
            request()

    def _test_or_stop(self) -> None:
        if self.is_testing:
            self.stop_requested.emit()
        else:
            self._request(self.test_requested.emit)

    def _use(self) -> None:
        self.use_requested.emit(f"{self.provider.name}/{self.models.selected_model}")
