"""What a replay found: a sentence, the chart, four figures, and each fact with where it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QRegion
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QTreeWidgetItemIterator,
    QWidget,
)

from helix_desktop import APP_NAME
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.replay.measure import ComparedFact, ComparedFacts, FactPlace, RecordingFigures
from helix_desktop.ui.design.labels import SelectableText, label
from helix_desktop.ui.design.layout.boxes import column, pane
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.survival.chart import SurvivalChart
from helix_desktop.words.direction import dotted, isolate
from helix_desktop.words.numbers import format_integer, format_tokens, format_usd, format_whole_percent
from helix_desktop.words.policies import policy_name
from helix_desktop.words.rewrite_explanations import STATE_WORDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("What survives")
text = TextContext("What survives")

_PICTURE_PX, _PICTURE_RATIO = 1_080, 2  # of a saved picture: its width, and pixels per pixel of that
_COLUMN_PX, _FACT_CHARS, _MAX_FACTS = 64, 300, 500
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
    "one_call": text("One call away"),
    "nowhere": text("Gone"),
}
_SUMMARY, _FIRST_PLACE = 2, 3  # columns


class Survival(msgspec.Struct, frozen=True):
    """The figures of a session: its title, the other agent's name (empty: its own), and who answered last.

    `price` is in US dollars per million input tokens of that model; 0: not known.
    """

    figures: RecordingFigures
    title: str
    agent: str
    model: str
    price: float
    policy: ContextPolicy

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
        """Return what survived, in a sentence or two."""
        name, _, facts = self.moments[moment]
        total, in_summary, in_context, one_call = (
            sum(getattr(kind, field) for kind in facts)
            for field in ("total", "in_summary", "in_context", "one_call")
        )
        if not total:
            return tr("Nothing to compare yet: no files, commands, numbers or instructions.")
        count, nowhere = format_integer(total), total - in_context - one_call
        if moment == len(self.moments) - 1:
            first = tr("At the end, {total} facts count.", total=count)
        else:
            first = tr(
                "{name}: {agent}’s summary names {in_summary} of {total} facts.",
                name=name,
                agent=self.agent,
                in_summary=format_integer(in_summary),
                total=count,
            )
        if not nowhere and not one_call:
            return f"{first} " + tr("Helix keeps all of them in context.")
        parts = [tr("Helix keeps {in_context} in context", in_context=format_integer(in_context))]
        if one_call:
            parts.append(tr.plural(one_call, "%n is one call away", "%n are one call away"))
        if nowhere:
            parts.append(tr.plural(nowhere, "%n can't be recalled", "%n can't be recalled"))
        return f"{first} {dotted(parts)}."

    @property
    def about(self) -> str:
        """Return what was replayed, and how."""
        count, window = len(self.figures.managed_sizes), format_tokens(self.figures.window)
        requests = tr.plural(count, "%n request", "%n requests")
        policy = tr("Policy: {policy}", policy=policy_name(self.policy))
        return dotted((self.agent, self.model, requests, policy, tr("{size} context window", size=window)))

    @property
    def stats(self) -> Iterator[tuple[str, str, str]]:
        """Yield figures: a name, the managed one, and the unmanaged one with what it is compared with it."""
        own, other = self.figures.managed, self.figures.unmanaged

        def compared(managed: float, unmanaged: float, shown: str) -> str:
            share = format_whole_percent(managed / unmanaged if unmanaged else 1.0)
            return tr("{share} of {unmanaged} unmanaged", share=share, unmanaged=shown)

        sent = format_tokens(other.input_tokens)
        yield (
            tr("Tokens sent"), format_tokens(own.input_tokens),
            compared(own.input_tokens, other.input_tokens, sent),
        )  # fmt: skip
        per_token, billed = self.price / 1_000_000, (own.billed, other.billed)
        mine, unmanaged = (
            format_usd(tokens * per_token) if per_token else format_tokens(round(tokens)) for tokens in billed
        )
        name = tr("Input billed") if per_token else tr("Input tokens billed")
        yield name, f"≈ {mine}", compared(*billed, f"≈ {unmanaged}")
        peak = format_tokens(other.peak_window)
        yield (
            tr("Largest request"), format_tokens(own.peak_window),
            compared(own.peak_window, other.peak_window, peak),
        )  # fmt: skip
        reachable = format_whole_percent(self.figures.reach.reachable_share)
        in_context = format_whole_percent(
            self.figures.reach.window_bytes / self.figures.reach.output_bytes
            if self.figures.reach.output_bytes
            else 1.0
        )
        yield tr("Outputs that can be recalled"), reachable, tr("{share} in context", share=in_context)

    @property
    def notes(self) -> str:
        """Return what is estimated."""
        notes = [
            tr(
                "Estimated: tokens are Helix's own count, without system prompt and tools. Billed is the "
                "input with a prompt cache that never expires. Helix's summaries here need no model."
            ),
            tr("A fact survives where its name, number or words are in the text. One call is a recall."),
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
    """Facts by kind, with how many are where; each kind opens to its facts."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("survival_facts")
        self.setAccessibleName(tr("Facts"))
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
        self._agent, self._kinds = agent, facts
        in_summary = tr("{agent}’s summary", agent=agent)
        in_helix = [tr("Helix: {place}", place=translate(place).lower()) for place in _PLACES.values()]
        titles = (tr("Fact"), tr("Total"), in_summary, *in_helix)
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
    item = QTreeWidgetItem([isolate(words)])
    item.setToolTip(0, plain_tooltip(words))
    item.setText(_SUMMARY, "✓" if fact.in_summary else "–")
    item.setText(_FIRST_PLACE + [*_PLACES].index(fact.place), "–" if fact.place == "nowhere" else "✓")
    in_summary = (
        tr("In {agent}’s summary", agent=agent)
        if fact.in_summary
        else tr("Not in {agent}’s summary", agent=agent)
    )
    read = dotted((words, in_summary if agent else "", translate(_PLACES[fact.place])))
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, read)
    return item


