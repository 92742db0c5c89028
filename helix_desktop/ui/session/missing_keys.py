"""Says that a key which was entered for one run only is gone, at the start and above the message field."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.config.settings import key_variable
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_NOTICE = "missing-key"


class MissingKeys(QObject):
    """Offers to enter the keys that ended with an earlier run."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        enter_key: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`enter_key` opens the settings at the key of a provider."""
        super().__init__(window)
        self._session, self._services, self._enter_key = session, session.app, enter_key
        self._strip = window.pages.chat.key_strip
        self._announced: tuple[str, ...] | None = None
        self._provider = ""
        self._strip.action_requested.connect(lambda: self._enter(self._provider))
        for changed in (session.changed, session.model_changed):
            changed.connect(lambda: self._session.start(self._refresh(), "missing keys"))
        session.on(AssistantSpoke, self._on_answer)

    def _on_answer(self, spoke: AssistantSpoke) -> None:
        """Know from an answer that came without the key that none is needed."""
        provider = spoke.model.partition("/")[0]
        if provider in (self._announced or ()):
            self._session.start(self._forget(provider), "forget a missing key")

    async def _forget(self, provider: str) -> None:
        if provider in await self._services.missing_keys():
            await self._services.save_key(provider, "")
        await self._refresh()

    def _enter(self, provider: str) -> None:
        self._session.start(self._enter_key(provider), "enter a key")

    def _enter_first(self) -> None:
        if self._announced:
            self._enter(self._announced[0])

    async def _refresh(self) -> None:
        missing = await self._services.missing_keys()
        self._announce(missing)
        label = ""
        if self._session.has_conversation:
            change = self._session.conversation.model_choice.pending
            label = change.label if change else self._session.conversation.model.label
        self._provider = label.partition("/")[0]
        if self._provider in missing:
            variable = key_variable(self._provider)
            self._strip.show_text(
                tr("API key for {provider} is missing", provider=self._provider),
                tr(
                    "It was kept only until Helix closed. Enter it again, or set {variable} before you "
                    "start Helix.",
                    variable=variable,
                ),
            )
        self._strip.setVisible(self._provider in missing)

    def _announce(self, missing: tuple[str, ...]) -> None:
        """Say it once at the start; the notice goes when the keys are there."""
        if self._announced is not None and not missing:
            self._session.notices.end(_NOTICE)
        if self._announced is None and missing:
            self._session.notify(
                Notice(
                    _NOTICE,
                    tr.plural(
                        len(missing),
                        "The API key for {providers} is missing.",
                        "%n API keys are missing: {providers}.",
                        providers=missing,
                    ),
                    tr("API keys that aren't in a keychain last only until Helix closes."),
                    answers=(Answer(tr("Enter API key…"), self._enter_first, "enter"),),
                )
            )
        self._announced = missing
