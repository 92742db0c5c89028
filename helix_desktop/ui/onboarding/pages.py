"""The pages that stand in the center while no session can be shown there, and the model servers found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QLayout, QLineEdit, QScrollArea, QWidget

from helix_desktop.context.policy_numbers import REFERENCE_WINDOW, ContextPolicy
from helix_desktop.domain.model_spec import LocalServer
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, key_label, label, show_text
from helix_desktop.ui.design.layout import FlowBox, LazyPage, card, clear_layout, column, pane, row
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed, restyle
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.boxes import Pen
from helix_desktop.ui.kit.commands import action_shortcut
from helix_desktop.ui.kit.context_menu import PROFILES_TO_CHOOSE, context_choice_text, context_menu
from helix_desktop.ui.kit.intents import perform
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.policies import profile_keeps
from helix_desktop.words.translation import Translator, translate

tr = Translator("Welcome")
text = TextContext("Welcome")

_MAX_NAMED_MODELS = 3  # models that are named


class FoundServerList(QWidget):
    """Nothing until somebody looks; then a line, or a card for each server."""

    add_requested = Signal(object)  # LocalServer
    next_step_changed = Signal()
    """It has a button that is the next step now, or has it no longer."""

    def __init__(self) -> None:
        super().__init__()
        self._message = label("", "muted", wrap=True)
        self._cards = column(gap=6)
        self.is_next_step = False
        self.setLayout(column(self._message, self._cards, gap=6))
        self.hide()

    def show_scanning(self) -> None:
        self.show_message(tr("Searching the ports of Ollama, LM Studio, llama.cpp and vLLM…"))

    def show_servers(self, servers: Sequence[LocalServer], added_urls: Collection[str]) -> None:
        """Show what was found; `added_urls` are the base URLs of providers that are there already."""
        nothing = tr("No model server found on ports 11434, 1234, 8080 and 8000. Start one and search again.")
        self.show_message("" if servers else nothing)
        for server in servers:
            self._cards.addWidget(self._card(server, server.base_url in added_urls))
        self._set_next_step(any(server.models and server.base_url not in added_urls for server in servers))

    def text(self) -> str:
        return self._message.text()

    def show_message(self, text: str) -> None:
        clear_layout(self._cards)
        show_text(self._message, text)
        self.show()
        self._set_next_step(False)

    def _set_next_step(self, is_next: bool) -> None:
        if is_next != self.is_next_step:
            self.is_next_step = is_next
            self.next_step_changed.emit()

    def _card(self, server: LocalServer, is_added: bool) -> QWidget:
        where = label(urlsplit(server.base_url).netloc, "faint")
        title = tr("Model server") if server.kind == "other" else server.title
        head = row(label(title, "strong"), where, None, gap=8)
        words = column(head, label(_models_text(server), "note", wrap=True), gap=1)
        look = (tr("Added"), "", "check") if is_added else (tr("Add"), "primary", "plus")
        name = tr("{server} is added", server=title) if is_added else tr("Add {server}", server=title)
        button = PushButton(*look, name="added" if is_added else "add", words=name)
        button.clicked.connect(lambda: self.add_requested.emit(server))
        button.setEnabled(not is_added and bool(server.models))
        sign = IconLabel("server", px=18, color_token="muted")
        return card(row(sign, words, button, margins=(14, 9, 12, 9), gap=12, stretch=1))


def _models_text(server: LocalServer) -> str:
    """Return a server's models in a line: loaded ones first, each with its context window."""
    if not server.models:
        return tr("No models yet")
    ordered = sorted(server.models, key=lambda model: not model.is_loaded)
    labels = [
        _model_text(model.name, model.spec.window, model.is_loaded) for model in ordered[:_MAX_NAMED_MODELS]
    ]
    more = len(ordered) - len(labels)
    if more:
        labels.append(tr.plural(more, "%n more", "%n more"))
    return " · ".join(labels)


def _model_text(name: str, window_size: int, loaded: bool | None) -> str:
    about = [tr("{tokens} context", tokens=format_tokens(window_size))] if window_size else []
    if loaded is not None:
        about.append(tr("loaded") if loaded else tr("not loaded"))
    return tr("{model} ({about})", model=name, about=", ".join(about)) if about else name


