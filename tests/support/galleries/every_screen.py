"""Every screen and dialog on samples, with the sizes at which its texts have to fit; and pictures of them.

Also the states that the real window shows only with errors, slow servers or bad luck. `./helix screenshots`
runs it beside the tour of the real window. Alone, with its options in `--help`:
`python -m tests.support.galleries.every_screen OUT [NAME…]`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from screens import pixels

from helix_desktop.agent.model_roles import SlowModel
from helix_desktop.app.qt_language import load_language, translate_qt
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.config.paths import resources_dir
from helix_desktop.demo.run_without_display import use_offscreen_platform
from helix_desktop.domain.cost import Budget, Spending
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import (
    FileCoverageSettings,
    FileHistoryCleanup,
    FileHistoryTotals,
)
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.retention import CleanupPlan, EntryTotals
from helix_desktop.domain.store import CacheEntry, StoreTotals
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.services.cache_server import SharingState
from helix_desktop.services.diagnostics import FILE_NAMES
from helix_desktop.services.foreign_servers import ForeignServer, ForeignServers, UnusableServer
from helix_desktop.services.mcp_config import McpServerStatus, McpToolStatus, ServerDraft
from helix_desktop.services.mcp_servers import SIGN_IN_DETAILS
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import CompletionItem, CompletionPopup
from helix_desktop.ui.design.dialogs import DialogChoice, ErrorDialog, QuestionDialog, TextInputDialog
from helix_desktop.ui.design.labels import show_text
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.design.style.stylesheet import new_application
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme, current_theme
from helix_desktop.ui.help.guide import GuideDialog, guide_pages
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.settings.about_page import DiagnosticsDialog
from helix_desktop.ui.settings.mcp.server_parts import DisclosureButton
from helix_desktop.ui.settings.view import SettingsPage, SettingsView
from helix_desktop.ui.timeline.cards import RunningCard
from helix_desktop.ui.window.command_list import shortcuts
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.redaction import RedactDialog, confirmation_word
from helix_desktop.ui.window.session_cost import BudgetDialog
from helix_desktop.ui.window.trust import TrustDialog
from helix_desktop.words.costs import CostState
from helix_desktop.words.translation import use_language
from helix_desktop.workspaces.auto_run_files import AutoRunFile
from tests.support.default_settings import NothingOnScreen
from tests.support.galleries import (
    changes_samples,
    chat_gallery,
    diff_gallery,
    handover_gallery,
    panes_gallery,
    settings_gallery,
    shell_gallery,
)
from tests.support.galleries import panes_samples as samples

USUAL = (1280, 800)
SMALLEST = (720, 640)
LARGE = (1920, 1200)
_WINDOW_SIZES = (USUAL, SMALLEST, LARGE)
_OWN: tuple[tuple[int, int], ...] = ((0, 0),)
"""The size that a dialog takes by itself."""
_LEAST: tuple[tuple[int, int], ...] = ((0, 0), (1, 1))
"""That size, and the smallest that it allows."""
_SETTINGS_SIZES = ((1180, 760), (1, 1))
_SETTINGS_PAGES: tuple[SettingsPage, ...] = (
    "providers", "roles", "appearance", "keyboard", "instructions", "policy", "permissions", "mcp", "data",
    "about",
)  # fmt: skip


class Screen(NamedTuple):
    """A screen, and the sizes to look at; (0, 0) is its own, (1, 1) its smallest."""

    name: str
    widget: QWidget
    sizes: tuple[tuple[int, int], ...]


def half_longer(text: str) -> str:
    """Return a text as another language might have it, for what the samples say in English."""
    return f"[{text} {'~' * (len(text) // 2)}]"


def _closable_window() -> MainWindow:
    window = shell_gallery.make_window()
    window.allow_close()
    return window


def window_screens() -> Iterator[Screen]:
    for name, show in shell_gallery.STATES.items():
        window = _closable_window()
        show(window)
        if name == "trouble":
            window.notices.notify(_long_notice())
        yield Screen(name, window, _WINDOW_SIZES)
        window.hide()
    window = _closable_window()
    shell_gallery.show_running_session(window)
    window.commands.all_commands.trigger()
    yield Screen("commands", window, (USUAL, SMALLEST))


def _long_notice() -> Notice:
    words = ("Try again", "Choose another model", "Open settings")
    answers = tuple(Answer(half_longer(text), lambda: None) for text in words)
    what = half_longer("The model server didn't answer.")
    why = half_longer("Nothing listens on localhost:11434.")
    fix = half_longer("Start Ollama.")
    return Notice("long", what, why, fix, answers, "warning")


def pane_screens() -> Iterator[Screen]:
    """Yield timeline and panel."""
    running = RunningCard(
        "summarize", "Summarizing older messages…", "## Current Issues\nHighlighting still lexes the"
    )
    states = (
        ("timeline", samples.timeline_state()),
        ("timeline with every card", samples.long_timeline_state()),
        ("timeline without a handover", samples.quiet_timeline_state()),
        ("timeline at work", replace(samples.timeline_state(), running=running)),
    )
    for name, state in states:
        pane = panes_gallery.make_timeline(state, 804, 2_700)
        panes_gallery.unfold(pane)
        yield Screen(name, pane, ((804, 2_700), (460, 3_600)))
    for name, window_state in (
        ("panel", samples.panel_state()),
        ("panel near the limit", samples.panel_state(3_000, 20_900, True)),
        ("panel without a session", None),
    ):
        panel = panes_gallery.make_panel(window_state, 296, 900)
        panel.details.setChecked(True)
        yield Screen(name, panel, ((296, 900), (264, 1_200), (380, 1_100)))


def diff_screens() -> Iterator[Screen]:
    """Yield the views of a diff, and the cards of calls that changed files."""
    for name, (make, sizes) in diff_gallery.VIEWS.items():
        yield Screen(f"diff, {name}", make(), sizes)
    window, _ = chat_gallery.build_scene(diff_gallery.card_rows(), current_theme(), (776, 900))
    diff_gallery.open_cards(window)
    yield Screen("changed files", window, ((776, 900), (480, 900)))


def changes_screens() -> Iterator[Screen]:
    """Yield the page of changes in every state, and its dialogs."""
    for name, state in changes_samples.STATES.items():
        page = changes_samples.make_page(state)
        yield Screen(name, page, ((826, 760), (460, 760)))
    page = changes_samples.make_page(changes_samples.changes_state())
    page.filter_bar.group_by("file")
    yield Screen("changes by file", page, ((826, 760), (460, 760)))
    page.filter_bar.group_by("turn")
    page.select("turn:2")
    yield Screen("changes of a turn", page, ((826, 760), (460, 760)))
    window = _closable_window()
    for make in (
        changes_samples.make_plan_dialog,
        changes_samples.make_rewind_dialog,
    ):
        yield Screen(make.__name__, make(window), _LEAST)


def chat_screens() -> Iterator[Screen]:
    """Yield the conversation with its composer."""
    for name, rows in (
        ("chat", chat_gallery.rows_of_all_kinds()),
        ("subagents", chat_gallery.rows_of_subagents()),
        ("server questions", chat_gallery.server_question_rows()),
    ):
        scene, _ = chat_gallery.build_scene(rows, current_theme(), (776, 700))
        composer = scene.findChild(Composer)
        assert composer is not None
        composer.set_note(half_longer("File not found: src/gone.py (sent as text)"), is_warning=True)
        yield Screen(name, scene, ((776, 700), (460, 600)))
    window = QWidget()
    window.resize(800, 600)
    yield Screen("completions", _completion_popup(window), ((0, 0), (290, 150)))


def _completion_popup(window: QWidget) -> CompletionPopup:
    popup = CompletionPopup(window)
    rows = [CompletionItem("", f"module_{number}.py", "src/a/long/way/down") for number in range(12)]
    popup.show_rows(half_longer("Files"), rows)
    popup.show_note(half_longer("Add :10-40 for lines"), is_busy=True)
    anchor = QWidget(window)
    anchor.setGeometry(20, 400, 760, 80)
    popup.place(anchor)
    popup.show()
    window.show()
    return popup


def provider_screens() -> Iterator[Screen]:
    window = _closable_window()
    view = settings_gallery.make_settings(window)
    for name, show in settings_gallery.SCENES.items():
        view.providers.found_servers.hide()
        view.providers.list.setCurrentRow(0)
        show(view)
        yield Screen(f"provider {name}", window, _SETTINGS_SIZES)
    view.providers.list.setCurrentRow(1)
    offered = {f"model-{number}": _OFFERED for number in range(3)}
    view.providers.editor.show_offered(offered)
    yield Screen("models of a server", window, _SETTINGS_SIZES)
    window.close()


_OFFERED = SourcedSpec("server", "its list", ModelSpec(window=8_192, price_in=1, price_out=2))


def settings_screens() -> Iterator[Screen]:
    window = _closable_window()
    view = settings_gallery.make_settings(window)
    _fill_settings(view)
    for page in _SETTINGS_PAGES:
        view.show_page(page)
        yield Screen(f"settings {page}", window, _SETTINGS_SIZES)
    window.close()


def _fill_settings(view: SettingsView) -> None:
    models = ("ollama/qwen3-coder:30b", "anthropic/claude-sonnet-5-5")
    for name, value in (
        ("model_labels", models),
        ("role:model", models[0]),
        ("role:fast", models[1]),
        ("background_effort", "low"),
        ("slow_models", (SlowModel(models[0], 10, 0),)),
        ("quota", 500 * 1024 * 1024),
        ("unused_days", 30),
        ("demo_calls", "once"),
        ("history_included", ("build/output", "resources/generated/" * 5)),
    ):
        view.settings.set(name, value)
    view.permissions.show_trust("/home/mara/code/helix-desktop", True)
    view.permissions.show_revoked("Run: pytest -q")
    view.permissions.show_sandbox(half_longer("Commands run in a sandbox."), True)
    view.policy.show_file_error(half_longer("Line 3: protect_steps must be a number."))
    view.data.show_data("helix-desktop", _TOTALS, _PLAN, trashed_sessions=3)
    view.data.show_all_data(2_400_000_000)
    view.data.show_history(
        FileHistoryTotals(contents=1_234, stored_size=1_900_000_000, saved_copies_size=48_000),
        FileHistoryCleanup(2, 42, 12_000_000, over_quota=20, short=7_000_000),
        FileCoverageSettings().quota,
    )
    keyboard = view.page("keyboard", KeyboardPage)
    keyboard.show_notice("open_folder", half_longer("Ctrl+K is used by Go to…"), can_replace=True)
    keyboard.show_undo(half_longer("Trash: now Ctrl+J"))
    view.mcp.show_servers("helix-desktop", "/home/mara/code", _SERVERS, "Kept in Secret Service.")
    view.mcp.sharing.show_sharing(
        "helix-desktop",
        ("helix-desktop", "serve-cache", "--workspace", "helix-desktop"),
        SharingState(True, "http://127.0.0.1:4711/mcp", "secret"),
    )
    foreign = McpServerConfig(name="issues", command="npx", args=("-y", "issues"), secret_env=("API_KEY",))
    view.mcp.foreign_servers.show_servers(
        ForeignServers(
            (ForeignServer(ServerDraft(foreign, {"API_KEY": ""}), "Claude Code", ".mcp.json"),),
            (UnusableServer(".cursor/mcp.json", "notes", verbatim(half_longer("It's too large."))),),
        )
    )
    view.mcp.foreign_servers.toggle.setChecked(True)
    view.mcp.show_undo(half_longer("Server files removed."))
    view.mcp.show_file_error(half_longer("Line 7: the “args” of files must be a list."))
    view.mcp.unused_secrets.show_secrets({"notes": ("API_KEY", SIGN_IN_DETAILS)})
    view.mcp.open_add()
    view.mcp.add_box.paste.setPlainText("npx -y @modelcontextprotocol/server-filesystem ~/notes --key=abc")
    for card in view.mcp.rows.values():
        for button in card.findChildren(DisclosureButton):
            button.setChecked(True)


_TOOLS = (
    McpToolStatus("read_note", "Reads one note.", 120, True, is_read_only=True),
    McpToolStatus("write_note", "Writes a note, and says what it replaced.", 480, False),
    McpToolStatus("a name with spaces", "Is not exposed.", 90, True, refusal="Its name has spaces."),
)
_SERVERS = (
    McpServerStatus(McpServerConfig(name="files", command="npx", args=("server",)), "ready", tools=_TOOLS),
    McpServerStatus(
        McpServerConfig(name="search", url="https://mcp.example.com/mcp", secret_headers=("Authorization",)),
        "failed", why="It ended with exit code 1.", retry_in_s=30, missing_secrets=("Authorization",),
        log="line 1\nline 2",
    ),
    McpServerStatus(
        McpServerConfig(
            name="database", command="node", args=("tools/database/server.js",), approved_ms=1,
            consent_changes=("tools/database/server.js", "package.json"),
        ),
        "unapproved", start_files=("tools/database/server.js", "package.json", "node_modules/", "tools/"),
    ),
    McpServerStatus(McpServerConfig(name="tracker", url="https://mcp.example.org/mcp"), "signed_out"),
)  # fmt: skip
_TOTALS = StoreTotals(entries=312, size=2_202_009, stored_size=640_000, sessions=9)
_PLAN_TOTALS = EntryTotals(41, 320_000)


def _entry(number: int, trashed: int = 0) -> CacheEntry:
    row = samples.cache_row(number)
    return CacheEntry(
        row.created, row.last_used, row.size, row.size // 3, row.tokens, row.tool, row.target,
        row.first_line, "output", trashed=trashed, digest=row.digest,
    )  # fmt: skip


_PLAN = CleanupPlan(
    tuple(map(_entry, range(9))), 640_000, _PLAN_TOTALS, _PLAN_TOTALS, _PLAN_TOTALS, _PLAN_TOTALS,
    _PLAN_TOTALS, _PLAN_TOTALS, 4_000_000, 500_000,
)  # fmt: skip


def dialog_screens() -> Iterator[Screen]:
    window = _closable_window()
    guide = GuideDialog(window, shortcuts(window.key_bindings))
    for topic in guide_pages():
        guide.show_topic(topic)
        yield Screen(f"guide {topic}", guide, ((860, 640), (1, 1)))
    guide.close()
    yield from _question_screens(window)
    yield from _store_screens(window)
    for stage in handover_gallery.STAGES:
        yield Screen(
            f"handover {stage}", handover_gallery.handover_window(window, stage, half_longer), _LEAST
        )


def _question_screens(window: QWidget) -> Iterator[Screen]:
    choices = tuple(
        DialogChoice(name, half_longer(words))
        for name, words in (("", "Cancel"), ("stop", "Stop and delete"), ("keep", "Keep them running"))
    )
    what = half_longer("Delete this session?")
    why = half_longer("It moves to the trash for 30 days.")
    yield Screen("question", QuestionDialog(window, what, why, choices), _OWN)
    yield Screen("error", ErrorDialog(window, HelixError(verbatim(what), verbatim(why))), _OWN)
    name = TextInputDialog(window, what, "", half_longer("Rename this session"), why)
    yield Screen("name", name, _OWN)
    followed = AutoRunFile("AGENTS.md", half_longer("instructions that go to your model"), is_followed=True)
    files = (followed, *(AutoRunFile(".vscode/tasks.json", half_longer("tasks that VS Code runs")),) * 3)
    yield Screen("trust", TrustDialog(window, "helix-desktop", "/home/mara/code/helix-desktop", files), _OWN)
    yield Screen("trust, nothing found", TrustDialog(window, "notes", "/home/mara/notes", ()), _OWN)
    cost = CostState(Spending(42_300, 0.41, estimated=True), Budget(100_000, 2.0), is_default=True)
    budget = BudgetDialog(window, cost, has_prices=False)
    budget.form.line("tokens").setText("many")
    budget.form.type("tokens", "many", is_done=True)
    yield Screen("budget", budget, _OWN)


def _store_screens(window: QWidget) -> Iterator[Screen]:
    diagnostics = DiagnosticsDialog(window, NothingOnScreen())
    diagnostics.show_file(FILE_NAMES[0], "Helix Desktop 0.1.0\nQt: 6.11.3\n")
    show_text(diagnostics.notice, half_longer("Without a keychain, keys are recognized by their form."))
    show_text(diagnostics.error, half_longer("The diagnostics couldn't be saved."))
    yield Screen("diagnostics", diagnostics, _LEAST)
    diagnostics.close()
    redaction = RedactDialog(window)
    yield Screen("secret", redaction, _OWN)
    redaction.text_input.setPlainText("sk-0123456789")
    redaction.search_button.click()
    redaction.show_progress(120, 312)
    yield Screen("secret, looked for", redaction, _OWN)
    redaction.show_matches([half_longer("3 outputs, 2 messages")], [half_longer("Also in the clipboard.")])
    yield Screen("secret found", redaction, _OWN)
    redaction.confirm_input.setText(confirmation_word())
    redaction.redact_button.click()
    redaction.show_done([half_longer("Removed from 3 outputs and 2 messages.")])
    yield Screen("secret removed", redaction, _OWN)
    redaction.close()


_THEMES = {"light": (LIGHT,), "dark": (DARK,), "both": (DARK, LIGHT)}
_SETTLE_ROUNDS = 6
_OF_ITS_OWN = (0, 0)
_SMALLEST = (1, 1)


def _drag_screens() -> Iterator[Screen]:
    for name, show in shell_gallery.DRAGS.items():
        window = shell_gallery.make_window()
        window.allow_close()
        show(window)
        yield Screen(name, window, ((window.width(), window.height()),))


GROUPS: tuple[Callable[[], Iterator[Screen]], ...] = (
    window_screens,
    pane_screens,
    changes_screens,
    chat_screens,
    diff_screens,
    settings_screens,
    provider_screens,
    dialog_screens,
)


class PictureWriter:
    """Saves each screen in one theme."""

    def __init__(self, options: argparse.Namespace, theme: Theme) -> None:
        self._out = options.out
        self._size = options.size
        self._names = options.names
        self._theme = theme
        self.saved = 0

    async def save(self, screen: Screen) -> None:
        """Save a screen at the first of its sizes; a window at the size that is wanted."""
        name = re.sub(r"[^\w]+", "-", screen.name.removeprefix("make_")).strip("-")
        if self._names and not any(part in name for part in self._names):
            return
        is_window = isinstance(screen.widget, MainWindow) and len(screen.sizes) > 1
        size = self._size if self._size and is_window else screen.sizes[0]
        screen.widget.show()
        if size not in (_OF_ITS_OWN, _SMALLEST):
            screen.widget.resize(*size)
        await panes_gallery.settle(_SETTLE_ROUNDS)
        focused = QApplication.focusWidget()
        if focused is not None and not isinstance(screen.widget, QDialog | MainWindow):
            focused.clearFocus()  # in the window something else has the keyboard
        path = self._out / f"{name}-{self._theme.name}.png"
        if not screen.widget.grab().save(str(path)):
            raise OSError(f"{path} can't be written")
        self.saved += 1

    async def save_all(self) -> None:
        for screens in (*GROUPS, _drag_screens):
            widgets = []
            for screen in screens():
                widgets.append(screen.widget)
                await self.save(screen)
            for widget in widgets:
                _close(widget)
        for shot in panes_gallery.SHOTS:
            scope = TaskScope()
            pane = await shot(scope)
            await self.save(Screen(shot.__name__, pane, ((pane.width(), pane.height()),)))
            _close(pane)
            await scope.close()


def _close(widget: QWidget) -> None:
    """Let a screen go with the window that it stands over."""
    with suppress(RuntimeError):  # gone with the window of another screen
        widget.window().hide()
        widget.deleteLater()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", help="parts of the names of the screens; all without one")
    parser.add_argument("--theme", choices=_THEMES, default="both")
    parser.add_argument("--size", type=pixels)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--language", type=Path, help="a compiled catalog")
    return parser.parse_args(arguments)


def main() -> int:
    """Save all pictures, or those whose name contains one of the arguments."""
    options = _options(sys.argv[1:])
    os.environ["QT_SCALE_FACTOR"] = options.scale
    options.out.mkdir(parents=True, exist_ok=True)
    use_offscreen_platform(options.out, options.size, int(options.scale))
    app = new_application()
    fonts.load(resources_dir() / "fonts")
    if options.language:
        language = load_language(options.language)
        use_language(language)
        translate_qt(app, language)
    saved = 0
    with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
        for theme in _THEMES[options.theme]:
            stylesheet.apply(app, theme)
            writer = PictureWriter(options, theme)
            runner.run(writer.save_all())
            saved += writer.saved
    sys.stdout.write(f"{saved} pictures of samples in {options.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
