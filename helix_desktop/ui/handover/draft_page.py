"""A draft in the dialog that compacts: its text, what it takes and names, what it would replace."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.context.summaries.handover_revision import ComparedSection, with_preference
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.handover.compare_data import compared_counts
from helix_desktop.ui.handover.compared_view import ComparedView
from helix_desktop.ui.handover.dialog_data import DraftRow
from helix_desktop.words.numbers import format_token_change, format_token_count
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compact")

_SENT = 2  # the page with all that the model gets
_EDITOR_PX = 150  # pixels: the least height of the text to edit
_FACTS_PX = 64  # pixels: the least height of what is said of it


class DraftPage(QWidget):
    """The text of a draft; where it would replace a handover, first what differs from that one."""

    compare_requested = Signal(str)  # the text as it is now
    range_requested = Signal()  # that the draft covers

    def __init__(self) -> None:
        """Start without a draft."""
        super().__init__()
        self.editor = QPlainTextEdit()
        self.editor.setAccessibleName(tr("Handover, as Markdown"))
        self.editor.setTabChangesFocus(True)
        self.editor.setMinimumHeight(scaled(_EDITOR_PX))
        self.compared, self._pages, self._facts = ComparedView(), QStackedWidget(), column(gap=8)
        self.sent_view = QPlainTextEdit()
        self.sent_view.setReadOnly(True)
        self.sent_view.setTabChangesFocus(True)
        self.sent_view.setAccessibleName(tr("What the model gets"))
        self._sizes = label("", "muted", wrap=True)
        self._sizes.setObjectName("draft-sizes")
        self._draft_sizes = ""
        self._draft: DraftRow | None = None
        self.sent_button = PushButton("", "link", name="draft-sent")
        self.sent_button.clicked.connect(self._switch_sent)
        self.counts = label("", "muted", wrap=True)
        self.counts.setObjectName("draft-counts")
        self.switch_button = PushButton("", "link", name="draft-switch")
        self.switch_button.clicked.connect(self._switch)
        self._head = ResponsiveRow(self.counts, [self.switch_button])
        self._head.hide()
        self._range_note = label("", wrap=True)
        self._range_note.setObjectName("draft-range")
        self.range_button = PushButton(tr("Back to its range"), "link", name="draft-range-back")
        self.range_button.clicked.connect(self.range_requested)
        self._range_line = ResponsiveRow(_with_warning_icon(self._range_note), [self.range_button])
        self._range_line.hide()
        self.editor.textChanged.connect(self._note_edit)
        for page in (self.editor, self.compared, self.sent_view):
            self._pages.addWidget(page)
        sizes = ResponsiveRow(self._sizes, [self.sent_button])
        body = column(self._range_line, self._head, self._pages, sizes, _FactsArea(self._facts), gap=8)
        body.setStretch(2, 1)
        self.setLayout(body)

    @property
    def is_comparing(self) -> bool:
        """Return True while it shows what differs from the former handover."""
        return self._pages.currentIndex() == 1

    def show_draft(self, draft: DraftRow) -> None:
        """Let the user read and change a draft."""
        self.editor.setPlainText(draft.text)
        clear_layout(self._facts)
        if draft.warning:
            self._facts.addWidget(_warning_line(draft.warning, "draft-gain"))
        if draft.doubt:
            self._facts.addWidget(_warning_line(_doubt_text(draft.doubt), "draft-doubt"))
        self._facts.addWidget(label(_legend(), "faint", wrap=True))
        self._facts.addWidget(_pills(draft))
        if draft.sweep_note:
            self._facts.addWidget(label(draft.sweep_note, "muted", wrap=True))
        if draft.fallback:
            self._facts.addWidget(label(translate(draft.fallback), "muted", wrap=True))
        for rule in draft.missing:
            self._facts.addWidget(self._missing_line(rule))
        self._draft_sizes = draft.sent.sizes
        self._sizes.setText(self._draft_sizes)
        self._draft = draft
        self._show(comparing=False)

    def _missing_line(self, rule: Bullet) -> QWidget:
        """Quote an instruction or decision that the draft does not say, with a button that puts it there."""
        quote = label(tr("Not in the text: “{rule}”", rule=escape_invisible(rule.text)), wrap=True)
        add = PushButton(tr("Add"), name=f"add-rule:{rule.sources[0]}")
        line = ResponsiveRow(_with_warning_icon(quote), [add])

        def put_in() -> None:
            self.editor.setPlainText(with_preference(self.editor.toPlainText(), rule))
            self.editor.document().setModified(True)
            line.hide()

        add.clicked.connect(put_in)
        return line

    def show_comparison(self, sections: Sequence[ComparedSection]) -> None:
        """Show what differs from the handover that it would replace; the text if nothing does."""
        counts = compared_counts(sections)
        self.compared.show_sections(sections, can_put_back=False)
        self.counts.setText(counts or tr("No differences"))
        self._head.show()
        self._show(comparing=bool(counts))
        self.switch_button.setVisible(bool(counts))

    def show_other_range(self, drafted: str) -> None:
        """Say that another range is chosen than the one that the draft covers, `drafted`; empty: it isn't."""
        self._range_note.setText(
            tr("This draft and its figures are for another range: {range}.", range=drafted) if drafted else ""
        )
        self._range_line.setVisible(bool(drafted))

    def focus_text(self) -> None:
        """Give the keyboard to what is shown."""
        (self.compared if self.is_comparing else self.editor).setFocus(Qt.FocusReason.OtherFocusReason)

    def _note_edit(self) -> None:
        """Offer the comparison again: what it said is of the text before."""
        if self.editor.document().isModified():
            self.counts.setText(tr("Edited"))
            self._sizes.setText(f"{self._draft_sizes} · {tr('before your edits')}")
            self.switch_button.show()

    def _switch(self) -> None:
        if self.is_comparing:
            self._show(comparing=False)
            self.focus_text()
        else:
            self.compare_requested.emit(self.editor.toPlainText())

    def _switch_sent(self) -> None:
        if self._draft is not None:
            draft, text = self._draft, self.editor.toPlainText()
            self.sent_view.setPlainText(draft.sent.text.replace(draft.text, text, 1))
        self._show(comparing=False, all_sent=self._pages.currentIndex() != _SENT)
        page = self.sent_view if self._pages.currentIndex() == _SENT else self.editor
        page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show(self, *, comparing: bool, all_sent: bool = False) -> None:
        self._pages.setCurrentIndex(_SENT if all_sent else int(comparing))
        self.sent_button.setText(tr("Edit text") if all_sent else tr("Show all of it"))
        self.switch_button.setText(tr("Edit text") if comparing else tr("Show differences"))


