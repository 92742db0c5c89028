"""Bundled files are usable and licensed: fonts with their weights, icons that render, license texts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from PySide6.QtGui import QFont, QFontDatabase, QRawFont
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

import helix_desktop
from helix_desktop.config.paths import resources_dir

FONTS = {"Inter": {400, 500, 600, 700}, "JetBrains Mono": {400, 500, 700}}


@pytest.mark.parametrize("family", FONTS)
def test_each_family_has_its_weights(family: str, qapp: QApplication) -> None:
    for file in sorted((resources_dir() / "fonts").glob("*.ttf")):
        assert QFontDatabase.addApplicationFont(str(file)) >= 0, file.name
    for weight in FONTS[family]:
        font = QFont(family)
        font.setWeight(QFont.Weight(weight))
        raw = QRawFont.fromFont(font)
        assert (raw.familyName(), raw.weight()) == (family, weight)
    font = QFont(family)
    font.setItalic(True)
    assert QRawFont.fromFont(font).styleName() == "Italic"


def test_every_icon_draws(qapp: QApplication) -> None:
    icons = sorted((resources_dir() / "icons").glob("*.svg"))
    assert len(icons) > 90
    for icon in icons:
        assert QSvgRenderer(str(icon)).isValid(), icon.name
        assert not re.search(r"<script|<image|href", icon.read_text(encoding="utf-8")), icon.name


def test_every_icon_is_named_in_the_code() -> None:
    package = Path(helix_desktop.__file__).parent
    code = "".join(file.read_text(encoding="utf-8") for file in package.rglob("*.py"))
    icons = {icon.stem for icon in (resources_dir() / "icons").glob("*.svg")}
    assert {icon for icon in icons if f'"{icon}"' not in code} == set()


def test_tinted_icons_follow_the_text_color() -> None:
    """Every icon but the app's own is drawn in currentColor, so that a theme can tint it."""
    for icon in sorted((resources_dir() / "icons").glob("*.svg")):
        if icon.name != "helix.svg":
            assert 'stroke="currentColor"' in icon.read_text(encoding="utf-8"), icon.name


def test_every_folder_of_bundled_things_is_licensed() -> None:
    folder = resources_dir() / "licenses"
    parts = tomllib.loads((folder / "parts.toml").read_text(encoding="utf-8"))["part"]
    for kind in ("fonts/Inter-", "fonts/JetBrainsMono-", "icons/", "tokenizers/"):
        (part,) = [part for part in parts if part.get("where", "").startswith(kind)]
        assert all((folder / name).is_file() for name in part["texts"]), kind


def test_fonts_are_those_that_are_licensed() -> None:
    names = {file.name for file in (resources_dir() / "fonts").iterdir()}
    assert {Path(name).stem.partition("-")[0] for name in names} == {"Inter", "JetBrainsMono"}
