"""Commands: what the user can do, with words, keys, place in the menus, slash command, and what it needs.

Each page, and the window, has one table of them: a class whose attributes are its commands. From the tables
come menu bar, picker, slash commands, tooltips, the keys in force, the settings of keys and their list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QHelpEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QToolTip, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.key_names import native_key, pressed_key, tip_with_key
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.words.translation import translate

if TYPE_CHECKING:
    from helix_desktop.words.slash_commands import SlashCommand

text = TextContext("Window")
_also = TextContext("Search words")
_in_session = TextContext("Session")
_slash_text = TextContext("Slash commands")
_changes_text = TextContext("Changes")
_outputs_text = TextContext("Outputs")
_context_text = TextContext("Panel")


class Need:
    """What must be there for a command to be used; and what is said of the command while it is not."""

    def __init__(self, reason: TranslatableText) -> None:
        self.reason = reason


class Command:
    """One thing to do, as it stands in a table; the table's instance in a window has its QAction.

    `keys` are the defaults as portable text, which the user can change; `fixed_key` is one that the widget in
    focus answers, not the command. `menu` and `group` say where the command stands in the menu bar, where
    groups are parted by lines, and in other lists; with `is_in_menu` False only there. `slash` names its
    slash command, which `with_arguments` makes an intent of what is typed behind it. `one_of` names commands
    of which one is checked.
    """

    def __init__(
        self,
        words: TranslatableText,
        intent: Intent | None = None,
        *keys: str,
        menu: TranslatableText | None = None,
        group: int = 0,
        needs: tuple[Need, ...] = (),
        slash: str = "",
        with_arguments: Callable[[str], Intent] | None = None,
        also: TranslatableText | None = None,
        fixed_key: str = "",
        is_checkable: bool = False,
        one_of: str = "",
        is_in_menu: bool = True,
    ) -> None:
        """`also` are words by which users may look for it, too. Without an intent its page does it."""
        self.id = ""
        """Under which the user's keys are stored: the attribute of its table."""
        self.words = words
        self.intent = intent
        self.keys = keys
        self.fixed_key = fixed_key
        self.menu = menu
        self.group = group
        self.needs = needs
        self.is_in_menu = is_in_menu
        self.slash = slash
        self.with_arguments = with_arguments
        self.also = also
        self.is_checkable = is_checkable or bool(one_of)
        self.one_of = one_of

    def __set_name__(self, table: type, name: str) -> None:
        self.id = name

    @overload
    def __get__(self, window_commands: None, table: type) -> Command: ...
    @overload
    def __get__(self, window_commands: WindowCommands, table: type) -> QAction: ...
    def __get__(self, window_commands: WindowCommands | None, table: type) -> Command | QAction:
        return self if window_commands is None else window_commands.action(self.id)


class CommandTable:
    """The commands of one page; their keys work while the keyboard is there. No two tables share a name."""

    title: ClassVar[TranslatableText]
    commands: ClassVar[Mapping[str, Command]]

    def __init_subclass__(cls) -> None:
        cls.commands = {name: own for name, own in vars(cls).items() if isinstance(own, Command)}


class _CommandAction(QAction):
    """A command whose keys count as use of the keyboard: what it opens shows where the focus is."""

    def event(self, event: QEvent) -> bool:
        """Tell the window before the command runs; Qt does so for Tab alone."""
        window = self.parent()
        if event.type() == QEvent.Type.Shortcut and isinstance(window, QWidget):
            window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        return super().event(event)


