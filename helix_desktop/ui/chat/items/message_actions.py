"""Small buttons below a message: its versions, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF

from helix_desktop.ui.chat.actions import CopyAnswer, EditMessage, OpenVersion, RetryAnswer, RowAction
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import ChatPainter
from helix_desktop.ui.chat.rows.row_types import TurnFooterRow, Versions
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import BranchSession, RewindTo
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

BUTTON_EDGE = 26.0  # pixels at zoom 1
_ICON_EDGE, _GAP = 15.0, 2.0
_ICONS: dict[type[RowAction], str] = {
    CopyAnswer: "copy",
    EditMessage: "pencil",
    RewindTo: "rewind",
    RetryAnswer: "rotate-ccw",
    BranchSession: "git-branch",
}
_PREVIOUS, _NEXT = VERSION_ARROWS = ("version:previous", "version:next")


class MessageActions:
    """One line of buttons; its places are those of the item that it is part of."""

    def __init__(self, actions: Sequence[RowAction], versions: Versions | None, style: ChatStyle) -> None:
        self._actions, self._versions, self._style = tuple(actions), versions, style
        self._place_text = QRectF()
        self._ends: list[tuple[str, QRectF]] = []  # arrows that lead nowhere: icon and place
        self.hit_areas: list[HitArea] = []

    def __bool__(self) -> bool:
        """Return True if there is a button."""
        return bool(self._actions or self._versions)

    @property
    def note(self) -> str:
        """Return which version is on screen, for screen readers; empty if there is one only."""
        if self._versions is None:
            return ""
        place, count = self._versions.place + 1, len(self._versions.session_ids)
        return tr("Version {place} of {count}", place=place, count=count)

    @property
    def width(self) -> float:
        buttons = len(self._actions) * self._style.px(BUTTON_EDGE + _GAP)
        return buttons + (self._versions_width() if self._versions else 0.0)

    def place(self, left: float, top: float) -> None:
        edge, gap = self._style.px(BUTTON_EDGE), self._style.px(_GAP)
        self.hit_areas = []
        if self._versions is not None:
            self._place_versions(self._versions, left, top)
            left += self._versions_width()
        for action in self._actions:
            name, label, tip = _words(action)
            rect = QRectF(left, top, edge, edge)
            self.hit_areas.append(HitArea(name, action, label, rect, radius=7, tip=tip))
            left += edge + gap

    def _versions_width(self) -> float:
        return 2 * self._style.px(BUTTON_EDGE) + self._text_width() + self._style.px(8)

    def _text_width(self) -> float:
        return self._style.width(self._text(), self._style.font(SMALL, MEDIUM)) + self._style.px(4)

    def _text(self) -> str:
        assert self._versions is not None  # called for versions only
        return f"{self._versions.place + 1} / {len(self._versions.session_ids)}"

    def _place_versions(self, versions: Versions, left: float, top: float) -> None:
        edge, ids, at = self._style.px(BUTTON_EDGE), versions.session_ids, versions.place
        first = QRectF(left, top, edge, edge)
        self._place_text = QRectF(first.right(), top, self._text_width(), edge)
        last = QRectF(self._place_text.right(), top, edge, edge)
        self._ends = []
        if at > 0:
            self._add_version(_PREVIOUS, ids[at - 1], ids, tr("Previous version"), first)
        else:
            self._ends.append(("chevron-left", first))
        if at + 1 < len(ids):
            self._add_version(_NEXT, ids[at + 1], ids, tr("Next version"), last)
        else:
            self._ends.append(("chevron-right", last))

    def _add_version(
        self, name: str, session_id: str, versions: tuple[str, ...], label: str, rect: QRectF
    ) -> None:
        action = OpenVersion(session_id, versions=versions)
        self.hit_areas.append(HitArea(name, action, label, rect, radius=7, tip=label))

    def paint(self, painter: ChatPainter) -> None:
        style, theme = self._style, self._style.theme
        if self._versions is not None:
            painter.line(self._place_text, self._text(), style.font(SMALL, MEDIUM), theme.muted)
            for name, rect in self._ends:
                painter.icon_in(name, theme.border_strong, rect, _ICON_EDGE)
        for area in self.hit_areas:
            is_active = painter.is_active(area) or area.name == painter.state.focused
            if is_active:
                painter.box(area.rect, theme.hover, radius=area.radius)
            icon, color = _icon(area), theme.text if is_active else theme.faint
            if painter.state.copied == area.name:
                icon, color = "check", theme.ok
            painter.icon_in(icon, color, area.rect, _ICON_EDGE)


def _icon(area: HitArea) -> str:
    arrows = {_PREVIOUS: "chevron-left", _NEXT: "chevron-right"}
    return arrows.get(area.name) or next(
        name for kind, name in _ICONS.items() if isinstance(area.action, kind)
    )


def _words(action: RowAction) -> tuple[str, str, str]:
    """Return object name, label and tooltip of a button."""
    match action:
        case CopyAnswer():
            return "copy", tr("Copy answer"), tr("Copy this answer as Markdown")
        case EditMessage():
            return "edit", tr("Edit message"), tr("Edit and send again. The original stays as a version.")
        case RewindTo():
            return (
                "rewind",
                tr("Rewind to here"),
                tr("Go back to before this message: files, conversation or both."),
            )
        case RetryAnswer():
            return "retry", tr("Retry"), tr("Answer again. This answer stays as a version.")
        case _:
            return "branch", tr("Branch"), tr("Continue from here in a new session, as a branch.")


class TurnFooterItem(RowItem):
    """The line below the answer of a turn that is done."""

    def __init__(self, row: TurnFooterRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        seq = row.key.seq
        buttons = (CopyAnswer(), RetryAnswer(seq), BranchSession(seq))
        self._actions = MessageActions(buttons, row.versions, self.style)
        self.accessible_notes = [note] if (note := self._actions.note) else []

    def _arrange(self, width: float) -> float:
        edge = self.style.px(BUTTON_EDGE)
        self._actions.place(-self.style.px((BUTTON_EDGE - _ICON_EDGE) / 2), 0.0)
        self.hit_areas = self._actions.hit_areas
        return edge

    def _paint(self, painter: ChatPainter) -> None:
        self._actions.paint(painter)
