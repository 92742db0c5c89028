"""The effort of a session, its workspace and its model: chosen in the model's menu, seen beside its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.events.session import EffortChosen
from helix_desktop.ui.chat.rows.from_events import rows_from_log
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow
from helix_desktop.ui.inspector.request_text import request_text
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, text_reply
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def script(request: dict[str, object]) -> Reply:
    """Refuse to think less than a little."""
    if request.get("reasoning_effort") == "minimal":
        return api_error(400, "reasoning_effort: 'minimal' is not supported")
    return text_reply("Done.")


async def _set_up(rig: WindowRig, server: ChatServer, folder: str) -> None:
    await rig.open_folder(folder)
    model = ModelEntry(name="small", window=32_000, reserve=1_000, efforts=("minimal", "low", "high"))
    await rig.use_models(server, model)


def _choose(menu: QMenu, name: str) -> None:
    action = menu.findChild(QAction, name)
    assert isinstance(action, QAction), name
    action.trigger()
    menu.close()


async def _open_menu(rig: WindowRig) -> QMenu:
    rig.window.commands.choose_effort.trigger()

    def visible() -> list[QMenu]:
        return [menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible()]

    await until(visible, "the menu")
    return visible()[0]


async def test_it_is_chosen_displayed_sent_and_refused(qapp: QApplication, tmp_path: Path) -> None:
    async with ChatServer(script) as server, open_window(qapp, tmp_path) as rig:
        await _set_up(rig, server, "chosen")
        await _check_choices(rig, server)
        await _set_up(rig, server, "refused")
        await _check_a_refusal(rig)


async def _check_choices(rig: WindowRig, server: ChatServer) -> None:
    """It is chosen by mouse and keys, and stands beside the model."""
    button = rig.composer.model_button
    assert button.text() == "small"
    rig.composer.model_clicked.emit()
    menu = next(menu for menu in rig.composer.findChildren(QMenu) if menu.isVisible())
    names = [action.objectName() for action in menu.findChildren(QAction)]
    assert [name for name in names if name.startswith("effort:")] == [
        "effort:", "effort:default", "effort:minimal", "effort:low", "effort:high",
    ]  # fmt: skip
    _choose(menu, "effort:high")
    await until(lambda: button.text() == "small · High", "the level beside the model")
    assert "Reasoning effort: High" in button.toolTip()
    await rig.run_turn("Hello")
    assert server.bodies[-1]["reasoning_effort"] == "high"

    _choose(await _open_menu(rig), "workspace_effort:low")
    registry = rig.wiring.services.registry
    await until(lambda: registry.get(rig.workspace.id).effort == "low", "the workspace's level")
    assert button.text() == "small · High", "the session has its own"
    _choose(await _open_menu(rig), "effort:")
    await until(lambda: button.text() == "small · Low", "that of the workspace")
    assert rig.events(EffortChosen) == [EffortChosen("high"), EffortChosen("")]
    assert [row.text for row in rig.rows(DividerRow)] == [
        "Reasoning effort for this session: High",
        "Reasoning effort for this session: workspace default",
    ]
    window, _ = rig.conversation.window.measure()
    assert "== fields\neffort: low" in request_text(window, rig.conversation.window.items())

    rig.type_message("/effort minimal")
    await until(lambda: rig.events(EffortChosen)[-1] == EffortChosen("minimal"), "the typed level")
    rig.type_message("/effort huge")
    await until(lambda: "isn't an effort" in rig.banner_text(), "what is wrong")


async def _check_a_refusal(rig: WindowRig) -> None:
    """It is a notice in the chat."""
    _choose(await _open_menu(rig), "effort:minimal")
    await until(lambda: bool(rig.events(EffortChosen)), "the choice on record")
    await rig.run_turn("Hello")
    await rig.run_turn("And again")
    _, stored = rows_from_log(rig.conversation.session.log)
    for rows in (rig.rows(object), stored):
        kinds = [type(row) for row in rows if isinstance(row, AssistantRow | NoticeRow)]
        assert kinds == [AssistantRow, NoticeRow, AssistantRow]
    (notice,) = rig.rows(NoticeRow)
    assert notice.what == (
        "box/small doesn't accept this reasoning effort: Minimal. Requests continue without it."
    )
    assert "not supported" in notice.why
    assert rig.composer.model_button.text() == "small", "it is not sent, so it is not beside the name"
