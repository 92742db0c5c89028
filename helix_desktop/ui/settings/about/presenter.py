"""Fills the About page, and looks for a newer release when the user asks: never by itself."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.build_info import update_status
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.design.viewer.texts_dialog import TextsDialog
from helix_desktop.ui.settings.about.diagnostics_dialog import DiagnosticsPresenter
from helix_desktop.ui.settings.about.page import AboutPage
from helix_desktop.ui.settings.forms import AboutInfo
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("About")
text = TextContext("About")


class AboutPresenter:
    """Binds the page to what runs here."""

    def __init__(
        self,
        page: AboutPage,
        async_actions: AsyncActions,
        services: AppServices,
        theme: Callable[[], Theme],
    ) -> None:
        """`theme` is the one in use, for dialogs."""
        self._theme = theme
        self._page, self._services = page, services
        self._scope = async_actions.scope
        self._is_checking = False
        page.diagnostics_requested.connect(
            lambda: async_actions.start(self._save_diagnostics(), "diagnostics")
        )
        page.licenses_requested.connect(lambda: async_actions.start(self._show_licenses(), "licenses"))
        page.update_check_requested.connect(
            lambda: async_actions.start(self._check_updates(), "newest release")
        )
        page.release_page_requested.connect(_open_release_page)

    async def show(self) -> None:
        """Fill the page."""
        origin = self._services.build_info
        display = (text("Display"), QGuiApplication.platformName())
        facts = (("Qt", qVersion()), *await origin.environment(), display)
        self._page.show_about(
            AboutInfo(
                origin.build.text,
                facts,
                bool(origin.build.releases),
                translate(origin.problem),
            )
        )

    async def _show_licenses(self) -> None:
        """Show the terms of what is shipped. Raises HelixError where they can't be read."""
        own, *others = await self._services.build_info.licenses()
        others.sort(key=lambda component: current_language().sort_key(component.name))
        texts = {
            f"{f'{component.name} {component.version}'.strip()} · {component.license_name}": component.text
            for component in (own, *others)
        }
        dialog = TextsDialog(self._page.window(), tr("Open-source licenses"), (), texts)
        dialog.setObjectName("licenses_dialog")
        retint(dialog, self._theme())
        await dialogs.exec_async(dialog)

    async def _save_diagnostics(self) -> None:
        self._page.show_diagnostics_status("")
        presenter = DiagnosticsPresenter(self._page.window(), self._services, self._scope)
        path = await presenter.run(self._theme())
        if path is not None:
            self._page.show_diagnostics_status(tr("Saved as {file}.", file=str(path)))

    async def _check_updates(self) -> None:
        if self._is_checking:
            return
        self._is_checking = True
        self._page.show_release(tr("Checking…"))
        try:
            newest = await self._services.build_info.check_for_updates()
            status, newer = update_status(newest, self._services.build_info.build.version)
            self._page.show_release(status, newest.page if newer else "")
        except HelixError as error:
            self._page.show_release(join_sentences(tr("Couldn't check for updates."), error_text(error)))
        finally:
            self._is_checking = False


def _open_release_page(url: str) -> None:
    """Open a release's page in the browser, as the user has seen and clicked it."""
    if url.startswith("https://"):
        QDesktopServices.openUrl(QUrl(url))
