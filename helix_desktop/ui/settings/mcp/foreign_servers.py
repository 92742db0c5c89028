"""Servers that other programs have configured: one line on the page of MCP servers, open a list of them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from helix_desktop.services.foreign_servers import ForeignServer, ForeignServers, UnusableServer
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import ElidedLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, line, pane, row
from helix_desktop.ui.settings.mcp.server_form import DisclosureButton
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: MCP")

_LINK_PX = 12  # a link's own margin, by which it is moved out


class ForeignServersBox(QFrame):
    def __init__(self, review: Callable[[ForeignServer], object]) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._review = review
        self._shown = ForeignServers()
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

    def show_servers(self, found: ForeignServers) -> None:
        """Show servers, and what can't be used; nothing is rebuilt while both stay the same."""
        self.setVisible(bool(found.servers or found.unusable))
        if found == self._shown:
            return
        self._shown = found
        count, problems = len(found.servers), len(found.unusable)
        self.toggle.setText(
            tr.plural(count, "%n server from other programs", "%n servers from other programs")
            if count
            else tr.plural(
                problems,
                "Servers from other programs: %n problem",
                "Servers from other programs: %n problems",
            )
        )
        clear_layout(self._rows)
        for server in found.servers:
            self._rows.addWidget(self._server_row(server))
        if count and problems:
            self._rows.addWidget(line())
        for problem in found.unusable:
            self._rows.addWidget(_problem_row(problem))

    def _server_row(self, server: ForeignServer) -> QWidget:
        draft, name = server.draft, server.draft.config.name
        review = PushButton(tr("Review"), name=f"review:{name}", on_click=lambda: self._review(server))
        review.setAccessibleName(tr("Review {name}", name=name))
        words = column(
            row(
                label(name, "strong"),
                ElidedLabel(f"{server.program} · {server.file}", "faint"),
                gap=9,
                stretch=1,
            ),
            ElidedLabel(draft.config.target_line, "mono"),
            gap=2,
        )
        inputs = (*draft.config.secret_names, *(each.strip("${}") for each in draft.placeholders))
        if inputs:
            words.addWidget(label(tr("Asks for {names}", names=inputs), "note", wrap=True))
        return pane(row(pane(words), review, gap=12, stretch=0))


def _problem_row(problem: UnusableServer) -> QWidget:
    place = " · ".join(filter(None, (problem.name, problem.file)))
    return pane(
        column(label(place, "note", wrap=True), label(translate(problem.why), "warn", wrap=True), gap=2)
    )
