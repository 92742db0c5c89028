"""Fills the About page, and asks for a newer release when the person says so: never by itself."""

from __future__ import annotations

from PySide6.QtCore import QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.context.errors import HelixError
from helix_desktop.context.release import told
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.about_page import AboutPage
from helix_desktop.ui.settings.rows import AboutInfo, Terms

_ASKING = "Asking …"


class AboutPresenter:
    """Binds the page to what runs here."""

    def __init__(self, page: AboutPage, intents: Intents, desk: Desk) -> None:
        self._page, self._desk = page, desk
        self._asking = False
        page.newest_requested.connect(lambda: intents.start(self._ask(), "newest release"))
        page.page_requested.connect(_open)

    async def show(self) -> None:
        """Fill the page. Raises HelixError when the terms of what is shipped cannot be read."""
        origin = self._desk.origin
        facts = (("Qt", qVersion()), *await origin.facts(), ("display", QGuiApplication.platformName()))
        self._page.show_about(
            AboutInfo(
                origin.build.text,
                facts,
                str(self._desk.data_folder),
                bool(origin.build.releases),
                origin.trouble,
            )
        )
        if not self._page.terms.filled:
            parts = await origin.parts()
            self._page.terms.show_terms(
                [Terms(one.name, one.version, one.licence, one.text) for one in parts]
            )

    async def _ask(self) -> None:
        if self._asking:
            return
        self._asking = True
        self._page.show_release(_ASKING)
        try:
            newest = await self._desk.origin.newest()
            said, newer = told(newest, self._desk.origin.build.version)
            self._page.show_release(said, newest.page if newer else "")
        except HelixError as error:
            self._page.show_release(f"Could not ask: {str(error).rstrip('.')}.")
        finally:
            self._asking = False


def _open(address: str) -> None:
    """Open a release's page in the browser, as the person has seen and clicked it."""
    if address.startswith("https://"):
        QDesktopServices.openUrl(QUrl(address))
