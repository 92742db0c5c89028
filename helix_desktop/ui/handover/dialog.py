"""The dialog to compact a conversation: choose, watch the handover being written, edit it, compact."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from helix_desktop.agent.window.handover_writer import CountedPart, HandoverDraft
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import (
    UNSUPPORTED,
    CutPoint,
    HandoverPartKind,
    covered_counts,
    handover_counts,
)
from helix_desktop.context.summaries.handover_revision import ComparedSection, with_preference
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox, TextField
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, card, clear_layout, column, pane, row
from helix_desktop.ui.design.layout.fitted_stack import FittedStack
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed, restyle, retint
from helix_desktop.ui.handover.compare_dialog import ComparedView, compared_counts
from helix_desktop.ui.kit.forms import FieldRow, align_labels
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.ui.kit.notices import error_level
from helix_desktop.ui.timeline.card_data import Phase
from helix_desktop.ui.timeline.running_view import PhaseSteps
from helix_desktop.words.errors import error_text
from helix_desktop.words.models import recorded_writer, writer_name
from helix_desktop.words.numbers import (
    format_token_change,
    format_token_count,
    format_tokens,
    format_whole_percent,
)
from helix_desktop.words.summary_coverage import missing_rules
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compact")

WHOLE_CONVERSATION = -1
"""Stands for the range of every message, whose handover another session begins with."""
_LITTLE = 0.10  # of the context that a handover frees: below, the user is warned
_MAX_TEXT_CHARS = 28  # characters of the last message that a range covers


class HandoverRange(msgspec.Struct, frozen=True):
    """How far a handover could reach: the last event it covers, and that as text that ends with `counts`."""

    upto: int
    text: str
    counts: str = ""


class SentDraft(msgspec.Struct, frozen=True):
    """What the model gets of a draft: the whole text, and the tokens of its parts in words."""

    text: str = ""
    sizes: str = ""


class DraftRow(msgspec.Struct, frozen=True):
    """A draft: its sections as Markdown, and what comes with them; tokens are of the window.

    `messages` says how many messages and tool calls it covers, `missing` which of the user's instructions and
    decisions it does not say, in any words; `doubt` why it may say too little. One that `is_whole` is for a
    new session: `tokens_after` are its own. `warning` says that it frees little, or nothing; `sweep_note` how
    much of what it frees is cached along with it.
    """

    text: str
    tokens_before: int
    tokens_after: int
    messages: str
    sent: SentDraft
    model: str
    fallback: str
    duration_ms: int
    missing: tuple[Bullet, ...] = ()
    is_whole: bool = False
    doubt: str = ""
    warning: str = ""
    sweep_note: str = ""


class CompactPurpose(msgspec.Struct, frozen=True):
    """What the dialog is for: its title, what becomes of the handover, a hint, and the last button."""

    title: str
    lead: str
    hint: str
    commit: str


def compact_purpose(is_whole: bool, former_title: str) -> CompactPurpose:
    """Return the words: for a new session, in place of the one titled `former_title`, or another one."""
    if is_whole:
        return CompactPurpose(
            tr("Write handover"),
            tr("A new session starts with this handover and can recall everything it covers."),
            tr("Write a draft, then read and edit it. This session stays as it is."),
            tr("Start new session"),
        )
    if former_title:
        return CompactPurpose(
            tr("Run handover again"),
            tr(
                "“{title}” is written again from the original messages. The current text stays in the log, "
                "and undo restores it.",
                title=former_title,
            ),
            tr("Compare the draft with the current handover before you replace it."),
            tr("Replace handover"),
        )
    return CompactPurpose(
        tr("Compact conversation"),
        tr(
            "A handover replaces older messages. You can undo this at any "
            "time, and the agent can recall everything it covers."
        ),
        tr("Write a draft, then read and edit it. Nothing changes until you compact."),
        tr("Compact"),
    )


def whole_range(counts: MessageCounts) -> HandoverRange:
    """Return the range of every message, for a new session."""
    return _named_range(WHOLE_CONVERSATION, tr("Whole conversation, for a new session"), counts.text)


def handover_ranges(
    cuts: Sequence[CutPoint], transcript: Transcript, *, is_same_first: bool = False
) -> Iterator[HandoverRange]:
    """Return the ranges that a user can choose from: the proposed one, or that of the active handover, first.

    A new handover replaces the active one, too, which is counted with the messages it stands for. When that
    one is run again, its messages are in the context no more, and have no figure.
    """
    active_tokens = transcript.window.handover[1].tokens if transcript.window.handover else 0
    furthest = max((cut.upto for cut in cuts), default=0)
    if is_same_first:
        first = tr("The same messages")
    else:
        first = tr("As far as possible") if cuts and cuts[0].upto == furthest else tr("Older messages")
    for place, cut in enumerate(cuts):
        name = first if place == 0 else _end_text(cut.upto, transcript)
        counts = covered_counts(transcript, cut.upto, cut.kept_seq)
        count = format_tokens(cut.tokens + active_tokens)
        tokens = "" if is_same_first else tr("{tokens} tokens in context", tokens=count)
        yield _named_range(cut.upto, name, counts.text, tokens)


def _named_range(upto: int, name: str, messages: str, tokens: str = "") -> HandoverRange:
    counts = "".join(f" · {part}" for part in (translate(messages), tokens) if part)
    return HandoverRange(upto, f"{name}{counts}", counts)


def nearest_range(cuts: Sequence[CutPoint], upto: int) -> int:
    """Return the place of the range that ends at an event: as near before it as can be, else the shortest."""
    before = [cut.upto for cut in cuts if cut.upto <= upto]
    end = max(before, default=min((cut.upto for cut in cuts), default=0))
    return next((place for place, cut in enumerate(cuts) if cut.upto == end), 0)


def _end_text(upto: int, transcript: Transcript) -> str:
    last = _last_text(upto, transcript)
    if not last:
        return tr("Up to e{number}", number=str(upto))
    return tr("Up to “{excerpt}” (e{number})", excerpt=last, number=str(upto))


def draft_row(
    draft: HandoverDraft,
    parts: Sequence[CountedPart],
    transcript: Transcript,
    is_whole: bool = False,
) -> DraftRow:
    event = draft.event
    return DraftRow(
        draft.text,
        event.before,
        event.tokens if is_whole else event.after,
        translate(handover_counts(transcript, event).text),
        sent_draft(parts),
        writer_name(recorded_writer(event.model), event.demo),
        event.fallback,
        event.duration_ms,
        missing_rules(event.coverage),
        is_whole,
        translate(draft.doubt),
        "" if is_whole else _gain_warning(event.before, event.after),
        sweep_note(draft.sweep_savings),
    )


def sent_draft(parts: Sequence[CountedPart]) -> SentDraft:
    names: dict[HandoverPartKind, str] = {
        "sections": tr("sections"),
        "ledger": tr("files, commands and errors"),
        "missing": tr("what they leave out"),
        "user": tr("your messages"),
        "agent": tr("the agent's own words"),
        "quotes": tr("messages of the earlier session"),
    }
    tokens = dict.fromkeys(names.values(), 0) | {tr("note and index"): 0}
    for part, count in parts:
        tokens[names.get(part.kind, tr("note and index"))] += count
    sizes = ", ".join(f"{name} {format_tokens(count)}" for name, count in tokens.items() if count)
    total = format_token_count(sum(tokens.values()))
    words = tr("The model gets {tokens}: {parts}", tokens=total, parts=sizes)
    return SentDraft("\n".join(part.text for part, _ in parts), words)


def sweep_note(tokens: int) -> str:
    """Return how much of what a handover frees is cached along with it; empty for nothing."""
    if not tokens:
        return ""
    return tr(
        "Of what this frees, {tokens} are old outputs and arguments, cached along with it.",
        tokens=format_token_count(tokens),
    )


def _gain_warning(before: int, after: int) -> str:
    """Return that a handover makes the context no smaller, or hardly; empty for one that is worth it."""
    freed = before - after
    if freed == 0:
        return tr("It frees nothing.")
    if freed < 0:
        return tr("It would make the context {tokens} larger.", tokens=format_token_count(-freed))
    if freed < before * _LITTLE:
        share = format_whole_percent(freed / before)
        return tr(
            "It frees only {tokens}, {share} of the context.", tokens=format_token_count(freed), share=share
        )
    return ""


def _last_text(seq: int, transcript: Transcript) -> str:
    item = transcript.messages.item(seq)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            last = text
        case ToolAnswered(name=name, target=target):
            last = f"{display_name(name)} {target}".rstrip()
        case _:
            last = ""
    return ellipsize(one_line(last), _MAX_TEXT_CHARS)


HandoverStep: TypeAlias = Literal["choose", "writing", "draft"]
_STEPS: tuple[HandoverStep, ...] = ("choose", "writing", "draft")

_SIZE, _SMALL, _MIN_SIZE = (780, 720), (780, 260), (520, 260)
_CHOICE_PX = 96  # pixels; the pages below may not squeeze it

_SENT = 2  # the page with all that the model gets
_EDITOR_PX = 150  # pixels: the least height of the text to edit
_FACTS_PX = 64  # pixels: the least height of what is said of it


class DraftPage(QWidget):
    """The text of a draft; where it would replace a handover, first what differs from that one."""

    compare_requested = Signal(str)  # the text as it is now
    range_requested = Signal()  # that the draft covers

    def __init__(self) -> None:
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
        self.setLayout(
            column(
                self._range_line, self._head, self._pages, sizes, _FactsArea(self._facts), gap=8, stretch=2
            )
        )

    def perform(self, intent: Intent) -> None:
        """Do nothing: what a chip shows would stand behind the draft."""

    @property
    def is_comparing(self) -> bool:
        return self._pages.currentIndex() == 1

    def show_draft(self, draft: DraftRow) -> None:
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
        return QSize(super().sizeHint().width(), self._facts_px)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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
    line = row(IconLabel("triangle-alert", px=17, color_token="warn"), text, gap=9, stretch=1)
    return pane(line)


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


_MIN_CHARS = 24  # of a range that are shown at least; the whole is its tooltip
_COUNTS_ROLE = Qt.ItemDataRole.UserRole + 1


class RangeBox(ComboBox):
    """Shows the counts of a range whole: where room ends, its name is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_MIN_CHARS)

    def show_ranges(self, ranges: Sequence[HandoverRange]) -> None:
        self.clear()
        for place, handover_range in enumerate(ranges):
            self.addItem(handover_range.text, handover_range.upto)
            self.setItemData(place, handover_range.counts, _COUNTS_ROLE)
        self.setEnabled(len(ranges) > 1)

    def showPopup(self) -> None:
        view = self.view()
        view.ensurePolished()  # its style has a frame
        around_px = view.verticalScrollBar().sizeHint().width() + 2 * view.frameWidth()
        view.setMinimumWidth(view.sizeHintForColumn(0) + around_px)
        super().showPopup()

    def fit(self, text: str, room: int) -> str:
        """Return a range as it fits: a part of its name, all of its counts."""
        counts = str(self.currentData(_COUNTS_ROLE) or "")
        if not counts:
            return super().fit(text, room)
        name_room = room - self.fontMetrics().horizontalAdvance(counts)
        return super().fit(text.removesuffix(counts), name_room) + counts


