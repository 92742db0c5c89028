"""The commands of the window in the order of its menus, and what keys do on pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import Command, CommandMenu, CommandTable, Need, WindowCommandTable
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.words.translation import translate

if TYPE_CHECKING:
    from helix_desktop.words.slash_commands import SlashCommand

text = TextContext("Window")
_also = TextContext("Search words")
_in_session = TextContext("Session")
_slash_text = TextContext("Slash commands")
_changes_text = TextContext("Changes")
_cache_text = TextContext("Cache")
_context_text = TextContext("Inspector")

_JUMP = "Ctrl+Alt+" if sys.platform == "darwin" else "Alt+"
"""Between messages; with Alt alone, text fields of macOS go to the edges of a paragraph."""

FILE, EDIT, VIEW, SESSION, HELP = MENUS = (
    text("&File"),
    text("&Edit"),
    text("&View"),
    text("&Session"),
    text("&Help"),
)

OPEN_WORKSPACE = Need(text("Needs an open workspace"))
OPEN_SESSION = Need(text("Needs an open session"))
OTHER_PAGE = Need(text("The chat can't be closed"))
OUTSIDE_SETTINGS = Need(text("Not in Settings"))
OWN_PLACE = Need(text("A subagent is listed with its session"))
RUNNING_AGENT = Need(_in_session("The agent isn't running"))
SENDABLE_MESSAGE = Need(_in_session("No message waits for a running command"))
WAITING_APPROVAL = Need(_in_session("No approval is waiting"))
UNDOABLE_CHANGE = Need(_in_session("Nothing to undo in the context"))
REDOABLE_CHANGE = Need(_in_session("Nothing to redo in the context"))

_SESSION = (OPEN_SESSION,)


class WindowCommands(WindowCommandTable):
    """One per window: `commands.find` is the action that finds, `WindowCommands.find` how it is declared."""

    # fmt: off
    open_folder = Command(
        text("Open folder…"), intents.OpenFolder(), "Ctrl+O", menu=FILE, group=1,
        also=_also("workspace project directory add"),
    )
    new_session = Command(
        text("New session"), intents.NewSession(), "Ctrl+N", menu=FILE, group=1, slash="new",
        also=_also("conversation chat thread start"),
    )
    new_window = Command(text("New window"), intents.NewWindow(), "Ctrl+Alt+N", menu=FILE, group=1)
    switch_workspace = Command(
        text("Go to…"), intents.OpenSwitcher(), "Ctrl+K", menu=FILE, group=1,
        also=_also("switch jump workspace session"),
    )
    clean_up = Command(
        text("Clean up…"), intents.CleanUp(), menu=FILE, group=2, needs=(OPEN_WORKSPACE,),
        also=_also("delete free disk space retention"),
    )
    trash = Command(
        text("Trash…"), intents.ShowTrash(), menu=FILE, group=2, needs=(OPEN_WORKSPACE,),
        also=_also("deleted restore recycle bin"),
    )
    forget = Command(
        text("Remove a secret…"), intents.RemoveSecret(), menu=FILE, group=2, needs=(OPEN_WORKSPACE,),
        also=_also("delete password key redact"),
    )
    export = Command(
        text("Export…"), intents.Export(), menu=FILE, group=3, slash="export",
        also=_also("backup save markdown share session workspace cache"),
    )
    import_file = Command(
        text("Import…"), intents.ImportFile(), menu=FILE, group=3, also=_also("restore backup"),
    )
    import_sessions = Command(
        text("Import sessions of other agents…"), intents.ImportSessions(), menu=FILE, group=3,
        needs=(OPEN_WORKSPACE,), slash="import",
        also=_also("other agents claude code codex opencode cline roo pi move history"),
    )
    settings = Command(
        text("Settings…"), intents.OpenSettings(), "Ctrl+,", menu=FILE, group=4, slash="settings",
        also=_also("preferences options configuration"),
    )
    quit = Command(
        text("Quit"), intents.Quit(), "Ctrl+Q", menu=FILE, group=5, slash="quit", also=_also("exit close"),
    )

    undo = Command(text("Undo"), intents.PressKey("Ctrl+Z"), menu=EDIT, group=1, fixed_key="Ctrl+Z")
    redo = Command(
        text("Redo"), intents.PressKey("Ctrl+Shift+Z"), menu=EDIT, group=1, fixed_key="Ctrl+Shift+Z",
    )
    cut = Command(text("Cut"), intents.PressKey("Ctrl+X"), menu=EDIT, group=2, fixed_key="Ctrl+X")
    copy = Command(text("Copy"), intents.PressKey("Ctrl+C"), menu=EDIT, group=2, fixed_key="Ctrl+C")
    copy_markdown = Command(
        text("Copy as Markdown"), intents.CopyMarkdown(), "Ctrl+Alt+C", menu=EDIT, group=2, needs=_SESSION,
        also=_also("messages selection session conversation"),
    )
    paste = Command(text("Paste"), intents.PressKey("Ctrl+V"), menu=EDIT, group=2, fixed_key="Ctrl+V")
    find = Command(
        text("Find"), intents.Find(), "Ctrl+F", menu=EDIT, group=3, needs=_SESSION, slash="find",
        with_arguments=intents.Find, also=_also("search"),
    )
    search_messages = Command(
        text("Search everything…"), intents.SearchEverything(), "Ctrl+Shift+F", menu=EDIT, group=3,
        slash="search", with_arguments=intents.SearchEverything,
        also=_also("find history messages outputs files"),
    )
    previous_message = Command(
        text("Go to my previous message"), intents.GoToOwnMessage(-1), f"{_JUMP}Up", menu=EDIT, group=4,
        needs=_SESSION,
    )
    next_message = Command(
        text("Go to my next message"), intents.GoToOwnMessage(1), f"{_JUMP}Down", menu=EDIT, group=4,
        needs=_SESSION,
    )
    focus_composer = Command(
        text("Focus message input"), intents.FocusComposer(), "Ctrl+L", menu=EDIT, group=4, needs=_SESSION,
    )

    show_chat = Command(
        text("Chat"), intents.ShowPage("chat"), "Ctrl+1", menu=VIEW, group=1, needs=_SESSION,
        also=_also("conversation messages"),
    )
    show_cache = Command(
        text("Cache"), intents.ShowPage("cache"), "Ctrl+2", menu=VIEW, group=1, needs=_SESSION,
        slash="cache", with_arguments=intents.SearchCache, also=_also("outputs entries digest recall"),
    )
    show_timeline = Command(
        text("Timeline"), intents.ShowPage("timeline"), "Ctrl+3", menu=VIEW, group=1, needs=_SESSION,
        slash="timeline", also=_also("handovers summaries history chart"),
    )
    show_changes = Command(
        text("Changes"), intents.ShowPage("changes"), "Ctrl+4", menu=VIEW, group=1, needs=_SESSION,
        slash="changes", also=_also("files diff revert"),
    )
    commit_changes = Command(
        text("Changes since last commit"), intents.ShowCommitChanges(), menu=VIEW, group=1, needs=_SESSION,
        also=_also("git diff"),
    )
    close_page = Command(
        text("Close page"), intents.ClosePage(), "Ctrl+W", menu=VIEW, group=1,
        needs=(OTHER_PAGE,),
    )
    toggle_sidebar = Command(
        text("Sidebar"), intents.ToggleSidebar(), "Ctrl+B", menu=VIEW, group=2, is_checkable=True,
        needs=(OUTSIDE_SETTINGS,),
        also=_also("list left panel"),
    )
    toggle_inspector = Command(
        text("Context panel"), intents.ToggleContextPanel(), "Ctrl+I", menu=VIEW, group=2, is_checkable=True,
        needs=_SESSION, slash="context", also=_also("tokens usage right panel x-ray"),
    )
    show_request = Command(
        text("Show text of the next request"), intents.ShowRequest(), "Ctrl+Shift+I", menu=VIEW, group=2,
        needs=_SESSION, also=_also("prompt json raw"),
    )
    next_pane = Command(text("Next pane"), intents.FocusPane(1), "F6", menu=VIEW, group=2)
    previous_pane = Command(text("Previous pane"), intents.FocusPane(-1), "Shift+F6", menu=VIEW, group=2)
    theme_system = Command(
        text("System theme"), intents.SetTheme("system"), menu=VIEW, group=3, one_of="theme",
        also=_also("colors appearance"),
    )
    theme_light = Command(
        text("Light theme"), intents.SetTheme("light"), menu=VIEW, group=3, one_of="theme",
        also=_also("light mode day colors"),
    )
    theme_dark = Command(
        text("Dark theme"), intents.SetTheme("dark"), menu=VIEW, group=3, one_of="theme",
        also=_also("dark mode night colors"),
    )
    zoom_in = Command(
        text("Larger text"), intents.Zoom(1), "Ctrl++", "Ctrl+=", menu=VIEW, group=4,
        also=_also("bigger font zoom"),
    )
    zoom_out = Command(
        text("Smaller text"), intents.Zoom(-1), "Ctrl+-", menu=VIEW, group=4, also=_also("font zoom"),
    )
    zoom_reset = Command(
        text("Normal text size"), intents.Zoom(0), "Ctrl+0", menu=VIEW, group=4, also=_also("font zoom"),
    )

    stop = Command(
        text("Stop agent"), intents.StopAgent(), menu=SESSION, group=1, needs=(RUNNING_AGENT,),
        fixed_key="Esc Esc", slash="stop", also=_also("cancel interrupt abort"),
    )
    steer = Command(
        text("Send during this turn"), intents.Steer(), menu=SESSION, group=1, needs=(RUNNING_AGENT,),
        fixed_key="Ctrl+Shift+Enter", is_in_menu=False,
    )
    stop_and_send = Command(
        text("Stop command and send queued message"), intents.StopAndSend(), menu=SESSION, group=1,
        needs=(SENDABLE_MESSAGE,), is_in_menu=False,
    )
    side_question = Command(
        text("Ask a side question…"), intents.AskSideQuestion(), "Ctrl+Shift+A", menu=SESSION, group=1,
        needs=_SESSION, slash="btw", with_arguments=intents.AskSideQuestion,
    )
    allow_call = Command(
        text("Allow call once"), intents.AnswerApproval("once"), "Ctrl+Shift+Y", menu=SESSION, group=2,
        needs=(WAITING_APPROVAL,), also=_also("approve accept yes"), is_in_menu=False,
    )
    deny_call = Command(
        text("Deny call"), intents.AnswerApproval("deny"), "Ctrl+Shift+N", menu=SESSION, group=2,
        needs=(WAITING_APPROVAL,), also=_also("reject no"), is_in_menu=False,
    )
    mode_ask = Command(
        text("Ask before every change"), intents.SetMode("ask"), menu=SESSION, group=3, one_of="mode",
        needs=_SESSION, also=_also("approval permissions"), is_in_menu=False,
    )
    mode_plan = Command(
        text("Plan only (read-only)"), intents.SetMode("plan"), menu=SESSION, group=3, one_of="mode",
        needs=_SESSION, also=_also("approval permissions read only"), is_in_menu=False,
    )
    mode_auto = Command(
        text("Auto: edit files and run sandboxed commands"), intents.SetMode("auto"), menu=SESSION, group=3,
        one_of="mode", needs=_SESSION, also=_also("approval permissions sandbox"), is_in_menu=False,
    )
    next_mode = Command(
        text("Switch mode"), intents.NextMode(), "Ctrl+.", menu=SESSION, group=3, needs=_SESSION,
        slash="mode", with_arguments=intents.SetMode, is_in_menu=False,
    )
    choose_model = Command(
        text("Choose model…"), intents.ChooseModel(), menu=SESSION, group=4, needs=_SESSION, slash="model",
        with_arguments=intents.ChooseModel, also=_also("provider switch llm"),
    )
    choose_effort = Command(
        text("Reasoning effort…"), intents.ChooseEffort(), "Ctrl+Shift+E", menu=SESSION, group=4,
        needs=_SESSION, slash="effort", with_arguments=intents.ChooseEffort, also=_also("thinking"),
        is_in_menu=False,
    )
    set_budget = Command(
        text("Set session budget…"), intents.SetBudget(), menu=SESSION, group=4, needs=_SESSION,
        slash="budget", with_arguments=intents.SetBudget, also=_also("cost limit money tokens"),
        is_in_menu=False,
    )
    change_policy = Command(
        text("Context policy…"), intents.OpenSettings("policy"), menu=SESSION, group=4, needs=_SESSION,
        also=_also("threshold handover profile compaction"),
    )
    compact_now = Command(
        text("Compact conversation…"), intents.Compact(), "Ctrl+Shift+K", menu=SESSION, group=5,
        needs=_SESSION, slash="compact", with_arguments=intents.Compact,
        also=_also("handover summary summarize shrink"),
    )
    observe_now = Command(
        text("Write next summary now"), intents.Observe(), menu=SESSION, group=5,
        needs=_SESSION, slash="observe", also=_also("summary"), is_in_menu=False,
    )
    undo_compaction = Command(
        text("Undo last context change"), intents.UndoLast(), "Ctrl+Alt+Z", menu=SESSION, group=5,
        needs=(OPEN_SESSION, UNDOABLE_CHANGE), slash="undo", also=_also("handover compaction restore"),
    )
    redo_compaction = Command(
        text("Redo last context change"), intents.RedoLast(), "Ctrl+Alt+Shift+Z", menu=SESSION, group=5,
        needs=(OPEN_SESSION, REDOABLE_CHANGE), slash="redo", also=_also("handover compaction"),
    )
    hold_compaction = Command(
        text("Pause compaction"), intents.PauseCompaction(), menu=SESSION, group=5, is_checkable=True,
        needs=_SESSION, also=_also("handover hold stop automatic"),
    )
    show_survival = Command(
        text("Compare with and without Helix"), intents.ShowPage("survives"), menu=SESSION, group=5,
        needs=_SESSION, slash="survives", also=_also("replay compaction lost details what survives picture"),
        is_in_menu=False,
    )
    branch_session = Command(
        text("Branch session"), intents.BranchSession(), "Ctrl+Shift+B", menu=SESSION, group=6,
        needs=_SESSION, slash="branch", also=_also("fork copy"),
    )
    rewind = Command(
        text("Rewind…"), intents.RewindTo(), menu=SESSION, group=6, needs=_SESSION, slash="rewind",
        also=_also("go back checkpoint restore files"),
    )
    rename_session = Command(
        text("Rename session"), intents.RenameSession(), "F2", menu=SESSION, group=7, needs=_SESSION,
        slash="rename", with_arguments=intents.RenameSession, also=_also("title"),
    )
    pin_session = Command(
        text("Pin session"), intents.PinSession(), menu=SESSION, group=7, needs=(OPEN_SESSION, OWN_PLACE),
        slash="pin", also=_also("favorite top"),
    )
    archive_session = Command(
        text("Archive session"), intents.ArchiveSession(), menu=SESSION, group=7,
        needs=(OPEN_SESSION, OWN_PLACE), slash="archive", also=_also("hide delete remove"),
    )

    guide = Command(
        text("Guide"), intents.ShowGuide("start"), "F1", menu=HELP, group=1,
        also=_also("help manual documentation introduction tour"),
    )
    keys = Command(
        text("Keyboard shortcuts"), intents.ShowGuide("keys"), "Ctrl+/", menu=HELP, group=1, slash="keys",
        also=_also("shortcuts hotkeys help"),
    )
    commands_help = Command(
        text("Slash commands"), intents.ShowGuide("commands"), menu=HELP, group=1, slash="help",
        also=_also("slash help"),
    )
    all_commands = Command(
        text("Command palette…"), intents.ShowCommands(), "Ctrl+Shift+P", menu=HELP, group=1,
    )
    guided_sample = Command(
        text("Guided sample"), intents.OpenSample(), menu=HELP, group=2, also=_also("demo tutorial try"),
    )
    about = Command(
        text("About Helix Desktop"), intents.OpenSettings("about"), menu=HELP, group=2,
        also=_also("version update license diagnostics"),
    )
    # fmt: on

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.quit.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # reachable in all windows
        self.new_window.setAutoRepeat(False)  # a key that is held down opens one window, not twenty

    def can_run(self, slash_command: SlashCommand) -> bool:
        return self.action(_BY_SLASH[slash_command.name].id).isEnabled()

    def intent_of(self, slash_command: SlashCommand, arguments: str) -> Intent:
        """Return what a slash command wants, with what was typed behind it.

        Raises InvalidInput if it can't be used now, or not with arguments.
        """
        name, command = f"/{slash_command.name}", _BY_SLASH[slash_command.name]
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
    title = _cache_text("Cache")
    cache_filter = Command(_cache_text("Go to filter"), None, "/")
    cache_recall = Command(_cache_text("Recall into message"), None, "Ctrl+Return")
    cache_verify = Command(_cache_text("Verify"), None, "V")
    cache_pin = Command(_cache_text("Pin or unpin"), None, "P")
    cache_trash = Command(_cache_text("Move to trash"), None, "Del")
    cache_save = Command(_cache_text("Save to file"), None, "Ctrl+S")
    cache_copy = Command(_cache_text("Copy content"), None, "Ctrl+Shift+C")


class ContextCommands(CommandTable):
    title = _context_text("Context")
    context_text = Command(_context_text("Show sent text"), None, "Space")
    context_pin = Command(_context_text("Pin in context or unpin"), None, "P")
    context_cache = Command(_context_text("Cache now"), None, "C")
    context_recall = Command(_context_text("Recall or undo"), None, "R")
    context_exclude = Command(_context_text("Leave out or undo"), None, "X")