class CommandMenu(QMenu):
    """Groups of commands, a line between them; at the pointer it says why an entry is off: its status tip."""

    def __init__(self, parent: QWidget, *groups: Sequence[QAction], title: str = "") -> None:
        super().__init__(title, parent)
        for place, group in enumerate(groups):
            if place:
                self.addSeparator()
            self.addActions(list(group))

    def event(self, event: QEvent) -> bool:
        """Show the reason in place of Qt's tooltip, which would repeat the words of each entry."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            action = self.actionAt(event.pos())
            reason = "" if action is None or action.isEnabled() else action.statusTip()
            QToolTip.showText(event.globalPos(), reason, self)
            return True
        return super().event(event)


class EntryMenu(QMenu):
    """A menu that is made each time it opens, with what can be done to what it is of."""

    def __init__(self, parent: QWidget, title: str = "") -> None:
        super().__init__(title, parent)
        # One inside another menu is closed, and opened again, as the mouse goes by.
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, not isinstance(parent, QMenu))

    def add(
        self,
        name: str,
        words: str,
        deed: Intent | Callable[[], object],
        key: str = "",
        *,
        is_enabled: bool = True,
        is_checked: bool | None = None,
    ) -> QAction:
        """Add an entry; `name` finds it, `key` stands beside it. With `is_checked` it can be checked."""
        action = self.addAction("\t".join(filter(None, (words, native_key(key)))))
        action.setObjectName(name)
        action.setEnabled(is_enabled)
        if is_checked is not None:
            action.setCheckable(True)
            action.setChecked(is_checked)
        action.triggered.connect(lambda _: perform(self, deed) if isinstance(deed, Intent) else deed())
        return action

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = native_key(pressed_key(event)) if event.text().strip() else ""
        entries = (entry for entry in self.actions() if entry.isEnabled() and action_shortcut(entry) == keys)
        if keys and (entry := next(entries, None)) is not None:
            self.close()
            entry.trigger()
        else:
            super().keyPressEvent(event)


def action_words(action: QAction) -> str:
    return action.text().partition("\t")[0]


def set_action_words(action: QAction, words: str) -> None:
    """Let a menu entry have other words, and the hint for its keys that it had."""
    action.setText("\t".join((words, *action.text().split("\t")[1:])))


def action_shortcut(action: QAction) -> str:
    return native_key(action.shortcut().toString()) or action.text().partition("\t")[2]


def keep_tip(action: QAction, text: str, set_tip: Callable[[str], object]) -> None:
    """Set a tooltip now and whenever the action's keys change: its words, and the keys in parentheses."""

    def update() -> None:
        set_tip(tip_with_key(text, action_shortcut(action)))

    action.changed.connect(update)
    update()


def command_button(
    action: QAction, icon_name: str, words: str, *, px: int = 17, edge: int = 30
) -> IconButton:
    """Return a button that does a command; sizes are those of `IconButton`."""
    button = IconButton(icon_name, "", px=px, edge=edge, on_click=action.trigger)
    keep_tip(action, words, button.set_tip)
    return button


class PageKeys(QObject):
    """The keys in force in one page; what shows or answers them follows `changed`."""

    changed = Signal()

    def __init__(self, table: type[CommandTable], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._keys = {name: command.keys for name, command in table.commands.items()}

    def use(self, keys: Mapping[str, Sequence[str]]) -> None:
        """Put keys of commands in force at once, as portable text; those of other pages are left out."""
        own = {name: tuple(keys.get(name, previous)) for name, previous in self._keys.items()}
        if own != self._keys:
            self._keys = own
            self.changed.emit()

    def shown_key(self, command: str) -> str:
        return native_key(self._keys[command][0]) if self._keys[command] else ""

    def command_of(self, event: QKeyEvent) -> str:
        pressed = pressed_key(event)
        return next((command for command, keys in self._keys.items() if pressed in keys), "")

    def add_shortcut(
        self, command: str, widget: QWidget, callback: Callable[[], object], context: Qt.ShortcutContext
    ) -> None:
        """Let the keys of a command call something where `context` says, as an action of the widget."""
        action = add_shortcut(widget, "", callback, context)
        self._follow(lambda: action.setShortcuts(_sequences(self._keys[command])))

    def keep_tip(self, command: str, text: str, set_tip: Callable[[str], object]) -> None:
        """Set a tooltip now and whenever the keys change: its words, and the key in parentheses."""
        self._follow(lambda: set_tip(self.tip(command, text)))

    def tip(self, command: str, text: str) -> str:
        """Return a tooltip's words with the key of a command in parentheses; alone if it has none."""
        return tip_with_key(text, self.shown_key(command))

    def _follow(self, update: Callable[[], object]) -> None:
        update()
        self.changed.connect(update)


def _sequences(keys: Sequence[str]) -> list[QKeySequence]:
    """Return what a shortcut listens to: Enter of the keypad is as Return."""
    variants = [variant for key in keys for variant in dict.fromkeys((key, key.replace("Return", "Enter")))]
    return [QKeySequence(key) for key in variants]


def add_shortcut(
    widget: QWidget, key: str, callback: Callable[[], object], context: Qt.ShortcutContext
) -> QAction:
    """Let a key call something where `context` says, as an action of the widget."""
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: callback())
    widget.addAction(action)
    return action