class HandoverDialog(Themed, SizedDialog):
    """Three stages in one window; what it asks for comes out as signals."""

    write_requested = Signal(str, int)  # focus, and the last event to cover (0: as far as possible)
    cancel_requested = Signal()  # of the writing
    commit_requested = Signal(str)  # the text of the sections
    redo_requested = Signal()  # of the undone summary of the range

    def __init__(self, parent: QWidget, former_title: str = "") -> None:
        """Start with the choice; `former_title` is that of the handover that is written again."""
        super().__init__(parent, _SMALL, _MIN_SIZE)
        self.setModal(True)
        self._title, self._lead = label("", "title"), label("", "muted", wrap=True)
        self._hint, self._gain = label("", "faint", wrap=True), label("", "note", wrap=True)
        self._gain.setObjectName("gain-warning")
        self._gain.hide()
        self._draft, self._former_title = "", former_title
        self._draft_range: HandoverRange | None = None  # that the draft covers
        self._is_committing = False
        self.range_box, self.focus_input = (
            RangeBox(),
            TextField(tr("What to keep, for example open questions (optional)")),
        )
        self.estimate_label = label("", "muted")
        self.estimate_label.setObjectName("handover-price")
        self.phase_steps, self.model_output = PhaseSteps(), QPlainTextEdit()
        self.model_output.setReadOnly(True)
        self._writing_since_s = 0.0
        self._seconds = QTimer(self, interval=1_000)
        self._seconds.timeout.connect(self._show_waiting)
        self.model_output.setAccessibleName(tr("Text from the model"))
        self.draft_page = DraftPage()
        self.editor = self.draft_page.editor
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        pages = []
        choice = column(self._hint, self._gain, gap=8)
        choice.addStretch(0)
        for body in (choice, column(self.phase_steps, self.model_output, gap=8)):
            body.setStretch(1, 1)
            page = pane(body)
            pages.append(page)
        self._pages = FittedStack(*pages, self.draft_page)
        self.draft_button = PushButton(tr("Write draft"), "primary", name="write_draft")
        self.redo_button = PushButton("", "primary", name="redo_handover")
        self.commit_button = PushButton(tr("Compact"), "primary", name="hand_over")
        self.cancel_button = PushButton(tr("Cancel"), name="cancel")
        self._lay_out()
        self._connect()
        self._show_purpose()
        self._show("choose")

    @property
    def step(self) -> HandoverStep:
        return _STEPS[self._pages.currentIndex()]

    @property
    def problem(self) -> str:
        return "" if self._problem.isHidden() else self._problem.text()

    @property
    def is_outdated(self) -> bool:
        """Return True if the draft covers another range than the chosen one."""
        drafted = self._draft_range
        return drafted is not None and drafted.upto != self._upto

    @property
    def _upto(self) -> int:
        return int(self.range_box.currentData() or 0)

    def show_ranges(self, ranges: Sequence[HandoverRange]) -> None:
        self.range_box.show_ranges(ranges)

    def _show_purpose(self) -> None:
        purpose = compact_purpose(self._upto == WHOLE_CONVERSATION, self._former_title)
        self.setWindowTitle(purpose.title)
        self._title.setText(purpose.title)
        self._lead.setText(purpose.lead)
        self._hint.setText(purpose.hint)
        self.commit_button.setText(purpose.commit)

    def show_estimate(self, text: str) -> None:
        self.estimate_label.setText(text)

    def show_gain_warning(self, *, is_shown: bool) -> None:
        words = tr(
            "This range may free little, or less than the handover takes. The draft shows its figures."
        )
        self._gain.setText(words if is_shown else "")
        self._gain.setVisible(is_shown)

    def show_undone_summary(self, time: str) -> None:
        """Offer the undone summary of the range that was made at this time; empty: there is none."""
        self.redo_button.setText(tr("Use the text of {time}: no request", time=time) if time else "")
        self._show_buttons()

    def show_writing(self, phase: Phase, text: str = "") -> None:
        if self.step != "writing":
            self.model_output.clear()
            self._writing_since_s = time.monotonic()
            self._show_waiting()
            self._seconds.start()
            self._show("writing")
        self.phase_steps.set_phase(phase)
        current_text = self.model_output.toPlainText()
        if text.startswith(current_text):
            bar = self.model_output.verticalScrollBar()
            at_end = bar.value() >= bar.maximum() - 4
            cursor = self.model_output.textCursor()
            cursor.movePosition(cursor.MoveOperation.End)
            cursor.insertText(text[len(current_text) :])
            if at_end:
                bar.setValue(bar.maximum())
        elif text:
            self.model_output.setPlainText(text)

    def _show_waiting(self) -> None:
        """Say in the empty page what happens, and for how long: a model may read for half a minute."""
        seconds = round(time.monotonic() - self._writing_since_s)
        self.model_output.setPlaceholderText(
            "\n".join(
                (
                    tr("The model reads the messages. Its text appears here as it is written."),
                    tr("Waiting for {seconds} s. Stop changes nothing.", seconds=seconds),
                )
            )
        )

    def show_draft(self, draft: DraftRow) -> None:
        self._draft = draft.text
        self._draft_range = HandoverRange(self._upto, self.range_box.currentText())
        self.draft_page.show_draft(draft)
        self._show("draft")
        retint(self, self._theme)
        self.draft_page.focus_text()

    def show_saved_draft(self, draft: DraftRow, upto: int, text: str, focus: str) -> None:
        """Show a draft that was saved when the user left it, with their own text."""
        self.range_box.setCurrentIndex(self.range_box.findData(upto))
        self.focus_input.setText(self.focus_input.text() or focus)
        self.show_draft(draft)
        self.editor.setPlainText(text)

    def show_committing(self, *, is_committing: bool) -> None:
        """Let nothing be pressed twice while the draft is put in place."""
        self._is_committing = is_committing
        self._show_buttons()

    def show_choice(self) -> None:
        """Go back to the draft, or to the choice where none was written."""
        self._show("draft" if self._draft else "choose")

    def show_error(self, error: HelixError) -> None:
        self.show_problem(error_text(error))
        restyle(self._problem, "role", "error" if error_level(error) == "error" else "note")

    def show_problem(self, message: str = "") -> None:
        restyle(self._problem, "role", "error")
        show_text(self._problem, message)

    def reject(self) -> None:
        """Stop the writing first; a draft is kept as it stands."""
        if self.step == "writing":
            self.cancel_requested.emit()
        else:
            super().reject()

    def _lay_out(self) -> None:
        choice = card(
            column(
                *align_labels(FieldRow(tr("Range"), self.range_box), FieldRow(tr("Focus"), self.focus_input)),
                margins=(16, 12, 16, 13),
                gap=9,
            )
        )
        choice.setMinimumHeight(_CHOICE_PX)
        buttons = FlowBox(
            [
                *(self.estimate_label, self.cancel_button),
                *(self.draft_button, self.redo_button, self.commit_button),
            ],
            right_from=1,
        )
        words = column(self._title, self._lead, gap=5)
        self.setLayout(
            column(
                words, choice, self._pages, self._problem, buttons, margins=DIALOG_MARGINS, gap=12, stretch=2
            )
        )

    def _connect(self) -> None:
        self.draft_button.clicked.connect(
            lambda: self.write_requested.emit(self.focus_input.text().strip(), self._upto)
        )
        self.range_box.currentTextChanged.connect(self.range_box.setToolTip)
        self.range_box.currentIndexChanged.connect(lambda _: self._on_range_changed())
        self.draft_page.range_requested.connect(self._choose_range_of_draft)
        self.focus_input.returnPressed.connect(self.draft_button.click)
        self.redo_button.clicked.connect(self.redo_requested)
        self.commit_button.clicked.connect(lambda: self.commit_requested.emit(self.editor.toPlainText()))
        self.cancel_button.clicked.connect(self.reject)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self._press_primary)
        self.editor.textChanged.connect(self._edited)

    def _on_range_changed(self) -> None:
        self._show_purpose()
        self._show_buttons()

    def _choose_range_of_draft(self) -> None:
        if self._draft_range is not None:
            self.range_box.setCurrentIndex(self.range_box.findData(self._draft_range.upto))
            self.draft_page.focus_text()

    def _press_primary(self) -> None:
        """Press the highlighted button of the step; there is none while a draft is written."""
        buttons = (self.commit_button, self.redo_button, self.draft_button)
        primary = next((button for button in buttons if button.isVisible() and button.isEnabled()), None)
        if primary is not None and not self._is_committing:
            primary.click()

    def _edited(self) -> None:
        if self.problem:
            self.show_problem()

    def _show(self, step: HandoverStep) -> None:
        self._pages.setCurrentIndex(_STEPS.index(step))
        writing = step == "writing"
        if not writing:
            self._seconds.stop()
        self.range_box.setEnabled(not writing and self.range_box.count() > 1)
        self.focus_input.setEnabled(not writing)
        self._show_buttons()
        self.cancel_button.setText(tr("Stop") if writing else tr("Cancel"))
        self.fit_height((_SMALL if step == "choose" else _SIZE)[1])

    def _show_buttons(self) -> None:
        step, is_outdated = self.step, self.is_outdated
        has_summary = step == "choose" and bool(self.redo_button.text())
        has_commit = step == "draft" and not is_outdated
        self.draft_button.setVisible(step != "writing")
        self.draft_button.setEnabled(not self._is_committing)
        self.draft_button.setText(tr("Write again") if step == "draft" else tr("Write draft"))
        restyle(self.draft_button, "kind", "" if has_commit or has_summary else "primary")
        self.redo_button.setVisible(has_summary)
        self.commit_button.setVisible(step == "draft")
        self.commit_button.setEnabled(not (is_outdated or self._is_committing))
        restyle(self.commit_button, "kind", "" if is_outdated else "primary")
        self.commit_button.setToolTip(_other_range_text() if is_outdated else tr("Ctrl+Enter", "keys"))
        drafted = self._draft_range if is_outdated else None
        self.draft_page.show_other_range(drafted.text if drafted is not None else "")


def _other_range_text() -> str:
    return tr("The draft covers another range. Write it again, or go back to its range.")
