"""The cards of the timeline as boxes: what was cached, pins, failures, undo marks; what all cards share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPen

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    FoldMade,
    PlacementReason,
    SweepReason,
)
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Dot,
    Drawing,
    Flow,
    Frame,
    Icon,
    Pen,
    Pill,
    Row,
    RowWithEnd,
    Text,
    chip,
    face,
    fold_head,
    link,
    push_button,
)
from helix_desktop.ui.kit.intents import (
    CancelCompaction,
    OpenCacheEntry,
    Pin,
    Redo,
    RetrySummary,
    ShowEvent,
    Undo,
    Unpin,
)
from helix_desktop.ui.kit.words import Words
from helix_desktop.ui.timeline.card_data import (
    PHASES,
    ChangeCard,
    ChangePart,
    FailureCard,
    FoldCard,
    FormCard,
    ManualActionCard,
    Phase,
    PlacedCard,
    RunningCard,
    SweepCard,
    UndoCard,
    card_title,
    chooser_text,
    phase_text,
    running_text,
    undo_seqs,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.direction import dotted
from helix_desktop.words.message_states import STATE_WORDS
from helix_desktop.words.numbers import format_token_change, format_token_count
from helix_desktop.words.rewrite_reasons import placement_text, retaken_text, sweep_reason_text
from helix_desktop.words.rewrites import context_change_text
from helix_desktop.words.summary_coverage import MissingText
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_MAX_CONTENTS = 24
_NAME_CHARS = 60
_AT_ONCE = 3_000  # characters of a text that stand whole in a card; the rest of a longer one is asked for


class ToggleFold(NamedTuple):
    """Open or close a part of a card; `opens`: it is closed, and a link to the card opens it."""

    part: str
    opens: bool = False


class OpenCardMenu(NamedTuple):
    """Open the menu of a card."""


class CardLook(NamedTuple):
    """How a card looks now: what is open in it beside what is so by itself, and whether it can be used.

    One that is `later` than the step that is looked at has no actions.
    """

    now_ms: int
    toggled: frozenset[str] = frozenset()
    is_later: bool = False
    is_part: bool = False  # of a change that is undone as a whole

    def is_open(self, part: str, *, at_first: bool = False) -> bool:
        return at_first != (part in self.toggled)


def framed(
    content: Sequence[Box], pad: tuple[int, int, int, int], gap: int, tip: str = "", fill: str = "surface"
) -> Frame:
    """Return what stands in a card."""
    return Frame(Column(content, gap), pad, fill, "border", tip=tip)


def undo_links(
    seqs: tuple[int, ...], look: CardLook, undone: bool, inside: str = "", carries: str = ""
) -> list[Button]:
    """Return Undo, or Redo when it is undone already; none `inside` a later rewrite, which is undone first.

    `carries` is what falls and returns with it.
    """
    if not seqs or look.is_later or look.is_part or (inside and not undone):
        return []
    if undone:
        tip = tr("Redo also repeats: {changes}", changes=carries) if carries else ""
        return [link("redo", Redo(seqs), tr("Redo"), "redo-2", tip=tip)]
    tip = tr("Undo also takes back: {changes}", changes=carries) if carries else ""
    return [link("undo", Undo(seqs), tr("Undo"), "undo-2", tip=tip)]


def _show_links(seq: int, title: str, look: CardLook) -> list[Button]:
    if look.is_later:
        return []
    label = tr("Show in chat: {title}", title=title)
    return [link("show", ShowEvent(seq), tr("Show", "button: show this in the chat"), label=label)]


def time_text(at_ms: int, look: CardLook) -> Text:
    """Return when a card's event was."""
    return Text(format_relative_time(at_ms, look.now_ms, with_time=True), 12, "faint")


def inside_pill(name: str) -> Pill:
    """Says that a rewrite holds, but stands inside a later one."""
    return Pill(tr("Undo a later one first"), tip=tr("Restored when “{title}” is undone", title=name))


def undone_pill(name: str = "") -> Pill:
    """Says that a rewrite was undone, together with which other one, if any."""
    return Pill(tr("Undone with “{title}”", title=name) if name else tr("Undone"), "warn")


