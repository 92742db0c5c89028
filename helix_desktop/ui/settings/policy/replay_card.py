"""The current session under two policies: which two, the chart, and what each would have cost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Literal

import msgspec
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QToolTip, QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, card, column, pane, row
from helix_desktop.ui.design.plot import (
    Plot,
    axis_width,
    paint_axis,
    paint_curve,
    paint_dot,
    paint_times,
    times_height,
)
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Theme, Themed
from helix_desktop.words.numbers import (
    format_integer,
    format_token_change,
    format_tokens,
    format_whole_percent,
)
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Policy")
text = TextContext("Settings: Policy")

ReplayState = Literal["empty", "busy", "ready", "failed"]
_LEAST_SHARE = 0.005  # of a reference: a smaller difference has no share that could be shown


class PolicyComparison(msgspec.Struct, frozen=True):
    """Two of the `names` of policies by key, and the session's replay under each as far as it is computed.

    `message` says why there is no replay (empty), or what failed. `is_one`: both are the same policy.
    `reports_cache`: the session's provider says what it had cached. All is counted for `model`; others
    answered, too, if there are `other_models`. `is_reported`: one said how many tokens it got.
    `has_user_rewrites`: the user compacted or undid, which is not replayed. `always` are the tokens of system
    prompt and tools by our count.
    """

    names: dict[str, str] = {}
    policy: str = ""
    reference: str = ""
    replay: PolicyReplay | None = None
    reference_replay: PolicyReplay | None = None
    state: ReplayState = "empty"
    message: str = ""
    is_one: bool = True
    reports_cache: bool = True
    model: str = ""
    other_models: bool = False
    is_reported: bool = True
    has_user_rewrites: bool = False
    always: int = 0

    @property
    def named_replays(self) -> tuple[tuple[str, PolicyReplay | None], ...]:
        keys = (self.policy, self.reference)
        replays = (self.replay, self.reference_replay)
        return tuple(zip((self.names.get(key, "") for key in keys), replays, strict=True))

    @property
    def is_exact(self) -> bool:
        return all(replay is not None and replay.is_exact for _, replay in self.named_replays)


class FigureRow(msgspec.Struct, frozen=True):
    """One figure of both replays as text, and the difference."""

    title: str
    note: str
    value: str
    reference: str
    difference: str


def figure_rows(comparison: PolicyComparison) -> tuple[FigureRow, ...]:
    mine = comparison.replay
    other = comparison.reference_replay
    replays = (mine, other)

    def tokens_row(title: str, note: str, of: Callable[[PolicyReplay], float]) -> FigureRow:
        values = [of(replay) if replay is not None else None for replay in replays]
        first, second = (
            "…" if replay is None else _about(replay.is_exact) + format_tokens(round(of(replay)))
            for replay in replays
        )
        return FigureRow(title, note, first, second, _token_difference(comparison, *values))

    coverage = [replay.coverage if replay is not None else None for replay in (other, mine)]
    points = "" if None in coverage else _points(*coverage) or tr("same")
    return (
        tokens_row(
            tr("Tokens sent"),
            tr("All requests of the session, as today's tools and prompt would send them"),
            lambda replay: replay.sent,
        ),
        tokens_row(
            tr("Tokens billed"),
            tr("The same in tokens of new input that would cost as much")
            if comparison.reports_cache
            else tr("With the usual discount for what was sent before; this provider doesn't report one"),
            lambda replay: replay.billed,
        ),
        FigureRow(
            tr("Still in context"),
            tr("Of the files and symbols that later steps used again"),
            _share(mine),
            _share(other),
            points,
        ),
    )


def field_effect_text(effect: FieldEffect) -> str:
    saved = -round(effect.billed)
    parts = []
    if saved > 0:
        parts.append(tr("saves {tokens} billed", tokens=format_tokens(saved)))
    elif saved < 0:
        parts.append(tr("bills {tokens} more", tokens=format_tokens(-saved)))
    if points := _points(0.0, effect.coverage):
        parts.append(tr("still in context {points}", points=points))
    if not parts:
        return tr("No effect on this session")
    return tr("This session: {effects}", effects=", ".join(parts))


def _token_difference(comparison: PolicyComparison, tokens: float | None, reference: float | None) -> str:
    if tokens is None or reference is None:
        return ""
    difference = round(tokens) - round(reference)
    if not difference:
        return tr("same") if comparison.is_exact else "…"
    sign = "+" if difference > 0 else "\N{MINUS SIGN}"
    amount = _about(comparison.is_exact) + sign + format_tokens(abs(difference))
    if abs(difference) < reference * _LEAST_SHARE or not reference:
        return amount
    share = sign + format_whole_percent(abs(difference) / reference)
    return tr("{amount} ({share})", amount=amount, share=share)


def _share(replay: PolicyReplay | None) -> str:
    """Return the coverage of a replay; only an exact one knows it."""
    if replay is not None and replay.coverage is not None:
        return format_whole_percent(replay.coverage)
    return tr("nothing used again") if replay is not None and replay.is_exact else "…"


def _points(before: float | None, after: float | None) -> str:
    """Return a difference of shares in percentage points, as both are shown; empty if there is none."""
    if before is None or after is None:
        return ""
    points = round(after * 100) - round(before * 100)
    if not points:
        return ""
    sign = "+" if points > 0 else "\N{MINUS SIGN}"
    return sign + tr.plural(abs(points), "%n point", "%n points")


_COLUMNS = 3

_HEIGHT = 160  # pixels at the usual text size
_TOP = 8.0  # pixels above the plot
_RIGHT = 8.0  # pixels at the right of it
_MAX_POINTS = 900  # of one curve: more than the pixels that it has
_ESTIMATE_OPACITY = 0.4
_DOT_PX = 10  # with its edge
_SMALL_DOT_PX = 4  # without an edge, where dots would hide the curves
_DOT_MIDDLE = QPointF(_DOT_PX / 2, _DOT_PX / 2)
_LEAST_DOT_GAP_PX = 12  # on average between two dots with an edge
_DASH = 4  # pixels of a line of a bound, and between them
_LABEL_INSET_PX = 4  # from a bound's label to the plot's edge
_LABEL_GAP_PX = 10  # between two such labels
_NEAR = 7.0  # pixels around a dot in which the mouse is on it
_REWRITES = {
    "sweep-made": (text("outputs cached"), STATE_WORDS["cached"].color),
    **dict.fromkeys(
        ("fold-made", "observations-placed", "handover-made"),
        (text("older messages compacted"), STATE_WORDS["folded"].color),
    ),
}
"""What rewrites did, and the color of their dots: the rare ones that change most lie above the others."""
_OTHER_REWRITE = (text("context rewritten"), "muted")


def _fullest_points(points: Sequence[WindowPoint], max_points: int) -> list[WindowPoint]:
    """Return about `max_points`: the fullest and the emptiest of each stretch, in order, and the last."""
    if len(points) <= max_points:
        return list(points)
    step = -(-2 * len(points) // max_points)
    sampled: list[WindowPoint] = []
    for begin in range(0, len(points), step):
        stretch = points[begin : begin + step]
        ends = {min(stretch, key=lambda it: it.tokens).seq, max(stretch, key=lambda it: it.tokens).seq}
        sampled += [point for point in stretch if point.seq in ends]
    return sampled if sampled[-1] == points[-1] else [*sampled, points[-1]]


def _rewrite_text(rewrite: PolicyRewrite, is_exact: bool) -> str:
    """Return what a rewrite would have done, about where the replay is an estimate."""
    words, _ = _REWRITES.get(rewrite.kind, _OTHER_REWRITE)
    change = _about(is_exact) + format_token_change(rewrite.tokens_before, rewrite.tokens_after)
    return " · ".join((translate(words), change, f"e{rewrite.seq}"))


class ReplayChart(Themed, QWidget):
    """The curve of one policy with its dots, and dashed that of the one it is compared with."""

    accessible_role = QAccessible.Role.Chart

    def __init__(self) -> None:
        super().__init__()
        self._comparison = PolicyComparison()
        self._seqs: list[int] = []
        self._curves: tuple[list[WindowPoint], list[WindowPoint]] = ([], [])
        self._tokens: tuple[list[int], list[int]] = ([], [])  # of both curves at `_seqs`
        self._dots: list[tuple[PolicyRewrite, int]] = []  # with the place in `_seqs`
        self.setObjectName("policy_chart")
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_comparison(self, comparison: PolicyComparison) -> None:
        self._comparison = comparison
        replays = (comparison.replay, None if comparison.is_one else comparison.reference_replay)
        first, second = (_fullest_points(it.points, _MAX_POINTS) if it else [] for it in replays)
        self._curves = first, second
        seqs = self._seqs = sorted({point.seq for curve in self._curves for point in curve})
        self._tokens = _tokens_along(first, seqs), _tokens_along(second, seqs)
        rewrites = comparison.replay.rewrites if comparison.replay is not None and first else ()
        # Each is where the curve has a point after it: at points of the other one it goes on as before.
        own = [point.seq for point in first]
        places = [min(bisect_left(own, it.seq), len(own) - 1) for it in rewrites]
        self._dots = [(it, bisect_left(seqs, own[place])) for it, place in zip(rewrites, places, strict=True)]
        self.setAccessibleName(self._summary())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, scaled(_HEIGHT))

    def text_at(self, place: QPointF) -> str:
        """Return what the mouse is on: a rewrite, or the window under both policies at that request."""
        replay = self._comparison.replay
        plot = self._plot()
        if replay is None or not self._seqs:
            return ""
        dots = ((rewrite, self._dot(plot, index) - place) for rewrite, index in self._dots)
        if near := [it for it, way in dots if max(abs(way.x()), abs(way.y())) <= _NEAR]:
            return "\n".join(_rewrite_text(it, it.seq <= _exact_until(replay)) for it in near)
        index = plot.index_at(place.x())
        seq = self._seqs[index]
        curves = zip(self._comparison.named_replays, self._tokens, strict=True)
        shown = [(name, tokens[index], _exact_until(of)) for (name, of), tokens in curves if tokens]
        lines = [self._point_text(name, used, seq <= until) for name, used, until in shown]
        return "\n".join([*lines, f"e{seq}"])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if text := self.text_at(event.position()):
            QToolTip.showText(event.globalPosition().toPoint(), text, self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plot = self._plot()
        theme = self._theme
        replay = self._comparison.replay
        if not self._seqs:
            return
        paint_axis(painter, plot, theme)
        times = {point.seq: point.at * 1000 for curve in self._curves for point in curve}
        paint_times(painter, plot, theme, [times[seq] for seq in self._seqs])
        if replay is not None:
            _paint_bounds(painter, plot, replay, theme, self._tokens)
        mine, other = map(plot.line_of, self._tokens)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)  # takes 8 ms; the curve has it
        below = QColor(theme.accent)
        below.setAlphaF(0.16 if theme.dark else 0.09)
        painter.fillPath(plot.area_below(mine), below)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for _ in self._parts(painter, plot, self._comparison.reference_replay):
            paint_curve(painter, other, theme.muted, dashed=True)
        for _ in self._parts(painter, plot, replay):
            paint_curve(painter, mine, theme.accent)
        is_dense = len(self._dots) * _LEAST_DOT_GAP_PX > plot.rect.width()
        ratio = self.devicePixelRatioF()
        kinds = dict.fromkeys(rewrite.kind for rewrite, _ in self._dots)
        faces = {kind: _dot_face(kind, theme, ratio, is_small=is_dense) for kind in kinds}
        layers = [kind for kind in kinds if kind not in _REWRITES]
        exact_until = _exact_until(replay)
        layers += _REWRITES
        for rewrite, index in sorted(self._dots, key=lambda dot: layers.index(dot[0].kind)):
            painter.setOpacity(1.0 if rewrite.seq <= exact_until else _ESTIMATE_OPACITY)
            painter.drawPixmap(self._dot(plot, index) - _DOT_MIDDLE, faces[rewrite.kind])

    def _parts(self, painter: QPainter, plot: Plot, replay: PolicyReplay | None) -> Iterator[None]:
        """Have a curve drawn twice: first where the replay is exact, then fainter where it is an estimate."""
        index = bisect_right(self._seqs, _exact_until(replay))
        edge = plot.x_of(index - 1) if index else 0.0
        if index == len(self._seqs):
            edge = float(self.width())
        for opacity, left, right in ((1.0, 0.0, edge), (_ESTIMATE_OPACITY, edge, float(self.width()))):
            painter.save()
            painter.setClipRect(QRectF(left, 0, right - left, self.height()))
            painter.setOpacity(opacity)
            yield
            painter.restore()

    def _summary(self) -> str:
        curves = [
            (name, curve, _about(replay is not None and replay.is_exact))
            for (name, replay), curve in zip(self._comparison.named_replays, self._curves, strict=True)
            if curve
        ]
        if not curves:
            return tr("Context over the session: no replay yet")
        parts = [
            tr(
                "{policy}: at most {peak}, {end} at the end",
                policy=name,
                peak=about + format_tokens(max(point.tokens for point in curve)),
                end=about + format_tokens(curve[-1].tokens),
            )
            for name, curve, about in curves
        ]
        return tr("Context over the session. {curves}", curves="; ".join(parts))

    def _point_text(self, name: str, tokens: int, is_exact: bool) -> str:
        replay = self._comparison.replay
        about = _about(is_exact)
        window = replay.window if replay is not None else 0
        return tr(
            "{policy}: {tokens} tokens, {share} of the context window",
            policy=name,
            tokens=about + format_tokens(tokens),
            share=format_whole_percent(tokens / window if window else 0.0, is_estimated=not is_exact),
        )

    def _plot(self) -> Plot:
        fullest = max((point.tokens for curve in self._curves for point in curve), default=0)
        top = max(1_000, round(fullest * 1.05))
        left = axis_width(top)
        height = self.height() - _TOP - times_height()
        rect = QRectF(left, _TOP, max(1.0, self.width() - left - _RIGHT), max(1.0, height))
        return Plot(rect, len(self._seqs), top)

    def _dot(self, plot: Plot, index: int) -> QPointF:
        return QPointF(plot.x_of(index), plot.y_of(self._tokens[0][index]))


def _about(is_exact: bool) -> str:
    return "" if is_exact else "≈ "


def _exact_until(replay: PolicyReplay | None) -> float:
    """Return the event up to which a replay is exact; -1 if it is an estimate from the first request on."""
    if replay is None or not (replay.is_exact or replay.exact_points):
        return -1
    return inf if replay.is_exact else replay.points[replay.exact_points - 1].seq


def _tokens_along(curve: Sequence[WindowPoint], seqs: Sequence[int]) -> list[int]:
    """Return the tokens at each event: of the newest point up to it, or of the first; none of no curve."""
    tokens = []
    at = 0
    for seq in seqs if curve else ():
        while at + 1 < len(curve) and curve[at + 1].seq <= seq:
            at += 1
        tokens.append(curve[at].tokens)
    return tokens


def _dot_face(kind: str, theme: Theme, ratio: float, *, is_small: bool) -> QPixmap:
    """Return the dot of a kind of rewrite as a picture: there may be a thousand."""
    face = QPixmap(QSize(_DOT_PX, _DOT_PX) * ratio)
    face.setDevicePixelRatio(ratio)
    face.fill(Qt.GlobalColor.transparent)
    painter = QPainter(face)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    color = str(getattr(theme, _REWRITES.get(kind, _OTHER_REWRITE)[1]))
    if is_small:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        painter.drawEllipse(_DOT_MIDDLE, _SMALL_DOT_PX / 2, _SMALL_DOT_PX / 2)
    else:
        paint_dot(painter, _DOT_MIDDLE, color, theme)
    painter.end()
    return face


def _paint_bounds(
    painter: QPainter, plot: Plot, replay: PolicyReplay, theme: Theme, curves: Iterable[Sequence[int]]
) -> None:
    """Draw the window's edge, and where compaction is due, if a curve comes near."""
    painter.setFont(ui_font(11, 500))
    all_bounds = (
        (replay.window, theme.error, tr("context window")),
        (replay.handover_at, theme.warn, tr("compaction")),
    )
    bounds = [bound for bound in all_bounds if 0 < bound[0] <= plot.top]
    for place, (tokens, color, _) in enumerate(bounds):
        pen = QPen(QColor(color), 1)
        pen.setDashPattern([_DASH, _DASH])
        pen.setDashOffset(_DASH * place)  # two lines that lie on each other are seen in turn
        painter.setPen(pen)
        y = plot.y_of(tokens)
        painter.drawLine(QPointF(plot.rect.left(), y), QPointF(plot.rect.right(), y))
    metrics = painter.fontMetrics()
    sizes = [QSize(metrics.horizontalAdvance(name) + 1, scaled(16)) for _, _, name in bounds]
    rects = label_rects(plot, [tokens for tokens, _, _ in bounds], sizes, curves)
    for (_, color, name), rect in zip(bounds, rects, strict=True):
        painter.setPen(QColor(color))
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)


