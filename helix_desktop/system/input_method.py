"""Which input method composes Japanese, Chinese or Korean on Linux."""

from __future__ import annotations

from collections.abc import Mapping

_FCITX = {"fcitx", "fcitx5"}


def qt_input_methods(environment: Mapping[str, str]) -> str:
    """Return a value for QT_IM_MODULES where Qt would find no plugin for the user's choice, else "".

    The Qt of Helix has the plugin of ibus only; that of fcitx is for the version of Qt that the system has.
    Fcitx answers to clients of ibus too, so that plugin is the second choice.
    """
    choice = environment.get("QT_IM_MODULE", "")
    return f"{choice};ibus" if choice in _FCITX and not environment.get("QT_IM_MODULES") else ""
