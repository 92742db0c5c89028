"""Says that a key which was entered for one run only is gone, at the start and above the message field."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.config.settings import key_variable
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.work import Work

_BANNER, _ENTER = "missing-key", "enter"


class MissingKeys(QObject):
    """Offers to enter the keys that ended with an earlier run."""

    def __init__(
        self,
        window: MainWindow,
        work: Work,
        intents: Intents,
        desk: Desk,
        enter_key: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`enter_key` opens the settings at the key of a provider."""
        super().__init__(window)
        self._window, self._work, self._desk = window, work, desk
        self._intents, self._enter_key = intents, enter_key
        self._announced: tuple[str, ...] | None = None
        self._provider = ""
        strip = work.screens.chat.key
        strip.wanted.connect(lambda: self._enter(self._provider))
        window.banners.acted.connect(self._acted)
        for changed in (work.shown, work.model_shown):
            changed.connect(lambda: intents.start(self._look(), "missing keys"))

    def _enter(self, provider: str) -> None:
        self._intents.start(self._enter_key(provider), "enter a key")

    def _acted(self, banner: str, action: str) -> None:
        if (banner, action) == (_BANNER, _ENTER) and self._announced:
            self._enter(self._announced[0])

    async def _look(self) -> None:
        missing = await self._desk.missing_keys()
        self._announce(missing)
        talk = self._work.conversation
        strip = self._work.screens.chat.key
        self._provider = (talk.held or talk.model.label).partition("/")[0] if talk is not None else ""
        if self._provider in missing:
            variable = key_variable(self._provider)
            strip.show_text(
                f"The key for {self._provider} is missing",
                f"It was entered for an earlier run only. Enter it again, or start with {variable} set.",
            )
        strip.setVisible(self._provider in missing)

    def _announce(self, missing: tuple[str, ...]) -> None:
        """Say it once at the start; the banner goes when the keys are there."""
        if self._announced is not None and not missing:
            self._window.banners.remove(_BANNER)
        if self._announced is None and missing:
            names = ", ".join(missing)
            noun = "key" if len(missing) == 1 else "keys"
            self._window.banners.show_banner(
                Banner(
                    _BANNER,
                    "info",
                    f"The {noun} for {names} ended with the last run.",
                    "There was no keychain to save to.",
                    actions=(BannerAction(_ENTER, "Enter key"),),
                )
            )
        self._announced = missing