def move_keys(action: QAction, window: QWidget, page: QWidget) -> None:
    """Let the keys of a window's action work only where the focus is in a page of it."""
    window.removeAction(action)
    page.addAction(action)
    action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)


# The commands of the window in the order of its menus, and what keys do on pages.


_JUMP = "Ctrl+Alt+" if sys.platform == "darwin" else "Alt+"
"""Between messages; with Alt alone, text fields of macOS go to the edges of a paragraph."""

MENUS = text("&File"), text("&Edit"), text("&View"), text("&Session"), text("&Help")
"""In the order of their commands in the table."""

OPEN_WORKSPACE = Need(text("Needs an open workspace"))
OPEN_SESSION = Need(text("Needs an open session"))
OTHER_PAGE = Need(text("The chat can't be closed"))
OUTSIDE_SETTINGS = Need(text("Not in Settings"))
OWN_PLACE = Need(text("A subagent is listed with its session"))
RUNNING_AGENT = Need(_in_session("The agent isn't running"))
IDLE_AGENT = Need(_in_session("The agent is working: stop it first"))
SENDABLE_MESSAGE = Need(_in_session("No message waits for a running command"))
WAITING_APPROVAL = Need(_in_session("No approval is waiting"))
SENT_MESSAGE = Need(_in_session("Needs a message in this session"))
UNDOABLE_CHANGE = Need(_in_session("Nothing to undo in the context"))
REDOABLE_CHANGE = Need(_in_session("Nothing to redo in the context"))

_SESSION = (OPEN_SESSION,)
_WORKSPACE = (OPEN_WORKSPACE,)
_file, _edit, _view, _agent, _help = (partial(Command, menu=menu) for menu in MENUS)
_page = partial(_view, needs=_SESSION)
"""A command of View that needs a session on screen, and nothing else."""
_session = partial(_agent, needs=_SESSION)
"""The same of Session."""