def state_pills(is_undone: bool, inside: str, undone_with: str = "") -> list[Pill]:
    """Return what says that a rewrite was undone, or else that it stands inside a later one."""
    if is_undone:
        return [undone_pill(undone_with)]
    return [inside_pill(inside)] if inside else []


def icon_line(icon: Icon, content: Box, end: Sequence[Box], corner: Sequence[Box] = ()) -> RowWithEnd:
    """Return an icon, words, and what stands at the end of their line, or below it where there is no room."""
    content.grow = content.shrink = True
    words = Frame(Row([icon, content], 9), (0, 4, 0, 4))
    return RowWithEnd([words, Flow(end, 6, is_at_end=True), *corner], least=224)


def headline(
    icon: str, title: str, is_undone: bool, end: Sequence[Box], corner: Sequence[Box] = ()
) -> RowWithEnd:
    words = Words(title, 13, "faint" if is_undone else "text", 500)
    return icon_line(Icon(icon, "faint" if is_undone else "muted"), words, end, corner)


def _unfold_button(part: str, *, is_open: bool) -> Button:
    tip = tr("Hide details") if is_open else tr("Show details")
    icon = Icon("chevron-down" if is_open else "chevron-right")
    return Button("unfold", ToggleFold(part, opens=not is_open), icon, tip, "icon", tip=tip)


def index_chips(digest: str, entries: int) -> list[Button]:
    """Return the way to the index entry of what a rewrite covers, if it has one."""
    if not digest:
        return []
    words = tr.plural(entries, "List of %n output", "List of %n outputs")
    tip = f"{tr('Open in cache')}: {digest[:8]}"
    return [chip("index", OpenCacheEntry(digest), Pill(words, icon="database"), tip)]


def source_chip(seq: int) -> Button:
    label = tr("Show in chat: e{event}", event=str(seq))
    pill = Pill("", icon="message-square")
    return chip(f"source:{seq}", ShowEvent(seq), pill, tr("Show in chat"), label)


def bullet_row(bullet: Bullet, color: str = "text", *, is_flagged: bool = True) -> Box:
    """Return one sentence with links to the messages it comes from; without any it is flagged."""
    tail: list[Box] = [source_chip(seq) for seq in bullet.sources]
    text = bullet.text
    if is_flagged and not bullet.sources:
        # The chip says it in place of the words that an edited handover has in its text.
        text = text.removesuffix(UNSUPPORTED).rstrip()
        tip = tr("The model named no source for this sentence")
        tail.append(Pill(tr("No source"), "warn", "triangle-alert", tip=tip))
    words = Words(text, 13, color, is_marked_up=True, tail=tail, grow=True, shrink=True)
    line, pad = [Dot("faint", line=21), words], (3, 0, 0, 0)
    if words.runs_against:
        line, pad = line[::-1], (0, 0, 3, 0)
    return Frame(Row(line, 9, is_at_top=True), pad)


def fold(
    look: CardLook,
    part: str,
    title: str,
    note: str,
    color: str,
    build: Callable[[], Iterable[Box]],
    *,
    at_first: bool = False,
) -> Box:
    """Return a heading, with what `build` returns below it while it is open."""
    is_open = look.is_open(part, at_first=at_first)
    head = fold_head(f"fold:{part}", ToggleFold(part), title, note, color, is_open=is_open)
    return Column([head, *(build() if is_open else ())], 2)


def long_words(
    text: str, part: str, look: CardLook, color: str, px: int, *, is_code: bool = False
) -> list[Box]:
    """Return a text word for word; of a long one the beginning, with a link to the rest."""
    if len(text) <= _AT_ONCE or look.is_open(f"{part}:all"):
        return [Words(text, px, color, is_code=is_code)]
    cut = text.rfind("\n", 0, _AT_ONCE)
    count = len(text)
    words = tr.plural(count, "Show all %n character", "Show all %n characters")
    more = link(f"all:{part}", ToggleFold(f"{part}:all"), words)
    return [Words(text[: cut if cut > 0 else _AT_ONCE] + "…", px, color, is_code=is_code), Flow([more])]


def code_frame(content: Sequence[Box], gap: int = 6) -> Frame:
    return framed(content, (12, 9, 12, 10), gap, fill="code_surface")


