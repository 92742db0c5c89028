"""The session on screen with and without Helix: replayed in a job, its figures, and its picture."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QRegion,
)
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QSizePolicy,
    QStackedLayout,
    QToolTip,
    QTreeWidget,
    QTreeWidgetItem,
    QTreeWidgetItemIterator,
    QWidget,
)

from helix_desktop import APP_NAME
from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import REFERENCE_WINDOW, ContextPolicy
from helix_desktop.domain.choices import AGENT_NAMES
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnRetried
from helix_desktop.domain.events.foreign import SessionImported
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import Excluded, FormChosen, Pinned
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.model_spec import ModelSpec
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, system_reason
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.replay.measure import RecordingFigures, as_model_counts, measure_session
from helix_desktop.replay.policy.policy_replay import facts_of, is_user_rewrite
from helix_desktop.replay.recording import (
    recorded_requests,
    recorded_usage,
    recorded_window,
    recording_facts,
)
from helix_desktop.replay.surviving_facts import ComparedFact, ComparedFacts, FactPlace
from helix_desktop.system.files import replace_file
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import EmptyState, HelpLink, ThemedBackground
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.dialogs import pick_save_file
from helix_desktop.ui.design.labels import SelectableText, label
from helix_desktop.ui.design.layout import FlowBox, VerticalScrollArea, column, pane, row
from helix_desktop.ui.design.plot import Plot, axis_width, paint_axis, paint_curve
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.design.viewer.picture import png_bytes
from helix_desktop.ui.kit.intents import ClosePage, FocusComposer, perform
from helix_desktop.ui.kit.notices import Notice, show_folder
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_integer, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.policies import policy_name
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("With and without Helix")
text = TextContext("With and without Helix")

_HEIGHT = 220  # pixels at the usual text size
_TOP = 24.0  # pixels above the plot
_BOTTOM = 20.0  # pixels below it
_GAP = 10.0  # pixels beside its labels
_MAX_POINTS = 900  # of one curve: more than the pixels that it has
_NEAR = 8.0  # pixels around a compaction in which the mouse is on it


class ComparisonChart(Themed, QWidget):
    accessible_role = QAccessible.Role.Chart
    compaction_clicked = Signal(int)
    """One of the compactions, by its place."""

    def __init__(self) -> None:
        super().__init__()
        self._managed: Sequence[int] = ()
        self._unmanaged: Sequence[int] = ()
        self._requests: Sequence[int] = ()  # behind each compaction
        self._window = self._current = 0
        self.setObjectName("comparison_chart")
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_figures(self, figures: RecordingFigures, agent: str, request: int) -> None:
        """Show other figures; `agent` has compacted, and `request` is the one that is looked at."""
        self._managed = figures.managed_sizes
        self._unmanaged = figures.unmanaged_sizes
        self._requests = [compaction.request for compaction in figures.compactions]
        self._window = figures.window
        self._current = request
        curves = tr(
            "Context of {count} requests. Without Helix: up to {unmanaged} tokens, {unmanaged_end} at the "
            "end. With Helix: up to {managed}, {managed_end} at the end.",
            count=format_integer(len(self._managed)),
            unmanaged=format_tokens(max(self._unmanaged)),
            unmanaged_end=format_tokens(self._unmanaged[-1]),
            managed=format_tokens(max(self._managed)),
            managed_end=format_tokens(self._managed[-1]),
        )
        requests = ", ".join(map(format_integer, self._requests))
        compacted = tr("{agent} compacted before request {requests}.", agent=agent, requests=requests)
        self.setAccessibleName(f"{curves} {compacted}" if requests else curves)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, scaled(_HEIGHT))

    def text_at(self, place: QPointF) -> str:
        """Return what both contexts have at the request that the mouse is on."""
        if not self._managed:
            return ""
        at = self._plot().index_at(place.x())
        return tr(
            "Request {request}\nWithout Helix: {unmanaged}\nWith Helix: {managed}",
            request=format_integer(at + 1),
            unmanaged=format_tokens(self._unmanaged[at]),
            managed=format_tokens(self._managed[at]),
        )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if text := self.text_at(event.position()):
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        plot = self._plot()
        x = event.position().x()
        ways = [(abs(plot.x_of(request - 1) - x), place) for place, request in enumerate(self._requests)]
        if ways and min(ways)[0] <= _NEAR:
            self.compaction_clicked.emit(min(ways)[1])

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._managed:
            return
        painter = QPainter(self)
        plot = self._plot()
        theme = self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_axis(painter, plot, theme)
        painter.setFont(ui_font(11, 500))
        self._paint_window(painter, plot)
        step = -(-len(self._managed) // _MAX_POINTS)
        places = [*range(0, len(self._managed) - 1, step), len(self._managed) - 1]
        thin = Plot(plot.rect, len(places), plot.top)
        unmanaged, managed = (
            thin.line_of([sizes[at] for at in places]) for sizes in (self._unmanaged, self._managed)
        )
        faint = QColor(theme.accent)
        faint.setAlphaF(0.16 if theme.dark else 0.09)
        painter.fillPath(thin.area_below(managed), faint)
        metrics = QFontMetricsF(painter.font())
        free_x = 0.0
        for number, request in enumerate(self._requests, 1):
            is_current = request == self._current
            x = plot.x_of(request - 1)
            color = QColor(self._theme.warn)
            painter.setPen(QPen(color, 2.0 if is_current else 1.0))
            painter.drawLine(QPointF(x, _TOP - 4), QPointF(x, plot.rect.bottom()))
            text = tr("Compaction {number}", number=format_integer(number))
            width = metrics.horizontalAdvance(text)
            left = max(plot.rect.left(), min(x - width / 2, plot.rect.right() - width))
            if left > free_x:
                painter.setFont(ui_font(11, 600 if is_current else 500))
                painter.drawText(QPointF(left, _TOP - 9), text)
                free_x = left + width + _GAP
        paint_curve(painter, unmanaged, theme.muted, dashed=True)
        paint_curve(painter, managed, theme.accent)
        self._paint_ends(painter, plot)

    def _paint_window(self, painter: QPainter, plot: Plot) -> None:
        """Draw the edge of the context window, if a curve comes near, with its name at the left."""
        if self._window > plot.top:
            return
        y = plot.y_of(self._window)
        name = tr("Context window")
        pen = QPen(QColor(self._theme.error), 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawLine(QPointF(plot.rect.left(), y), QPointF(plot.rect.right(), y))
        painter.drawText(QPointF(plot.rect.left() + 4, y - 4), name)

    def _paint_ends(self, painter: QPainter, plot: Plot) -> None:
        """Name both curves where they end, and the first and the last request."""
        painter.setFont(ui_font(11, 500))
        height = QFontMetricsF(painter.font()).height()
        x = plot.rect.right() + _GAP
        above = 2.2 * height
        bottom = plot.rect.bottom() - height
        high = max(_TOP, min(plot.y_of(self._unmanaged[-1]), bottom - above))
        low = max(high + above, min(plot.y_of(self._managed[-1]), bottom))
        for y, (name, sizes), color in (
            (high, self._names()[0], self._theme.muted),
            (low, self._names()[1], self._theme.accent_text),
        ):
            painter.setPen(QColor(color))
            painter.drawText(QPointF(x, y), name)
            painter.drawText(QPointF(x, y + height), format_tokens(sizes[-1]))
        painter.setPen(QColor(self._theme.faint))
        below = QRectF(plot.rect.left(), plot.rect.bottom() + 4, plot.rect.width(), height)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, tr("Request 1"))
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, format_integer(len(self._managed)))

    def _names(self) -> tuple[tuple[str, Sequence[int]], tuple[str, Sequence[int]]]:
        return (tr("Without Helix"), self._unmanaged), (tr("With Helix"), self._managed)

    def _plot(self) -> Plot:
        top = max(1_000, round(max(*self._unmanaged, *self._managed) * 1.05))
        left = axis_width(top)
        metrics = QFontMetricsF(ui_font(11, 500))
        right = _GAP + 4 + max(metrics.horizontalAdvance(name) for name, _ in self._names())
        top_px = scaled(round(_TOP))
        bottom_px = scaled(round(_BOTTOM))
        size = max(1.0, self.width() - left - right), max(1.0, self.height() - top_px - bottom_px)
        return Plot(QRectF(left, top_px, *size), len(self._managed), top)


_PICTURE_PX = 1_080  # width of a saved picture
_PICTURE_RATIO = 2  # pixels of that picture per pixel of its width
_COLUMN_PX = 64
_FACT_CHARS = 300
_MAX_FACTS = 500
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

_KINDS: dict[FactKind, TranslatableText] = {
    "instructions": text("Instructions"),
    "tasks": text("Tasks"),
    "conclusions": text("Conclusions"),
    "files": text("Files"),
    "hashes": text("Digests"),
    "numbers": text("Numbers"),
    "commands": text("Commands"),
}
_PLACES: dict[FactPlace, TranslatableText] = {
    "context": STATE_WORDS["in_window"].label,
    "one_call": text("By recall"),
    "nowhere": text("Gone"),
}
# Numbers of columns.
_SUMMARY = 2
_FIRST_PLACE = 3


class Comparison(msgspec.Struct, frozen=True):
    """The figures of a session: its title, the other agent's name (empty: its own), and who answered last.

    `price` is in US dollars per million input tokens of that model; 0: not known. `is_window_known`: its
    context window is, else one is assumed. `is_reported`: the model
    said how many tokens it got. `always` are those of system prompt and tools by our count.
    `is_changed_by_user`: the user changed what was sent, which the replay leaves out. `recorded` are the
    input tokens that the other agent says it sent, in `requests`; 0: it does not.
    """

    figures: RecordingFigures
    title: str
    agent: str
    model: str
    price: float
    policy: ContextPolicy
    is_reported: bool
    always: int
    is_changed_by_user: bool
    recorded: int = 0
    is_window_known: bool = True
    requests: int = 0

    @property
    def moments(self) -> list[tuple[str, int, tuple[ComparedFacts, ...]]]:
        """Return where facts are compared, with the request: behind readable summaries, and at the end."""
        compactions = [
            (tr("Compaction {number}", number=format_integer(number)), one.request, one.facts)
            for number, one in enumerate(self.figures.compactions, 1)
            if one.facts
        ]
        return [*compactions, (tr("End of session"), len(self.figures.managed_sizes), self.figures.at_end)]

    def sentence(self, moment: int) -> str:
        name, _, facts = self.moments[moment]
        total, in_summary, in_context, one_call = (
            sum(getattr(kind, field) for kind in facts)
            for field in ("total", "in_summary", "in_context", "one_call")
        )
        if not total:
            return tr("Nothing to compare yet: no files, commands, numbers or instructions.")
        count = format_integer(total)
        reachable = format_integer(in_context + one_call)
        if moment == len(self.moments) - 1:
            return tr(
                "Of {total} details that later steps may need, {reachable} are still in the context or one "
                "recall away.",
                total=count,
                reachable=reachable,
            )
        return tr(
            "{name}: {agent}’s summary names {in_summary} of {total} details. With Helix, {reachable} are in "
            "the context or one recall away.",
            name=name,
            agent=self.agent,
            in_summary=format_integer(in_summary),
            total=count,
            reachable=reachable,
        )

    @property
    def about(self) -> str:
        count = len(self.figures.managed_sizes)
        window = format_tokens(self.figures.window)
        requests = tr.plural(count, "%n request", "%n requests")
        policy = tr("Policy: {policy}", policy=policy_name(self.policy))
        return dotted((self.agent, self.model, requests, policy, tr("{size} context window", size=window)))

    @property
    def stats(self) -> Iterator[tuple[str, str, str]]:
        """Yield figures: a name, the managed one, and the unmanaged one with what it is compared with it."""
        own = self.figures.managed
        other = self.figures.unmanaged
        per_token = self.price / 1_000_000

        def billed(tokens: float) -> str:
            return f"≈ {format_usd(tokens * per_token) if per_token else size(tokens)}"

        def size(tokens: float) -> str:
            return format_tokens(round(tokens))

        for name, managed, unmanaged, shown in (
            (tr("Tokens sent"), own.input_tokens, other.input_tokens, size),
            (tr("Input billed") if per_token else tr("Tokens billed"), own.billed, other.billed, billed),
            (tr("Largest request"), own.peak_window, other.peak_window, size),
        ):
            share = format_whole_percent(managed / unmanaged if unmanaged else 1.0)
            without = tr("{share} of {unmanaged} without Helix", share=share, unmanaged=shown(unmanaged))
            yield name, shown(managed), without
        reach = self.figures.reach
        in_context = reach.window_bytes / reach.output_bytes if reach.output_bytes else 1.0
        yield (
            tr("Outputs that can be recalled"),
            format_whole_percent(reach.reachable_share),
            tr("{share} of their text in context", share=format_whole_percent(in_context)),
        )

    @property
    def notes(self) -> str:
        sizes = self.figures.unmanaged_sizes
        window = format_tokens(self.figures.window)
        if self.agent:
            counted = [tr("Estimated by Helix's own count, without system prompt and tools.")]
            if self.recorded:
                sent = format_tokens(self.recorded)
                requests = tr.plural(self.requests, "%n request", "%n requests")
                counted.append(
                    tr(
                        "Sent, as {agent} recorded it: {tokens} tokens in {requests}.",
                        agent=self.agent,
                        tokens=sent,
                        requests=requests,
                    )
                )
        elif not self.is_reported:
            counted = [tr("Estimated by Helix's own count, with system prompt and tools.")]
        elif sizes[0] < self.always / 2:
            counted = [
                tr(
                    "Estimated, as the model counts tokens. It reports fewer than Helix counts for system "
                    "prompt and tools alone ({tokens}).",
                    tokens=format_tokens(self.always),
                )
            ]
        else:
            counted = [tr("Estimated, as the model counts tokens, with system prompt and tools.")]
        if self.is_changed_by_user:
            counted.append(tr("What you changed yourself, such as an undo or a compaction, isn't replayed."))
        if not self.is_window_known:
            counted.append(tr("The model's context window isn't known: {size} are assumed.", size=window))
        elif max(sizes) > self.figures.window:
            counted.append(
                tr("Without Helix, requests above {size} would fail. They count as if they fit.", size=window)
            )
        billed = tr("Billed is the input at the usual discount for what was sent before.")
        if self.price:
            billed = tr(
                "Billed is the input at the model's prices, with its discount for what was sent before."
            )
        notes = [
            *counted,
            billed,
            tr("Helix's summaries here need no model."),
            tr("A detail is kept where its name, number or words are in the text."),
        ]
        if self.figures.faults.not_made:
            count = self.figures.faults.not_made
            notes.append(tr.plural(count, "%n request doesn't fit.", "%n requests don't fit."))
        if self.figures.compactions:
            notes.append(tr("What {agent} kept beside its summaries isn't counted.", agent=self.agent))
        if any(not one.facts for one in self.figures.compactions):
            notes.append(tr("Some summaries of {agent} aren't readable.", agent=self.agent))
        return " ".join(notes)


class FactTable(Themed, QTreeWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("comparison_facts")
        self.setAccessibleName(tr("Details"))
        self.setProperty("kind", "checklist")
        self.setUniformRowHeights(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._agent = ""
        self._kinds: Sequence[ComparedFacts] = ()
        self.itemExpanded.connect(self._add_facts)

    def show_facts(self, facts: Sequence[ComparedFacts], agent: str) -> None:
        """Show other facts; `agent` has a summary that is compared (empty: none)."""
        self.clear()
        self._agent = agent
        self._kinds = facts
        in_summary = tr("{agent}’s summary", agent=agent)
        in_helix = [tr("Helix: {place}", place=translate(place).lower()) for place in _PLACES.values()]
        titles = (tr("Detail"), tr("Total"), in_summary, *in_helix)
        self.setHeaderLabels(titles)
        self.setColumnHidden(_SUMMARY, not agent)
        for kind in facts:
            counts = kind.total, kind.in_summary, kind.in_context, kind.one_call
            cells = [*counts, kind.total - kind.in_context - kind.one_call]
            item = QTreeWidgetItem([translate(_KINDS[kind.kind]), *map(format_integer, cells)])
            named = [f"{title}: {count}" for title, count in zip(titles[1:], cells, strict=True)]
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, dotted((item.text(0), *named)))
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
            self.addTopLevelItem(item)
        head = self.header()
        head.setStretchLastSection(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for place in range(1, self.columnCount()):
            self.headerItem().setTextAlignment(place, _RIGHT)
            self.setColumnWidth(place, max(scaled(_COLUMN_PX), head.sectionSizeHint(place)))
        self.apply_theme()

    def _add_facts(self, item: QTreeWidgetItem) -> None:
        """Fill a kind that is opened for the first time."""
        if item.childCount():
            return
        facts = self._kinds[self.indexOfTopLevelItem(item)].items
        item.addChildren([_fact_item(fact, self._agent) for fact in facts[:_MAX_FACTS]])
        if (rest := len(facts) - _MAX_FACTS) > 0:
            words = tr.plural(rest, "%n older one isn't listed", "%n older ones aren't listed")
            item.addChild(QTreeWidgetItem([words]))
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        theme = self._theme
        colors = {_SUMMARY: theme.muted, 3: theme.ok, 4: theme.accent_text, 5: theme.error}
        every = QTreeWidgetItemIterator(self)
        while item := every.value():
            every += 1
            for place in range(1, self.columnCount()):
                is_zero = item.text(place) == "0"
                read = f"{self.headerItem().text(place)}: {item.text(place) or '–'}"
                item.setData(place, Qt.ItemDataRole.AccessibleTextRole, read)
                item.setTextAlignment(place, _RIGHT)
                item.setForeground(place, QColor(theme.faint if is_zero else colors.get(place, theme.text)))

    def fit(self) -> None:
        """Take the height of all rows, which can't be opened."""
        self.setRootIsDecorated(False)
        rows = self.topLevelItemCount() * self.sizeHintForRow(0)
        self.setFixedHeight(self.header().sizeHint().height() + rows + scaled(16))