class WindowCommands(CommandTable):
    """Commands that work everywhere in a window: each is an action that performs its intent.

    One per window: `commands.find` is the action that finds, `WindowCommands.find` how it is declared.
    """

    # fmt: off
    open_folder = _file(text("Open folder…"), intents.OpenFolder(), "Ctrl+O", group=1,
        also=_also("workspace project directory add"))
    new_session = _file(text("New session"), intents.NewSession(), "Ctrl+N", group=1, slash="new",
        also=_also("conversation chat thread start"))
    new_window = _file(text("New window"), intents.NewWindow(), "Ctrl+Alt+N", group=1)
    switch_workspace = _file(text("Go to…"), intents.OpenPicker(), "Ctrl+K", group=1,
        also=_also("switch jump workspace session"))
    trash = _file(text("Show trash"), intents.ShowTrash(), group=2, needs=_WORKSPACE,
        also=_also("deleted restore recycle bin"))
    forget = _file(text("Remove a secret…"), intents.RemoveSecret(), group=2, needs=_WORKSPACE,
        also=_also("delete password key redact"))
    export = _file(text("Export…"), intents.Export(), group=3, slash="export",
        also=_also("backup save markdown share session workspace cache"))
    import_any = _file(text("Import…"), intents.Import(), group=3, slash="import",
        also=_also("restore backup sessions of other agents claude code codex opencode cline roo pi history"))
    settings = _file(text("Settings…"), intents.OpenSettings(), "Ctrl+,", group=4, slash="settings",
        also=_also("preferences options configuration"))
    quit = _file(text("Quit"), intents.Quit(), "Ctrl+Q", group=5, slash="quit", also=_also("exit close"))

    undo = _edit(text("Undo"), intents.PressKey("Ctrl+Z"), group=1, fixed_key="Ctrl+Z")
    redo = _edit(text("Redo"), intents.PressKey("Ctrl+Shift+Z"), group=1, fixed_key="Ctrl+Shift+Z")
    cut = _edit(text("Cut"), intents.PressKey("Ctrl+X"), group=2, fixed_key="Ctrl+X")
    copy = _edit(text("Copy"), intents.PressKey("Ctrl+C"), group=2, fixed_key="Ctrl+C")
    copy_markdown = _edit(text("Copy as Markdown"), intents.CopyMarkdown(), "Ctrl+Alt+C", group=2,
        needs=_SESSION, also=_also("messages selection session conversation"))
    paste = _edit(text("Paste"), intents.PressKey("Ctrl+V"), group=2, fixed_key="Ctrl+V")
    find = _edit(text("Find"), intents.Find(), "Ctrl+F", group=3, needs=_SESSION, slash="find",
        with_arguments=intents.Find, also=_also("search"))
    search_messages = _edit(text("Search everything…"), intents.SearchEverything(), "Ctrl+Shift+F", group=3,
        slash="search", with_arguments=intents.SearchEverything,
        also=_also("find history messages outputs files"))
    previous_message = _edit(text("Go to my previous message"), intents.GoToOwnMessage(-1), f"{_JUMP}Up",
        group=4, needs=_SESSION)
    next_message = _edit(text("Go to my next message"), intents.GoToOwnMessage(1), f"{_JUMP}Down", group=4,
        needs=_SESSION)
    focus_composer = _edit(text("Focus message input"), intents.FocusComposer(), "Ctrl+L", group=4,
        needs=_SESSION)

    show_chat = _page(text("Chat"), intents.ShowPage("chat"), "Ctrl+1", group=1,
        also=_also("conversation messages"))
    show_cache = _page(text("Outputs"), intents.ShowPage("outputs"), "Ctrl+2", group=1, slash="cache",
        with_arguments=intents.SearchCache, also=_also("cache entries digest recall"))
    show_timeline = _page(text("Timeline"), intents.ShowPage("timeline"), "Ctrl+3", group=1, slash="timeline",
        also=_also("handovers summaries history chart"))
    show_changes = _page(text("Changes"), intents.ShowPage("changes"), "Ctrl+4", group=1, slash="changes",
        also=_also("files diff revert"))
    commit_changes = _page(text("Changes since last commit"), intents.ShowCommitChanges(), group=1,
        also=_also("git diff"))
    close_page = _view(text("Close page"), intents.ClosePage(), "Ctrl+W", group=1, needs=(OTHER_PAGE,))
    toggle_sidebar = _view(text("Sidebar"), intents.TogglePane("sidebar"), "Ctrl+B", group=2,
        is_checkable=True, needs=(OUTSIDE_SETTINGS,), also=_also("list left panel"))
    toggle_inspector = _page(text("Context panel"), intents.TogglePane("panel"), "Ctrl+I", group=2,
        is_checkable=True, slash="context", also=_also("tokens usage right panel x-ray"))
    show_request = _page(text("Show the next request"), intents.ShowRequest(), "Ctrl+Shift+I",
        group=2, also=_also("prompt json raw"))
    next_pane = _view(text("Next pane"), intents.FocusPane(1), "F6", group=2)
    previous_pane = _view(text("Previous pane"), intents.FocusPane(-1), "Shift+F6", group=2)
    theme_system = _view(text("System theme"), intents.SetTheme("system"), group=3, one_of="theme",
        also=_also("colors appearance"))
    theme_light = _view(text("Light theme"), intents.SetTheme("light"), group=3, one_of="theme",
        also=_also("light mode day colors"))
    theme_dark = _view(text("Dark theme"), intents.SetTheme("dark"), group=3, one_of="theme",
        also=_also("dark mode night colors"))
    zoom_in = _view(text("Larger text"), intents.Zoom(1), "Ctrl++", "Ctrl+=", group=4,
        also=_also("bigger font zoom"))
    zoom_out = _view(text("Smaller text"), intents.Zoom(-1), "Ctrl+-", group=4, also=_also("font zoom"))
    zoom_reset = _view(text("Normal text size"), intents.Zoom(0), "Ctrl+0", group=4, also=_also("font zoom"))

    stop = _agent(text("Stop agent"), intents.StopAgent(), group=1, needs=(RUNNING_AGENT,),
        fixed_key="Esc Esc", slash="stop", also=_also("cancel interrupt abort"))
    steer = _agent(text("Send during this turn"), intents.Steer(), group=1, needs=(RUNNING_AGENT,),
        fixed_key="Ctrl+Shift+Enter", is_in_menu=False)
    stop_and_send = _agent(text("Stop command and send queued message"), intents.StopAndSend(), group=1,
        needs=(SENDABLE_MESSAGE,), is_in_menu=False)
    side_question = _session(text("Ask a side question…"), intents.AskSideQuestion(), "Ctrl+Shift+A", group=1,
        slash="btw", with_arguments=intents.AskSideQuestion)
    allow_call = _agent(text("Allow call once"), intents.AnswerApproval("once"), group=2,
        needs=(WAITING_APPROVAL,), is_in_menu=False, also=_also("approve accept yes"))
    deny_call = _agent(text("Deny call"), intents.AnswerApproval("deny"), group=2,
        needs=(WAITING_APPROVAL,), is_in_menu=False, also=_also("reject no"))
    mode_ask = _session(text("Ask first: before every change"), intents.SetMode("ask"), group=3,
        one_of="mode", is_in_menu=False, also=_also("approval permissions"))
    mode_plan = _session(text("Plan: read only"), intents.SetMode("plan"), group=3, one_of="mode",
        is_in_menu=False, also=_also("approval permissions read only"))
    mode_auto = _session(text("Auto: edit files and run sandboxed commands"), intents.SetMode("auto"),
        group=3, one_of="mode", is_in_menu=False, also=_also("approval permissions sandbox"))
    next_mode = _session(text("Switch mode"), intents.NextMode(), "Ctrl+.", group=3, slash="mode",
        with_arguments=intents.SetMode, is_in_menu=False)
    choose_model = _session(text("Choose model…"), intents.ChooseModel(), group=4, slash="model",
        with_arguments=intents.ChooseModel, also=_also("provider switch llm"))
    choose_effort = _session(text("Reasoning effort…"), intents.ChooseEffort(), "Ctrl+Shift+E", group=4,
        slash="effort", with_arguments=intents.ChooseEffort, is_in_menu=False, also=_also("thinking"))
    set_budget = _session(text("Set session budget…"), intents.SetBudget(), group=4, slash="budget",
        with_arguments=intents.SetBudget, is_in_menu=False, also=_also("cost limit money tokens"))
    change_policy = _session(text("Context policy…"), intents.OpenSettings("policy"), group=4,
        also=_also("change threshold handover profile compaction"))
    compact_now = _agent(text("Compact conversation…"), intents.Compact(), "Ctrl+Shift+K", group=5,
        needs=(OPEN_SESSION, SENT_MESSAGE), slash="compact", with_arguments=intents.Compact,
        also=_also("handover summary summarize shrink"))
    continue_session = _session(text("New session from a handover summary…"), intents.ShowHandover(), group=5,
        is_in_menu=False, also=_also("handover continue summaries"))
    observe_now = _session(text("Compact older turns now"), intents.Observe(), group=5, slash="observe",
        is_in_menu=False, also=_also("summary"))
    undo_compaction = _agent(text("Undo last context change"), intents.UndoLast(), "Ctrl+Alt+Z", group=5,
        needs=(OPEN_SESSION, UNDOABLE_CHANGE), slash="undo", also=_also("handover compaction restore"))
    redo_compaction = _agent(text("Redo last context change"), intents.RedoLast(), "Ctrl+Alt+Shift+Z",
        group=5, needs=(OPEN_SESSION, REDOABLE_CHANGE), slash="redo", also=_also("handover compaction"))
    hold_compaction = _session(text("Pause context changes"), intents.PauseCompaction(), group=5,
        is_checkable=True, also=_also("handover hold stop automatic"))
    show_survival = _session(text("Compare with and without Helix"), intents.ShowPage("comparison"), group=5,
        slash="survives", is_in_menu=False,
        also=_also("replay compaction lost details what survives picture"))
    branch_session = _agent(text("Branch session"), intents.BranchSession(), "Ctrl+Shift+B", group=6,
        needs=(OPEN_SESSION, SENT_MESSAGE), slash="branch", also=_also("fork copy"))
    rewind = _agent(text("Rewind…"), intents.RewindTo(), group=6,
        needs=(OPEN_SESSION, SENT_MESSAGE, IDLE_AGENT), slash="rewind",
        also=_also("go back checkpoint restore files"))
    rename_session = _session(text("Rename session"), intents.RenameSession(), "F2", group=7, slash="rename",
        with_arguments=intents.RenameSession, also=_also("title"))
    pin_session = _agent(text("Pin to top"), intents.PinSession(), group=7, needs=(OPEN_SESSION, OWN_PLACE),
        slash="pin", also=_also("favorite session"))
    archive_session = _agent(text("Archive session"), intents.ArchiveSession(), group=7,
        needs=(OPEN_SESSION, OWN_PLACE), slash="archive", also=_also("hide delete remove"))

    guide = _help(text("Guide"), intents.ShowGuide("start"), "F1", group=1,
        also=_also("help manual documentation introduction tour"))
    keys = _help(text("Keyboard shortcuts"), intents.ShowGuide("keys"), "Ctrl+/", group=1, slash="keys",
        also=_also("shortcuts hotkeys help"))
    commands_help = _help(text("Slash commands"), intents.ShowGuide("commands"), group=1, slash="help",
        also=_also("slash help"))
    all_commands = _help(text("Commands…"), intents.OpenPicker(">"), "Ctrl+Shift+P", group=1,
        also=_also("command palette"))
    guided_sample = _help(text("Guided sample"), intents.OpenSample(), group=2,
        also=_also("demo tutorial try"))
    about = _help(text("About Helix Desktop"), intents.OpenSettings("about"), group=2,
        also=_also("version update license diagnostics bug report"))
    # fmt: on

    def __init__(self, window: QWidget) -> None:
        """The window owns the actions; by their keys they are reachable in it."""
        self._actions: dict[str, QAction] = {}
        self._met = {OUTSIDE_SETTINGS}
        choices: dict[str, QActionGroup] = {}
        for name, command in self.commands.items():
            action = self._actions[name] = _CommandAction(translate(command.words), window)
            action.setObjectName(name)
            action.setCheckable(command.is_checkable)
            if command.one_of:
                choices.setdefault(command.one_of, QActionGroup(window)).addAction(action)
            if command.intent is not None:
                action.triggered.connect(lambda _=False, intent=command.intent: perform(window, intent))
            self.set_keys(name, command.keys)
        self._enable()
        window.addActions(list(self._actions.values()))  # an action in a widget tells it of each change
        self.quit.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # reachable in all windows
        self.new_window.setAutoRepeat(False)  # a key that is held down opens one window, not twenty

    def action(self, name: str) -> QAction:
        return self._actions[name]

    def set_keys(self, name: str, keys: Sequence[str]) -> None:
        """Give a command these keys, as portable text, in place of those that it had."""
        action = self._actions[name]
        command = self.commands[name]
        action.setShortcuts([QKeySequence(key) for key in keys])
        # Where keys would stand it shows those that the widget in focus, not the menu, has to answer.
        hint = "" if keys else native_key(command.fixed_key)
        action.setText("\t".join(filter(None, (action_words(action), hint))))

    def set_met(self, need: Need, is_met: bool) -> None:
        """Let the commands that have this need be used, as far as they have no other; or say why not."""
        if is_met != (need in self._met):
            self._met ^= {need}
            self._enable()

    def _enable(self) -> None:
        for name, command in self.commands.items():
            missing = next((need for need in command.needs if need not in self._met), None)
            self._actions[name].setEnabled(missing is None)
            self._actions[name].setStatusTip(translate(missing.reason) if missing is not None else "")

    def menu_groups(self, menu: TranslatableText) -> Iterator[list[QAction]]:
        groups: dict[int, list[QAction]] = {}
        for name, command in self.commands.items():
            if command.menu is menu and command.is_in_menu:
                groups.setdefault(command.group, []).append(self._actions[name])
        yield from groups.values()

    def can_run(self, slash_command: SlashCommand) -> bool:
        return self.action(_BY_SLASH[slash_command.name].id).isEnabled()

    def intent_of(self, slash_command: SlashCommand, arguments: str) -> Intent:
        """Return what a slash command wants, with what was typed behind it.

        Raises InvalidInput if it can't be used now, or not with arguments.
        """
        name = f"/{slash_command.name}"
        command = _BY_SLASH[slash_command.name]
        action = self.action(command.id)
        if not action.isEnabled():
            reason = action.statusTip()
            raise InvalidInput(
                _slash_text("{command} can't be used now.", command=name),
                verbatim(f"{reason}.") if reason else "",
            )
        if arguments and command.with_arguments is not None:
            return command.with_arguments(arguments)
        if arguments or command.intent is None:
            raise InvalidInput(
                _slash_text("{command} takes no arguments.", command=name),
                _slash_text("It was typed with {arguments}.", arguments=repr(arguments[:40])),
                _slash_text("Type {command} alone.", command=name),
                remedies=("send_as_message",),
            )
        return command.intent


