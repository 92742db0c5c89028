"""The context panel: how full the window is, of what, and what exactly is sent next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import groupby

from PySide6.QtCore import QLineF, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QBrush,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAccessibleWidget,
    QBoxLayout,
    QFrame,
    QScrollArea,
    QStackedLayout,
    QToolTip,
    QWidget,
)

from helix_desktop.context.rewrites.anchors import SWEEP_TITLE
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.design.accessibility import LabelInterface
from helix_desktop.ui.design.buttons import IconButton, PushButton, ViewSwitch
from helix_desktop.ui.design.cards import Card, DisclosureHead, EmptyState, HelpLink
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.labels import SelectableText, TextLine, label, show_text
from helix_desktop.ui.design.layout import (
    FlowBox,
    LazyPage,
    ResponsiveRow,
    VerticalScrollArea,
    column,
    line,
    pane,
    row,
)
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.kit.boxes import Dot, Pen, Text
from helix_desktop.ui.kit.commands import ContextCommands, PageKeys
from helix_desktop.ui.kit.intents import FocusComposer, LookAtStep, ShowRequest, perform
from helix_desktop.ui.panel.panel_state import (
    SEGMENT_LOOKS,
    PanelState,
    RequestTexts,
    RowAction,
    Segment,
    WindowRow,
)
from helix_desktop.ui.panel.request_list import ActOnRow, RequestList, ShowRowText, action_text
from helix_desktop.ui.rows.list_view import SCROLL_BAR_PX
from helix_desktop.words.managed_window import explain_managed_window, managed_window_text
from helix_desktop.words.next_compaction import explain_rows
from helix_desktop.words.numbers import format_tokens, format_whole_percent, format_window
from helix_desktop.words.state_words import STATE_WORDS, gauge_source_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Panel")

_HEAD_MARGINS = (16, 14, 16, 6)
_DETAILS_MARGINS = (16, 8, 16, 8)
_MARGINS = (8, 6, SCROLL_BAR_PX, 16)
_BAR_MARGINS = (8, 6, 0, 16)
_INSIDE_MARGINS = (16, 0, SCROLL_BAR_PX + 8, 12)  # numbers below each other
_SIDES = (8, 0, 8, 0)  # margins of what has no ground that reaches out, as rows have


def _window_text(gauge: UsageGauge) -> str:
    """Return what stands behind the used tokens: the window they are of."""
    if not gauge.is_managed_in_part:
        return tr("of {size} tokens", size=format_window(gauge.window))
    return tr("tokens · {window}", window=managed_window_text(gauge.window, gauge.model_window))


_BAR = 8.0  # height of the bar in pixels
_OVER = 4.0  # pixels that ticks stand out of it
_LABEL_PX = 13  # height of the tick's label below it
_SEGMENT_GAP = 1.5  # between two segments
_NEAR_TICK = 4.0  # pixels on each side of a tick in which the mouse asks for it


class ContextBar(Themed, QWidget):
    """What fills the window, at the right what is kept for the answer; a tick where it is compacted.

    What does not fit is drawn to the same scale, behind a mark at the window's edge.
    """

    accessible_role = QAccessible.Role.Chart

    def __init__(self) -> None:
        super().__init__()
        self._segments: tuple[Segment, ...] = ()
        self._window = 1
        self._used = 0
        self._scale = 1.0
        self._threshold = 0.0
        self._is_full = True  # what does not fit the managed window does not fit the model either
        self.setMouseTracking(True)
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(int(_BAR + 2 * _OVER) + scaled(_LABEL_PX))

    def show_window(self, segments: Sequence[Segment], gauge: UsageGauge, threshold: float) -> None:
        """Show other segments of the managed window, of which the provider counts `gauge.used`.

        `threshold` is the share at which it is compacted, 0 where it never is.
        """
        self._segments = tuple(segment for segment in segments if segment.tokens > 0)
        self._window = max(1, gauge.window)
        self._threshold = threshold
        self._is_full = not gauge.exceeds_managed
        filling = [part for part in self._segments if part.kind not in ("free", "reserve")]
        # What the provider counts less takes no place: the others share it.
        self._used = gauge.used
        self._scale = gauge.used / max(1, sum(part.tokens for part in filling))
        parts = [f"{segment.label} {format_tokens(segment.tokens)}" for segment in self._segments]
        over = [self._over_text()] if self._used > self._window else []
        self.setAccessibleName(
            tr("Context: {parts}", parts=" · ".join(filter(None, [*parts, self._threshold_text(), *over])))
        )
        self.update()

    def window_edge_px(self) -> float:
        """Return where the window ends, in pixels from the left: the right end unless it is overfull."""
        return self.width() * self._window / max(self._window, self._used)

    def _threshold_text(self) -> str:
        if not self._threshold:
            return ""
        return tr("Compacts at {share}", share=format_whole_percent(self._threshold))

    def _over_text(self) -> str:
        if not self._is_full:
            return tr(
                "{excess} tokens more than the managed {size}",
                excess=format_tokens(self._used - self._window),
                size=format_tokens(self._window),
            )
        return tr(
            "{excess} tokens over the context window of {size}",
            excess=format_tokens(self._used - self._window),
            size=format_tokens(self._window),
        )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        tip = self.tooltip_at(event.position().x())
        if tip:
            QToolTip.showText(event.globalPosition().toPoint(), tip, self)

    def tooltip_at(self, x: float) -> str:
        if self._used > self._window and abs(x - self.window_edge_px()) <= _NEAR_TICK:
            return self._over_text()
        if self._threshold and abs(x - self.window_edge_px() * self._threshold) <= _NEAR_TICK:
            return self._threshold_text()
        for segment, left, right in self._spans():
            if left <= x < right:
                tokens = tr.plural(segment.tokens, "%n token", "%n tokens")
                is_part = segment.kind not in ("free", "reserve")
                share = segment.tokens * (self._scale if is_part else 1.0) / self._window
                return f"{segment.label} · {tokens} · {format_whole_percent(share)}"
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        edge = self.window_edge_px()
        body = QRectF(0, _OVER, self.width(), _BAR)
        shape = QPainterPath()
        shape.addRoundedRect(body, _BAR / 2, _BAR / 2)
        pen.qt.setClipPath(shape)
        pen.fill(body, "seg_free")
        for color, same in groupby(self._spans(), key=lambda span: SEGMENT_LOOKS[span[0].kind].color):
            spans = [*same]
            left = spans[0][1]
            right = spans[-1][2]
            part = QRectF(left, _OVER, max(1.0, right - left - _SEGMENT_GAP), _BAR)
            if spans[0][0].kind == "reserve":
                part = QRectF(left + _SEGMENT_GAP, _OVER, right - left, _BAR)
            pen.fill(part, color)
        over = QRectF(edge, _OVER, self.width() - edge, _BAR)
        pen.fill(over, "surface/45")
        over_color = "error" if self._is_full else "warn"
        pen.qt.fillRect(over, QBrush(pen.color(over_color), Qt.BrushStyle.BDiagPattern))
        pen.qt.setClipping(False)
        bottom = _BAR + 2 * _OVER - 1
        if self._threshold:
            x = edge * self._threshold
            label = Text(format_whole_percent(self._threshold), 10, "muted")
            left = min(max(0.0, x - label.width() / 2), self.width() - label.width())
            pen.write(label, left, QRectF(0, bottom + 1, self.width(), self.height() - bottom - 1))
            _draw_lines(pen, "side", 4, QLineF(x, 0.5, x, bottom + 0.5))
            _draw_lines(pen, "text", 2, QLineF(x, 1, x, bottom))
        if self._used > self._window:
            ends = (QLineF(edge - 3, y, edge + 3, y) for y in (1, bottom))
            _draw_lines(pen, "surface", 5, QLineF(edge, 0, edge, bottom))
            _draw_lines(pen, over_color, 2, QLineF(edge, 1, edge, bottom), *ends)

    def _spans(self) -> list[tuple[Segment, float, float]]:
        """Return from where to where each part goes, in pixels: free room fills what the others leave."""
        scale = self.window_edge_px() / self._window
        x = 0.0
        right = float(self.width())
        spans: list[tuple[Segment, float, float]] = []
        for segment in self._segments:
            match segment.kind:
                case "reserve":
                    spans.append((segment, max(x, right - segment.tokens * scale), right))
                case "free":
                    spans.append((segment, x, right))
                case _:
                    spans.append((segment, x, x + segment.tokens * scale * self._scale))
                    x = spans[-1][2]
        return spans


def _draw_lines(pen: Pen, color: str, width: int, *lines: QLineF) -> None:
    pen.qt.setPen(QPen(pen.color(color), width))
    pen.qt.drawLines(lines)


class KeyValue(Themed, QWidget):
    """A name, its value at the other end, and before both a dot in the color of a token, if there is one.

    A value in `muted` words is no figure to look for.
    """

    def __init__(self, name: str = "", value: str = "", dot: str = "", *, muted: bool = False) -> None:
        super().__init__()
        self._dot = dot
        self._name = TextLine(name, 12, role="muted")
        self._value = TextLine(value, 12, role="muted") if muted else TextLine(value, 12, 500, role="text")
        self._value.align = Qt.AlignmentFlag.AlignRight
        self._value.is_fixed_width = not muted
        self.setLayout(row(ResponsiveRow(self._name, [self._value]), margins=(17 if dot else 0, 0, 0, 0)))
        self.set_value(name, value)

    def make_accessible(self) -> QAccessibleWidget:
        return LabelInterface(self)

    def set_value(self, name: str, value: str) -> None:
        self._name.set_text(name)
        self._value.set_text(value)
        self.setAccessibleName(tr("{name}: {value}", name=name, value=value))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._dot:
            Pen.of_widget(self, self._theme).write(
                Dot(self._dot, 8), 0, QRectF(0, 0, self.width(), self._name.height())
            )


_ENTRY = re.compile(r"\be\d+\b")  # a message, call or output of the session, as summaries name it


class Breakdown(QWidget):
    """The breakdown: where the figures come from, and what they are of."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._legend = {kind: KeyValue(dot=look.color) for kind, look in SEGMENT_LOOKS.items()}
        for kind, part in self._legend.items():
            part.setToolTip(translate(SEGMENT_LOOKS[kind].tip))
        self.cost = SelectableText("", 12, "muted")
        self.discount = SelectableText("", 12, "muted")
        self.discount.setToolTip(
            tr(
                "Share of the input tokens that the provider billed at its discount, in the answers of this "
                "session. Summaries, side questions and subagents aren't counted here."
            )
        )
        self.policy = SelectableText("", 12, "muted")
        legend = column(*self._legend.values(), gap=5)
        self.setLayout(column(legend, self.cost, self.discount, self.policy))

    def show_state(self, state: PanelState) -> None:
        show_text(self.policy, state.own_policy)
        show_text(self.cost, state.cost_text)
        show_text(self.discount, state.discount_text)
        segments = {segment.kind: segment for segment in state.segments}
        for kind, part in self._legend.items():
            segment = segments.get(kind)
            # What isn't sent is no part of the sum; the bar shows it.
            is_sent = kind not in ("free", "reserve")
            part.setVisible(segment is not None and segment.tokens != 0 and is_sent)
            if segment is not None:
                part.set_value(segment.label, format_tokens(segment.tokens))


