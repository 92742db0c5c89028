"""The tour of the demo through every screen of the real window: one of the runs of `./helix screenshots`.

Alone: `PYTHONPATH=packaging python -m screens.tour OUT`, in the checkout; `--help` lists the options.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import get_args

from helix_desktop.app.qt_language import load_language
from helix_desktop.demo.run_without_display import (
    DemoTour,
    Moment,
    PictureOptions,
    is_page_read,
    run_tour,
    wait_until,
)
from helix_desktop.domain.errors import HelixError, InvalidInput, SettingsDamaged
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.system.exit_codes import USAGE
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.row_types import ChatModel, ToolRow
from helix_desktop.ui.design.style.stylesheet import ThemeMode
from helix_desktop.ui.settings.view import SettingsPage
from helix_desktop.words.translation import error_text, use_language
from screens import pixels
from screens.samples import SampleScreens
from screens.states import REPLAY_TIMEOUT_S, StateScreens, opened_dialog

_MODES: dict[str, tuple[ThemeMode, ...]] = {"light": ("light",), "dark": ("dark",), "both": ("dark", "light")}
_SETTINGS_PAGES: tuple[SettingsPage, ...] = get_args(SettingsPage)
_NARROW = (720, 640)
_LARGE = (1920, 1200)


class ScreenTour(DemoTour):
    """Captures also picker, settings, dialogs, states, sizes and a folder that vanished."""

    asks_again_before = 2  # so that an edit is to be approved in the picture

    async def pause(self, moment: Moment) -> None:
        """Capture what can be seen at this moment."""
        match moment:
            case "start":
                self._resize()
                await self._workspace_controller.restore_last()
                await self._screenshots.capture("welcome")
                await self._states.capture_refused_key()
            case "no-session":
                await self._screenshots.capture("no-session")
            case "first-pages":
                await self._capture_changes()
            case "checked":
                await SampleScreens(self._window_context, self._controllers, self._screenshots).capture_all()
                await self._states.capture_all()
                await self._capture_window()

    @cached_property
    def _states(self) -> StateScreens:
        return StateScreens(self._window_context, self._controllers, self._screenshots)

    def _resize(self) -> None:
        """Give the window its size. Raises InvalidInput for one that it can't have."""
        window = self._window_context.window
        size = self._screenshots.options.size
        if size is None:
            return
        window.resize(*size)
        if (window.width(), window.height()) != size:
            least = window.minimumSize()
            raise InvalidInput(
                verbatim(f"The window can't be {size[0]} × {size[1]} pixels."),
                verbatim(f"The smallest is {least.width()} × {least.height()}."),
                verbatim("Choose another size with --size."),
            )

    async def _capture_window(self) -> None:
        """Capture picker, settings, dialogs, sizes, and a workspace whose folder is moved away."""
        second = self._samples[1]
        await self._workspace_controller.open_workspace(second.id)
        window = self._window_context.window
        window.picker.open()
        await self._screenshots.capture("picker")
        window.picker.hide()
        await self._capture_settings()
        await self._capture_dialogs()
        if self._screenshots.options.size is None:
            await self._capture_sizes()
        await self._capture_missing_folder(Path(second.path))

    async def _capture_sizes(self) -> None:
        window = self._window_context.window
        original_size = window.size()
        for name, size in (("narrow", _NARROW), ("large", _LARGE)):
            window.resize(*size)
            await self._screenshots.capture(name)
        window.resize(original_size)

    async def _capture_changes(self) -> None:
        """Capture what the session on screen did to the files, and the preview of going back."""
        await self._capture_changed_files()
        window = self._window_context.window
        page = self._controllers.window.pages.changes.get()
        window.show_page("changes")
        await wait_until(lambda: is_page_read(self._controllers, "changes"))
        await self._screenshots.capture("changes")
        page.filter_bar.group_by("file")
        await self._screenshots.capture("changes-by-file", ("dark",))
        page.filter_bar.group_by("turn")
        window.commands.rewind.trigger()
        dialog = await opened_dialog(window, "rewind")
        if isinstance(dialog, RewindDialog):
            dialog.message_box.setCurrentIndex(dialog.message_box.count() - 1)
            await wait_until(dialog.rewind_button.isEnabled)
        await self._screenshots.capture("dialog-rewind", widget=dialog)
        dialog.close()

    async def _capture_changed_files(self) -> None:
        """Capture the newest card of a call that changed several lines, with its diff."""
        chat = self._controllers.window.pages.chat.view
        model = chat.chat_viewport.model
        rows = [row for row in map(model.row, range(len(model))) if isinstance(row, ToolRow)]
        changed = [row for row in rows if row.changes is not None and row.changes.removed_lines]
        if not changed:
            return
        self._window_context.window.show_page("chat")
        chat.toggle(changed[-1].key, "changes")
        chat.jump_to(changed[-1].key)
        await wait_until(lambda: _has_changed_files(chat.chat_viewport.model, changed[-1].key))
        await self._screenshots.capture("chat-changes")

    async def _capture_settings(self) -> None:
        settings = self._controllers.settings
        for page in _SETTINGS_PAGES:
            await settings.show(page)
            if page == "policy":
                await self._preview_policy()
            await self._screenshots.capture(f"settings-{page}")
        settings.view.policy.apply_bar.discard.click()
        self._window_context.window.leave_settings()

    async def _preview_policy(self) -> None:
        """Put another profile on the policy page, and wait for the session's replay under it."""
        page = self._controllers.settings.view.policy
        page.slider.profile_selected.emit("lean")
        await self._screenshots.settle()  # until the replay begins
        await wait_until(lambda: not page.replay_card.is_busy, REPLAY_TIMEOUT_S)

    async def _capture_dialogs(self) -> None:
        """Capture the list of commands, and every dialog that one opens without changing anything."""
        window = self._window_context.window
        commands = window.commands
        commands.all_commands.trigger()
        await self._screenshots.capture("picker-commands")
        window.picker.hide()
        commands.show_request.trigger()
        await self._screenshots.settle()
        await self._screenshots.capture("request")
        self._controllers.window.pages.panel.go_back()
        for action in (
            commands.guide,
            commands.forget,
            commands.set_budget,
        ):
            action.trigger()
            dialog = await opened_dialog(window, action.objectName())
            await self._screenshots.capture(f"dialog-{action.objectName()}", widget=dialog)
            dialog.close()

    async def _capture_missing_folder(self, folder: Path) -> None:
        workspace_id = self._controllers.session.workspace_id
        await asyncio.to_thread(folder.rename, folder.with_name("moved-away"))
        await self._controllers.workspace_controller.reopen(workspace_id)
        await self._screenshots.capture("missing-folder")