_ELSEWHERE = (
    intents.OpenSettings("policy"),
    intents.Find(),
    intents.GoToOwnMessage(-1),
    intents.GoToOwnMessage(1),
)
SEEN_IN_SESSION = frozenset(
    command.intent for command in WindowCommands.commands.values() if OPEN_SESSION in command.needs
).difference(_ELSEWHERE)
"""What changes or opens something that stands in the session's pages."""
_BY_SLASH = {command.slash: command for command in WindowCommands.commands.values() if command.slash}


def fill_menu_bar(bar: QMenuBar, commands: WindowCommands) -> None:
    for menu in MENUS:
        bar.addMenu(CommandMenu(bar, *commands.menu_groups(menu), title=translate(menu)))


def more_menu(parent: QWidget, commands: WindowCommands) -> QMenu:
    """Return the menu at the end of the top bar: what is done with the session on screen as a whole."""
    c = commands
    return CommandMenu(parent, (c.find, c.rename_session), (c.branch_session, c.rewind), (c.export,))


def mode_menu(parent: QWidget, commands: WindowCommands) -> QMenu:
    c = commands
    return CommandMenu(parent, (c.mode_ask, c.mode_plan, c.mode_auto))


class SessionCommands(CommandTable):
    title = text("Sessions")
    session_pin = Command(text("Pin or unpin"), None, "P")
    session_archive = Command(text("Archive or unarchive"), None, "A")
    session_trash = Command(text("Move to trash"), None, "Del")


