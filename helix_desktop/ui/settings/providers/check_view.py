"""The five ticks of a test: what was found at each step, or what failed, why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.provider_check_result import (
    UNTESTED_STEPS,
    CheckStep,
    CheckStepName,
    CheckStepState,
)
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.labels import IconLabel, SelectableText, label, show_text
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.layout.disclosure import Disclosure, DisclosureHead
from helix_desktop.ui.design.themed import Themed, restyle
from helix_desktop.ui.settings.forms import CheckNotice
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

_STEP_NAMES: dict[CheckStepName, str] = {
    "reach": text("Connection"),
    "tls": text("TLS"),
    "auth": text("API key"),
    "streaming": text("Streaming"),
    "tools": text("Tools"),
}
_STATE_ICONS: dict[CheckStepState, tuple[str, str]] = {
    "waiting": ("circle", "faint"),
    "running": ("loader-circle", "muted"),
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
    "skipped": ("minus", "faint"),
}
_STATE_TEXTS: dict[CheckStepState, str] = {
    "waiting": text("not tested"),
    "running": text("running"),
    "ok": text("passed"),
    "failed": text("failed"),
    "skipped": text("skipped"),
}
_NAME_PX, _BOLD_PX = 78, 8  # the least width of the names, and what the bold one of a failed step adds
_MAX_HEIGHT_SHARE = 0.4  # of the window's height that results may take


class _StepRow(QWidget):
    """One step."""

    def __init__(self, step: CheckStep) -> None:
        super().__init__()
        self._icon = IconLabel("circle", px=15)
        self._name = label(translate(_STEP_NAMES[step.name]))
        names = (self._name.fontMetrics().horizontalAdvance(translate(name)) for name in _STEP_NAMES.values())
        self._name.setFixedWidth(max(_NAME_PX, *(width + _BOLD_PX for width in names)))
        self._details, self._fix = label("", "faint", wrap=True), label("", "note", wrap=True)
        self._server_text = SelectableText("", 12, "faint")
        self._server_text.setParent(self)
        self._server_text.hide()
        self._server_fold = _server_disclosure(self._server_text)
        words = column(self._details, self._fix, self._server_fold, gap=1)
        line = row(self._icon, self._name, words, gap=8)
        line.setStretch(2, 1)
        for part in (self._icon, self._name):
            line.setAlignment(part, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        self.show_step(step)

    def show_step(self, step: CheckStep) -> None:
        """Show how the step is."""
        self._icon.show_icon(*_STATE_ICONS[step.state])
        restyle(self._name, "role", "strong" if step.state == "failed" else "")
        restyle(self._details, "role", "error" if step.state == "failed" else "faint")
        details, fix = translate(join_sentences(step.detail, step.why)), translate(step.fix)
        self._details.setText(details)
        show_text(self._fix, fix)
        self._server_text.setText(translate(step.server_text))
        self._server_fold.setVisible(bool(step.server_text))
        state = tr("{step}: {state}.", step=_STEP_NAMES[step.name], state=_STATE_TEXTS[step.state])
        self.setAccessibleName(join_sentences(state, details, fix).removesuffix("."))


def _server_disclosure(words: SelectableText) -> Disclosure:
    return Disclosure(DisclosureHead(tr("Details"), "", "muted"), lambda: words)


class _ScrollContent(QWidget):
    """What scrolls when it is too high; says when its words need another height."""

    laid_out = Signal()

    def event(self, event: QEvent) -> bool:
        """Tell of a new layout."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.laid_out.emit()
        return done


class ProviderCheckView(Themed, QWidget):
    """The ticks of the test, or short notices, above the buttons; nothing until there is something."""

    def __init__(self) -> None:
        """Start hidden."""
        super().__init__()
        self._rows = {tick.name: _StepRow(tick) for tick in UNTESTED_STEPS}
        self._steps = QWidget()
        self._steps.setLayout(column(*self._rows.values(), gap=3))
        self._notices = QVBoxLayout()
        self._notices.setSpacing(4)
        self._close = IconButton("x", tr("Hide result"), px=13, edge=22)
        self._close.clicked.connect(self.clear)
        self._content = _ScrollContent()
        self._content.laid_out.connect(self._fit)
        self._content.setObjectName("page")
        self._content.setLayout(column(self._steps, self._notices, None, gap=0))
        self._scroll = QScrollArea()
        self._scroll.setWidget(self._content)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = row(self._scroll, self._close, margins=(28, 10, 16, 2), gap=6)
        layout.setAlignment(self._close, Qt.AlignmentFlag.AlignTop)
        self.setLayout(layout)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Be as high as the words need, up to a part of the window; what is more scrolls."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        width = max(1, self.width() - 28 - 16 - 6 - self._close.width() - 14)
        layout = self._steps.layout() if self._steps.isVisibleTo(self) else self._notices
        needed = layout.totalHeightForWidth(width) if layout is not None else 0
        self._scroll.setFixedHeight(min(max(24, needed), int(self.window().height() * _MAX_HEIGHT_SHARE)))

    def clear(self) -> None:
        """Show nothing."""
        clear_layout(self._notices)
        self._steps.hide()
        self.hide()

    def show_steps(self, steps: Sequence[CheckStep]) -> None:
        """Show how far a test is."""
        clear_layout(self._notices)
        for tick in steps:
            self._rows[tick.name].show_step(tick)
        self._steps.show()
        self.show()
        self._fit()

    def show_notices(self, notices: Sequence[CheckNotice]) -> None:
        """Show notices instead."""
        self.clear()
        for line in notices:
            face = IconLabel(*_STATE_ICONS[line.state][:1], px=15, color_token=_STATE_ICONS[line.state][1])
            face.tint(self._theme)
            sentence = " · ".join(filter(None, (line.name, line.detail)))
            notice = label(sentence, "error" if line.state == "failed" else "note", wrap=True)
            line_widget = QWidget()
            texts = column(notice, gap=1)
            if line.server_text:
                words = SelectableText(line.server_text, 12, "faint")
                words.setParent(line_widget)
                words.hide()
                texts.addWidget(_server_disclosure(words))
            parts = row(face, texts, gap=8)
            parts.setStretch(1, 1)
            parts.setAlignment(face, Qt.AlignmentFlag.AlignTop)
            line_widget.setLayout(parts)
            accessible = (
                tr("{name}: {detail}", name=line.name, detail=line.detail) if line.detail else line.name
            )
            failed = tr("Failed: {notice}", notice=accessible)
            line_widget.setAccessibleName(failed if line.state == "failed" else accessible)
            self._notices.addWidget(line_widget)
        self.setVisible(bool(notices))
        self._fit()
