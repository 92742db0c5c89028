"""What can be read and written: versions, what is said of a draft, and ranges, each with its price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from helix_desktop.agent.compaction.handover_writer import (
    WHOLE_SESSION,
    CountedPart,
    HandoverDraft,
    HandoverScope,
)
from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import (
    CutPoint,
    HandoverPartKind,
    covered_counts,
    newest_checkpoint,
)
from helix_desktop.context.summaries.handover_revision import editable_sections, fields_to_markdown, to_fields
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.fields import ComboBox, TextField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.kit.intents import EditHandover, Intent, Redo
from helix_desktop.words.call_targets import call_title
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.message_states import STATE_WORDS
from helix_desktop.words.models import writer_name
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.summaries import handover_titles
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

WHOLE_CONVERSATION = -1
"""Stands for the range of every message, whose handover another session begins with."""
_LITTLE = 0.10  # of the context that a handover frees: below, the user is warned


class OpenDraft(msgspec.Struct, frozen=True):
    """A draft that the window holds: what it is for, and what the model would get of it as it was written."""

    draft: HandoverDraft
    scope: HandoverScope
    parts: tuple[CountedPart, ...]

    @property
    def upto(self) -> int:
        return WHOLE_CONVERSATION if self.scope.is_whole else self.draft.cut.upto

    @property
    def fields(self) -> dict[str, str]:
        """Return its sections as they were written."""
        return to_fields(editable_sections(self.draft.event))

    def text(self, fields: dict[str, str]) -> str:
        """Return its sections with the user's changes, if there are any."""
        return self.draft.text if fields == self.fields else fields_to_markdown(fields)


def sizes_as_sent(parts: Sequence[CountedPart]) -> str:
    """Return the tokens of what the model gets, and of its parts."""
    names: dict[HandoverPartKind, str] = {
        "sections": tr("sections"),
        "ledger": tr("files, commands and errors"),
        "missing": tr("what they leave out"),
        "user": tr("your messages"),
        "agent": tr("the agent's own words"),
        "quotes": tr("messages of the earlier session"),
    }
    tokens = dict.fromkeys(names.values(), 0) | {tr("introduction and index"): 0}
    for part, count in parts:
        tokens[names.get(part.kind, tr("introduction and index"))] += count
    sizes = ", ".join(f"{name} {format_tokens(count)}" for name, count in tokens.items() if count)
    return tr("{tokens}: {parts}", tokens=format_token_count(sum(tokens.values())), parts=sizes)


def sweep_note(tokens: int) -> str:
    """Return how much of what a handover frees is cached along with it; empty for nothing."""
    if not tokens:
        return ""
    return tr(
        "Of what this frees, {tokens} are older outputs, cached along with it.",
        tokens=format_token_count(tokens),
    )


def draft_warnings(opened: OpenDraft) -> list[str]:
    """Return why a draft may not be worth it: it frees little, or nothing, or may say too little."""
    event, warnings = opened.draft.event, list[str]()
    freed = event.before - event.after
    tokens = format_token_count(abs(freed))
    if opened.scope.is_whole or freed >= max(1, event.before * _LITTLE):
        pass
    elif freed == 0:
        warnings.append(tr("It frees nothing."))
    elif freed < 0:
        warnings.append(tr("It would make the context {tokens} larger.", tokens=tokens))
    else:
        share = format_whole_percent(freed / event.before)
        words = tr("It frees only {tokens}, {share} of the context.", tokens=tokens, share=share)
        warnings.append(words)
    if opened.draft.doubt:
        use = tr("Edit it, write it again, or use it as it is: everything it covers can be recalled.")
        why = translate(opened.draft.doubt)
        warnings.append(translate(join_sentences(tr("This draft may say too little."), why, use)))
    return warnings


def purpose_text(scope: HandoverScope, former_title: str) -> str:
    """Return what becomes of a draft: for a new session, in place of `former_title`, or of messages."""
    if scope.is_whole:
        return tr("A new session starts with this summary and can recall everything it covers.")
    if scope.rerun_seq:
        return tr(
            "“{title}” is written again from the original messages. The current text stays in the log, "
            "and undo restores it.",
            title=former_title,
        )
    return tr(
        "A summary replaces older messages. You can undo this at any time, and the agent can recall "
        "everything it covers."
    )


def use_text(scope: HandoverScope) -> str:
    """Return what the button says that uses a draft."""
    if scope.is_whole:
        return tr("Start new session")
    return tr("Replace summary") if scope.rerun_seq else tr("Compact")


NOTHING, NOW, DRAFT, FORMER_DRAFT = 0, -1, -2, -3
"""Stand for no handover, the one as it would be now, the draft, the one before it, as others for events."""


class Version(msgspec.Struct, frozen=True):
    """One that can be read: its name, when it was written or how, what the context has of it."""

    seq: int
    title: str
    note: str = ""
    state: str = ""


