"""How much of a context stays is chosen in the menu of models, and on a workspace's first page."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu

from helix_desktop.config.settings import ModelEntry
from helix_desktop.context.policy_numbers import PROFILES, policy_from
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.ui.onboarding.pages import NoSessionPage
from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import find_child
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

LARGE = ModelEntry(name="large", window=1_000_000, reserve=4_096)
SMALL = ModelEntry(name="small", window=32_000, reserve=1_000)


def context_menu_of(rig: WindowRig) -> QMenu:
    """Open the menu of models, and return the part about the context."""
    rig.composer.model_button.click()
    menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
    return next(part for part in menu.findChildren(QMenu) if part.title().startswith("Context: "))


def checked_in(menu: QMenu) -> list[str]:
    return [action.objectName() for action in menu.actions() if action.isChecked()]


def close_menus(rig: WindowRig) -> None:
    for menu in rig.composer.findChildren(QMenu):
        menu.close()


async def test_a_workspace_chooses_its_managed_window_and_its_profile(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each holds at once and is stored; the profile leaves the managed window as it is."""
    async with ChatServer(lambda _: text_reply("Done.")) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.use_models(server, LARGE, SMALL)
        await rig.run_turn("Hello.")
        workspace = rig.workspace
        menu = context_menu_of(rig)
        assert menu.title() == "Context: Balanced · 128k of 1M"
        assert checked_in(menu) == ["profile:balanced", "manage:128000"]
        sizes = [it.text() for it in menu.actions() if it.objectName().startswith("manage:")]
        assert sizes == ["128k tokens of 1M", "256k tokens of 1M", "All of it, 1M tokens"]

        find_child(menu, QAction, "manage:256000").trigger()
        assert workspace.policy.manage_at_most == 256_000
        assert rig.conversation.window.measure()[1].window == 256_000
        await until(lambda: "256k of 1M" in rig.views.panel._window_text.text, "the panel")
        find_child(menu, QAction, "profile:classic").trigger()
        close_menus(rig)
        expected = policy_from({"profile": "classic", "manage_at_most": 256_000})
        assert workspace.policy == expected
        assert rig.wiring.services.registry.load_policy(workspace.id) == expected

        menu = context_menu_of(rig)
        assert menu.title() == "Context: Keep most · 256k of 1M"
        find_child(menu, QAction, "manage:0").trigger()
        close_menus(rig)
        assert rig.conversation.window.measure()[1].window == 1_000_000
        await until(lambda: "of 1M tokens" in rig.views.panel._window_text.text, "the panel")


async def test_a_small_model_has_nothing_to_choose_but_the_profile(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with ChatServer(lambda _: text_reply("Done.")) as server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.use_models(server, SMALL)
        await rig.run_turn("Hello.")
        menu = context_menu_of(rig)
        assert menu.title() == "Context: Balanced · 32k"
        assert [it.objectName() for it in menu.actions() if it.objectName().startswith("manage:")] == []
        close_menus(rig)
        await rig.conversation.session.record(PolicyChosen({"profile": "lean"}))
        rig.composer.model_button.click()
        menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
        own = find_child(menu, QAction, "page:policy")
        assert own.text() == "Context: Spend least · 32k, this session"
        close_menus(rig)


async def test_the_first_page_of_a_workspace_offers_both(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        page = rig.window.places.empty.get()
        assert isinstance(page, NoSessionPage)
        page.show_context(PROFILES["balanced"], 1_000_000)
        assert page.context_button.text() == "Context: Balanced · 128k of 1M"
        assert page._keeps.text() == "Helix keeps this turn and the one before, while they fit."
        page.context_button.click()
        menu = next(menu for menu in page.context_button.findChildren(QMenu) if menu.isVisible())
        find_child(menu, QAction, "profile:lean").trigger()
        menu.close()
        assert rig.workspace.policy == PROFILES["lean"]
        assert page.context_button.text().startswith("Context: Spend least")