def refused_fold(text: str, look: CardLook) -> Box:
    """Return what a model wrote that was not used, word for word."""
    note = tr.plural(len(text), "%n character", "%n characters")

    def build() -> list[Box]:
        return [Frame(Column(long_words(text, "refused", look, "muted", 13)), (20, 0, 0, 4))]

    return fold(look, "refused", tr("Text not used"), note, "muted", build)


def ledger_fold(ledger: str, look: CardLook, color: str) -> Box:
    """Return the list of files, commands and errors, word for word."""
    note = tr.plural(ledger.count("\n") + 1, "%n line", "%n lines")
    legend = tr(
        "r read, l listed, s searched, w written, e edited, $ run, ! failed. Hexadecimal digits: an output "
        "that the agent can recall. e12: the event. (part): only some lines were read."
    )

    def build() -> list[Box]:
        words = long_words(ledger, "ledger", look, "text", 12, is_code=True)
        return [code_frame([Words(legend, 12, "muted"), *words])]

    return fold(look, "ledger", tr("Files, commands and errors"), note, color, build)


def coverage_folds(missing: MissingText, look: CardLook) -> list[Box]:
    """Return what a summary does not name of what it covers, behind its heading; none without any."""
    if not missing.lines:
        return []

    def build() -> list[Box]:
        wide = max(face(12, 600)[1].horizontalAdvance(kind) for kind, _ in missing.lines) + 2
        lines = [
            Row(
                [
                    Frame(Words(kind, 12, "muted", 600), wide=wide),
                    Words(facts, 12, "muted", grow=True, shrink=True),
                ],
                12,
                is_at_top=True,
            )
            for kind, facts in missing.lines
        ]
        return [Column(lines)]

    return [fold(look, "missing", missing.heading, dotted(kind for kind, _ in missing.lines), "muted", build)]


def reason_text(card: ChangePart) -> str:
    """Return why a rewrite was made, and whether it took what the user had brought back."""
    return dotted((_why_made(card), retaken_text(card.retaken)))


def _why_made(card: ChangePart) -> str:
    """Return why a rewrite was made; empty where its title or the row beside it says so, or as usual."""
    match card:
        case SweepCard(reason=reason):
            is_attached = reason in ATTACHED_SWEEP_REASONS
            return "" if is_attached else sweep_reason_text(reason, card.averted_handover_at)
        case PlacedCard(averted_handover_at=share) if share:
            return placement_text(card.reason, card.threshold, share)
        case PlacedCard(reason=PlacementReason.REWRITE):
            return ""
        case FoldCard(event=FoldMade(how="truncate")):
            return sweep_reason_text(SweepReason.OVERFLOW)
        case PlacedCard(reason=reason) if reason is not PlacementReason.THRESHOLD:
            return placement_text(reason, card.threshold)
        case FoldCard(event=event):
            return sweep_reason_text(SweepReason.BATCH, event.averted_handover_at)
    return ""


def sweep_title(card: SweepCard) -> str:
    is_counted = card.reason is SweepReason.HANDOVER  # in the handover's figures
    size = "" if is_counted else context_change_text(card.before, card.after)
    return dotted((card_title(card), size, reason_text(card)))


def sweep_box(card: SweepCard, look: CardLook) -> Box:
    is_open = look.is_open("outputs")
    corner = [_unfold_button("outputs", is_open=is_open)] if card.contents else []
    end = [
        *state_pills(card.is_undone, card.inside, card.undone_with),
        time_text(card.at_ms, look),
        *undo_links((card.seq,), look, card.is_undone, card.inside),
    ]
    content: list[Box] = [headline("layers", sweep_title(card), card.is_undone, end, corner)]
    if is_open:
        pills: list[Box] = [
            chip(
                f"output:{digest[:12]}",
                OpenCacheEntry(digest),
                Pill(ellipsize(name, _NAME_CHARS), icon="database"),
                f"{tr('Open in cache')}: {digest[:8]}",
            )
            for digest, name in card.contents[:_MAX_CONTENTS]
        ]
        if (more := len(card.contents) - _MAX_CONTENTS) > 0:
            pills.append(Pill(tr.plural(more, "%n more", "%n more")))
        content.append(Flow(pills))
    tip = translate(STATE_WORDS["cached"].tooltip)
    return framed(content, (14, 5, 8, 10 if is_open else 5), 8, tip)


