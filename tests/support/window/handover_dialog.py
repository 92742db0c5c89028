"""The dialog of a compaction, opened by its command."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.ui.handover.dialog import HandoverDialog
from tests.support.model_servers.chat_server import ChatServer
from tests.support.window.window_rig import WindowRig, until

BY_HAND = {
    "protect_tokens": 100_000, "protect_steps": 50, "fold_after_steps": 0, "handover_least_gain": 0.0,
    "handover_keep": 0.02, "observe_at": 0.0, "observe_place_at": 0.0,
}  # fmt: skip
"""A policy under which nothing is rewritten by itself."""


async def open_handover_dialog(rig: WindowRig) -> HandoverDialog:
    """Compact now; return the dialog, on screen."""
    rig.window.commands.compact_now.trigger()
    await until(lambda: rig.wiring.rewrites.handover_presenter, "the dialog")
    presenter = rig.wiring.rewrites.handover_presenter
    assert presenter is not None
    await until(presenter.dialog.isVisible, "the dialog on screen")
    return presenter.dialog


async def open_dialog_after_two_turns(
    rig: WindowRig, server: ChatServer, files: Mapping[str, str], folder: str = "project", **policy: object
) -> HandoverDialog:
    """Run two turns of work in a new workspace; return the dialog, on screen."""
    await rig.begin(folder, files, server, **(BY_HAND | policy))
    await rig.run_turn("Read everything")
    await rig.run_turn("And now?")
    return await open_handover_dialog(rig)
