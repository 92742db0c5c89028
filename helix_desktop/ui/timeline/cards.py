"""The small cards of the timeline: what was cached, pins, failures, undo marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.events.rewrite import ATTACHED_SWEEP_REASONS, Form, PlacementReason, SweepReason
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import IconLabel, SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column, pane, row
from helix_desktop.ui.design.layout.disclosure import refused_disclosure
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.menus import popup_below
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.intents import (
    ChooseForm,
    OpenCacheEntry,
    OpenSession,
    Pin,
    Redo,
    RetrySummary,
    ShowEvent,
    Undo,
    Unpin,
    perform,
)
from helix_desktop.ui.timeline.card_data import (
    FailureCard,
    FoldCard,
    FormCard,
    HandoverCard,
    ManualActionCard,
    ObservationsCard,
    PlacedCard,
    SweepCard,
    UndoCard,
    card_title,
    chooser_text,
    send_form_text,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.models import recorded_writer, writer_name
from helix_desktop.words.numbers import format_token_change, format_token_count
from helix_desktop.words.rewrite_explanations import STATE_WORDS
from helix_desktop.words.rewrite_reasons import placement_text, sweep_reason_text
from helix_desktop.words.rewrites import context_change_text
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_MAX_CONTENTS = 24
_NAME_CHARS = 60
_MIN_WORDS_PX = 224  # an icon and words that do not go for what stands beside them
_WORDS_PAD_PX = 4  # above and below words that take two lines beside a button


def undo_button(seq: int, undone: bool, inside: str = "", carries: str = "") -> PushButton:
    """Undo, or Redo when it is undone already; hidden `inside` a later rewrite, which is undone first.

    `carries` is what falls and returns with it.
    """
    button = PushButton(
        tr("Redo") if undone else tr("Undo"),
        "link",
        "redo-2" if undone else "undo-2",
        px=14,
        name="redo" if undone else "undo",
    )
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    intent = Redo((seq,)) if undone else Undo((seq,))
    button.clicked.connect(lambda: perform(button, intent))
    if carries:
        also = (
            tr("Redo also repeats: {changes}", changes=carries)
            if undone
            else tr("Undo also takes back: {changes}", changes=carries)
        )
        button.setToolTip(plain_tooltip(also))
    if inside and not undone:
        button.hide()
    return button


def _show_button(seq: int, title: str) -> PushButton:
    button = PushButton(tr("Show", "button: show this in the chat"), "link", name="show")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(tr("Show in chat: {title}", title=title))
    button.clicked.connect(lambda: perform(button, ShowEvent(seq)))
    return button


def _pin_button(card: ManualActionCard) -> PushButton:
    intent = Pin(card.target) if card.reversal == "pin" else Unpin(card.target)
    button = PushButton(tr("Undo"), "link", "undo-2", px=14, name=card.reversal)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.clicked.connect(lambda: perform(button, intent))
    return button


class TimeLabel(TextLine):
    """When a card's event was, as seen from a moment; as wide as the widest of its texts so far.

    A minute later its card keeps its layout: those of 300 cards take a third of a second.
    """

    def __init__(self, at_ms: int, now_ms: int) -> None:
        self._widest = 0
        super().__init__(px=12, role="faint")
        self._at_ms = at_ms
        self.is_fixed_width = True
        self.align = Qt.AlignmentFlag.AlignRight
        self.update_time(now_ms)

    def sizeHint(self) -> QSize:
        """Return the size of the widest text so far."""
        size = super().sizeHint()
        self._widest = max(self._widest, size.width())
        return QSize(self._widest, size.height())

    def tint(self, theme: Theme) -> None:
        """Forget the width of another text size."""
        self._widest = 0
        super().tint(theme)

    def update_time(self, now_ms: int) -> None:
        self.set_text(format_relative_time(self._at_ms, now_ms, with_time=True))


def model_pill(card: HandoverCard | ObservationsCard) -> Pill:
    """Who wrote it, in how many calls; why it was not done as usual, and by which instructions, on top."""
    event, model = card.event, recorded_writer(card.event.model)
    parts = [writer_name(model, event.demo)]
    if event.calls > 1:
        parts.append(tr.plural(event.calls, "%n call", "%n calls"))
    is_written = bool(model or event.demo)
    pill = Pill(" · ".join(parts), "warn" if event.fallback else "neutral", "bot" if is_written else "list")
    version = tr("Prompt version: {version}", version=event.prompt) if event.prompt else ""
    pill.setToolTip("\n".join(filter(None, (translate(event.fallback), version))))
    return pill


def cost_pills(card: HandoverCard | ObservationsCard) -> list[Pill]:
    """Return what all its model calls took, in tokens and money; none where no model was asked."""
    event = card.event
    text = cost_text(event.spent, event.cost, event.demo, event.estimated, event.unpriced)
    if not text:
        return []
    pill = Pill(tr("Used {amount}", amount=text))
    pill.setToolTip(tr("Tokens read and written by the model calls, and their cost"))
    return [pill]


def index_pills(card: HandoverCard | ObservationsCard | FoldCard) -> list[Pill]:
    """Return the way to the index entry of what it covers, if it has one."""
    digest = card.event.index
    if not digest:
        return []
    words = tr.plural(card.event.index_entries, "List of %n cached output", "List of %n cached outputs")
    pill = Pill(words, icon_name="database", clickable=True)
    pill.setToolTip(f"{tr('Open in cache')}: {digest[:8]}")
    pill.clicked.connect(lambda: perform(pill, OpenCacheEntry(digest)))
    return [pill]


def session_pill(text: str, session_id: str) -> Pill:
    pill = Pill(text, icon_name="link", clickable=True)
    pill.setToolTip(tr("Open session"))
    pill.clicked.connect(lambda: perform(pill, OpenSession(session_id)))
    return pill


def inside_pill(name: str) -> Pill:
    """Says that a rewrite holds, but stands inside a later one."""
    pill = Pill(tr("Compacted later"))
    pill.setToolTip(tr("Restored when {title} is undone", title=name))
    return pill


def replaced_pill(name: str) -> Pill:
    pill = Pill(tr("Replaced by {title}", title=name))
    pill.setToolTip(tr("Restored when {title} is undone", title=name))
    return pill


def undone_pill(name: str = "") -> Pill:
    """Says that a rewrite was undone, together with which other one, if any."""
    return Pill(tr("Undone with {title}", title=name) if name else tr("Undone"), "warn")


def _state_pills(card: SweepCard | PlacedCard | FoldCard | ManualActionCard) -> list[Pill]:
    """Return what says that a rewrite was undone, or stands inside a later one."""
    if card.is_undone:
        return [undone_pill(card.undone_with if isinstance(card, SweepCard) else "")]
    return [inside_pill(card.inside)] if card.inside else []


def rewrite_row(
    icon: IconLabel,
    content: QWidget,
    card: SweepCard | PlacedCard | FoldCard,
    now_ms: int,
    corner: QWidget | None = None,
) -> ResponsiveRow:
    """Return what a rewrite did, when it was, and its undo, in one line where there is room."""
    carries = "" if isinstance(card, SweepCard) else card.carries
    undo = undo_button(card.seq, card.is_undone, card.inside, carries)
    end = (TimeLabel(card.at_ms, now_ms), undo)
    return icon_line(icon, content, (*_state_pills(card), *end), corner)


def icon_line(
    icon: IconLabel, content: QWidget, end: Sequence[QWidget], corner: QWidget | None = None
) -> ResponsiveRow:
    """Return an icon, words, and what stands at the end of their line, or below it where there is no room.

    `corner` stays at the end of the line.
    """
    content.setContentsMargins(0, _WORDS_PAD_PX, 0, _WORDS_PAD_PX)
    words = pane(row(icon, content, gap=9, stretch=1))
    return ResponsiveRow(words, end, _MIN_WORDS_PX, corner=corner)


def _headline(icon: str, text: str, undone: bool) -> tuple[IconLabel, SelectableText]:
    headline = SelectableText(text, 13, "faint" if undone else "text", weight=500)
    return IconLabel(icon, px=15, color_token="faint" if undone else "muted"), headline


class SweepView(Card):
    def __init__(self, card: SweepCard, now_ms: int) -> None:
        super().__init__((14, 5, 8, 5), 8)
        self._contents = card.contents
        self._pills: FlowBox | None = None
        is_counted = card.reason is SweepReason.HANDOVER  # in the handover's figures
        size = "" if is_counted else context_change_text(card.before, card.after)
        reason = "" if card.reason in ATTACHED_SWEEP_REASONS else sweep_reason_text(card.reason)
        title = " · ".join(filter(None, (card_title(card), size, reason)))
        self.setAccessibleName(title)
        self.setToolTip(translate(STATE_WORDS["cached"].tooltip))
        self.unfold_button = IconButton("chevron-right", tr("Show outputs"), px=15, edge=28)
        if not card.contents:
            self.unfold_button.hide()
        self.unfold_button.clicked.connect(self.unfold)
        headline = _headline("layers", title, card.is_undone)
        self.body.addWidget(rewrite_row(*headline, card, now_ms, self.unfold_button))

    def unfold(self) -> None:
        """Show what was cached, or hide it again."""
        visible = self._pills is None or self._pills.isHidden()
        if self._pills is None:
            pills: list[QWidget] = []
            for digest, name in self._contents[:_MAX_CONTENTS]:
                pill = Pill(ellipsize(name, _NAME_CHARS), icon_name="database", clickable=True)
                pill.setToolTip(f"{tr('Open in cache')}: {digest[:8]}")
                pill.clicked.connect(
                    lambda _=False, clicked_digest=digest: perform(self, OpenCacheEntry(clicked_digest))
                )
                pills.append(pill)
            if len(self._contents) > _MAX_CONTENTS:
                pills.append(Pill(tr.plural(len(self._contents) - _MAX_CONTENTS, "%n more", "%n more")))
            self._pills = FlowBox(pills)
            self.body.addWidget(self._pills)
            set_margins(self.body, 14, 5, 8, 10)
            retint(self._pills, self._theme)
        else:
            self._pills.setVisible(visible)
        self.unfold_button.set_icon("chevron-down" if visible else "chevron-right")
        self.unfold_button.set_tip(tr("Hide outputs") if visible else tr("Show outputs"))


class FormView(Card):
    def __init__(self, card: FormCard, now_ms: int) -> None:
        super().__init__((14, 5, 12, 5), 0)
        self._card = card
        tokens = (
            format_token_change(card.before, card.after)
            if card.before not in (0, card.after)
            else format_token_count(card.after)
        )
        title = " · ".join((card_title(card), tokens))
        icon = (
            IconLabel("circle-alert", px=15, color_token="warn")
            if card.has_failed
            else IconLabel("replace", px=15, color_token="muted")
        )
        show = _show_button(card.seq, card_title(card))
        self.form_button = PushButton(tr("Send more or less…"), "link", name="change-form")
        self.form_button.setAccessibleName(tr("Send more or less of {output}", output=card.output))
        self.form_button.clicked.connect(self._open_menu)
        self.form_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.form_button.setHidden(bool(card.inside))
        inside = [inside_pill(card.inside)] if card.inside else []
        end: list[QWidget] = [*inside, TimeLabel(card.at_ms, now_ms), show, self.form_button]
        if card.is_changed:
            end.insert(0, Pill(tr("Changed by you")))
        words = SelectableText(title, 13, "faint" if card.is_changed else "text", weight=500)
        self.body.addWidget(icon_line(icon, words, end))
        below = column(margins=(24, 0, 0, 0), gap=3)
        for text in filter(None, self._details()):
            below.addWidget(SelectableText(text, 12, "muted"))
        if below.count():
            set_margins(self.body, 14, 5, 12, 10)
        self.body.addLayout(below)
        self.setAccessibleName(" · ".join(filter(None, (title, *self._details()))))

    def _details(self) -> list[str]:
        card = self._card
        instructions = tr("Instructions: “{instructions}”", instructions=card.instructions)
        cost = tr("Used {amount}", amount=card.cost)
        safe = (
            tr("The full output is cached: let the agent recall it.")
            if card.inside
            else tr("The full output is cached: send more of it, or let the agent recall it.")
        )
        return [
            " · ".join(filter(None, (chooser_text(card), cost if card.cost else ""))),
            card.note,
            instructions if card.instructions else "",
            safe if card.has_failed else "",
        ]

    def form_menu(self) -> QMenu:
        menu, card = EntryMenu(self), self._card
        for form in get_args(Form):
            if form != card.form or card.is_changed or form == "compact":
                choice = ChooseForm(card.seq, form, card.instructions)
                menu.add(f"form:{form}", send_form_text(form), choice)
        return menu

    def _open_menu(self) -> None:
        popup_below(self.form_menu(), self.form_button)


class FailureView(Card):
    def __init__(self, card: FailureCard, now_ms: int) -> None:
        super().__init__((14, 10 - _WORDS_PAD_PX, 14, 10), 0)
        face, color = ("triangle-alert", "warn") if card.is_limit else ("circle-alert", "error")
        icon = IconLabel(face, px=15, color_token=color)
        words = SelectableText(card_title(card), 13, weight=500)
        end: list[QWidget] = [TimeLabel(card.at_ms, now_ms)]
        if card.is_turn:
            end.append(_show_button(card.seq, card_title(card)))
        self.body.addWidget(icon_line(icon, words, end))
        cost = cost_text(card.spent, card.cost, card.demo, card.is_estimated, card.unpriced)
        below = column(margins=(24, 0, 0, 0), gap=3)  # under the words of the first line
        for text in filter(None, (translate(card.why), card.safe)):
            below.addWidget(SelectableText(text, 12, "muted"))
        if card.fix:
            below.addWidget(SelectableText(translate(card.fix), 12, "text"))
        if cost:
            below.addWidget(TextLine(tr("Used {amount}", amount=cost), 12, role="muted"))
        if card.refused:
            below.addWidget(refused_disclosure(card.refused))
        if card.retry is not None:
            again = PushButton(tr("Retry"))
            again.setObjectName(f"timeline-try-again-{card.seq}")
            again.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            again.clicked.connect(lambda _=False, kind=card.retry: perform(self, RetrySummary(kind)))
            below.addSpacing(4)
            below.addWidget(again, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(below)
        texts = (card_title(card), translate(card.why), card.safe, translate(card.fix), cost)
        self.setAccessibleName(" · ".join(filter(None, texts)))


class PlacedView(Card):
    def __init__(self, card: PlacedCard, now_ms: int) -> None:
        super().__init__((14, 5, 12, 5), 8)
        size = context_change_text(card.before, card.after)
        why = placement_text(card.reason, card.threshold, card.averted_handover_at)
        if card.reason is PlacementReason.REWRITE and not card.averted_handover_at:
            why = ""  # the other change has a card of its own
        title = " · ".join(filter(None, (card_title(card), size, why)))
        self.setAccessibleName(title)
        self.setToolTip(translate(STATE_WORDS["observed"].tooltip))
        self.body.addWidget(rewrite_row(*_headline("eye", title, card.is_undone), card, now_ms))


_QUIET_MARGINS = (14, 0, 14, 0)  # of a line without a card around it
_UNDO_MARGINS = (14, 5, 14, 5)  # of one without a button, too: as high as the others
_GLYPHS = {
    "pin": "pin",
    "unpin": "pin-off",
    "form": "replace",
    "exclude": "eye-off",
    "policy": "filter",
    "hold": "pause",
    "resume": "play",
    "branch": "git-branch",
}


class ManualActionView(QWidget):
    """A pin, form, exclusion, policy, hold or branch in one quiet line, with what takes it back."""

    def __init__(self, card: ManualActionCard, now_ms: int) -> None:
        super().__init__()
        end: list[QWidget] = [*_state_pills(card), TimeLabel(card.at_ms, now_ms)]
        end.append(_show_button(card.target or card.seq, card.text))
        if card.kind in ("form", "exclude"):
            end.append(undo_button(card.seq, card.is_undone, card.inside))
        elif card.reversal:
            end.append(_pin_button(card))
        words = SelectableText(card_title(card), 12, "muted")
        line = icon_line(IconLabel(_GLYPHS[card.kind], px=13, color_token="faint"), words, end)
        self.setLayout(row(line, margins=_QUIET_MARGINS))
        self.setAccessibleName(card_title(card))


class UndoView(QWidget):
    def __init__(self, card: UndoCard, now_ms: int) -> None:
        super().__init__()
        icon = IconLabel("undo-2" if card.kind == "undo" else "redo-2", px=13, color_token="faint")
        words = TextLine(card_title(card), 12, role="muted")
        line = icon_line(icon, words, (TimeLabel(card.at_ms, now_ms),))
        self.setLayout(row(line, margins=_UNDO_MARGINS))
        self.setAccessibleName(card_title(card))