def change_title(card: ChangeCard) -> str:
    size = context_change_text(card.before, card.after) if card.before else ""
    return dotted((card_title(card), size, retaken_text(sum(part.retaken for part in card.parts))))


def change_box(card: ChangeCard, look: CardLook) -> Box:
    """Return all that became of the context before a request, in one line."""
    end = [
        *state_pills(card.is_undone, card.inside),
        time_text(card.at_ms, look),
        *undo_links(undo_seqs(card), look, card.is_undone),
    ]
    corner = [_unfold_button("rewrites", is_open=look.is_open("rewrites"))]
    return framed([headline("layers", change_title(card), card.is_undone, end, corner)], (14, 5, 8, 5), 8)


def form_title(card: FormCard) -> str:
    is_shorter = card.before not in (0, card.after)
    tokens = format_token_change(card.before, card.after) if is_shorter else format_token_count(card.after)
    return dotted((card_title(card), tokens))


def form_details(card: FormCard) -> list[str]:
    cost = tr("asking took {amount}", amount=card.cost) if card.cost else ""
    instructions = tr("Instructions: “{instructions}”", instructions=card.instructions)
    safe = (
        tr("The full output is cached: let the agent recall it.")
        if card.inside
        else tr("The full output is cached: send more of it, or let the agent recall it.")
    )
    lines = [
        dotted((chooser_text(card), cost)),
        card.note,
        instructions if card.instructions else "",
        safe if card.has_failed else "",
    ]
    return [line for line in lines if line]


def form_box(card: FormCard, look: CardLook) -> Box:
    icon = Icon("circle-alert", "warn") if card.has_failed else Icon("replace")
    end: list[Box] = [Pill(tr("Changed by you"))] if card.is_changed else []
    end += [inside_pill(card.inside)] if card.inside else []
    end += [time_text(card.at_ms, look), *_show_links(card.seq, card_title(card), look)]
    is_open = look.is_open("details", at_first=card.has_failed)
    if is_open and not (card.inside or look.is_later):
        label = tr("Send another part of {output}", output=card.output)
        end.append(link("change-form", OpenCardMenu(), tr("Send another part…"), label=label))
    words = Words(form_title(card), 13, "faint" if card.is_changed else "text", 500)
    content: list[Box] = [icon_line(icon, words, end, [_unfold_button("details", is_open=is_open)])]
    if is_open:
        below = Column([Words(text, 12, "muted") for text in form_details(card)])
        content.append(Frame(below, (24, 0, 0, 0)))
    return framed(content, (14, 5, 8, 10 if is_open else 5), 0)


def failure_texts(card: FailureCard) -> list[str]:
    cost = cost_text(card.spent, card.cost, card.demo, card.is_estimated, card.unpriced)
    return [card_title(card), translate(card.why), card.safe, translate(card.fix), cost]


def failure_box(card: FailureCard, look: CardLook) -> Box:
    icon = Icon("triangle-alert", "warn") if card.is_limit else Icon("circle-alert", "error")
    title, why, safe, fix, cost = failure_texts(card)
    end: list[Box] = [time_text(card.at_ms, look)]
    end += _show_links(card.seq, title, look) if card.is_turn else []
    below: list[Box] = [Words(text, 12, "muted") for text in (why, safe) if text]
    below += [Words(fix, 12)] if fix else []
    below += [Text(tr("Used {amount}", amount=cost), 12, "muted")] if cost else []
    below += [refused_fold(card.refused, look)] if card.refused else []
    if card.retry is not None and not look.is_later:
        again = push_button(f"timeline-try-again-{card.seq}", RetrySummary(card.retry), tr("Retry"))
        below += [Frame(Flow([again]), (0, 4, 0, 0))]
    content = [icon_line(icon, Words(title, weight=500), end), Frame(Column(below), (24, 0, 0, 0))]
    return framed(content, (14, 6, 14, 10), 0)


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


def manual_action_box(card: ManualActionCard, look: CardLook) -> Box:
    """Return a pin, form, exclusion, policy, hold or branch in one quiet line, with what takes it back."""
    end: list[Box] = [*state_pills(card.is_undone, card.inside), time_text(card.at_ms, look)]
    end += _show_links(card.target or card.seq, card.text, look)
    if card.kind in ("form", "exclude"):
        end += undo_links((card.seq,), look, card.is_undone, card.inside)
    elif card.reversal and not look.is_later:
        intent = Pin(card.target) if card.reversal == "pin" else Unpin(card.target)
        end.append(link(card.reversal, intent, tr("Undo"), "undo-2"))
    words = Words(card_title(card), 12, "muted")
    return Frame(icon_line(Icon(_GLYPHS[card.kind], "faint", 13), words, end), (14, 0, 14, 0))