def label_rects(
    plot: Plot, bounds: Sequence[int], sizes: Sequence[QSize], curves: Iterable[Sequence[int]]
) -> list[QRectF]:
    """Return the places of the labels of lines at `bounds` tokens, from the top down, clear of the curves.

    Each is above its line, the first one below it where there is no room, another one beside the former. They
    begin at the left, where the curve of a session is low, or end at the right where a curve passes there.
    """
    rects: list[QRectF] = []
    free_top = plot.rect.top()
    for tokens, size in zip(bounds, sizes, strict=True):
        y = plot.y_of(tokens)
        corner = QPointF(plot.rect.left() + _LABEL_INSET_PX, y - 1 - size.height())
        if corner.y() < free_top:
            corner = rects[-1].topRight() + QPointF(_LABEL_GAP_PX, 0) if rects else QPointF(corner.x(), y + 1)
        rects.append(QRectF(corner, size))
        free_top = max(y, rects[-1].bottom())
    end = plot.rect.right() - _LABEL_INSET_PX - max((rect.right() for rect in rects), default=0.0)
    at_right = [rect.translated(end, 0) for rect in rects]
    drawn = list(curves)
    is_crossed, is_crossed_there = (
        any(_passes(plot, curve, rect) for curve in drawn for rect in place) for place in (rects, at_right)
    )
    return at_right if is_crossed and not is_crossed_there else rects