class EditRefusal(msgspec.Struct, frozen=True):
    """Why a handover cannot be edited now, and what can be done instead."""

    reason: str
    label: str = ""
    intent: Intent | None = None


def recorded_versions(transcript: Transcript, log: Sequence[RecordedEvent]) -> list[Version]:
    """Return the handovers and checkpoints on record, the newest first."""
    return [
        Version(seq, title, format_moment(log[seq - 1].at), _state(transcript, seq))
        for seq, title in reversed(handover_titles(transcript).items())
        if seq <= len(log)  # else it is being stored
    ]


def _state(transcript: Transcript, seq: int) -> str:
    active, newest = transcript.window.handover, newest_checkpoint(transcript)
    if active is not None and active[0] == seq:
        return translate(STATE_WORDS["in_window"].label)
    if transcript.can_redo(seq):
        return tr("Undone")
    return tr("For the next compaction") if newest is not None and newest[0] == seq else ""


def version_before(transcript: Transcript, seq: int) -> int:
    """Return the handover that was made before one, or NOTHING; before others, the active one."""
    if seq < NOTHING:
        return transcript.window.handover[0] if transcript.window.handover else NOTHING
    return max((other for other in transcript.written_handovers if other < seq), default=NOTHING)


def edit_refusal(transcript: Transcript, seq: int) -> EditRefusal | None:
    """Return why a handover cannot be edited; None if it can: the active one, the newest checkpoint."""
    if seq == NOW:
        return EditRefusal(
            tr(
                "Older messages would become a summary like this one. “Write draft” has the model write it; "
                "you can edit it before you compact."
            )
        )
    titles, newest = handover_titles(transcript), transcript.window.handover
    if seq in transcript.checkpoints:
        newest = newest_checkpoint(transcript) or newest  # the next handover begins with it
        if newest is None:
            return EditRefusal(tr("Its messages were compacted, so it can't be edited."))
        words = tr("“{title}” updates this one, so only that one can be edited.", title=titles[newest[0]])
    elif transcript.rewrites.handovers[seq].origin:
        return EditRefusal(tr("This summary is of another session. Edit it there."))
    elif transcript.can_redo(seq):
        reason = tr("This summary is undone: it isn't in the context. Redo it to edit it.")
        return EditRefusal(reason, tr("Redo"), Redo((seq,)))
    elif newest is None:
        return None
    else:
        words = tr(
            "“{title}” replaces this one in the context, so only that one can be edited.",
            title=titles[newest[0]],
        )
    return EditRefusal(words, tr("Edit that one"), EditHandover(newest[0])) if newest[0] != seq else None


def rerun_seq(transcript: Transcript, seq: int) -> int | None:
    """Return which handover writing would replace, 0 for none; None where nothing can be written."""
    active = transcript.window.handover
    if seq == NOW:
        return 0
    return seq if active is not None and active[0] == seq and not active[1].origin else None


_MAX_TEXT_CHARS = 28  # characters of the last message that a range covers


class HandoverRange(msgspec.Struct, frozen=True):
    """How far a handover could reach: the last event it covers, and that as text that ends with `counts`."""

    upto: int
    text: str
    counts: str = ""


