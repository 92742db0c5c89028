"""The strip above the message field of a folder that is not trusted: why nothing happens, and the way on."""

from __future__ import annotations

from helix_desktop.ui.chat.composer.notice_strip import ComposerStrip

_EXPLANATION = "Nothing runs here and nothing is sent to a model. Sessions and cache can be read."


class TrustStrip(ComposerStrip):
    """Shown while the folder is not trusted."""

    def __init__(self) -> None:
        super().__init__("shield-question-mark", "accent_text", "Trust…")
        self.button.setAccessibleName("Trust this folder…")
        self.show_text("This folder is not trusted yet", _EXPLANATION)