def _passes(plot: Plot, curve: Sequence[int], rect: QRectF) -> bool:
    tokens = curve[plot.index_at(rect.left()) : plot.index_at(rect.right()) + 1]
    return bool(tokens) and plot.y_of(max(tokens)) <= rect.bottom() and plot.y_of(min(tokens)) >= rect.top()


def replay_notes(comparison: PolicyComparison) -> tuple[str, ...]:
    """Return the lines below the figures: what differs, what is counted, and by which model."""
    mine = comparison.replay
    other = comparison.reference_replay
    notes = []
    if comparison.is_exact and mine is not None and other is not None:
        notes += [] if comparison.is_one else _difference_notes(comparison, mine, other)
        for name, replay in comparison.named_replays[: 1 if comparison.is_one else 2]:
            notes += _overflow_note(name, replay)
    if mine is not None:
        notes.append(tr("The chart is drawn by request, not by time."))
        if not comparison.is_reported:
            notes.append(tr("The model reported no token counts: all are Helix's own."))
        elif mine.points and mine.points[0].tokens < comparison.always / 2:
            notes.append(
                tr(
                    "The model reports fewer tokens than Helix counts for system prompt and tools alone "
                    "({tokens}).",
                    tokens=format_tokens(comparison.always),
                )
            )
        if comparison.has_user_rewrites:
            notes.append(tr("Compactions and undos by you aren't replayed."))
    if comparison.other_models:
        notes.append(
            tr(
                "Counted as if {model} had answered every request. Other models answered some or all of "
                "them.",
                model=comparison.model,
            )
        )
    return tuple(notes)


