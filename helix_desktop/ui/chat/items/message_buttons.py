"""The buttons below a message and below an answer: copy, edit, again, other versions, branches."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.ui.chat.actions import (
    CopyAnswer,
    EditMessage,
    OpenVersion,
    RetryAnswer,
    RowAction,
)
from helix_desktop.ui.chat.rows.row_types import TurnFooterRow, Versions
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import Box, Button, Frame, Icon, Row, Text
from helix_desktop.ui.kit.intents import BranchSession, RewindTo
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_PREVIOUS, _NEXT = VERSION_ARROWS = ("version:previous", "version:next")


def versions_note(versions: Versions | None) -> list[str]:
    """Return which version is on screen, for screen readers; nothing if there is one only."""
    if versions is None:
        return []
    return [tr("Version {place} of {count}", place=versions.place + 1, count=len(versions.session_ids))]


def message_buttons(actions: Sequence[RowAction], versions: Versions | None) -> Row:
    """Return one line of buttons."""
    boxes = list[Box]()
    if versions is not None:
        ids, at = versions.session_ids, versions.place
        words = Text(f"{at + 1} / {len(ids)}", 12, "muted", 500)
        line = [
            _arrow(_PREVIOUS, "chevron-left", ids[at - 1] if at else "", ids, tr("Previous version")),
            Frame(words, wide=words.width() + scaled(3)),
            _arrow(_NEXT, "chevron-right", ids[at + 1] if at + 1 < len(ids) else "", ids, tr("Next version")),
        ]
        boxes.append(Frame(Row(line, 0), (0, 0, 6, 0)))
    return Row([*boxes, *map(_action_button, actions)], 2)


def _arrow(name: str, icon: str, session_id: str, ids: tuple[str, ...], label: str) -> Box:
    if not session_id:  # it leads nowhere
        return Frame(Icon(icon, "border_strong", 16), (5, 5, 5, 5))
    return _button(name, OpenVersion(session_id, versions=ids), icon, label, label)


def _button(name: str, action: RowAction, icon: str, label: str, tip: str) -> Button:
    button = Button(name, action, Icon(icon, "faint", 16), label, "action", tip=tip)
    button.lit, button.copied = Icon(icon, "text", 16), Icon("check", "ok", 16)
    return button


def _action_button(action: RowAction) -> Button:
    match action:
        case CopyAnswer():
            return _button("copy", action, "copy", tr("Copy answer"), tr("Copy this answer as Markdown"))
        case EditMessage():
            tip = tr("Edit and send again. The original stays as a version.")
            return _button("edit", action, "pencil", tr("Edit message"), tip)
        case RewindTo():
            tip = tr("Go back to before this message: files, conversation or both.")
            return _button("rewind", action, "rewind", tr("Rewind to here"), tip)
        case RetryAnswer():
            tip = tr("Answer again. This answer stays as a version.")
            return _button("retry", action, "rotate-ccw", tr("Retry"), tip)
        case _:
            tip = tr("Continue from here in a new session, as a branch.")
            return _button("branch", action, "git-branch", tr("Branch"), tip)


def answer_buttons(row: TurnFooterRow) -> Box:
    """Return the line below the answer of a turn that is done."""
    seq = row.key.seq
    line = message_buttons((CopyAnswer(), RetryAnswer(seq), BranchSession(seq)), row.versions)
    return Frame(line, (-5, 0, 0, 0))  # its first icon begins where texts do