class _BreakdownArea(VerticalScrollArea):
    """As tall as the breakdown where there is room, in sight while it is open, however long the list gets."""

    def sizeHint(self) -> QSize:
        page = self.widget()
        hint = super().sizeHint()
        return QSize(hint.width(), page.heightForWidth(self.width())) if page is not None else hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()


class RequestReader(QWidget):
    """A text of the panel, or a whole request in two views, with the way back."""

    back_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._texts: RequestTexts | None = None  # that it shows
        self._view = "messages"
        self._data = b""  # of the page
        self.page = ContentViewer(wraps=True)
        back = IconButton("arrow-left", tr("Back (Esc)"), px=16, edge=28)
        back.clicked.connect(self.back_requested)
        self._title = TextLine("", 13, 600)
        self._note = label("", "note", wrap=True, name="request-note")
        self.changed_button = PushButton(tr("Show it"), "link", name="show-changed")
        self.changed_button.setAccessibleName(tr("Show the changed request"))
        self.changed_button.clicked.connect(self._show_changed)
        changed = TextLine(tr("The next request has changed."), 12)
        self._changed = ResponsiveRow(changed, [self.changed_button])
        self.switch = ViewSwitch(tr("View"), {"messages": tr("Messages"), "json": tr("JSON")})
        self.switch.view_selected.connect(self._show_view)
        self.row: WindowRow | None = None  # that is read
        self._place_button = PushButton(tr("Show in chat"), "link", name="show_in_chat")
        self._place_button.clicked.connect(partial(self._act, "show"))
        self._output_button = PushButton(tr("Open output"), "link", name="open_output")
        self._output_button.clicked.connect(partial(self._act, "open"))
        self._change: RowAction | None = None
        self._change_button = PushButton("", "link", name="way_back", on_click=self._make_change)
        links = FlowBox([self._place_button, self._output_button, self._change_button])
        head = row(back, self._title, gap=6, stretch=1)
        parts = (head, self._note, links, self._changed, row(self.switch, None), self.page)
        self.setLayout(column(*parts, margins=(12, 9, 12, 12), stretch=5))

    def show_page(self, title: str, text: str, window_row: WindowRow | None, *, is_past: bool) -> None:
        """Show a text; of a row of the next request with what brings back all of it, or caches it again."""
        self._change = None
        if window_row is not None and not is_past:
            self._change = window_row.way_back or ("cache" if "cache" in window_row.actions else None)
        note = ""
        if window_row is not None and window_row.kind != "provider_count":
            note = tr("Below is the text that the model gets.")
            names_entries = window_row.is_summary or window_row.state in ("cached", "repeated")
            if names_entries and (entry := _ENTRY.search(text)):
                note = tr(
                    "Below is the text that the model gets. Numbers such as {e12} count the messages and "
                    "changes of this session.",
                    e12=entry[0],
                )
            if window_row.state in ("cached", "repeated") and SWEEP_TITLE in text:
                names = tr("The last line says where the agent finds names from all outputs cached with it.")
                note = f"{note} {names}"
            note = "\n".join(filter(None, (window_row.explanation, note)))
        self._show_head(title, note, None, window_row)
        if (data := text.encode()) != self._data:  # what stays the same stays where it is read
            self._data = data
        self.page.show_data(self._data)

    def show_request(self, texts: RequestTexts) -> None:
        self._show_head(texts.title, texts.note, texts)
        self._show_view(self._view)

    def _show_head(
        self, title: str, note: str, request: RequestTexts | None, window_row: WindowRow | None = None
    ) -> None:
        self._texts = request
        self.row = window_row
        self._place_button.setVisible(window_row is not None and bool(window_row.seq))
        self._output_button.setVisible(window_row is not None and window_row.has_more_stored)
        self._change_button.setVisible(window_row is not None and self._change is not None)
        if window_row is not None and self._change is not None:
            self._change_button.setText(action_text(self._change, window_row))
            self._change_button.setEnabled(window_row.can_act(self._change))
        self._title.set_text(title)
        show_text(self._note, note)
        self.switch.setVisible(request is not None)
        self.follow(request.made_of if request is not None else ())

    def follow(self, made_of: tuple[object, ...]) -> None:
        """Say whether the next request, of which these are the parts, is another than the one on screen."""
        texts = self._texts
        is_changed = texts is not None and bool(texts.made_of) and texts.made_of != made_of
        self._changed.setVisible(is_changed)

    def _make_change(self) -> None:
        if self.row is not None and self._change is not None:
            self.back_requested.emit()
            perform(self, ActOnRow(self._change, self.row))

    def _act(self, action: RowAction) -> None:
        if self.row is not None:
            perform(self, ActOnRow(action, self.row))

    def _show_changed(self) -> None:
        perform(self, LookAtStep(0))
        perform(self, ShowRequest())

    def _show_view(self, view: str) -> None:
        self._view = view
        self.switch.show_views(("messages", "json"), view, {})
        if self._texts is not None:
            is_json = view == "json"
            content = self._texts.json if is_json else self._texts.messages
            self.page.show_content(content, "request.json" if is_json else "")