def _difference_notes(comparison: PolicyComparison, mine: PolicyReplay, other: PolicyReplay) -> list[str]:
    """Return from where the two policies differ, and why the one that sends less is billed more."""
    pairs = list(zip(mine.points, other.points, strict=False))
    first = next(
        (at for at, (point, reference) in enumerate(pairs) if point.tokens != reference.tokens), None
    )
    if first is None:
        return [tr("Both policies send the same requests in this session.")]
    notes = [
        tr(
            "They differ from request {number} of {total} on, at about {tokens} tokens in the context.",
            number=format_integer(first + 1),
            total=format_integer(len(pairs)),
            tokens=format_tokens(max(point.tokens for point in pairs[first])),
        )
    ]
    if (mine.sent - other.sent) * (mine.billed - other.billed) < 0:
        key = comparison.policy if mine.sent < other.sent else comparison.reference
        notes.append(
            tr(
                "{policy} sends less but is billed more: what follows a change in the context is billed "
                "once at the full price.",
                policy=comparison.names[key],
            )
        )
    return notes


def _overflow_note(policy: str, replay: PolicyReplay | None) -> list[str]:
    """Return from where a policy's requests would be stopped as too large; nothing if all fit."""
    if replay is None or not replay.first_too_large:
        return []
    return [
        tr(
            "{policy}: request {number} of {total} is the first that doesn't fit in the context window with "
            "room for the answer. It would be stopped with an error. Tokens sent and billed count all "
            "requests as if they fit, “Still in context” only those that do.",
            policy=policy,
            number=format_integer(replay.first_too_large),
            total=format_integer(len(replay.points)),
        )
    ]


