"""The settings of the app as a form's values, without an app."""

from __future__ import annotations

from typing import Any

from helix_desktop.config.settings import Settings
from helix_desktop.ui.kit.forms import Draft
from helix_desktop.ui.settings.app_settings import SETTING_NAMES, read_setting


def default_settings(**changes: Any) -> Draft:
    """Return the defaults, with some changes."""
    return Draft({**{name: read_setting(Settings(), name) for name in SETTING_NAMES}, **changes})
