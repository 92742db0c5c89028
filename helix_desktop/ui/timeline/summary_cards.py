"""What stands for messages, as boxes: handovers, observations, notes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.summaries.sections import can_be_settled, gist_sections, ordered_sections
from helix_desktop.domain.events.rewrite import FoldKind, FoldMade
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
    Section,
)
from helix_desktop.domain.text_format import ellipsize, ellipsize_title, utc_day
from helix_desktop.domain.translatable_text import TextContext
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
    link,
    rule,
)
from helix_desktop.ui.kit.intents import OpenSession, ShowEvent, ShowHandover
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.ui.timeline.cards import (
    CardFilter,
    CardLook,
    Node,
    OpenCardMenu,
    Rewrite,
    SweepCard,
    TimelineCard,
    TimelineRow,
    bullet_row,
    code_frame,
    coverage_disclosures,
    fold,
    framed,
    icon_line,
    index_chips,
    ledger_disclosure,
    long_words,
    refused_disclosure,
    request_text,
    source_chip,
    text_disclosure,
    time_text,
    undo_links,
    undone_pill,
    unfold_button,
)
from helix_desktop.words.context_changes import (
    context_change_text,
    reasons_text,
    restored_contents_text,
    retaken_text,
    revision_size_text,
    rewrite_reason_text,
    swept_contents_text,
    trigger_text,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import recorded_writer, writer_name
from helix_desktop.words.numbers import format_integer, format_token_count
from helix_desktop.words.sessions import session_title
from helix_desktop.words.state_words import (
    STATE_WORDS,
    explain_checkpoint,
    explain_merged_observations,
    explain_observations,
)
from helix_desktop.words.summaries import NOTHING_MISSING, MissingText, unused_state, unused_text
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

text = TextContext("Timeline")
tr = Translator("Timeline")

_MAX_FOCUS_CHARS = 40  # characters of what a handover paid attention to
_MAX_TITLE_CHARS = 40  # characters of another session's title


def _model_pill(card: HandoverCard | ObservationsCard) -> Pill:
    """Who wrote it, in how many calls; why it was not done as usual, and by which instructions, on top."""
    event = card.event
    model = recorded_writer(card.event.model)
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
    if not section.bullets:
        words = Row([Text(section.title, 13, color, 600), Text(tr("empty"), 12, "faint")])
        return Frame(words, (20, 5, 0, 5))

    def build() -> list[Box]:
        bullets = [bullet_row(bullet, color, is_flagged=is_flagged) for bullet in section.bullets]
        return [Frame(Column(bullets), (20, 0, 0, 6))]

    note = format_integer(len(section.bullets))
    return fold(look, section.title, section.title, note, color, build, at_first=True)


class HandoverCard(Rewrite, frozen=True):
    """A handover; `messages` says how many messages and tool calls it covers.

    One that `is_checkpoint` changed no request: `after` is what it would take.
    """

    event: HandoverMade
    title: str
    messages: str
    missing: MissingText = NOTHING_MISSING  # what was added below it because it does not name it
    replaced_by: str = ""  # the handover that was written in its place
    is_checkpoint: bool = False
    unsent: str = ""  # the state of that checkpoint, while an automatic compaction would begin with it
    used_in: str = ""  # the summary that was made from that checkpoint
    as_of: str = ""  # when what it calls open was so
    read: int = 0  # tokens, by its calls
    checkpoint: str = ""  # the one that it was made from
    parts: tuple[ChangePart, ...] = ()  # what else became of the context before the same request
    undo_with: tuple[int, ...] = ()  # of these, what is undone or redone with it

    filters = ("compacted",)
    estimate = 160

    @property
    def below(self) -> Sequence[TimelineCard]:
        return sorted(self.parts, key=lambda part: part.seq)

    @property
    def undo_seqs(self) -> tuple[int, ...]:
        return self.seq, *self.undo_with

    @property
    def is_live(self) -> bool:
        """True if nothing was written in its place."""
        return not (self.is_undone or self.inside or self.replaced_by)

    def node(self, live: int) -> Node:
        if self.seq == live:
            return "live"
        return "mark" if self.is_undone else "handover"

    @property
    def size_text(self) -> str:
        """What became of the context; an edit changes so little that only the difference shows it."""
        if self.is_checkpoint:
            return self._state().words
        size = revision_size_text if self.event.revises else context_change_text
        return size(self.before, self.after)

    @property
    def messages_text(self) -> str:
        if self.is_checkpoint:
            return tr("Of {messages}", messages=self.messages)
        return tr("Replaces {messages}", messages=self.messages)

    def draw(self, look: CardLook) -> tuple[Box, str]:
        color = "faint" if self.is_undone else "text"
        is_flagged = not self.event.origin

        def gist(section: Section) -> Box:
            title: list[Box] = [Text(section.title, 12, "faint" if self.is_undone else "muted", 600)]
            if self.as_of and can_be_settled(section.title):
                title.append(Text(self.as_of, 12, "faint"))
            bullets = (bullet_row(bullet, color, is_flagged=is_flagged) for bullet in section.bullets)
            return Column([Row(title), *bullets])

        sections = [*map(gist, gist_sections(self.event.sections))]
        points = sum(len(section.bullets) for section in self.event.sections)
        note = tr.plural(points, "%n point", "%n points")

        def details() -> list[Box]:
            above = gist_sections(self.event.sections)
            parts: list[Box] = [
                _section_fold(section, look, color, is_flagged=is_flagged)
                for section in ordered_sections(self.event.sections)
                if section not in above
            ]
            if self.event.quotes:
                quotes = "\n\n".join(quote.text for quote in self.event.quotes)
                count = tr.plural(len(self.event.quotes), "%n message", "%n messages")
                title = tr("Your messages there, word for word")
                parts.append(text_disclosure(quotes, look, "quotes", title, count, color))
            parts += [ledger_disclosure(self.event.ledger, look, color)] if self.event.ledger else []
            parts += [refused_disclosure(self.event.refused, look)] if self.event.refused else []
            pills = Frame(Flow(self._pills()), (0, 4, 0, 4))
            return [rule(), *parts, pills, *coverage_disclosures(self.missing, look)]

        is_of_request = not (self.is_checkpoint or self.event.origin)
        why = trigger_text(self.event.trigger, self.event.threshold) if is_of_request else ""
        replaced = Words(dotted((self.messages_text, why, retaken_text(self.retaken))), 12, "muted")
        content: list[Box] = [self._heading(look, color), replaced]
        if unused := unused_text(self.event):
            content.append(Words(unused, 12, "warn"))
        content.append(TwoColumns(sections))
        content.append(fold(look, "details", tr("All sections"), note, "muted", details))
        if self.parts:
            also = dotted(part.title for part in self.parts)
            content.append(fold(look, "rewrites", tr("At the same time"), also, "muted"))
        parts = [self.title, self.messages_text, self.size_text, tr("Undone") if self.is_undone else ""]
        return framed(content, (14, 9, 12, 12), 7), dotted(parts)

    def _heading(self, look: CardLook, color: str) -> Box:
        title = self.title
        end: list[Box] = [time_text(self.at_ms, look)]
        if not (self.is_checkpoint or self.event.origin):
            end.insert(0, Text(self.size_text, 12, "muted"))
        if not look.is_later:
            label = tr("Compare {title} with another one", title=title)
            end.append(link("compare", ShowHandover(self.seq, "changes"), tr("Compare…"), label=label))
            if not self.event.origin:
                label = tr("Edit {title}", title=title)
                end.append(link("edit", ShowHandover(self.seq), tr("Edit…"), label=label))
        if not self.is_checkpoint:
            end += undo_links(
                self.undo_seqs, look, self.is_undone, self.replaced_by or self.inside, self.carries
            )
        words: list[Box] = [Words(title, 14, color, 600), self._state()]
        if self.event.origin:
            name = ellipsize_title(session_title(self.event.origin_title), _MAX_FOCUS_CHARS)
            words.append(_session_chip(tr("From “{title}”", title=name), self.event.origin))
        tip = tr("More actions")
        more = Button("more", OpenCardMenu(), Icon("ellipsis"), tip, "icon", tip=tip)
        return RowWithEnd([Flow(words), Flow(end, is_at_end=True), *([] if look.is_later else [more])])

    def _state(self) -> Pill:
        if self.is_undone:
            return undone_pill(inside=self.replaced_by or self.inside)
        if replacement := self.replaced_by or self.inside:
            tip = tr("Restored when “{title}” is undone", title=replacement)
            return Pill(tr("Replaced by “{title}”", title=replacement), tip=tip)
        if self.is_checkpoint:
            return _unsent_pill(self.unsent, explain_checkpoint(), self.used_in)
        state = STATE_WORDS["in_window"]
        return Pill(translate(state.label), dot=state.color)

    def _pills(self) -> list[Box]:
        event = self.event
        index = index_chips(event.index, event.index_entries)
        if event.origin:  # that another session left to this one
            size = Pill(format_token_count(self.after), "accent", "gauge")
            return [size, _model_pill(self), *index]
        pills: list[Box] = [_model_pill(self)]
        if not self.is_checkpoint:
            pills.insert(0, Pill(self.size_text, "neutral" if self.is_undone else "accent", "gauge"))
        if self.read:
            pills.append(Pill(tr("Read {tokens}", tokens=format_token_count(self.read)), icon="eye"))
        if self.checkpoint:
            tip = tr("Written from that one and what came after it")
            pills.append(Pill(tr("Updates “{title}”", title=self.checkpoint), icon="bookmark", tip=tip))
        pills += _cost_pills(self)
        if not event.revises:
            pills.append(Pill(format_exact_duration(event.duration_ms), icon="clock"))
        if event.edited:
            pills.append(Pill(tr("Edited by you"), icon="pencil"))
        if event.focus:
            focus = ellipsize(event.focus, _MAX_FOCUS_CHARS)
            pills.append(Pill(tr("Focus: {focus}", focus=focus), icon="search"))
        return [*pills, *index]


def _session_chip(words: str, session_id: str) -> Button:
    name = f"session:{session_id}"
    return chip(name, OpenSession(session_id), Pill(words, icon="link"), tr("Open session"))


class Continuation(msgspec.Struct, frozen=True):
    session_id: str
    title: str

    @property
    def text(self) -> str:
        return tr("Continued in “{title}”", title=ellipsize_title(self.title, _MAX_TITLE_CHARS))


class ContinuedRow(TimelineRow, frozen=True):
    sessions: tuple[Continuation, ...]

    @property
    def key(self) -> Hashable:
        return "continued"

    def node(self, live: int) -> Node:
        return ""

    def draw(self, look: CardLook) -> tuple[Box, str]:
        links = [_session_chip(other.text, other.session_id) for other in self.sessions]
        return Flow(links), dotted(other.text for other in self.sessions)


_INSIDE = (20, 0, 0, 6)  # pads of what opens


class ObservationsCard(TimelineCard, frozen=True):
    """Observations, or a reflection that refines them; `quotes` are the user's words kept with them.

    Of the `over` ones a later one took them out of the context. `name` is theirs once they are in place.
    """

    event: ObservationsMade
    title: str
    name: str
    messages: str  # and tool calls, in words
    unsent: str = ""  # their state, while they would take the place of these messages
    over: tuple[Observation, ...] = ()
    quotes: tuple[Bullet, ...] = ()
    missing: MissingText = NOTHING_MISSING

    filters = ("compacted",)
    estimate = 84

    def draw(self, look: CardLook) -> tuple[Box, str]:
        tip = explain_merged_observations() if self.event.reflection else explain_observations()
        state = _unsent_pill(self.unsent, tip)
        title = Flow([Text(self.title, 14, weight=600), state])
        icon = Icon("sparkles" if self.event.reflection else "eye")
        content = [icon_line(icon, title, [time_text(self.at_ms, look)]), *_observations(self, look, "text")]
        return framed(content, (14, 9, 12, 11), 6), dotted((self.title, state.words))


def _unsent_pill(state: str, explained: str, used_in: str = "") -> Pill:
    """Return the `state` of a summary while it is of use; else what became of it."""
    return Pill(state, tip=explained) if state else Pill(unused_state(used_in))


class PreparedCard(TimelineCard, frozen=True):
    """One line for a summary that changed no request, with its own card behind it."""

    card: HandoverCard | ObservationsCard

    @property
    def key(self) -> Hashable:
        return "prepared", self.card.seq

    @property
    def below(self) -> Sequence[TimelineCard]:
        return (self.card,)

    @property
    def title(self) -> str:
        return self.card.title

    @property
    def amount(self) -> str:
        event = self.card.event
        read = self.card.read if isinstance(self.card, HandoverCard) else self.card.event.read
        used = cost_text(event.spent, event.cost, event.demo, event.estimated, event.unpriced)
        return request_text(read, used)

    def draw(self, look: CardLook) -> tuple[Box, str]:
        head = fold(look, "rewrites", self.title, self.amount, "muted")
        head.grow = head.shrink = True
        line = RowWithEnd([head, time_text(self.at_ms, look)])
        return Frame(line, (14, 0, 14, 0)), dotted((self.title, self.amount))


class CompactedMessagesCard(Rewrite, frozen=True):
    """Observations, the `facts`, that took the place of messages."""

    facts: ObservationsCard
    event: ObservationsPlaced

    filters = ("compacted",)

    @property
    def title(self) -> str:
        return self.facts.name

    @property
    def why(self) -> str:
        return rewrite_reason_text(self.event)

    def node(self, live: int) -> Node:
        return "mark" if self.is_undone else "compacted"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        color = "faint" if self.is_undone else "text"
        content = [self.headline("eye", look), *_observations(self.facts, look, color)]
        tip = translate(STATE_WORDS["observed"].tooltip)
        return framed(content, (14, 4, 12, 10), 6, tip), self.name(self.line)


def _observations(card: ObservationsCard, look: CardLook, color: str) -> list[Box]:
    content: list[Box] = [Words(unused, 12, "warn")] if (unused := unused_text(card.event)) else []
    content.append(fold(look, "details", tr("Shorter form"), "", color, lambda: _facts(card, color)))
    if look.is_open("details"):
        if card.quotes:
            note = format_integer(len(card.quotes))
            title = tr("Your messages, word for word")
            content.append(fold(look, "quotes", title, note, color, lambda: _quotes(card, look, color)))
        content += [ledger_disclosure(card.event.ledger, look, color)] if card.event.ledger else []
        content += [refused_disclosure(card.event.refused, look)] if card.event.refused else []
        pills: list[Box] = [
            Pill(card.messages, icon="message-square"),
            _model_pill(card),
            *_cost_pills(card),
            Pill(format_exact_duration(card.event.duration_ms), icon="clock"),
            *index_chips(card.event.index, card.event.index_entries),
        ]
        content += [Flow(pills), *coverage_disclosures(card.missing, look)]
    return content


def _facts(card: ObservationsCard, color: str) -> list[Box]:
    lines = list[Box]()
    day = ""
    for fact in card.event.observations:
        if (this := utc_day(fact.at)) != day:
            lines.append(Frame(Text(day := this, 12, "muted", 600), (0, 2 if lines else 0, 0, 0)))
        lines.append(_fact(card, fact, color))
    return [Frame(Column(lines), _INSIDE)]


def _fact(card: ObservationsCard, fact: Observation, color: str) -> Box:
    pills: list[Box] = []
    if fact in card.over:
        color = "faint"
        tip = tr("A later sentence says that it is no longer true. It left the context.")
        pills = [Pill(tr("No longer true"), tip=tip)]
    bullet = bullet_row(Bullet(fact.text, fact.sources), color)
    bullet.grow = bullet.shrink = True
    return Row([bullet, *pills], is_at_top=True)


def _quotes(card: ObservationsCard, look: CardLook, color: str) -> list[Box]:
    lines = []
    for number, quote in enumerate(card.quotes):
        words = Column(long_words(quote.text, f"quote{number}", look, color, 13), grow=True, shrink=True)
        lines.append(Row([source_chip(quote.sources[0]), words], 8, is_at_top=True))
    return [Frame(Column(lines), _INSIDE)]


_FOLD_GLYPHS: dict[FoldKind, str] = {"fold": "list-tree", "condense": "minimize-2", "truncate": "scissors"}


class CompactedCallsCard(Rewrite, frozen=True):
    event: FoldMade
    title: str

    filters = ("compacted",)
    estimate = 84

    @property
    def why(self) -> str:
        return rewrite_reason_text(self.event)

    def node(self, live: int) -> Node:
        return "mark" if self.is_undone else "compacted"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        color = "faint" if self.is_undone else "text"
        is_lost = self.event.how == "truncate"
        glyph = _FOLD_GLYPHS[self.event.how]
        if is_lost and not self.is_undone:
            line: Box = icon_line(Icon(glyph, "warn"), Words(self.line, weight=500), self.end(look))
        else:
            line = self.headline(glyph, look)

        def note() -> list[Box]:
            place = Pill(tr("Show in chat"))
            covers = chip("covers", ShowEvent(self.event.after + 1), place, tr("Show first step in chat"))
            pills = [covers, *index_chips(self.event.index, self.event.index_entries)]
            words = long_words(self.event.text, "note", look, "text", 12, is_code=True)
            return [Column([Flow(pills), code_frame(words)], 6)]

        size = format_token_count(self.event.tokens + FRAMING_TOKENS)
        content = [line, fold(look, "note", tr("Shorter form"), size, color, note)]
        tip = "" if is_lost else translate(STATE_WORDS["folded"].tooltip)
        return framed(content, (14, 4, 12, 10), 6, tip), self.name(dotted((self.title, self.size_text)))


ChangePart: TypeAlias = SweepCard | CompactedCallsCard | CompactedMessagesCard


class ChangeCard(Rewrite, frozen=True):
    """All rewrites before one request: one row with one Undo; opened, it has its `parts` below, newest first.

    `seq` is the oldest of them; `undo` and `redo` are those that can be undone, and redone.
    """

    parts: tuple[ChangePart, ...]
    undo: tuple[int, ...] = ()
    redo: tuple[int, ...] = ()

    @property
    def below(self) -> Sequence[TimelineCard]:
        return sorted(self.parts, key=lambda part: part.seq)

    @property
    def key(self) -> Hashable:
        return "change", self.seq

    @property
    def filters(self) -> tuple[CardFilter, ...]:  # type: ignore[override]  # of its parts
        return tuple(dict.fromkeys(group for part in self.parts for group in part.filters))

    @property
    def undo_seqs(self) -> tuple[int, ...]:
        return self.undo or self.redo

    @property
    def title(self) -> str:
        """What became of older messages, and of outputs, in a few words each; which of it was undone."""
        undone = tuple(part for part in self.parts if part.is_undone)
        if 0 < len(undone) < len(self.parts):
            standing = tuple(part for part in self.parts if not part.is_undone)
            words = tr("undone: {title}", title=replace(self, parts=undone).title)
            return dotted((replace(self, parts=standing).title, words))
        summaries = [part for part in self.parts if not isinstance(part, SweepCard)]
        events = [
            part.facts.event if isinstance(part, CompactedMessagesCard) else part.event for part in summaries
        ]
        ranges = sorted(
            (event.after, event.upto, part.title) for event, part in zip(events, summaries, strict=True)
        )
        sweeps = [part.counts for part in self.parts if isinstance(part, SweepCard)]
        counts = [*map(sum, zip(*sweeps, strict=True))]
        contents = swept_contents_text(*counts) if any(counts) else ""
        return dotted(dict.fromkeys((*(title for *_, title in ranges), contents)))

    @property
    def undo_title(self) -> str:
        parts = tuple(part.changed if isinstance(part, SweepCard) else part for part in self.parts)
        return replace(self, parts=parts).title

    @property
    def note(self) -> str:
        restored = [part.restored for part in self.parts if isinstance(part, SweepCard)]
        return restored_contents_text([*map(sum, zip(*restored, strict=True))])

    @property
    def size_text(self) -> str:
        return context_change_text(self.before, self.after) if self.before else ""

    @property
    def why(self) -> str:
        return reasons_text(part.why for part in self.parts)

    def node(self, live: int) -> Node:
        if self.is_undone:
            return "mark"
        return "compacted" if "compacted" in self.filters else "sweep"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        corner = [unfold_button("rewrites", is_open=look.is_open("rewrites"))]
        return framed([self.headline("layers", look, corner)], (14, 5, 8, 5), 8), self.name(self.line)