class ContextPanel(Themed, QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state: PanelState | None = None
        self.empty = EmptyState(
            "layers", tr("Nothing to send yet. The next request appears here."), tr("Go to chat")
        )
        self.keys = PageKeys(ContextCommands, self)
        self.requests = RequestList(self.keys)
        mark_pane_stop(self.requests)
        self._stack = QStackedLayout(self)
        self._unknown = QWidget()  # until there is a state
        for part in (self._overview(), self.empty, self._unknown):
            self._stack.addWidget(part)
        self._lazy_reader = LazyPage(RequestReader)
        self._lazy_reader.when_built(self._add_reader)
        self.requests.selectionModel().currentChanged.connect(self._scroll_to_current)
        self.empty.button_clicked.connect(lambda: perform(self, FocusComposer()))
        self._stack.setCurrentWidget(self._unknown)

    def hasHeightForWidth(self) -> bool:
        return False

    def set_state(self, state: PanelState | None) -> None:
        if state is not None and state == self._state:
            return
        self._state = state
        if state is None or (not state.rows and not state.gauge.used):
            self._stack.setCurrentWidget(self.empty)
            return
        if self._stack.currentWidget() in (self.empty, self._unknown):
            self._stack.setCurrentIndex(0)
        self._show_past(state)
        self._show_window(state)
        if (breakdown := self._lazy_breakdown.find()) is not None:
            breakdown.show_state(state)
        self.requests.show_rows(state.rows)
        if self._is_reading and self.reader.row is not None:
            self._follow_row(self.reader.row)

    def _follow_row(self, read: WindowRow) -> None:
        """Show the row that is read as it is now; go back where the request has it no more."""
        key_of = self.requests.key_of
        row = next((row for row in self.requests.rows if key_of(row) == key_of(read)), None)
        if row is not None:
            perform(self, ShowRowText(row))
            return
        self.requests.take_no_click()
        if self.reader.page.text.hasFocus():
            self.go_back()
        else:
            self._stack.setCurrentIndex(0)

    def show_page(self, title: str, text: str, window_row: WindowRow | None = None) -> None:
        """Show a text over the overview, until the user goes back; of a row it leads to its place."""
        self.reader.show_page(title, text, window_row, is_past=self.requests.is_read_only)
        if not self._is_reading:
            self._open_reader()

    def show_request(self, texts: RequestTexts) -> None:
        """Show a whole request over the overview, in the view that was chosen last."""
        self.reader.show_request(texts)
        self._open_reader()

    def follow_request(self, made_of: tuple[object, ...]) -> None:
        """Say above the text of the next request if that has changed since."""
        if (reader := self._lazy_reader.find()) is not None:
            reader.follow(made_of)

    def _add_breakdown(self, breakdown: Breakdown) -> None:
        self._details_box.addWidget(breakdown)
        if self._state is not None:
            breakdown.show_state(self._state)

    def _show_details(self, is_open: bool) -> None:
        if is_open:
            self._lazy_breakdown.get()
        self._inside.setVisible(is_open)

    @property
    def reader(self) -> RequestReader:
        return self._lazy_reader.get()

    def _add_reader(self, reader: RequestReader) -> None:
        reader.back_requested.connect(self.go_back)
        self._stack.addWidget(reader)

    def _open_reader(self) -> None:
        self._stack.setCurrentWidget(self.reader)
        self.reader.page.text.setFocus()

    @property
    def _is_reading(self) -> bool:
        return self._stack.currentWidget() is self._lazy_reader.find()

    def close_page(self) -> None:
        """Leave a text without the keyboard, and close what is open: their session goes off the screen."""
        self.requests.close_groups()
        if self._is_reading:
            self._stack.setCurrentIndex(0)

    def go_back(self) -> None:
        self._stack.setCurrentIndex(0)
        self.requests.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.side))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._is_reading:
            self.go_back()
        else:
            super().keyPressEvent(event)

    def _overview(self) -> QWidget:
        self._scroll = QScrollArea(self)
        page = QWidget(self._scroll.viewport())
        page.setObjectName("page")
        self._details_box = column(margins=_INSIDE_MARGINS)
        inside = pane(self._details_box, "page")
        self._inside = _BreakdownArea(inside)
        self._lazy_breakdown = LazyPage(lambda: Breakdown(inside))
        self._lazy_breakdown.when_built(self._add_breakdown)
        self.details = DisclosureHead(tr("Breakdown"), "", "muted")
        self.details.setObjectName("details")
        self.details.toggled.connect(self._show_details)
        self._inside.hide()
        body = column(self._total(), self._request(), None, margins=_MARGINS, gap=18)
        page.setLayout(body)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(page)
        self._page = page
        # The scroll bar takes the right margin's place, so that nothing moves.
        bar = self._scroll.verticalScrollBar()
        bar.rangeChanged.connect(lambda _, end: _set_margins(body, is_scrolling=end > 0))
        head = column(TextLine(tr("Context"), 15, 600), self._past_card(), margins=_HEAD_MARGINS, gap=12)
        details = row(self.details, margins=_DETAILS_MARGINS)
        return pane(column(head, self._scroll, line(), details, self._inside, gap=0, stretch=1))

    def _past_card(self) -> Card:
        """Return what says that a request of the past is shown, with the way back."""
        card = self._past = Card((13, 8, 13, 8), 4)
        self._past_text = SelectableText("", 13)
        self._past_figures = SelectableText("", 12, "muted")
        self._past_note = SelectableText("", 12, "muted")
        now = PushButton(tr("Back to now"), "link", name="back_to_now")
        now.clicked.connect(lambda: perform(self, LookAtStep(0)))
        for part in (self._past_text, ResponsiveRow(self._past_figures, [now]), self._past_note):
            card.body.addWidget(part)
        card.hide()
        return card

    def _show_past(self, state: PanelState) -> None:
        self._past.setVisible(bool(state.past))
        self._past_text.setText(state.past)
        self._past_figures.setText(state.past_figures)
        show_text(self._past_note, state.past_note)
        self._request_title.set_text(tr("In this request") if state.past else tr("Next request"))
        self.requests.is_read_only = bool(state.past)

    def _total(self) -> QWidget:
        """Return how full the window is: the total, the bar, and when it is compacted."""
        self.used = TextLine("", 26, 600)
        self._window_text = TextLine("", 13, role="muted")
        self.used.is_fixed_width = True
        self.bar = ContextBar()
        self.until = SelectableText("", 12, "muted")
        used = FlowBox([self.used, self._window_text])
        self._acts = self._explain_acts()
        self._help = HelpLink("context", self._acts)
        return pane(column(used, self.bar, self.until, self._help, margins=_SIDES, gap=5))

    @staticmethod
    def _explain_acts() -> QWidget:
        """Return what stands in the context in place of what left it, behind the dots of its rows."""
        cached = STATE_WORDS["cached"].color
        compacted = STATE_WORDS["folded"].color
        large = KeyValue(tr("Large outputs"), tr("part stays"), STATE_WORDS["in_part"].color, muted=True)
        outputs = KeyValue(tr("Cached outputs"), tr("description stays"), cached, muted=True)
        turns = KeyValue(tr("Compacted turns"), tr("shorter form stays"), compacted, muted=True)
        return pane(column(large, outputs, turns, SelectableText(explain_rows(), 12, "muted"), gap=4))

    def _request(self) -> QWidget:
        show_request = PushButton(tr("Show text"), "link", name="show_request")
        show_request.setAccessibleName(tr("Show the next request"))
        show_request.clicked.connect(lambda: perform(self, ShowRequest()))
        self._request_title = TextLine(tr("Next request"), 13, 600)
        title = row(self._request_title, None, show_request, margins=_SIDES)
        return pane(column(title, self.requests, gap=4))

    def _show_window(self, state: PanelState) -> None:
        gauge = state.gauge
        self.used.set_text(f"≈ {format_tokens(gauge.used)}")  # what came since the report is by our count
        self.used.set_note(gauge_source_text(gauge))
        self._window_text.set_text(_window_text(gauge))
        self._window_text.set_note(explain_managed_window(gauge))
        threshold = gauge.handover_share if state.is_managed else 0.0
        self.bar.show_window(state.segments, gauge, threshold)
        self.until.setText(state.compaction_text)
        self._acts.setVisible(state.is_managed)

    def _scroll_to_current(self, current: QModelIndex) -> None:
        is_by_mouse = QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton  # rows stay under it
        if current.isValid() and self.requests.hasFocus() and not is_by_mouse:
            center = self.requests.mapTo(self._page, self.requests.visualRect(current).center())
            self._scroll.ensureVisible(center.x(), center.y(), 0, 60)


def _set_margins(body: QBoxLayout, *, is_scrolling: bool) -> None:
    margins = _BAR_MARGINS if is_scrolling else _MARGINS
    body.setContentsMargins(*margins)
