"""A user of fcitx can compose, though Qt is installed without its plugin."""

from __future__ import annotations

from helix_desktop.app.main import qt_input_methods


def test_fcitx_is_reached_through_its_ibus_frontend() -> None:
    assert qt_input_methods({"QT_IM_MODULE": "fcitx"}) == "fcitx;ibus"
    assert qt_input_methods({"QT_IM_MODULE": "fcitx5"}) == "fcitx5;ibus"


def test_every_other_choice_of_the_user_stays() -> None:
    for environment in (
        {},
        {"QT_IM_MODULE": "ibus"},
        {"QT_IM_MODULE": "none"},
        {"QT_IM_MODULE": "fcitx", "QT_IM_MODULES": "fcitx"},
    ):
        assert qt_input_methods(environment) == ""