def _has_changed_files(model: ChatModel, key: RowKey) -> bool:
    """Return whether the diff below a call has been read."""
    rows = map(model.row, range(len(model)))
    return any(isinstance(row, ToolRow) and row.key == key and row.changed_files is not None for row in rows)


def main(words: Sequence[str]) -> int:
    """Take the pictures and print the checks of the demo; return the exit code."""
    parser = argparse.ArgumentParser(prog="screens.tour", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="output directory")
    parser.add_argument("--size", type=pixels, metavar="WxH", help="size of the window, such as 1024x680")
    parser.add_argument("--scale", choices=("1", "2"), default="1", help="size of a pixel")
    parser.add_argument("--theme", choices=tuple(_MODES), default="both", help="appearance to take")
    parser.add_argument("--language", type=Path, metavar="QM", help="a compiled catalog")
    args = parser.parse_args(words)
    os.environ["QT_SCALE_FACTOR"] = args.scale
    try:
        if args.language:
            use_language(load_language(args.language))
        options = PictureOptions(args.size, _MODES[args.theme], int(args.scale))
        return run_tour(args.out.absolute(), options, ScreenTour)
    except SettingsDamaged:
        parser.error(f"{args.language} is no compiled catalog (.qm)")
    except HelixError as error:
        sys.stderr.write(f"{error_text(error)}\n")
        return USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
