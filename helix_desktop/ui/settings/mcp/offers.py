"""Servers that other programs have configured: one line on the page of MCP servers, open a list of them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from helix_desktop.services.foreign_servers import OfferedServer, RefusedServer, ServerOffers
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import ElidedLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, line, pane, row
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.settings.mcp.server_form import DisclosureButton
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")

_LINK_PX = 12  # a link's own margin, by which it is moved out


class ServerOffersBox(Themed, QFrame):
    def __init__(self, review: Callable[[OfferedServer], object]) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._review = review
        self._offers = ServerOffers()
        self._rows, body = QVBoxLayout(), QWidget()
        self._rows.setSpacing(10)
        lead = label(
            tr(
                "Found in this folder and in your settings of other programs. Nothing starts until you "
                "review and add it; values of variables and headers aren't copied."
            ),
            "note",
            wrap=True,
        )
        body.setLayout(column(lead, self._rows, gap=10, margins=(0, 0, 4, 4)))
        self.toggle = DisclosureButton("", body)
        self.setLayout(
            column(row(self.toggle, None, margins=(-_LINK_PX, 0, 0, 0)), body, margins=(16, 5, 12, 5))
        )
        self.hide()

    def show_offers(self, offers: ServerOffers) -> None:
        """Show what is offered, and what can't be used; nothing is rebuilt while it stays the same."""
        self.setVisible(bool(offers.offered or offers.refused))
        if offers == self._offers:
            return
        self._offers = offers
        count, refused = len(offers.offered), len(offers.refused)
        self.toggle.setText(
            tr.plural(count, "%n server from other programs", "%n servers from other programs")
            if count
            else tr.plural(
                refused,
                "Servers from other programs: %n problem",
                "Servers from other programs: %n problems",
            )
        )
        clear_layout(self._rows)
        for offer in offers.offered:
            self._rows.addWidget(self._offer_row(offer))
        if count and refused:
            self._rows.addWidget(line())
        for server in offers.refused:
            self._rows.addWidget(_refused_row(server))
        retint(self, self._theme)

    def _offer_row(self, offer: OfferedServer) -> QWidget:
        draft, name = offer.draft, offer.draft.config.name
        review = PushButton(tr("Review"), name=f"review:{name}", on_click=lambda: self._review(offer))
        review.setAccessibleName(tr("Review {name}", name=name))
        words = column(
            row(
                label(name, "strong"),
                ElidedLabel(f"{offer.program} · {offer.file}", "faint"),
                gap=9,
                stretch=1,
            ),
            ElidedLabel(draft.config.target_line, "mono"),
            gap=2,
        )
        asked = (*draft.config.secret_names, *(each.strip("${}") for each in draft.placeholders))
        if asked:
            words.addWidget(label(tr("Asks for {names}", names=asked), "note", wrap=True))
        return pane(row(pane(words), review, gap=12, stretch=0))


def _refused_row(server: RefusedServer) -> QWidget:
    place = " · ".join(filter(None, (server.name, server.file)))
    return pane(
        column(label(place, "note", wrap=True), label(translate(server.why), "warn", wrap=True), gap=2)
    )
