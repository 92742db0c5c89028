"""The window of the handovers, opened by the command that compacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import QLabel

from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import OPENING
from helix_desktop.ui.handover.parts import SectionField
from helix_desktop.ui.handover.versions import DRAFT
from helix_desktop.ui.handover.window import HandoverWindow
from tests.support.model_servers.chat_server import ChatServer, Script, text_reply
from tests.support.window.window_rig import WindowRig, until

BY_HAND = {
    "protect_tokens": 100_000, "protect_steps": 50, "fold_after_steps": 0, "handover_least_gain": 0.0,
    "handover_keep": 0.02, "observe_at": 0.0, "observe_place_at": 0.0,
    "checkpoint_tokens": 0,
}  # fmt: skip
"""A policy under which nothing is rewritten or summarized by itself."""

SUMMARY_OF_FIRST_MESSAGES = "\n".join(f"## {title}\n- Words about it. [e4, e5]" for title in TITLES)
"""It may stand for a session's history: it names its first message and the answer to it."""


def with_summaries(script: Script) -> Script:
    """Return a script that answers as `script` does, but summarizes where a summary is asked for."""

    def answer(request: dict[str, Any]) -> Any:
        if str(request["messages"][-1]["content"]).startswith(OPENING):
            return text_reply(SUMMARY_OF_FIRST_MESSAGES)
        return script(request)

    return answer


async def opened_handovers(rig: WindowRig) -> HandoverWindow:
    """Return the window that was asked for, once it is on screen and offers its ranges."""
    window = await until(lambda: rig.wiring.rewrites.handover_window, "the window")
    await until(window.isVisible, "the window on screen")
    return window


async def open_handovers(rig: WindowRig) -> HandoverWindow:
    """Compact now; return the window, on screen."""
    rig.window.commands.compact_now.trigger()
    return await opened_handovers(rig)


async def open_after_two_turns(
    rig: WindowRig, server: ChatServer, files: Mapping[str, str], **policy: object
) -> HandoverWindow:
    """Run two turns of work in a new workspace; return the window, on screen."""
    await rig.begin("project", files, server, **(BY_HAND | policy))
    await rig.run_turn("Read everything")
    await rig.run_turn("And now?")
    return await open_handovers(rig)


def notes(window: HandoverWindow) -> list[str]:
    """Return what the window says of the version on screen."""
    return [note.text() for note in window.findChildren(QLabel, "version-note") if note.isVisible()]


def has_draft(window: HandoverWindow) -> bool:
    """Return True once a draft can be read and used."""
    return window.seq == DRAFT and not window.is_writing and window.draft is not None


def shown_text(window: HandoverWindow) -> str:
    """Return the text of all sections that can be edited."""
    return "\n".join(f"{field.title}\n{field.text}" for field in window.fields)


def section(window: HandoverWindow, title: str) -> SectionField:
    return next(field for field in window.fields if field.title == title)


def choose_version(window: HandoverWindow, seq: int) -> None:
    place = [version.seq for version in window.versions.versions].index(seq)
    window.versions.setCurrentIndex(window.versions.row_model.index(place))


def compare_with(window: HandoverWindow, seq: int) -> None:
    box = window.comparison.other_box
    box.setCurrentIndex(box.findData(seq))
    box.activated.emit(box.currentIndex())