class ChangesCommands(CommandTable):
    title = _changes_text("Changes")
    changes_filter = Command(_changes_text("Go to filter"), None, "/")
    changes_accept = Command(_changes_text("Mark as reviewed"), None, "A")
    changes_revert = Command(_changes_text("Revert or redo"), None, "R")
    changes_open = Command(_changes_text("Open in editor"), None, "O")


class CacheCommands(CommandTable):
    title = _outputs_text("Outputs")
    cache_filter = Command(_outputs_text("Go to filter"), None, "/")
    cache_recall = Command(_outputs_text("Recall into your message"), None, "Ctrl+Return")
    cache_verify = Command(_outputs_text("Verify"), None, "V")
    cache_pin = Command(_outputs_text("Pin or unpin"), None, "P")
    cache_trash = Command(_outputs_text("Move to trash"), None, "Del")
    cache_save = Command(_outputs_text("Save to file"), None, "Ctrl+S")
    cache_copy = Command(_outputs_text("Copy content"), None, "Ctrl+Shift+C")


class ContextCommands(CommandTable):
    title = _context_text("Context")
    context_text = Command(_context_text("Show sent text"), None, "Space")
    context_pin = Command(_context_text("Pin in context or unpin"), None, "P")
    context_cache = Command(_context_text("Cache now"), None, "C")
    context_recall = Command(_context_text("Send all of it, or undo"), None, "R")
    context_exclude = Command(_context_text("Leave out or undo"), None, "X")