class _LineSample(Themed, QWidget):
    def __init__(self, dashed: bool) -> None:
        super().__init__()
        self._dashed = dashed
        self.setFixedSize(22, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = QPen(QColor(self._theme.muted if self._dashed else self._theme.accent), 2)
        if self._dashed:
            pen.setDashPattern([3, 3])
        painter = QPainter(self)
        painter.setPen(pen)
        painter.drawLine(1, 6, 21, 6)


class _FigureTable(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(3)
        self._cells: dict[tuple[int, int], QLabel] = {}
        for number in range(_COLUMNS + 1):
            self._grid.setColumnStretch(number, 1)

    def show_comparison(self, comparison: PolicyComparison) -> None:
        """Show other figures; one column where a policy is compared with itself."""
        names = ["", *(name for name, _ in comparison.named_replays), tr("Difference")]
        shown = len(names)
        if comparison.is_one:
            names = [""] * shown
            shown = 2
        for number, name in enumerate(names):
            self._set(0, number, name, "faint")
        for at, figure in enumerate(figure_rows(comparison)):
            texts = (figure.title, figure.value, figure.reference, figure.difference)
            for number, (words, role) in enumerate(zip(texts, ("muted", "strong", "", ""), strict=True)):
                self._set(2 * at + 1, number, words if number < shown else "", role)
            note = self._set(2 * at + 2, 0, figure.note, "note", columns=_COLUMNS + 1)
            note.setContentsMargins(0, 0, 0, 6)

    def _set(self, line: int, number: int, text: str, role: str, columns: int = 1) -> QLabel:
        if (line, number) not in self._cells:
            cell = self._cells[line, number] = label("", role, wrap=True)
            self._grid.addWidget(cell, line, number, 1, columns)
        self._cells[line, number].setText(text)
        return self._cells[line, number]


class ReplayCard(QWidget):
    """Chart and figures of two policies that the user chooses, or a sentence that says why there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.chart = ReplayChart()
        self.figures = _FigureTable()
        self.policy = ComboBox(words=tr("Policy to show"))
        self.policy.setObjectName("compare_policy")
        self.reference = ComboBox(words=tr("Policy to compare with"))
        self.reference.setObjectName("compare_reference")
        self.status = label("", "warn", name="replay_status")
        self.is_busy = False
        self._message = label("", "note", wrap=True, name="replay_message")
        self.retry = PushButton(tr("Try again"), name="retry_replay")
        choices = FlowBox([self._choice(False, self.policy), self._choice(True, self.reference)])
        self._notes = label("", "note", wrap=True, name="replay_notes")
        self._result = pane(column(choices, self.chart, self.figures, self._notes, gap=10))
        title = ResponsiveRow(label(tr("This session, replayed"), "strong", wrap=True), [self.status], 120)
        body = (title, self._message, FlowBox([self.retry]), self._result)
        self.setLayout(column(card(column(*body, margins=(16, 13, 16, 14), gap=9))))
        self.show_comparison(PolicyComparison())

    def _choice(self, dashed: bool, combo: ComboBox) -> QWidget:
        words = label(tr("compared with") if dashed else tr("Show"), "muted")
        words.setBuddy(combo)
        return pane(row(words, _LineSample(dashed), combo, gap=7))

    def show_comparison(self, comparison: PolicyComparison) -> None:
        has_result = comparison.state in ("busy", "ready")
        self.is_busy = comparison.state == "busy"
        show_text(self._message, comparison.message)
        self.retry.setVisible(comparison.state == "failed")
        self._result.setVisible(has_result)
        status = tr("Approximate") if comparison.state == "ready" and not comparison.is_exact else ""
        if self.is_busy:
            has_picture = comparison.replay is not None
            status = tr("Approximate, computing the exact figures…") if has_picture else tr("Computing…")
        show_text(self.status, status)
        self._fill(self.policy, comparison, comparison.policy)
        self._fill(self.reference, comparison, comparison.reference)
        self.chart.show_comparison(comparison)
        if has_result:
            self.figures.show_comparison(comparison)
            self._notes.setText("\n".join(replay_notes(comparison)))

    @staticmethod
    def _fill(combo: ComboBox, comparison: PolicyComparison, key: str) -> None:
        items = [(combo.itemData(at), combo.itemText(at)) for at in range(combo.count())]
        if items != list(comparison.names.items()):
            combo.clear()
            for choice, name in comparison.names.items():
                combo.addItem(name, choice)
        combo.setCurrentIndex(combo.findData(key))
