"""Check what Qt paints, in a process of its own: a broken Qt ends the process that tries it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.words.translation import error_text, translate

text = TextContext("Self-check")

CHECK_NAMES = ("window", "fonts", "icons", "pictures", "formulas", "translations")
_FAMILIES = {"Inter", "JetBrains Mono"}
_PICTURES = {"png", "jpeg", "gif", "webp", "svg"}
_AGAIN = text("Reinstall Helix Desktop.")


def run_render_checks() -> int:
    """Run each check and print one JSON object: name -> [passed, text], in the language of this process.

    Qt itself may end this process.
    """
    # Without a display, on Qt's offscreen platform.
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) and sys.platform == "linux":
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from helix_desktop.ui.design.style.stylesheet import new_application

    app = new_application()
    checks: dict[str, Callable[[], str]] = {
        "fonts": _fonts,
        "window": lambda: _window(app.platformName()),
        "icons": _icons,
        "pictures": _pictures,
        "formulas": _formulas,
        "translations": _translations,
    }
    results: dict[str, tuple[bool, str]] = {}
    for name, check in checks.items():
        try:
            results[name] = True, translate(check())
        except HelixError as error:
            results[name] = False, error_text(error)
        except OSError as error:
            results[name] = False, str(error)
    sys.stdout.write(json.dumps(results))
    return 0


def _window(platform: str) -> str:
    from PySide6.QtWidgets import QLabel

    label = QLabel("Helix Desktop")
    picture = label.grab().toImage()
    colors = {picture.pixel(x, y) for x in range(picture.width()) for y in range(picture.height())}
    if len(colors) <= 1:  # the background alone
        raise HelixError(text("No text was painted."), text("Fonts are missing, or Qt is damaged."), _AGAIN)
    return text("painted on {platform}", platform=platform)


def _fonts() -> str:
    from PySide6.QtGui import QFontDatabase, QFontInfo

    from helix_desktop.ui.design.style import fonts

    files = sorted((resources_dir() / "fonts").glob("*.ttf"))
    broken = [file.name for file in files if QFontDatabase.addApplicationFont(str(file)) < 0]
    families = set(fonts.load(resources_dir() / "fonts"))
    if broken or not families >= _FAMILIES or QFontInfo(fonts.base()).family() != fonts.UI_FAMILY:
        unusable = (*sorted(_FAMILIES - families), *broken) or (fonts.UI_FAMILY,)
        raise HelixError(text("Fonts are missing or unreadable: {names}.", names=unusable), fix=_AGAIN)
    families_text = ", ".join(sorted(_FAMILIES))
    return text.plural(len(files), "{families}: %n file", "{families}: %n files", families=families_text)


def _icons() -> str:
    from PySide6.QtGui import QIcon
    from PySide6.QtSvg import QSvgRenderer

    files = sorted((resources_dir() / "icons").glob("*.svg"))
    broken = [file.name for file in files if not QSvgRenderer(str(file)).isValid()]
    own = resources_dir() / "icons" / "helix.svg"
    if QIcon(str(own)).pixmap(32).isNull():  # what the window's own icon needs besides: Qt's plug-in for SVG
        broken.append(text("{name} as the window's icon", name=own.name))
    if not files:
        raise HelixError(text("All icons are missing."), fix=_AGAIN)
    if broken:
        raise HelixError(text("Icons can't be drawn: {names}.", names=tuple(broken)), fix=_AGAIN)
    return text.plural(len(files), "%n icon", "%n icons")


def _pictures() -> str:
    from PySide6.QtGui import QImageReader

    supported = {bytes(image_format.data()).decode() for image_format in QImageReader.supportedImageFormats()}
    if not supported >= _PICTURES:
        raise HelixError(
            text("Qt can't read {formats}.", formats=tuple(sorted(_PICTURES - supported))), fix=_AGAIN
        )
    return ", ".join(sorted(_PICTURES))


def _formulas() -> str:
    from helix_desktop.ui.chat.markdown.formulas import draw_formula

    drawing = draw_formula(r"\sum_i \sqrt{x_i}", displayed=True)
    if drawing is None:
        raise HelixError(text("Formulas can't be drawn."), text("A library or its font is missing."), _AGAIN)
    return text("drawn")


def _translations() -> str:
    from PySide6.QtCore import QLibraryInfo, QTranslator

    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
    names = sorted(file.stem for file in folder.glob("qtbase_*.qm"))
    if "qtbase_de" not in names or not QTranslator().load("qtbase_de", str(folder)):
        raise HelixError(text("Qt's translations are missing in {folder}.", folder=folder), fix=_AGAIN)
    return text.plural(
        len(names),
        "Qt's own texts in %n language in {folder}",
        "Qt's own texts in %n languages in {folder}",
        folder=folder,
    )
