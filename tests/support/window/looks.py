"""Showing widgets in a theme and at a text size: the type of the fixture."""

from __future__ import annotations

from typing import Protocol

from helix_desktop.ui.design.style.theme import Theme


class ShowLook(Protocol):
    def __call__(self, theme: Theme, text_px: int = ...) -> None: ...
