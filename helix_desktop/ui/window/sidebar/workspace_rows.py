"""Workspaces as rail and switcher show them: rows that a presenter fills, their names and their squares."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QLinearGradient, QPainter

from helix_desktop.ui.design.mirror import draw_text
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.words.git import NO_GIT, GitText
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_MIN_LETTERS = 2  # of a search in messages; a Chinese word may have one

WorkspaceBadge = Literal["", "running", "waiting", "interrupted", "missing"]

WORKSPACE_COLORS = ("#5753d8", "#0f766e", "#b4451f", "#1f62c4", "#a8326f", "#4d7c0f", "#7c3aed", "#475569")
"""Grounds that keep white initials at 4.5:1 or more."""


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """One workspace in rail and switcher; `color` is #rrggbb, empty strings let the sidebar choose."""

    id: str
    name: str
    path: str
    color: str = ""
    initials: str = ""
    active: bool = False
    badge: WorkspaceBadge = ""
    cache: str = ""  # size of its cache as text, e.g. "2.1 MB"
    git: GitText = NO_GIT

    def display_color(self) -> str:
        """Return its own color, else one that its id always leads to."""
        return self.color or default_color(self.id)

    def display_initials(self) -> str:
        """Return its own initials, else those of its name."""
        return self.initials or default_initials(self.name)


def default_color(workspace_id: str) -> str:
    """Return the color of a workspace id, the same on every machine."""
    return WORKSPACE_COLORS[hashlib.sha256(workspace_id.encode()).digest()[0] % len(WORKSPACE_COLORS)]


def default_initials(name: str) -> str:
    """Return one or two signs for a name: the initials of two words, or the first two letters of one.

    Of one word that ends with a number, its first letter and last digit: `repo` and `repo2` differ.
    """
    words = [word for word in name.replace("-", " ").replace("_", " ").replace(".", " ").split() if word]
    if not words:
        return "?"
    if len(words) == 1:
        if words[0][:1].isalpha() and words[0][-1].isdigit():
            return (words[0][0] + words[0][-1]).upper()
        return words[0][:2].upper() if words[0].isascii() else words[0][:1]
    return (words[0][:1] + words[1][:1]).upper()


def distinct_colors(ids: Iterable[str]) -> dict[str, str]:
    """Return colors for workspaces, different ones while there are enough; the first come first."""
    colors: dict[str, str] = {}
    for workspace_id in ids:
        first = WORKSPACE_COLORS.index(default_color(workspace_id))
        turned = (*WORKSPACE_COLORS[first:], *WORKSPACE_COLORS[:first])
        colors[workspace_id] = next((color for color in turned if color not in colors.values()), turned[0])
    return colors


def disambiguate(paths: Sequence[str]) -> list[str]:
    """Return the shortest words that tell folders apart: as many parents as it takes, else the whole path."""
    folders = [PurePath(path) for path in paths]
    for parents in range(1, max((len(folder.parts) for folder in folders), default=0)):
        tails = ["/".join(folder.parts[:-1][-parents:]) for folder in folders]
        if len(set(tails)) == len(folders):
            return tails
    return list(paths)


def badge_label(badge: WorkspaceBadge) -> str:
    match badge:
        case "running":
            return tr("Working")
        case "waiting":
            return tr("Waiting for you")
        case "interrupted":
            return tr("Interrupted")
        case "missing":
            return tr("Folder not found")
        case "":
            return ""


def message_query(text: str) -> str:
    """Return the words of a search that messages are searched for; empty while they are too short."""
    text = text.strip()
    return text if len(text) >= _MIN_LETTERS or not text.isascii() else ""


def matches_query(needle: str, *texts: str) -> bool:
    """Return True if every word of a search stands somewhere in the texts, upper and lower case alike."""
    haystack = " ".join(texts).casefold()
    return all(word in haystack for word in needle.casefold().split())


BADGE_COLOR_TOKENS = {
    "running": "seg_assistant",
    "waiting": "seg_output",
    "interrupted": "warn",
    "missing": "error",
}
"""Token that colors the dot of each badge."""


def paint_workspace_badge(painter: QPainter, rect: QRectF, workspace: WorkspaceRow, theme: Theme) -> None:
    """Paint square and initials; a workspace whose folder is missing turns gray."""
    background = QColor(workspace.display_color())
    missing = workspace.badge == "missing"
    sweep = QLinearGradient(rect.topLeft(), rect.bottomRight())
    sweep.setColorAt(0, background)
    sweep.setColorAt(1, background.darker(114))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free) if missing else sweep)
    painter.drawRoundedRect(rect, rect.width() * 0.29, rect.width() * 0.29)
    font = fonts.base(round(rect.width() * 0.34))
    font.setWeight(QFont.Weight.DemiBold)
    painter.setFont(font)
    painter.setPen(QColor(theme.muted if missing else theme.on_accent))
    draw_text(painter, rect, Qt.AlignmentFlag.AlignCenter, workspace.display_initials())
