"""The cards of the timeline: what all share, and what was cached, pins, failures, undo marks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPen

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import ATTACHED_SWEEP_REASONS, Form, SweepMade, SweepReason
from helix_desktop.domain.events.session import EffortRefused, WindowLearned
from helix_desktop.domain.events.summary import Bullet, HandoverFailed, ObservationsFailed
from helix_desktop.domain.text_format import ellipsize
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
    disclosure_head,
    face,
    link,
    push_button,
)
from helix_desktop.ui.kit.intents import (
    CancelCompaction,
    OpenOutput,
    Pin,
    Redo,
    RetryFailed,
    SendAll,
    ShowEvent,
    Undo,
)
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.ui.timeline.bullet_view import source_text
from helix_desktop.words.answer_ends import window_learned_text
from helix_desktop.words.call_targets import output_title
from helix_desktop.words.context_changes import (
    context_change_text,
    large_output_text,
    restored_contents_text,
    retaken_text,
    rewrite_reason_text,
    swept_contents_text,
    undo_text,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import effort_refused_text, slow_model_text
from helix_desktop.words.numbers import format_token_change, format_token_count
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.summaries import MissingText
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

CardFilter: TypeAlias = Literal["compacted", "cached", "yours"]
"""What the filter shows alone: `compacted` with all `handovers`, those that were not sent too; `cached` with
large outputs of which the agent got a part, `yours` what the user chose, undid or redid."""
Node: TypeAlias = Literal["", "live", "handover", "compacted", "sweep", "form", "failure", "limit", "mark"]
Phase: TypeAlias = Literal["read", "summarize", "check", "write"]
PHASES: tuple[Phase, ...] = get_args(Phase)
Attempt: TypeAlias = Literal["handover", "observations"]
Retry: TypeAlias = Literal["handover", "observations", "turn"]
_MAX_CONTENTS = 24
_NAME_CHARS = 60
_LAST_MINUTE_MS = 59 * 60_000  # how long ago times are written the longest
_AT_ONCE = 3_000  # characters of a text that stand whole in a card; the rest of a longer one is asked for


class ToggleFold(NamedTuple):
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


class TimelineRow(msgspec.Struct, frozen=True):
    estimate: ClassVar[int] = 48
    """Its height in pixels at 100 % until it is laid out."""

    @property
    def key(self) -> Hashable:
        raise NotImplementedError

    @property
    def below(self) -> Sequence[TimelineCard]:
        return ()

    def node(self, live: int) -> Node:
        """Return its sign on the rail; `live` is the event of the handover in the context."""
        return "mark"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        """Return its boxes, and what a screen reader calls it."""
        raise NotImplementedError


class TimelineCard(TimelineRow, frozen=True):
    seq: int
    at_ms: int

    filters: ClassVar[tuple[CardFilter, ...]] = ()
    """Where the filter shows it; what failed, with all others alone."""

    @property
    def title(self) -> str:
        raise NotImplementedError

    @property
    def undo_title(self) -> str:
        """Return what its newest undo or redo changed."""
        return self.title

    @property
    def key(self) -> Hashable:
        return self.seq

    @property
    def undo_seqs(self) -> tuple[int, ...]:
        """All rewrites that its one Undo, or Redo, is about."""
        return (self.seq,)


class Rewrite(TimelineCard, frozen=True, kw_only=True):
    """What took something out of the context: tokens of the window around it, 0 where they are not known."""

    before: int = 0
    after: int = 0
    is_undone: bool = False
    inside: str = ""
    """The later rewrite that covers it."""
    inside_seq: int = 0
    """The event of that."""
    carries: str = ""
    """What its undo restores too."""
    retaken: int = 0
    """Messages that the user had brought back."""

    @property
    def size_text(self) -> str:
        return context_change_text(self.before, self.after)

    @property
    def why(self) -> str:
        """Why it was made; empty where its title or the row beside it says so, or as usual."""
        return ""

    @property
    def note(self) -> str:
        """What of it no longer holds."""
        return ""

    @property
    def line(self) -> str:
        """What it did, why, whether it took what the user had brought back, and what of it was restored."""
        return dotted((self.title, self.size_text, self.why, retaken_text(self.retaken), self.note))

    def name(self, line: str) -> str:
        return dotted((line, *(pill.words for pill in state_pills(self.is_undone, self.inside))))

    def end(self, look: CardLook, undone_with: str = "") -> list[Box]:
        undo = undo_links(self.undo_seqs, look, self.is_undone, self.inside, self.carries)
        states = state_pills(self.is_undone, self.inside, undone_with)
        return [*states, time_text(self.at_ms, look), *undo]

    def headline(self, icon: str, look: CardLook, corner: Sequence[Box] = (), undone_with: str = "") -> Box:
        words = Words(self.line, 13, "faint" if self.is_undone else "text", 500)
        sign = Icon(icon, "faint" if self.is_undone else "muted")
        return icon_line(sign, words, self.end(look, undone_with), corner)


def framed(
    content: Sequence[Box], pad: tuple[int, int, int, int], gap: int, tip: str = "", fill: str = "surface"
) -> Frame:
    return Frame(Column(content, gap), pad, fill, "border", tip=tip)


def undo_links(
    seqs: tuple[int, ...], look: CardLook, undone: bool, inside: str = "", carries: str = ""
) -> list[Button]:
    """Return Undo, or Redo when it is undone already; neither `inside` a later one, which is undone first.

    `carries` is what falls and returns with it.
    """
    if not seqs or look.is_later or look.is_part or inside:
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


def time_text(at_ms: int, look: CardLook) -> Frame:
    """Return when it was, as wide as it is in an hour: no title wraps under the mouse as time passes."""
    words, last = (
        Text(format_relative_time(each, look.now_ms, with_time=True), 12, "faint")
        for each in (at_ms, look.now_ms - _LAST_MINUTE_MS)
    )
    return Frame(words, (max(0, ceil(last.width() - words.width())), 0, 0, 0))


def inside_pill(name: str) -> Pill:
    """Says that a rewrite holds, but stands inside a later one: plain, it is no button."""
    tip = tr("It is inside “{title}” now", title=name)
    return Pill(tr("Undo “{title}” first", title=name), tip=tip, fill="surface")


def undone_pill(name: str = "", inside: str = "") -> Pill:
    """Says that a rewrite was undone, together with which other one, if any; and what covers it now."""
    tip = tr("Can be redone when “{title}” is undone", title=inside) if inside else ""
    return Pill(tr("Undone with “{title}”", title=name) if name else tr("Undone"), "warn", tip=tip)


def state_pills(is_undone: bool, inside: str, undone_with: str = "") -> list[Pill]:
    """Return what says that a rewrite was undone, or else that it stands inside a later one."""
    if is_undone:
        return [undone_pill(undone_with, inside)]
    return [inside_pill(inside)] if inside else []


def icon_line(icon: Icon, content: Box, end: Sequence[Box], corner: Sequence[Box] = ()) -> RowWithEnd:
    """Return an icon, words, and what stands at the end of their line, or below it where there is no room."""
    content.grow = content.shrink = True
    words = Frame(Row([icon, content], 9), (0, 4, 0, 4))
    return RowWithEnd([words, Flow(end, 6, is_at_end=True), *corner], least=224)


def unfold_button(part: str, *, is_open: bool) -> Button:
    tip = tr("Hide details") if is_open else tr("Show details")
    icon = Icon("chevron-down" if is_open else "chevron-right")
    return Button("unfold", ToggleFold(part, opens=not is_open), icon, tip, "icon", tip=tip)


def index_chips(digest: str, entries: int) -> list[Button]:
    """Return the way to the index entry of what a rewrite covers, if it has one."""
    if not digest:
        return []
    words = tr.plural(entries, "List of %n output", "List of %n outputs")
    tip = f"{tr('Open in Outputs')}: {digest[:8]}"
    return [chip("index", OpenOutput(digest), Pill(words, icon="database"), tip)]


def source_chip(seq: int, place: int = 1, count: int = 1) -> Button:
    label = tr("Show in chat: e{event}", event=str(seq))
    pill = Pill(source_text(place, count), icon="message-square" if place == 1 else "")
    return chip(f"source:{seq}", ShowEvent(seq), pill, tr("Show in chat"), label)


def bullet_row(bullet: Bullet, color: str = "text", *, is_flagged: bool = True) -> Box:
    """Return one sentence with links to the messages it comes from; without any it is flagged."""
    count = len(bullet.sources)
    tail: list[Box] = [source_chip(seq, place, count) for place, seq in enumerate(bullet.sources, 1)]
    text = bullet.text
    if is_flagged and not bullet.sources:
        # The chip says it in place of the words that an edited handover has in its text.
        text = text.removesuffix(UNSUPPORTED).rstrip()
        tip = tr("The model named no source for this sentence")
        tail.append(Pill(tr("No source"), "warn", "triangle-alert", tip=tip))
    words = Words(text, 13, color, is_marked_up=True, tail=tail, grow=True, shrink=True)
    line = [Dot("faint", line=21), words]
    pad = (3, 0, 0, 0)
    if words.runs_from_right:
        line = line[::-1]
        pad = (0, 0, 3, 0)
    return Frame(Row(line, 9, is_at_top=True), pad)


def fold(
    look: CardLook,
    part: str,
    title: str,
    note: str,
    color: str,
    build: Callable[[], Iterable[Box]] = tuple,
    *,
    at_first: bool = False,
) -> Box:
    """Return a heading, with what `build` returns below it while it is open."""
    is_open = look.is_open(part, at_first=at_first)
    head = disclosure_head(f"fold:{part}", ToggleFold(part), title, note, color, is_open=is_open)
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


def code_frame(content: Sequence[Box]) -> Frame:
    return framed(content, (12, 9, 12, 10), 6, fill="code_surface")


def refused_disclosure(text: str, look: CardLook) -> Box:
    note = tr.plural(len(text), "%n character", "%n characters")
    return text_disclosure(text, look, "refused", tr("Text not used"), note, "muted")


def text_disclosure(text: str, look: CardLook, part: str, title: str, note: str, color: str) -> Box:
    def build() -> list[Box]:
        return [Frame(Column(long_words(text, part, look, "muted", 13)), (20, 0, 0, 4))]

    return fold(look, part, title, note, color, build)


def ledger_disclosure(ledger: str, look: CardLook, color: str) -> Box:
    note = tr.plural(ledger.count("\n") + 1, "%n line", "%n lines")
    legend = tr(
        "r read, l listed, s searched, w written, e edited, $ run, ! failed. Hexadecimal digits: an output "
        "that the agent can recall. e12: the event. (part): only some lines were read."
    )

    def build() -> list[Box]:
        words = long_words(ledger, "ledger", look, "text", 12, is_code=True)
        return [code_frame([Words(legend, 12, "muted"), *words])]

    return fold(look, "ledger", tr("Files, commands and errors"), note, color, build)


def coverage_disclosures(missing: MissingText, look: CardLook) -> list[Box]:
    """Return what a summary does not name of what it covers, behind its heading; none without any."""
    if not missing.lines:
        return []

    def build() -> list[Box]:
        wide = max(face(12, 600)[1].horizontalAdvance(kind) for kind, _ in missing.lines) + 2
        lines = []
        for kind, facts in missing.lines:
            words = Words(facts, 12, "muted", grow=True, shrink=True)
            lines.append(Row([Frame(Words(kind, 12, "muted", 600), wide=wide), words], 12, is_at_top=True))
        return [Column(lines)]

    return [fold(look, "missing", missing.heading, dotted(kind for kind, _ in missing.lines), "muted", build)]


Contents: TypeAlias = tuple[int, int, int]
"""How many outputs, inputs of calls, and messages with images."""


class SweepCard(Rewrite, frozen=True):
    """Outputs that became markers; `contents` are their digests, with what each is called.

    `calls` counts tool calls whose arguments became markers too, `image_messages` messages whose images did.
    """

    outputs: int
    event: SweepMade
    contents: tuple[tuple[str, str], ...] = ()
    calls: int = 0
    image_messages: int = 0
    undone_with: str = ""  # the rewrite whose undo undid it too
    unchanged: Contents = (0, 0, 0)  # what its undo or redo left as it was: the user had restored it
    restored: Contents = (0, 0, 0)  # what of it is not cached now, while the rest is

    filters = ("cached",)

    @property
    def counts(self) -> Contents:
        return self.outputs, self.calls, self.image_messages

    @property
    def title(self) -> str:
        return swept_contents_text(*self.counts)

    @property
    def changed(self) -> SweepCard:
        """Return it with what its undo or redo changes."""
        outputs, calls, messages = (
            count - same for count, same in zip(self.counts, self.unchanged, strict=True)
        )
        return replace(self, outputs=outputs, calls=calls, image_messages=messages)

    @property
    def undo_title(self) -> str:
        return self.changed.title if any(self.changed.counts) else self.title

    @property
    def note(self) -> str:
        return restored_contents_text(self.restored)

    @property
    def size_text(self) -> str:
        is_counted = self.event.reason is SweepReason.HANDOVER  # in the handover's figures
        return "" if is_counted else context_change_text(self.before, self.after)

    @property
    def why(self) -> str:
        is_attached = self.event.reason in ATTACHED_SWEEP_REASONS
        return "" if is_attached else rewrite_reason_text(self.event)

    def node(self, live: int) -> Node:
        return "mark" if self.is_undone else "sweep"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        is_open = look.is_open("outputs")
        corner = [unfold_button("outputs", is_open=is_open)] if self.contents else []
        content: list[Box] = [self.headline("layers", look, corner, self.undone_with)]
        if is_open:
            pills: list[Box] = [
                chip(
                    f"output:{digest[:12]}",
                    OpenOutput(digest),
                    Pill(ellipsize(name, _NAME_CHARS), icon="database"),
                    f"{tr('Open in Outputs')}: {digest[:8]}",
                )
                for digest, name in self.contents[:_MAX_CONTENTS]
            ]
            if (more := len(self.contents) - _MAX_CONTENTS) > 0:
                pills.append(Pill(tr.plural(more, "%n more", "%n more")))
            content.append(Flow(pills))
        tip = translate(STATE_WORDS["cached"].tooltip)
        return framed(content, (14, 5, 8, 10 if is_open else 5), 8, tip), self.line


class FormCard(TimelineCard, frozen=True):
    event: ToolAnswered
    is_changed: bool = False  # the user chose another form later
    inside: str = ""  # what covers it now
    is_demo: bool = False  # the demo model was asked for the form, which has no price

    filters = ("cached",)

    @property
    def output(self) -> str:
        return ellipsize(output_title(self.event), _NAME_CHARS)

    @property
    def form(self) -> Form:
        is_part = self.event.form == "full" and not self.event.whole
        return "preview" if is_part else self.event.form

    @property
    def before(self) -> int:
        """Its tokens in full; 0: not known."""
        full = self.event.full_tokens or (self.event.tokens if self.event.form == "full" else 0)
        return output_tokens(full) if full else 0

    @property
    def after(self) -> int:
        return output_tokens(self.event.tokens)

    @property
    def note(self) -> str:
        return translate(self.event.intake_note) or slow_model_text(self.event.intake_slow_model)

    @property
    def cost(self) -> str:
        event = self.event
        spent = event.intake_tokens
        unpriced = event.intake_unpriced
        return cost_text(spent, event.intake_cost, self.is_demo, event.intake_estimated, unpriced)

    @property
    def has_failed(self) -> bool:
        """True if no choice came, for another reason than time, or the extract that was asked for is none."""
        return self.event.form_failure == "failed"

    @property
    def title(self) -> str:
        if self.form == "full":
            return tr("Large output in context: {output}", output=self.output)
        event = self.event
        by_user = self.event.chosen == "user"
        form = large_output_text(self.form, event.text, by_user=by_user)
        return dotted((form, self.output))

    @property
    def chooser_text(self) -> str:
        """Who chose the form; empty where what failed at that is said."""
        if self.event.form_failure and (self.note or self.event.asked):
            return ""
        texts = {
            "rule": tr("By the policy: over the size limit"),
            "agent": tr("Chosen by the agent"),
            "timeout": tr("The model was too slow to choose a part"),
            "user": tr("Chosen by you"),
        }
        return texts[self.event.chosen]

    @property
    def line(self) -> str:
        before = self.before
        after = self.after
        is_shorter = before not in (0, after)
        tokens = format_token_change(before, after) if is_shorter else format_token_count(after)
        return dotted((self.title, tokens))

    @property
    def details(self) -> list[str]:
        cost = tr("Used {amount}", amount=self.cost) if self.cost else ""
        instructions = tr("Instructions: “{instructions}”", instructions=self.event.asked)
        safe = (
            tr("The full output is stored: let the agent recall it.")
            if self.inside
            else tr("The full output is stored: send all of it, or let the agent recall it.")
        )
        lines = [
            self.chooser_text,
            self.note,
            instructions if self.event.asked else "",
            safe if self.has_failed or self.event.chosen == "timeout" else "",
            cost,
        ]
        return [line for line in lines if line]

    def node(self, live: int) -> Node:
        return "limit" if self.has_failed else "form"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        icon = Icon("circle-alert", "warn") if self.has_failed else Icon("replace")
        end: list[Box] = [Pill(tr("Changed by you"))] if self.is_changed else []
        end += [time_text(self.at_ms, look), *_show_links(self.seq, self.title, look)]
        is_open = look.is_open("details")
        is_part = self.form != "full" and not self.is_changed
        if is_open and is_part and not (self.inside or look.is_later):
            label = tr("Send all of {output}", output=self.output)
            end.append(link("send-all", SendAll(self.seq), tr("Send all of it"), label=label))
        words = Words(self.line, 13, "faint" if self.is_changed else "text", 500)
        content: list[Box] = [icon_line(icon, words, end, [unfold_button("details", is_open=is_open)])]
        if is_open:
            below = Column([Words(text, 12, "muted") for text in self.details])
            content.append(Frame(below, (24, 0, 0, 0)))
        return framed(content, (14, 5, 8, 10 if is_open else 5), 0), dotted((self.line, *self.details))


class FailureCard(TimelineCard, frozen=True):
    """A handover, observations, a turn, or a request that failed; nothing stored was lost."""

    event: HandoverFailed | ObservationsFailed | TurnEnded | EffortRefused | WindowLearned
    retry: Retry | None = None  # what can be tried again
    is_demo: bool = False  # the demo model was asked, which has no price

    estimate = 84

    @property
    def is_limit(self) -> bool:
        """True if it ended at a limit of the user, no error."""
        return isinstance(self.event, TurnEnded) and self.event.cause == "budget"

    @property
    def is_error(self) -> bool:
        return self.event.is_error if isinstance(self.event, ObservationsFailed) else not self.is_limit

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """What failed, why, what is as it was, and what the user can do."""
        what = why = safe = fix = ""
        match self.event:
            case HandoverFailed(what=what, why=why) | ObservationsFailed(what=what, why=why):
                safe = tr("It changed nothing in the context.")
            case TurnEnded(what=what, why=why, fix=fix):
                fix = tr("Raise the budget to continue.") if self.is_limit else fix
                safe = tr("Every message and output until then is saved.")
            case EffortRefused(reason=why) as effort:
                what = effort_refused_text(effort)
                fix = tr("Choose another effort in the model menu, or leave it to the provider.")
            case WindowLearned(reason=why) as learned:
                what = window_learned_text(learned)
                fix = tr("To use another size, reset or enter it in Settings → Providers.")
        return translate(what), translate(why), safe, translate(fix)

    @property
    def title(self) -> str:
        return self.texts[0]

    @property
    def cost(self) -> str:
        match self.event:
            case HandoverFailed() | ObservationsFailed() as tried:
                return cost_text(tried.spent, tried.cost, self.is_demo, tried.estimated, tried.unpriced)
        return ""

    def node(self, live: int) -> Node:
        if self.is_error:
            return "failure"
        return "limit" if self.is_limit else ""

    def draw(self, look: CardLook) -> tuple[Box, str]:
        icon = Icon("triangle-alert", "warn") if self.is_limit else Icon("info", "muted")
        icon = Icon("circle-alert", "error") if self.is_error else icon
        title, why, safe, fix = self.texts
        end: list[Box] = [time_text(self.at_ms, look)]
        end += _show_links(self.seq, title, look) if isinstance(self.event, TurnEnded) else []
        below: list[Box] = [Words(text, 12, "muted") for text in (why, safe) if text]
        below += [Words(fix, 12)] if fix else []
        below += [Text(tr("Used {amount}", amount=self.cost), 12, "muted")] if self.cost else []
        if refused := getattr(self.event, "refused", ""):
            below.append(refused_disclosure(refused, look))
        if self.retry is not None and not look.is_later:
            again = push_button(f"timeline-try-again-{self.seq}", RetryFailed(self.retry), tr("Retry"))
            below.append(Frame(Flow([again]), (0, 4, 0, 0)))
        content = [icon_line(icon, Words(title, weight=500), end), Frame(Column(below), (24, 0, 0, 0))]
        return framed(content, (14, 6, 14, 10), 0), dotted((*self.texts, self.cost))


def request_text(read: int, used: str) -> str:
    """Return what a request of a model read, and what it took; empty where neither is known."""
    reads = tr("read {tokens}", tokens=format_token_count(read)) if read else ""
    return dotted((reads, tr("used {amount}", amount=used) if used else ""))


class BackgroundCard(TimelineCard, frozen=True):
    """A request that Helix made beside the turns: it wrote a title, or came to nothing.

    `why` says why it came to nothing, and `refused` is what the model wrote then.
    """

    line: str
    amount: str = ""
    why: str = ""
    refused: str = ""

    @property
    def title(self) -> str:
        return self.line

    def node(self, live: int) -> Node:
        return "limit" if self.why else "mark"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        words = dotted((self.line, self.amount))
        icon = Icon("info", "muted") if self.why else Icon("pencil", "muted")
        line = icon_line(icon, Words(words, 13, "muted"), [time_text(self.at_ms, look)])
        if not self.why:
            return Frame(line, (14, 0, 14, 0)), words
        below: list[Box] = [Words(self.why, 12, "muted")]
        below += [refused_disclosure(self.refused, look)] if self.refused else []
        content = [line, Frame(Column(below), (24, 0, 0, 0))]
        return framed(content, (14, 5, 14, 8), 0), dotted((words, self.why))


ActionKind: TypeAlias = Literal["pin", "unpin", "form", "exclude", "policy", "hold", "resume", "branch"]
_GLYPHS: dict[ActionKind, str] = {
    "pin": "pin",
    "unpin": "pin-off",
    "form": "replace",
    "exclude": "eye-off",
    "policy": "filter",
    "hold": "pause",
    "resume": "play",
    "branch": "split",
}


class ManualActionCard(TimelineCard, frozen=True):
    """What the user decided: about one output (`target`), or (0) about the session: its policy, a branch.

    `inside` is what covers that output now. `reversal` is what takes the newest pin of it
    back, or its removal. `size_text` says what it made of the next request.
    """

    kind: ActionKind
    text: str
    target: int = 0
    is_undone: bool = False
    inside: str = ""
    reversal: Literal["", "pin", "unpin"] = ""
    size_text: str = ""

    filters = ("yours",)

    @property
    def title(self) -> str:
        return self.text

    def draw(self, look: CardLook) -> tuple[Box, str]:
        end: list[Box] = [*state_pills(self.is_undone, self.inside), time_text(self.at_ms, look)]
        end += _show_links(self.target or self.seq, self.text, look)
        if self.kind in ("form", "exclude"):
            end += undo_links((self.seq,), look, self.is_undone, self.inside)
        elif self.reversal and not look.is_later:
            intent = Pin(self.target, is_pinned=self.reversal == "pin")
            end.append(link(self.reversal, intent, tr("Undo"), "undo-2"))
        words = dotted((self.text, self.size_text))
        line = icon_line(Icon(_GLYPHS[self.kind], "faint", 13), Words(words, 12, "muted"), end)
        return Frame(line, (14, 0, 14, 0)), words


class UndoCard(TimelineCard, frozen=True):
    """An undo or a redo; `targets` are the seqs of what it is about, `name` the title of that.

    `of_one` says what became of an output, where it is about no more.
    """

    kind: Literal["undo", "redo"]
    targets: tuple[int, ...]
    name: str
    of_one: str = ""

    filters = ("yours",)

    @property
    def title(self) -> str:
        return self.of_one or undo_text(self.name, is_undo=self.kind == "undo")

    def draw(self, look: CardLook) -> tuple[Box, str]:
        icon = Icon("undo-2" if self.kind == "undo" else "redo-2", "faint", 13)
        line = icon_line(icon, Words(self.title, 12, "muted"), [time_text(self.at_ms, look)])
        return Frame(line, (14, 3, 14, 3)), self.title


_TAIL_CHARS = 420  # characters of the running summary that stay in sight
_SHORTEST_LINE = 4.0  # pixels between two phases


def phase_text(phase: Phase) -> str:
    texts: dict[Phase, str] = {
        "read": tr("Read", "phase of a compaction: the history is read"),
        "summarize": tr("Write"),
        "check": tr("Check"),
        "write": tr("Save", "phase of a compaction: the handover is recorded"),
    }
    return texts[phase]


def phases_name(phase: Phase) -> str:
    number = PHASES.index(phase) + 1
    count = len(PHASES)
    return tr("{phase}, step {number} of {count}", phase=phase_text(phase), number=number, count=count)


class RunningCard(TimelineRow, frozen=True):
    """A compaction under way: its phase, what the model has written so far, and what it takes, as text."""

    phase: Phase
    title: str
    text: str = ""
    usage_text: str = ""
    is_early: bool = False  # nothing waits for it

    estimate = 84

    @property
    def key(self) -> Hashable:
        return "running"

    def node(self, live: int) -> Node:
        return "live"

    def draw(self, look: CardLook) -> tuple[Box, str]:
        tip = tr("Stop without changing anything")
        title = self.title
        stop = push_button("stop", CancelCompaction(), tr("Stop"), tip=tip)
        tail = self.text[-_TAIL_CHARS:]
        if len(self.text) > _TAIL_CHARS:
            tail = "… " + tail.split(" ", 1)[-1]
        phase = self.phase
        content: list[Box] = [
            RowWithEnd([Text(title, 14, weight=600), stop]),
            Drawing((420, 24), lambda pen, rect: paint_phases(pen, rect, phase), phases_name(phase)),
        ]
        content += [Text(self.usage_text, 12, "muted")] if self.usage_text else []
        content += [Words(tail, 13, "muted")] if tail else []
        return framed(content, (14, 12, 16, 13), 9), dotted((title, phase_text(phase), self.usage_text))


def paint_phases(pen: Pen, rect: QRectF, running: Phase) -> None:
    """Paint the phases of a compaction in a line; where it is narrow, only the one that runs is named."""
    at_work = PHASES.index(running)
    lines = len(PHASES) - 1
    faces = [face(12, 600 if at == at_work else 500) for at in range(len(PHASES))]
    names = [phase_text(phase) for phase in PHASES]

    def room() -> float:
        widths = (metrics.horizontalAdvance(name) for name, (_, metrics) in zip(names, faces, strict=True))
        return rect.width() - sum(wide + 23 for wide in widths) - 20 * lines

    if room() < _SHORTEST_LINE * lines:
        names = [name if at == at_work else "" for at, name in enumerate(names)]
    between = max(_SHORTEST_LINE, min(22.0, room() / lines))
    x = rect.x() + 1
    middle = rect.center().y()
    qt = pen.qt
    for at, (name, (font, metrics)) in enumerate(zip(names, faces, strict=True)):
        dot = QRectF(x, middle - 8, 16, 16)
        if at < at_work:
            pen.box(dot, "ok_soft", "", 8)
            check = pixmap("check", pen.theme.ok, 10, qt.device().devicePixelRatio())
            qt.drawPixmap(QPointF(x + 3, middle - 5), check)
        else:
            inner = dot.adjusted(0.5, 0.5, -0.5, -0.5)
            is_now = at == at_work
            pen.box(inner, "accent_soft" if is_now else "", "accent" if is_now else "border_strong", 7, 2)
            if is_now:
                pen.box(dot.adjusted(5, 5, -5, -5), "accent", "", 3)
        x += 23
        qt.setFont(font)
        color = "muted" if at < at_work else "faint"
        if at == at_work:
            color = "text"
        qt.setPen(pen.color(color))
        wide = metrics.horizontalAdvance(name)
        qt.drawText(QRectF(x, rect.y(), wide + 2, rect.height()), Qt.AlignmentFlag.AlignVCenter, name)
        x += wide + 10
        if at < lines:
            qt.setPen(QPen(pen.color("border_strong"), 1.5))
            qt.drawLine(round(x), round(middle), round(x + between), round(middle))
            x += between + 10