def _fact_item(fact: ComparedFact, agent: str) -> QTreeWidgetItem:
    words = escape_hidden_name(plain_line(" ".join((fact.sentence or fact.text).split())[:_FACT_CHARS]))
    item = QTreeWidgetItem([words])
    item.setToolTip(0, plain_tooltip(words))
    item.setText(_SUMMARY, "✓" if fact.in_summary else "–")
    item.setText(_FIRST_PLACE + [*_PLACES].index(fact.place), "–" if fact.place == "nowhere" else "✓")
    read_summary = ""
    if agent:
        within = tr("In {agent}’s summary", agent=agent)
        without = tr("Not in {agent}’s summary", agent=agent)
        read_summary = within if fact.in_summary else without
    read = dotted((words, read_summary, translate(_PLACES[fact.place])))
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, read)
    return item


class ComparisonReport(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.title = SelectableText("", 13, "muted")
        self.sentence = SelectableText("", 18, weight=600)
        self.about = SelectableText("", 12, "muted")
        self.notes = SelectableText("", 12, "muted")
        self.chart = ComparisonChart()
        self.facts = FactTable()
        self.stats = [(label("", "note"), label("", "heading"), label("", "note")) for _ in range(4)]
        figures = FlowBox([pane(column(*stat, gap=1, margins=(0, 0, 26, 0))) for stat in self.stats])
        head = column(self.title, self.sentence, self.about, gap=4)
        self.body = column(head, self.chart, figures, self.facts, self.notes, margins=(24, 8, 24, 18), gap=16)
        self.body.setStretch(3, 1)
        self.facts.setMinimumHeight(scaled(240))
        self.setLayout(self.body)
        self.title.hide()

    def show_comparison(self, comparison: Comparison, moment: int) -> None:
        _, request, facts = comparison.moments[moment]
        is_end = moment == len(comparison.moments) - 1
        self.sentence.setText(comparison.sentence(moment))
        self.about.setText(comparison.about)
        self.notes.setText(comparison.notes)
        self.chart.show_figures(comparison.figures, comparison.agent, request)
        for labels, words in zip(self.stats, comparison.stats, strict=True):
            for part, word in zip(labels, words, strict=True):
                part.setText(word)
        self.facts.show_facts(facts, "" if is_end else comparison.agent)

    def places(self) -> list[QRect]:
        """Return where its parts are, from the top."""
        parts = map(self.body.itemAt, range(self.body.count()))
        return [part.geometry() for part in parts if part is not None]


async def picture_of(parent: QWidget, comparison: Comparison, moment: int) -> QImage:
    """Return a session's report as an image with what is estimated.

    It is made in short slices, so that the window is usable meanwhile.
    """
    report = ComparisonReport()
    report.setParent(parent)
    await asyncio.sleep(0)
    report.show_comparison(comparison, moment)
    report.title.setText(
        dotted((APP_NAME, tr("With and without Helix"), escape_hidden_name(comparison.title)))
    )
    report.title.show()
    await asyncio.sleep(0)
    report.ensurePolished()
    report.facts.fit()
    await asyncio.sleep(0)
    report.body.setContentsMargins(28, 28, 28, 28)
    width = scaled(_PICTURE_PX)
    report.setFixedWidth(width)
    report.resize(width, report.heightForWidth(width))
    report.body.setGeometry(report.rect())
    image = QImage(report.size() * _PICTURE_RATIO, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_PICTURE_RATIO)
    image.fill(QColor(current_theme().canvas))
    with QPainter(image) as painter:
        for place in report.places():  # whole: the dashes of a curve that is cut begin anew
            await asyncio.sleep(0)
            report.render(painter, place.topLeft(), QRegion(place), QWidget.RenderFlag.DrawChildren)
    report.deleteLater()
    return image


_MAX_RESULTS = 8  # sessions whose figures are kept
_Key = tuple[str, int, ContextPolicy, int]
"""What figures depend on: a session and its newest message, the policy, and the context window in tokens."""


class ComparisonPage(ThemedBackground):
    _session: Session

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._results: dict[_Key, Comparison] = {}
        self._key: _Key | None = None  # of what is on the page, or comes there
        self._was_hidden = False  # since it last showed the newest
        self._task: asyncio.Task[None] | None = None
        self._state: Literal["empty", "busy", "stopped", "ready"] = "empty"
        self.empty = EmptyState("layers", "")
        self.empty.button_clicked.connect(self._on_empty_button)
        self.report = ComparisonReport()
        self.moments = ComboBox(words=tr("Compare at"))
        self.moments.setObjectName("comparison_moments")
        self.moments.activated.connect(lambda _: self._show_report())
        self.report.chart.compaction_clicked.connect(self._go_to_compaction)
        self.update_button = PushButton(tr("Update"), name="update_comparison", on_click=self._measure)
        self.save = PushButton(tr("Save picture…"), name="save_picture", on_click=self._save)
        back = IconButton("arrow-left", tr("Back to chat (Esc)"), px=16, edge=28, name="leave_comparison")
        back.clicked.connect(lambda: perform(self, ClosePage()))
        tools = FlowBox([self.update_button, self.moments, self.save], right_from=0)
        title = label(tr("With and without Helix"), "title")
        help_link = HelpLink("survives")
        head = row(back, title, help_link, tools, stretch=3, margins=(18, 0, 24, 0))
        set_body = column(head, VerticalScrollArea(self.report), gap=4, stretch=1, margins=(0, 12, 0, 0))
        self._stack = QStackedLayout(self)
        for page in (self.empty, pane(set_body)):
            self._stack.addWidget(page)

    def follow(self, session: Session) -> None:
        self._session = session
        session.on_refresh_page("comparison", self.refresh)

    def refresh(self) -> None:
        conversation = self._session.find_conversation()
        if conversation is None:
            return
        key = self._key_of(conversation)
        if key[1] == 0:
            self._key = key
            words = tr("Nothing to replay yet. What stays in context appears here after the first answer.")
            self._show_empty("empty", words, tr("Go to chat"))
            return
        shown = self._key
        is_other = shown is None or shown[0] != key[0]
        if key in self._results:
            self._key = key
            self._show_result(is_other)
        elif is_other or self._state == "empty" or (self._was_hidden and self._state == "ready"):
            self._measure()
        elif shown in self._results:
            self._show_result(is_other)
        self._was_hidden = False

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._was_hidden = True

    def _key_of(self, conversation: Conversation) -> _Key:
        transcript = conversation.session.transcript
        items = transcript.messages.items
        info = conversation.window.frame.info
        policy = transcript.session_policy or self._session.workspace.policy
        last = items[-1].seq if items and transcript.messages.steps else 0
        window = info.window
        if _imported(conversation) is not None:
            window = self._known_window(conversation) or REFERENCE_WINDOW
        return conversation.session.id, last, policy, window

    def _known_window(self, conversation: Conversation) -> int:
        """Return the context window of an imported session: as its agent recorded it, else its model's."""
        session = conversation.session
        return recorded_window(session.log) or self._published(session.transcript).window

    def _published(self, transcript: Transcript) -> ModelSpec:
        """Return what is published of the model that answered last."""
        model = transcript.last_model or transcript.foreign_model
        return self._session.app.models.catalog.vendors_spec(model)

    def _measure(self) -> None:
        """Replay the session as it is now; another replay ends."""
        conversation = self._session.conversation
        self.stop()
        self._key = self._key_of(conversation)
        self._show_empty(
            "busy", tr("Replaying this session with and without Helix. No model is used."), tr("Cancel")
        )
        self._task = self._session.start(self._run(conversation, self._key), "replay a session")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, conversation: Conversation, key: _Key) -> None:
        session = conversation.session
        log = tuple(conversation.session.log)
        _, _, policy, window = key
        imported = _imported(conversation)
        published = self._published(session.transcript)
        facts = recording_facts(window, published)
        if imported is None:  # else nobody knows what its agent always sent
            facts = facts_of(conversation.window, session.transcript)
            always = facts.fixed_tokens + session.transcript.opening_tokens
            facts = msgspec.structs.replace(facts, fixed_tokens=always)
        work = partial(measure_session, session.id, log, self._session.workspace.store.get, policy, facts)
        try:
            figures = await self._session.job(
                tr("Replaying “{title}”", title=session.transcript.title), work, tr("Nothing is changed.")
            )
        except HelixError as error:
            if key == self._key:
                self._show_empty("stopped", error_text(error), tr("Try again"))
            return
        if figures is None:
            if key == self._key:
                self._show_stopped()
            return
        answers = [recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke)]
        model = next((answer.model for answer in reversed(answers) if answer.model), "")
        if imported is None:
            figures = as_model_counts(figures, answers, facts.ratio)
        usage = recorded_usage(log)
        self._results[key] = Comparison(
            figures,
            session.transcript.title,
            AGENT_NAMES[imported.agent] if imported is not None else "",
            model,
            facts.info.price_in,
            policy,
            any(answer.usage is not None for answer in answers),
            facts.fixed_tokens,
            any(_is_by_user(recorded.event) for recorded in log),
            usage.input if usage is not None else 0,
            imported is None or self._known_window(conversation) > 0,
            recorded_requests(log),
        )
        while len(self._results) > _MAX_RESULTS:
            del self._results[next(iter(self._results))]
        if key == self._key:
            self._show_result(is_other=True)

    def _show_empty(self, state: Literal["empty", "busy", "stopped"], sentence: str, button: str) -> None:
        self._state = state
        had_focus = self.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
        self.empty.set_content(sentence, button)
        self._stack.setCurrentIndex(0)
        self.setFocusProxy(self.empty.button)
        if had_focus:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_stopped(self) -> None:
        self._show_empty("stopped", tr("Replay canceled. Nothing was changed."), tr("Try again"))

    def _on_empty_button(self) -> None:
        match self._state:
            case "busy":
                self.stop()
                self._show_stopped()
            case "stopped":
                self._measure()
            case _:
                perform(self, FocusComposer())

    def _show_result(self, is_other: bool) -> None:
        """Show the figures of the key; `is_other`: not those that are on the page."""
        assert self._key is not None
        self.update_button.setVisible(self._key != self._key_of(self._session.conversation))
        self.update_button.setToolTip(tr("The session, its policy or its model has changed since."))
        if not is_other and self._state == "ready":
            return
        comparison = self._results[self._key]
        self.moments.clear()
        self.moments.addItems([name for name, _, _ in comparison.moments])
        self.moments.setVisible(self.moments.count() > 1)
        self._show_report()
        self._state = "ready"
        had_focus = self.empty.button.hasFocus()
        self._stack.setCurrentIndex(1)
        self.setFocusProxy(self.report.facts)
        if had_focus:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_report(self) -> None:
        if self._key in self._results:
            self.report.show_comparison(self._results[self._key], self.moments.currentIndex())

    def _go_to_compaction(self, place: int) -> None:
        """Compare at a compaction that was clicked, if its summary can be read."""
        comparison = self._results.get(self._key) if self._key else None
        if comparison is not None and comparison.figures.compactions[place].facts:
            readable = [bool(one.facts) for one in comparison.figures.compactions[:place]]
            self.moments.setCurrentIndex(sum(readable))
            self._show_report()

    def _save(self) -> None:
        self._session.start(self._save_picture(), "save a picture")

    async def _save_picture(self) -> None:
        if self._key not in self._results:
            return
        comparison = self._results[self._key]
        moment = self.moments.currentIndex()
        name = self._session.app.backup.session_file_name(comparison.title, ".png")
        path = await pick_save_file(self, tr("Save picture"), name, ".png")
        if path is None:
            return
        image = await picture_of(self, comparison, moment)
        await asyncio.to_thread(_write, path, image)
        self._session.notify(
            Notice("picture", tr("{file} saved.", file=path.name), answers=(show_folder(path.parent),))
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            perform(self, ClosePage())
        else:
            super().keyPressEvent(event)


def _is_by_user(event: Event) -> bool:
    """Return True for what the user changed of a request, which no recording of messages has."""
    return is_user_rewrite(event) or isinstance(event, FormChosen | Excluded | Pinned | HoldSet | TurnRetried)


def _imported(conversation: Conversation) -> SessionImported | None:
    """Return from where a session was imported; None for an own one."""
    events = (recorded.event for recorded in conversation.session.log)
    return next((event for event in events if isinstance(event, SessionImported)), None)


def _write(path: Path, image: QImage) -> None:
    try:
        new = path.with_name(path.name + ".new")
        new.write_bytes(png_bytes(image))
        replace_file(new, path)
    except OSError as error:
        raise HelixError(
            text("Couldn't save {file}.", file=path), system_reason(error), text("Choose another folder.")
        ) from error