class SurvivalReport(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.title, self.sentence = SelectableText("", 13, "muted"), SelectableText("", 18, weight=600)
        self.about, self.notes = SelectableText("", 12, "muted"), SelectableText("", 12, "muted")
        self.chart, self.facts = SurvivalChart(), FactTable()
        self.stats = [(label("", "note"), label("", "heading"), label("", "note")) for _ in range(4)]
        figures = FlowBox([pane(column(*stat, gap=1, margins=(0, 0, 26, 0))) for stat in self.stats])
        head = column(self.title, self.sentence, self.about, gap=4)
        self.body = column(head, self.chart, figures, self.facts, self.notes, margins=(24, 8, 24, 18), gap=16)
        self.body.setStretch(3, 1)
        self.facts.setMinimumHeight(scaled(240))
        self.setLayout(self.body)
        self.title.hide()

    def show_survival(self, survival: Survival, moment: int) -> None:
        """Show a session as it is at one of its moments."""
        _, request, facts = survival.moments[moment]
        is_end = moment == len(survival.moments) - 1
        self.sentence.setText(survival.sentence(moment))
        self.about.setText(survival.about)
        self.notes.setText(survival.notes)
        self.chart.show_figures(survival.figures, survival.agent, request)
        for labels, words in zip(self.stats, survival.stats, strict=True):
            for part, word in zip(labels, words, strict=True):
                part.setText(word)
        self.facts.show_facts(facts, "" if is_end else survival.agent)

    def places(self) -> list[QRect]:
        """Return where its parts are, from the top."""
        parts = map(self.body.itemAt, range(self.body.count()))
        return [part.geometry() for part in parts if part is not None]


async def picture_of(parent: QWidget, survival: Survival, moment: int) -> QImage:
    """Return a session's report as an image with what is estimated.

    It is made in short slices, so that the window is usable meanwhile.
    """
    report = SurvivalReport()
    report.setParent(parent)
    await asyncio.sleep(0)
    report.show_survival(survival, moment)
    report.title.setText(dotted((APP_NAME, tr("What survives"), escape_hidden_name(survival.title))))
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
