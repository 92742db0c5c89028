"""What stands for messages, as boxes: handovers, observations, notes."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.rewrite import FoldKind
from helix_desktop.domain.events.summary import Bullet, Observation, Section
from helix_desktop.domain.text_format import ellipsize, ellipsize_title, utc_day
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.cards import Tone
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.boxes import (
    Box,
    Button,
    Column,
    Flow,
    Frame,
    Icon,
    Pill,
    Row,
    RowWithEnd,
    Text,
    TwoColumns,
    chip,
    fold_head,
    link,
    rule,
)
from helix_desktop.ui.kit.intents import (
    CompareHandover,
    EditHandover,
    OpenSession,
    ShowEvent,
)
from helix_desktop.ui.kit.words import Words
from helix_desktop.ui.timeline.card_data import (
    Continuation,
    FoldCard,
    HandoverCard,
    ObservationsCard,
    PlacedCard,
    card_title,
    undo_seqs,
)
from helix_desktop.ui.timeline.small_cards import (
    CardLook,
    OpenCardMenu,
    ToggleFold,
    bullet_row,
    code_frame,
    coverage_folds,
    fold,
    framed,
    headline,
    icon_line,
    index_chips,
    inside_pill,
    ledger_fold,
    long_words,
    reason_text,
    refused_fold,
    source_chip,
    state_pills,
    time_text,
    undo_links,
    undone_pill,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.direction import dotted
from helix_desktop.words.message_states import (
    STATE_WORDS,
    explain_checkpoint,
    explain_merged_observations,
    explain_observations,
)
from helix_desktop.words.models import recorded_writer, writer_name
from helix_desktop.words.numbers import format_integer, format_token_count
from helix_desktop.words.rewrite_reasons import retaken_text, trigger_text
from helix_desktop.words.rewrites import (
    context_change_text,
    gist_sections,
    ordered_sections,
    revision_size_text,
)
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

text = TextContext("Timeline")
tr = Translator("Timeline")

_MAX_FOCUS_CHARS = 40  # characters of what a handover paid attention to
_MAX_TITLE_CHARS = 40  # characters of another session's title


def _model_pill(card: HandoverCard | ObservationsCard) -> Pill:
    """Who wrote it, in how many calls; why it was not done as usual, and by which instructions, on top."""
    event, model = card.event, recorded_writer(card.event.model)
    parts = [writer_name(model, event.demo)]
    if event.calls > 1:
        parts.append(tr.plural(event.calls, "%n call", "%n calls"))
    version = tr("Prompt version: {version}", version=event.prompt) if event.prompt else ""
    tip = "\n".join(filter(None, (translate(event.fallback), version)))
    icon = "bot" if model or event.demo else "list"
    return Pill(" · ".join(parts), "warn" if event.fallback else "neutral", icon, tip=tip)


def _cost_pills(card: HandoverCard | ObservationsCard) -> list[Pill]:
    """Return what all its model calls took, in tokens and money; none where no model was asked."""
    event = card.event
    amount = cost_text(event.spent, event.cost, event.demo, event.estimated, event.unpriced)
    tip = tr("Tokens read and written by the model calls, and their cost")
    return [Pill(tr("Used {amount}", amount=amount), tip=tip)] if amount else []


def _section_fold(section: Section, look: CardLook, color: str, *, is_flagged: bool) -> Box:
    """Return one of the sections, its bullets one below the other."""
    if not section.bullets:
        return Frame(
            Row([Text(section.title, 13, color, 600), Text(tr("empty"), 12, "faint")]), (20, 5, 0, 5)
        )

    def build() -> list[Box]:
        bullets = [bullet_row(bullet, color, is_flagged=is_flagged) for bullet in section.bullets]
        return [Frame(Column(bullets), (20, 0, 0, 6))]

    note = format_integer(len(section.bullets))
    return fold(look, section.title, section.title, note, color, build, at_first=True)


def handover_size(card: HandoverCard) -> str:
    """Return what became of the context; an edit changes so little that only the difference shows it."""
    if card.is_checkpoint:
        return tr("Not sent yet")
    size = revision_size_text if card.event.revises else context_change_text
    return size(card.before, card.after)


def handover_messages(card: HandoverCard) -> str:
    if card.is_checkpoint:
        return tr("Is to replace {messages}", messages=card.messages)
    return tr("Replaces {messages}", messages=card.messages)


def handover_name(card: HandoverCard) -> str:
    parts = [card_title(card), handover_messages(card), handover_size(card)]
    return " · ".join([*parts, *([tr("Undone")] if card.is_undone else [])])


def handover_box(card: HandoverCard, look: CardLook) -> Box:
    """Return a handover: what is open by it comes first; opened it shows everything, with what it took."""
    color, is_flagged = "faint" if card.is_undone else "text", not card.event.origin
    sections = [
        Column(
            [
                Text(section.title, 12, "faint" if card.is_undone else "muted", 600),
                *(bullet_row(bullet, color, is_flagged=is_flagged) for bullet in section.bullets),
            ]
        )
        for section in gist_sections(card.event.sections)
    ]
    points = sum(len(section.bullets) for section in card.event.sections)
    note = tr.plural(points, "%n point", "%n points")

    def details() -> list[Box]:
        above = gist_sections(card.event.sections)
        parts: list[Box] = [
            _section_fold(section, look, color, is_flagged=is_flagged)
            for section in ordered_sections(card.event.sections)
            if section not in above
        ]
        if card.event.quotes:
            parts.append(_quotes_fold([quote.text for quote in card.event.quotes], look, color))
        parts += [ledger_fold(card.event.ledger, look, color)] if card.event.ledger else []
        parts += [refused_fold(card.event.refused, look)] if card.event.refused else []
        pills = Frame(Flow(_handover_pills(card)), (0, 4, 0, 4))
        return [rule(), *parts, pills, *coverage_folds(card.missing, look)]

    is_of_request = not (card.is_checkpoint or card.event.origin)
    why = trigger_text(card.event.trigger, card.event.threshold) if is_of_request else ""
    retaken = retaken_text(card.retaken)
    replaced = Words(dotted((handover_messages(card), why, retaken)), 12, "muted")
    content = [_handover_heading(card, look, color), replaced, TwoColumns(sections)]
    content.append(fold(look, "details", tr("All sections"), note, "muted", details))
    if card.parts:
        also = dotted(map(card_title, card.parts))
        is_open = look.is_open("rewrites")
        content.append(
            fold_head(
                "fold:rewrites",
                ToggleFold("rewrites"),
                tr("At the same time"),
                also,
                "muted",
                is_open=is_open,
            )
        )
    return framed(content, (14, 9, 12, 12), 7)


def _handover_heading(card: HandoverCard, look: CardLook, color: str) -> Box:
    title = card_title(card)
    end: list[Box] = [time_text(card.at_ms, look)]
    if not (card.is_checkpoint or card.event.origin):
        end.insert(0, Text(handover_size(card), 12, "muted"))
    if not look.is_later:
        label = tr("Compare {title} with another one", title=title)
        end.append(link("compare", CompareHandover(card.seq), tr("Compare…"), label=label))
        if not card.event.origin:
            label = tr("Edit {title}", title=title)
            end.append(link("edit", EditHandover(card.seq), tr("Edit…"), label=label))
    if not card.is_checkpoint:
        end += undo_links(
            undo_seqs(card), look, card.is_undone, card.replaced_by or card.inside, card.carries
        )
    words: list[Box] = [Text(title, 14, color, 600), _handover_state(card)]
    if card.event.origin:
        name = ellipsize_title(session_title(card.event.origin_title), _MAX_FOCUS_CHARS)
        words.append(_session_chip(tr("From “{title}”", title=name), card.event.origin))
    tip = tr("More actions")
    more = [] if look.is_later else [Button("more", OpenCardMenu(), Icon("ellipsis"), tip, "icon", tip=tip)]
    return RowWithEnd([Flow(words), Flow(end, is_at_end=True), *more])


def _session_chip(words: str, session_id: str) -> Button:
    name = f"session:{session_id}"
    return chip(name, OpenSession(session_id), Pill(words, icon="link"), tr("Open session"))


def _handover_state(card: HandoverCard) -> Pill:
    """Return whether the context has it, or why not."""
    if card.is_undone:
        return undone_pill()
    if replacement := card.replaced_by or card.inside:
        tip = tr("Restored when “{title}” is undone", title=replacement)
        return Pill(tr("Replaced by {title}", title=replacement), tip=tip)
    if card.is_checkpoint:
        return Pill(tr("Not sent yet"), tip=explain_checkpoint())
    return Pill(translate(STATE_WORDS["in_window"].label), "accent")


def _handover_pills(card: HandoverCard) -> list[Box]:
    event = card.event
    index = index_chips(event.index, event.index_entries)
    if event.origin:  # that another session left to this one
        size = Pill(format_token_count(card.after), "accent", "gauge")
        return [size, _model_pill(card), *index]
    pills: list[Box] = [_model_pill(card)]
    if not card.is_checkpoint:
        pills.insert(0, Pill(handover_size(card), "neutral" if card.is_undone else "accent", "gauge"))
    if card.read:
        pills.append(Pill(tr("Read {tokens}", tokens=format_token_count(card.read)), icon="eye"))
    if card.checkpoint:
        tip = tr("Written from that one and what came after it")
        pills.append(Pill(tr("Updates {title}", title=card.checkpoint), icon="bookmark", tip=tip))
    pills += _cost_pills(card)
    if not event.revises:
        pills.append(Pill(format_exact_duration(event.duration_ms), icon="clock"))
    if event.edited:
        pills.append(Pill(tr("Edited by you"), icon="pencil"))
    if event.focus:
        focus = ellipsize(event.focus, _MAX_FOCUS_CHARS)
        pills.append(Pill(tr("Focus: {focus}", focus=focus), icon="search"))
    return [*pills, *index]


def _quotes_fold(quotes: Sequence[str], look: CardLook, color: str) -> Box:
    """Return what the user said in another session, word for word."""
    note = tr.plural(len(quotes), "%n message", "%n messages")

    def build() -> list[Box]:
        return [Frame(Column(long_words("\n\n".join(quotes), "quotes", look, "muted", 13)), (20, 0, 0, 4))]

    return fold(look, "quotes", tr("Your messages there, word for word"), note, color, build)


def continued_text(other: Continuation) -> str:
    return tr("Continued in “{title}”", title=ellipsize_title(other.title, _MAX_TITLE_CHARS))


def continued_box(sessions: Sequence[Continuation]) -> Box:
    """Return links to the sessions that go on from here."""
    return Flow([_session_chip(continued_text(other), other.session_id) for other in sessions])


_VITAL, _MINOR = 1, 3  # the usual one between them is not named
_PRIORITIES: dict[int, tuple[TranslatableText, Tone, str]] = {
    _VITAL: (text("Important", "priority of a fact"), "accent", "text"),
    _MINOR: (text("Minor", "priority of a fact"), "neutral", "muted"),
}
_INSIDE = (20, 0, 0, 6)  # pads of what opens
_PRIORITY_PX = 106  # width of the column of priorities: a translated word is longer


def observations_name(card: ObservationsCard) -> str:
    return dotted((card_title(card), _observations_state(card).words))


def _observations_state(card: ObservationsCard) -> Pill:
    return inside_pill(card.inside) if card.inside else Pill(tr("Not sent yet"))


def observations_box(card: ObservationsCard, look: CardLook) -> Box:
    """Return observations or a reflection that wait for their place."""
    title = Flow([Text(card_title(card), 14, weight=600), _observations_state(card)])
    icon = Icon("sparkles" if card.event.reflection else "eye")
    content = [icon_line(icon, title, [time_text(card.at_ms, look)]), *_observations(card, look, "text")]
    tip = explain_merged_observations() if card.event.reflection else explain_observations()
    return framed(content, (14, 9, 12, 11), 6, tip)


def placed_name(card: PlacedCard) -> str:
    states = [pill.words for pill in state_pills(card.is_undone, card.inside)]
    return dotted((_placed_title(card), *states))


def _placed_title(card: PlacedCard) -> str:
    return dotted((card_title(card), context_change_text(card.before, card.after), reason_text(card)))


def placed_box(card: PlacedCard, look: CardLook) -> Box:
    """Return observations that took the place of messages: in one line, opened with all they say."""
    end = [
        *state_pills(card.is_undone, card.inside),
        time_text(card.at_ms, look),
        *undo_links((card.seq,), look, card.is_undone, card.inside, card.carries),
    ]
    color = "faint" if card.is_undone else "text"
    line = headline("eye", _placed_title(card), card.is_undone, end)
    content = [line, *_observations(card.facts, look, color)]
    return framed(content, (14, 4, 12, 10), 6, translate(STATE_WORDS["observed"].tooltip))


def _observations(card: ObservationsCard, look: CardLook, color: str) -> list[Box]:
    """Return dated facts by priority, quotes, ledger and figures, behind a heading."""
    content = [fold(look, "details", tr("Details"), "", color, lambda: _facts(card, color))]
    if look.is_open("details"):
        if card.quotes:
            note = format_integer(len(card.quotes))
            content.append(
                fold(
                    *(look, "quotes", tr("Your messages, word for word"), note, color),
                    lambda: _quotes(card, look, color),
                )
            )
        content += [ledger_fold(card.event.ledger, look, color)] if card.event.ledger else []
        content += [refused_fold(card.event.refused, look)] if card.event.refused else []
        pills: list[Box] = [
            Pill(card.messages, icon="message-square"),
            _model_pill(card),
            *_cost_pills(card),
            Pill(format_exact_duration(card.event.duration_ms), icon="clock"),
            *index_chips(card.event.index, card.event.index_entries),
        ]
        content += [Flow(pills), *coverage_folds(card.missing, look)]
    return content


def _facts(card: ObservationsCard, color: str) -> list[Box]:
    lines, day = list[Box](), ""
    for fact in card.event.observations:
        if (this := utc_day(fact.at)) != day:
            lines.append(Frame(Text(day := this, 12, "muted", 600), (0, 2 if lines else 0, 0, 0)))
        lines.append(_fact(card, fact, color))
    return [Frame(Column(lines), _INSIDE)]


def _fact(card: ObservationsCard, fact: Observation, color: str) -> Box:
    pills: list[Box] = []
    if fact in card.over:
        color, tip = "faint", tr("A later sentence says that it is no longer true. It left the context.")
        pills = [Pill(tr("Past", "fact that no longer holds"), tip=tip)]
    elif fact.priority in _PRIORITIES:
        words, tone, fact_color = _PRIORITIES[fact.priority]
        color = color if color == "faint" else fact_color
        tip = tr("Priority {number} of {count}", number=fact.priority, count=_MINOR)
        pills = [Pill(translate(words), tone, tip=tip)]
    holder = Frame(Flow(pills, is_at_end=True), wide=scaled(_PRIORITY_PX))
    bullet = bullet_row(Bullet(fact.text, fact.sources), color)
    bullet.grow = bullet.shrink = True
    return Row([holder, bullet], is_at_top=True)


def _quotes(card: ObservationsCard, look: CardLook, color: str) -> list[Box]:
    lines = []
    for number, quote in enumerate(card.quotes):
        words = Column(long_words(quote.text, f"quote{number}", look, color, 13), grow=True, shrink=True)
        lines.append(Row([source_chip(quote.sources[0]), words], 8, is_at_top=True))
    return [Frame(Column(lines), _INSIDE)]


_FOLD_GLYPHS: dict[FoldKind, str] = {"fold": "list-tree", "condense": "minimize-2", "truncate": "scissors"}


def fold_name(card: FoldCard) -> str:
    states = [pill.words for pill in state_pills(card.is_undone, card.inside)]
    return " · ".join([card_title(card), context_change_text(card.before, card.after), *states])


def fold_box(card: FoldCard, look: CardLook) -> Box:
    """Return steps that became a note in one line; opens onto the note, with what it covers."""
    color = "faint" if card.is_undone else "text"
    end = [
        *state_pills(card.is_undone, card.inside),
        time_text(card.at_ms, look),
        *undo_links((card.seq,), look, card.is_undone, card.inside, card.carries),
    ]
    title = dotted((card_title(card), context_change_text(card.before, card.after), reason_text(card)))
    is_lost = card.event.how == "truncate"
    glyph = _FOLD_GLYPHS[card.event.how]
    if is_lost and not card.is_undone:
        line: Box = icon_line(Icon(glyph, "warn"), Words(title, weight=500), end)
    else:
        line = headline(glyph, title, card.is_undone, end)

    def note() -> list[Box]:
        place = Pill(tr("Show in chat"))
        covers = chip("covers", ShowEvent(card.event.after + 1), place, tr("Show first step in chat"))
        pills = [covers, *index_chips(card.event.index, card.event.index_entries)]
        words = long_words(card.event.text, "note", look, "text", 12, is_code=True)
        return [Column([Flow(pills), code_frame(words)], 6)]

    size = format_token_count(card.event.tokens + FRAMING_TOKENS)
    content = [line, fold(look, "note", tr("Details"), size, color, note)]
    tip = "" if is_lost else translate(STATE_WORDS["folded"].tooltip)
    return framed(content, (14, 4, 12, 10), 6, tip)