class _FactsArea(ListScrollArea):
    """Is as tall as what is said of a draft, and scrolls it where the screen has no room for that."""

    def __init__(self, facts: QVBoxLayout) -> None:
        page = QWidget()
        page.setObjectName("page")
        page.setLayout(facts)
        super().__init__(page, tr("About the draft"))
        self._facts, self._facts_px = facts, 0
        self.setViewportMargins(0, 0, 0, 0)  # in line with what is above and below
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumHeight(scaled(_FACTS_PX))

    def sizeHint(self) -> QSize:
        """Return a size of which the height is that of its texts at its width."""
        return QSize(super().sizeHint().width(), self._facts_px)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the width."""
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the texts."""
        result = super().eventFilter(watched, event)
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self._fit()
        return result

    def _fit(self) -> None:
        height = self._facts.totalHeightForWidth(self.viewport().width())
        if height != self._facts_px:
            self._facts_px = height
            self.setMaximumHeight(max(height, self.minimumHeight()))
            self.updateGeometry()


def _legend() -> str:
    """Return what the marks behind the sentences of a draft mean."""
    return tr(
        "[e12] names the event that a sentence comes from; {mark} marks a sentence that names none.",
        mark=UNSUPPORTED,
    )


def _doubt_text(why: str) -> str:
    return translate(
        join_sentences(
            tr("This draft may say too little."),
            why,
            tr("Edit it, write it again, or use it as it is: everything it covers can be recalled."),
        )
    )


def _warning_line(sentence: str, name: str) -> QWidget:
    text = label(sentence, wrap=True)
    text.setObjectName(name)
    return _with_warning_icon(text)


def _with_warning_icon(text: QLabel) -> QWidget:
    line = row(IconLabel("triangle-alert", px=17, color_token="warn"), text, gap=9)
    line.setStretch(1, 1)
    widget = QWidget()
    widget.setLayout(line)
    return widget


def _pills(draft: DraftRow) -> QWidget:
    change = (
        format_token_count(draft.tokens_after)
        if draft.is_whole
        else format_token_change(draft.tokens_before, draft.tokens_after)
    )
    pills: list[QWidget] = [
        Pill(change, "accent", "gauge"),
        Pill(draft.messages, icon_name="message-square"),
        Pill(draft.model, "warn" if draft.fallback else "neutral", "bot"),
        Pill(format_exact_duration(draft.duration_ms), icon_name="clock"),
    ]
    return FlowBox(pills)