_CARDS_PX = 800
_STACK_BELOW_PX = 700
_NARROW_PX = 460
_LOGO_PX = 38  # of the 60 pixels of its square, so that it stands in line with the words below it
_KEY_CHARS = 20  # shorter text in the clipboard is no key
_SUGGESTIONS = (
    (
        "play",
        text("Try the guided sample"),
        text(
            "A sample project with the offline demo model: no key, no network. See outputs leave the context "
            "and come back."
        ),
        text("Start sample"),
        intents.OpenSample(),
    ),
    (
        "folder-open",
        text("Open a folder"),
        text("A project becomes a workspace with its own sessions. You can drop it here."),
        text("Open folder…"),
        intents.OpenFolder(),
    ),
    (
        "plug",
        text("Connect a model"),
        text(
            "With a key from Anthropic, OpenAI, Gemini or another provider, or a server on this computer: "
            "Ollama, LM Studio, llama.cpp or vLLM."
        ),
        text("Add provider…"),
        intents.AddProvider(),
    ),
)
"""Icon, title, words, button and what it wants: the three ways to begin."""

_TILE_PX = 44


class IconTile(Themed, QWidget):
    def __init__(self, icon_name: str, color: str = "accent_text", ground: str = "accent_soft") -> None:
        """The colors are tokens."""
        super().__init__()
        self._icon_name = icon_name
        self._color = color
        self._ground = ground
        self.setFixedSize(_TILE_PX, _TILE_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        edge = self.width()
        pen.box(QRectF(self.rect()), self._ground, "", edge * 0.27)
        color = str(getattr(self._theme, self._color))
        image = pixmap(self._icon_name, color, edge // 2, self.devicePixelRatioF())
        pen.qt.drawPixmap(QPointF(edge // 4, edge // 4), image)
        pen.qt.end()


class _CenteredPage(QWidget):
    def lay_out(self, body: QLayout, width: int) -> None:
        """Put a body of at most `width` pixels into the middle of the page, which scrolls."""
        scroll = QScrollArea(self)
        page = QWidget(scroll.viewport())
        middle = QWidget(page)
        middle.setMaximumWidth(width)
        middle.setLayout(body)
        page.setObjectName("page")
        line = row(None, middle, None, margins=(32, 24, 32, 40))
        line.setStretch(1, 100)
        line.setAlignment(middle, Qt.AlignmentFlag.AlignVCenter)
        page.setLayout(line)
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(column(scroll))


class WelcomePage(_CenteredPage):
    scan_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._key = QLineEdit()
        self._key.setObjectName("pasted_key")
        self._key.setEchoMode(QLineEdit.EchoMode.Password)
        self._key.setPlaceholderText(tr("Paste an API key"))
        self._key.setAccessibleName(tr("Paste an API key"))
        self._key.textEdited.connect(self._on_key_typed)
        self._key.returnPressed.connect(self._enter_key)
        scan = PushButton(tr("Find local servers"), "", "search", name="find_servers")
        scan.clicked.connect(self.scan_requested)
        self.found_servers = FoundServerList()
        """The model servers of this machine, once somebody has looked."""
        self.found_servers.next_step_changed.connect(self._mark_next_step)
        self._cards = row(gap=14)
        self._buttons: dict[str, PushButton] = {}
        for icon_name, title, description, action, intent in _SUGGESTIONS:
            heading = label(translate(title), "title", wrap=True)
            words = label(translate(description), "muted", wrap=True)
            words.setAlignment(Qt.AlignmentFlag.AlignTop)
            button = self._buttons[icon_name] = PushButton(translate(action), name=f"suggestion:{icon_name}")
            button.clicked.connect(lambda _=False, intent=intent: perform(self, intent))
            more = (self._key, row(scan, None)) if isinstance(intent, intents.AddProvider) else ()
            body = column(
                row(IconTile(icon_name), None), 4, heading, words, 6, None, *more, row(button, None), gap=6,
                margins=(18, 18, 18, 18),
            )  # fmt: skip
            self._cards.addWidget(card(body), 1)
            # The card of the model is the last.
            self._model_title = heading
            self._model_words = words
        lead = tr(
            "An AI coding agent whose context stays small and visible. Large and old outputs leave it; every "
            "byte of them is stored, and comes back when the agent or you need it."
        )
        logo = IconLabel("helix", px=60, width_px=_LOGO_PX, color_token="text")
        welcome = label(tr("Welcome to Helix Desktop"), "display", wrap=True)
        head = column(row(logo, None), 4, welcome, label(lead, "lead", wrap=True), gap=8)
        nothing_sent = tr("Nothing is sent until you send a message.")
        also_sent = tr(
            "Beside your turns, a model also writes titles and handover summaries; you see each of them."
        )
        foot = label(f"{nothing_sent} {also_sent}", "faint", wrap=True)
        self.lay_out(column(head, 14, self._cards, self.found_servers, 6, foot, gap=8), _CARDS_PX)
        self.show_model("")

    def show_model(self, label: str) -> None:
        """Name the model that is connected, and lead on to a folder; empty: none is connected yet."""
        _, title, description, *_ = _SUGGESTIONS[-1]
        self._model_title.setText(tr("A model is connected") if label else translate(title))
        self._model_words.setText(
            tr("{model} is ready. You can add more models here.", model=label)
            if label
            else translate(description)
        )
        self._next = self._buttons["folder-open" if label else "play"]
        self._mark_next_step()
        self.setFocusProxy(self._next)  # Enter goes it

    def _mark_next_step(self) -> None:
        """Make one button stand out: that of a card, unless a server was found that can be added."""
        for name in ("play", "folder-open"):
            is_primary = self._buttons[name] is self._next and not self.found_servers.is_next_step
            restyle(self._buttons[name], "kind", "primary" if is_primary else "")

    def _on_key_typed(self, typed: str) -> None:
        """Go on at once with a key that was pasted as a whole."""
        if len(typed.strip()) >= _KEY_CHARS and typed.strip() == QGuiApplication.clipboard().text().strip():
            self._enter_key()

    def _enter_key(self) -> None:
        key = self._key.text().strip()
        self._key.clear()
        if key:
            perform(self, intents.AddProvider(key))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        stacked = self.width() < _STACK_BELOW_PX
        directions = QBoxLayout.Direction
        self._cards.setDirection(directions.TopToBottom if stacked else directions.LeftToRight)


class NoSessionPage(_CenteredPage):
    def __init__(self, parent: QWidget, new_session: QAction) -> None:
        """`new_session` is the command, whose keys are shown if it has any."""
        super().__init__(parent)
        self._new_session = new_session
        self._title = label("", "heading", wrap=True)
        self._words = label("", "muted", wrap=True)
        button = PushButton(tr("New session"), "primary", "plus", name="new_session")
        button.clicked.connect(lambda: perform(self, intents.NewSession()))
        import_button = PushButton(tr("Import…"), name="import")
        import_button.clicked.connect(lambda: perform(self, intents.Import()))
        self._keys = key_label("")
        hint = label(tr("New session, from anywhere in the window"), "faint", wrap=True)
        self._hint = pane(row(self._keys, hint, gap=7, stretch=1))
        buttons = row(button, import_button, None)
        tile = IconTile("message-square")
        self._policy = ContextPolicy()
        self._model_window = REFERENCE_WINDOW
        self.context_button = PushButton("", "link", "chevron-down", name="context_choice")
        self.context_button.clicked.connect(self._offer_context)
        self._keeps = label("", "faint", wrap=True)
        body = column(
            *(row(tile, None), 6, self._title, self._words, 8, buttons, 4, self._hint),
            *(12, row(self.context_button, None), self._keeps),
            gap=6,
        )
        self.lay_out(body, _NARROW_PX)
        new_session.changed.connect(self._show_keys)
        self._show_keys()

    def show_context(self, policy: ContextPolicy, model_window: int) -> None:
        """Offer how much of the context stays in this workspace, and say what the chosen profile keeps."""
        self._policy = policy
        self._model_window = model_window
        choice = context_choice_text(policy, model_window)
        self.context_button.setText(tr("Context: {choice}", choice=choice))
        is_offered = policy.enabled and policy.profile in PROFILES_TO_CHOOSE
        keeps = profile_keeps(policy.profile) if is_offered else ""
        self._keeps.setText(tr("Helix {keeps}.", keeps=keeps) if keeps else "")

    def _offer_context(self) -> None:
        menu = context_menu(self.context_button, self._policy, self._model_window)
        menu.popup(self.context_button.mapToGlobal(self.context_button.rect().bottomLeft()))

    def _show_keys(self) -> None:
        keys = action_shortcut(self._new_session)
        self._keys.setText(keys)
        self._hint.setVisible(bool(keys))

    def show_workspace(self, name: str, has_sessions: bool = False) -> None:
        """Say for which workspace, and whether its list has sessions: those that other windows show."""
        if has_sessions:
            self._title.setText(tr("No session open"))
            self._words.setText(tr("Choose a session in the list, or start a new one."))
        else:
            self._title.setText(tr("No sessions in {workspace} yet", workspace=name))
            self._words.setText(tr("A session is one conversation with the agent in this workspace."))


class ClosedWorkspacePage(_CenteredPage):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._id = ""
        self._title = label("", "heading", wrap=True)
        words = label(tr("What is saved there stays as it is. Try again to see why."), "muted", wrap=True)
        button = PushButton(tr("Try again"), "primary", "refresh-cw", name="retry")
        button.clicked.connect(lambda: perform(self, intents.ShowWorkspace(self._id)))
        tile = IconTile("triangle-alert", "warn", "warn_soft")
        body = column(row(tile, None), 6, self._title, words, 8, row(button, None), gap=6)
        self.lay_out(body, _NARROW_PX)

    def show_workspace(self, workspace_id: str, name: str) -> None:
        self._id = workspace_id
        self._title.setText(tr("{workspace} can't be opened", workspace=name))


class MissingFolderPage(_CenteredPage):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._id = ""
        self._title = label("", "heading", wrap=True)
        self._path = label("", "mono", wrap=True)
        self._path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        safe = tr(
            "Sessions, outputs and timeline are safe: they aren't in the folder. If you moved the "
            "folder, locate it to continue."
        )
        parts = list[QWidget]()
        read_only = partial(intents.ShowWorkspace, read_only=True)
        for name, title, kind, icon_name, intent in (
            ("locate", tr("Locate…"), "primary", "folder-search", intents.LocateWorkspace),
            ("open_read_only", tr("Open read-only"), "", "eye", read_only),
            ("remove_from_list", tr("Remove from list"), "danger", "", intents.RemoveWorkspace),
        ):
            button = PushButton(title, kind, icon_name, name=name)
            button.clicked.connect(lambda _=False, intent=intent: perform(self, intent(self._id)))
            parts.append(button)
        note = label(tr("Removing only hides it here. Its data is kept."), "faint", wrap=True)
        tile = IconTile("folder-x", "warn", "warn_soft")
        words = column(self._title, self._path, label(safe, "muted", wrap=True), gap=7)
        body = column(row(tile, None), 6, words, 8, FlowBox(parts), 4, note, gap=7)
        self.lay_out(body, _NARROW_PX + 40)

    def show_workspace(self, workspace_id: str, name: str, path: str) -> None:
        self._id = workspace_id
        self._title.setText(tr("The folder for {workspace} is missing", workspace=name))
        # Zero-width spaces let a long path break at its separators.
        self._path.setText(path.replace("/", "/\u200b").replace("\\", "\\\u200b"))


class Places:
    """The pages by their names in the window's center, each built when it is first needed."""

    def __init__(self, parent: QWidget, new_session: QAction) -> None:
        self.welcome = LazyPage(lambda: WelcomePage(parent))
        self.missing = LazyPage(lambda: MissingFolderPage(parent))
        self.closed = LazyPage(lambda: ClosedWorkspacePage(parent))
        self.empty = LazyPage(lambda: NoSessionPage(parent, new_session))