def undo_box(card: UndoCard, look: CardLook) -> Box:
    icon = Icon("undo-2" if card.kind == "undo" else "redo-2", "faint", 13)
    words = Words(card_title(card), 12, "muted")
    return Frame(icon_line(icon, words, [time_text(card.at_ms, look)]), (14, 3, 14, 3))


_TAIL_CHARS = 420  # characters of the running summary that stay in sight
_SHORTEST_LINE = 4.0  # pixels between two phases


def running_name(card: RunningCard) -> str:
    return dotted((running_text(card.what), phase_text(card.phase), card.usage_text))


def phases_name(phase: Phase) -> str:
    number, count = PHASES.index(phase) + 1, len(PHASES)
    return tr("{phase}, step {number} of {count}", phase=phase_text(phase), number=number, count=count)


def running_box(card: RunningCard, look: CardLook) -> Box:
    """Return a compaction under way, with what the model writes and a Stop that changes nothing."""
    tip = tr("Stop without changing anything")
    stop = push_button("stop", CancelCompaction(), tr("Stop"), tip=tip)
    tail = card.text[-_TAIL_CHARS:]
    if len(card.text) > _TAIL_CHARS:
        tail = "… " + tail.split(" ", 1)[-1]
    content: list[Box] = [
        RowWithEnd([Text(running_text(card.what), 14, weight=600), stop]),
        Drawing((420, 24), lambda pen, rect: paint_phases(pen, rect, card.phase), phases_name(card.phase)),
    ]
    content += [Text(card.usage_text, 12, "muted")] if card.usage_text else []
    content += [Words(tail, 13, "muted")] if tail else []
    return framed(content, (14, 12, 16, 13), 9)


def paint_phases(pen: Pen, rect: QRectF, running: Phase) -> None:
    """Paint the phases of a compaction in a line; where it is narrow, only the one that runs is named."""
    at_work, lines = PHASES.index(running), len(PHASES) - 1
    faces = [face(12, 600 if at == at_work else 500) for at in range(len(PHASES))]
    names = [phase_text(phase) for phase in PHASES]

    def room() -> float:
        widths = (metrics.horizontalAdvance(name) for name, (_, metrics) in zip(names, faces, strict=True))
        return rect.width() - sum(wide + 23 for wide in widths) - 20 * lines

    if room() < _SHORTEST_LINE * lines:
        names = [name if at == at_work else "" for at, name in enumerate(names)]
    between = max(_SHORTEST_LINE, min(22.0, room() / lines))
    x, middle, qt = rect.x() + 1, rect.center().y(), pen.qt
    for at, (name, (font, metrics)) in enumerate(zip(names, faces, strict=True)):
        dot = QRectF(x, middle - 8, 16, 16)
        if at < at_work:
            pen.box(dot, "ok_soft", "", 8)
            check = pixmap("check", pen.theme.ok, 10, qt.device().devicePixelRatio())
            draw_pixmap(qt, x + 3, middle - 5, check)
        else:
            inner, is_now = dot.adjusted(0.5, 0.5, -0.5, -0.5), at == at_work
            pen.box(inner, "accent_soft" if is_now else "", "accent" if is_now else "border_strong", 7, 2)
            if is_now:
                pen.box(dot.adjusted(5, 5, -5, -5), "accent", "", 3)
        x += 23
        qt.setFont(font)
        qt.setPen(pen.color("text" if at == at_work else "muted" if at < at_work else "faint"))
        wide = metrics.horizontalAdvance(name)
        draw_text(qt, QRectF(x, rect.y(), wide + 2, rect.height()), Qt.AlignmentFlag.AlignVCenter, name)
        x += wide + 10
        if at < lines:
            qt.setPen(QPen(pen.color("border_strong"), 1.5))
            qt.drawLine(round(x), round(middle), round(x + between), round(middle))
            x += between + 10