def handover_ranges(
    cuts: Sequence[CutPoint], transcript: Transcript, *, is_same_first: bool = False
) -> Iterator[HandoverRange]:
    """Return the ranges that a user can choose from: the proposed one, or that of the active handover, first.

    A new handover replaces the active one, too, which is counted with the messages it stands for. When that
    one is written again, its messages are in the context no more, and have no figure.
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


def _end_text(upto: int, transcript: Transcript) -> str:
    item = transcript.messages.item(upto)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            last = text
        case ToolAnswered(name=name, target=target):
            last = call_title(name, target)
        case _:
            last = ""
    excerpt = ellipsize(one_line(last), _MAX_TEXT_CHARS)
    if not excerpt:
        return tr("Up to e{number}", number=str(upto))
    return tr("Up to “{excerpt}” (e{number})", excerpt=excerpt, number=str(upto))


_MIN_CHARS = 24  # of a range that are shown at least; the whole is its tooltip
_LEAST_NAME_PX = 60
_COUNTS_ROLE = Qt.ItemDataRole.UserRole + 1


class RangeBox(ComboBox):
    """Shows the counts of a range whole: where room ends, its name is cut."""

    def __init__(self) -> None:
        super().__init__(least_chars=_MIN_CHARS)
        self.setAccessibleName(tr("Range"))

    def show_ranges(self, ranges: Sequence[HandoverRange]) -> None:
        self.clear()
        for place, handover_range in enumerate(ranges):
            self.addItem(handover_range.text, handover_range.upto)
            self.setItemData(place, handover_range.counts, _COUNTS_ROLE)

    def showPopup(self) -> None:
        view = self.view()
        view.ensurePolished()  # its style has a frame
        around_px = view.verticalScrollBar().sizeHint().width() + 2 * view.frameWidth()
        view.setMinimumWidth(view.sizeHintForColumn(0) + around_px)
        super().showPopup()

    def fit(self, text: str, room: int) -> str:
        """Return a range as it fits: a part of its name, all of its counts where there is room for them."""
        counts = str(self.currentData(_COUNTS_ROLE) or "")
        name_room = room - self.fontMetrics().horizontalAdvance(counts)
        if name_room < scaled(_LEAST_NAME_PX):
            return super().fit(text, room)
        return super().fit(text.removesuffix(counts), name_room) + counts


class RangeChoice(QWidget):
    """Range and focus of what is to be written; `price` and `warning` stand elsewhere in the window."""

    chosen = Signal()
    """Another range."""
    priced = Signal()

    def __init__(self, conversation: Conversation, start: StartCoroutine) -> None:
        super().__init__()
        self._conversation, self._start = conversation, start
        self.scope: int | None = None
        """The handover that is written again, 0 for none, whose ranges are offered; None: of none yet."""
        self._ranges: dict[int, list[HandoverRange]] = {}  # by scope
        self.box, self.focus = RangeBox(), TextField(tr("Focus, for example open questions"))
        self.focus.setAccessibleName(tr("Focus"))
        self.price, self.warning = label("", "muted"), label("", "note", wrap=True)
        self.price.setObjectName("handover-price")
        self.warning.setObjectName("gain-warning")
        fields = row(self.box, self.focus, gap=8)
        fields.setStretch(0, 1)
        fields.setStretch(1, 1)
        self.setLayout(fields)
        self.box.currentTextChanged.connect(self.box.setToolTip)
        self.box.currentIndexChanged.connect(lambda _: self._on_chosen())

    @property
    def upto(self) -> int | None:
        """Return the last event of the chosen range; None while there is none to choose."""
        upto: int | None = self.box.currentData()
        return upto

    def scope_of(self, upto: int) -> HandoverScope:
        return WHOLE_SESSION if upto == WHOLE_CONVERSATION else HandoverScope(self.scope or 0)

    def choose(self, upto: int) -> None:
        """Choose the range that ends at an event: as near before it as can be, else the shortest."""
        ends = {int(self.box.itemData(at)): at for at in range(self.box.count())}
        events = [end for end in ends if end > 0]
        nearest = max((end for end in events if end <= upto), default=min(events, default=upto))
        self.box.setCurrentIndex(ends.get(upto, ends.get(nearest, 0)))

    def offer(self, scope: int, upto: int) -> None:
        """Offer the ranges of a scope, once they are known, with the one that ends at an event chosen."""
        if scope in self._ranges:
            self.show_ranges(scope, self._ranges[scope])
        else:
            self.scope = scope
            self.box.show_ranges(())
            self._start(self._read(scope, upto), "handover ranges")

    def read_again(self) -> None:
        """Read what is offered again, as the log went on."""
        self._ranges.clear()
        if self.scope is not None:
            self._start(self._read(self.scope, self.upto or 0), "handover ranges")

    async def _read(self, scope: int, upto: int) -> None:
        try:
            cuts = await self._conversation.handovers.writer.cuts(max(0, upto), HandoverScope(scope))
        except HelixError:
            cuts = []  # what there is to say stands where the price does
        if isValid(self) and scope == self.scope:
            self.show_cuts(scope, cuts)
            if upto:
                self.choose(upto)

    def show_cuts(self, scope: int, cuts: Sequence[CutPoint]) -> None:
        transcript = self._conversation.session.transcript
        ranges = list(handover_ranges(cuts, transcript, is_same_first=bool(scope)))
        if not scope:
            words, counts = tr("Whole conversation, for a new session"), transcript.messages.counts().text
            ranges.append(_named_range(WHOLE_CONVERSATION, words, counts))
        self.show_ranges(scope, ranges)

    def show_ranges(self, scope: int, ranges: list[HandoverRange]) -> None:
        self._ranges[scope], self.scope = ranges, scope
        self.box.show_ranges(ranges)

    def _on_chosen(self) -> None:
        if (upto := self.upto) is not None:
            self.price.setText(tr("Counting tokens…"))
            self._start(self._show_price(upto), "estimate-handover")
            self.chosen.emit()

    async def _show_price(self, upto: int) -> None:
        writer, scope = self._conversation.handovers.writer, self.scope_of(upto)
        try:
            estimate = await writer.estimate(upto, scope)
            text = f"{estimate_text(estimate)} · {writer_name(estimate.model, estimate.demo)}"
            frees_little = writer.frees_little(upto, scope)
        except HelixError as error:
            text, frees_little = translate(error.what), False
        if isValid(self) and upto == self.upto:
            self.price.setText(text)
            words = tr("This may free little: a summary can be as long as what it replaces.")
            self.warning.setText(words if frees_little else "")
            self.priced.emit()
