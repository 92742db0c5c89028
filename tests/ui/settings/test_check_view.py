"""The notices of the provider page."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.disclosure import Disclosure
from helix_desktop.ui.settings.forms import CheckNotice
from helix_desktop.ui.settings.providers.check_view import ProviderCheckView


def test_what_a_server_said_is_shown_on_request(qtbot: QtBot) -> None:
    view = ProviderCheckView()
    qtbot.addWidget(view)
    said = "Incorrect API key provided"
    view.show_notices(
        [CheckNotice("Saved", "ok", "my-box"), CheckNotice("my-box rejected the key.", "failed", "", said)]
    )
    view.show()
    (text,) = (text for text in view.findChildren(SelectableText) if text.text() == said)
    assert not text.isVisible()
    (details,) = (fold for fold in view.findChildren(Disclosure) if fold.isVisible())
    details.head.click()
    assert text.isVisible()
