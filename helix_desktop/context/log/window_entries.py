"""The window's entries: the messages under their rewrites, in order, with the tokens of each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence, Set
from operator import attrgetter

from helix_desktop.context.log.message_log import FRAMING_TOKENS, MessageLog, forked
from helix_desktop.context.log.rewrite_state import RewriteEvent, RewriteState
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    Cover,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
    active_covers,
    arrange_entries,
    build_covers,
    ended_tokens,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import Excluded, FoldMade, FormChosen, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.image import Image

PINNED_LABEL_TOKENS = 24  # tokens of the line above a pinned output
OBSERVATIONS_LABEL_TOKENS = 101  # tokens of the line above the observations
EDITED_LABEL_TOKENS = 12  # tokens of the line above a file's text that was edited before it was brought back
UNSHOWN_NOTE_TOKENS = 7  # tokens of what a marker says of an output that there was no room for when it came
_after, _step, _cumulative_tokens = map(attrgetter, ("after", "step", "cumulative_tokens"))


class WindowEntries:
    """The messages of a session and the rewrites over them, arranged as the window's entries.

    Between two rewrites a new message is only added behind the others.
    """

    def __init__(self, messages: MessageLog, rewrites: RewriteState) -> None:
        self._messages = messages
        self._rewrites = rewrites
        self.added_instructions: list[AddedInstructions] = []  # those that came after the start, in order
        self._entries: list[WindowEntry] = []
        self._tokens: tuple[int, int] | None = (0, 0)  # and what markers of images save; None: to be counted
        self._sweepable_items: list[LogItem] | None = []  # None: to be found
        self.handover_count: tuple[tuple[int, ...], int] = (), 0  # tokens as counted last, and for what
        self._covers: list[Cover] = []
        self._summed = 0  # entries that were summed up since the last rewrite
        self._summed_tokens = 0  # the tokens of these
        self._tokens_before: dict[int, int] = {}  # of each message among these, by event
        self._summed_items: list[LogItem] = []
        self._wordless_tokens: list[int] = []  # up to and including each of them
        self.last_rewrite_seq = 0
        self.last_rearranging_seq = 0  # the newest after which any entry may look other than before

    def apply(self, recorded: RecordedEvent, rewrite: RewriteEvent) -> None:
        """Apply a rewrite; entries that it leaves as they are stay the same objects."""
        self._forget_sums()
        if isinstance(rewrite, SweepMade):
            self._sweep(recorded.seq, rewrite)
        else:
            self._rewrites.apply(recorded.seq, rewrite)
        self.last_rewrite_seq = recorded.seq
        if isinstance(rewrite, FoldMade):
            self._add_cover(Cover(recorded.seq, rewrite.after, rewrite.upto, rewrite))
        elif isinstance(rewrite, FormChosen | Excluded):
            self._tokens = self._sweepable_items = None
            self.last_rearranging_seq = recorded.seq
        elif not isinstance(rewrite, SweepMade):
            self.rearrange()

    def add_instructions(self, added: AddedInstructions) -> None:
        """Put instructions that came after the start behind the other entries."""
        self.added_instructions.append(added)
        self.add(added)

    def add(self, entry: LogItem | AddedInstructions) -> None:
        self._entries.append(entry)
        if self._tokens is not None:
            images = self.images_of(entry) if isinstance(entry, LogItem) else ()
            tokens, image_tokens = self._tokens
            self._tokens = (
                tokens + self.entry_tokens(entry),
                image_tokens + sum(image.saving for image in images),
            )
        if isinstance(entry, LogItem) and self._sweepable_items is not None and self._is_sweepable(entry):
            self._sweepable_items.append(entry)

    def _add_cover(self, cover: Cover) -> None:
        """Add a new fold; if it covers only raw messages or whole notes, only these entries change."""
        after = cover.after
        upto = cover.upto
        others = [other for other in self._covers if not (after <= other.after and other.upto <= upto)]
        inside = (other for other in self._covers if after <= other.after and other.upto <= upto)
        if not all(isinstance(inner.event, FoldMade) for inner in inside) or any(
            other.after < upto and after < other.upto for other in others
        ):
            self.rearrange()
            return
        self._covers = sorted([*others, cover], key=lambda other: other.after)
        stay = (*self._rewrites.pinned, *(added.seq for added in self.added_instructions))
        if upto <= after or any(after < seq <= upto for seq in stay):
            self._arrange()
        else:
            self._put_note(cover)

    def _put_note(self, cover: Cover) -> None:
        entries = self._entries
        note = SummaryBlock((cover,))
        first = _first_after(entries, cover.after)
        end = _first_after(entries, cover.upto, first)
        if self._tokens is not None:
            tokens, images = self._tokens_of(entries[first:end])
            before, images_before = self._tokens
            self._tokens = before - tokens + self.entry_tokens(note), images_before - images
        if self._sweepable_items is not None:
            left = [item for item in self._sweepable_items if not cover.after < item.seq <= cover.upto]
            self._sweepable_items = left
        self._entries = [*entries[:first], note, *entries[end:]]

    def _sweep(self, seq: int, sweep: SweepMade) -> None:
        """Apply a sweep; of messages that stand in the window, only their own tokens change."""
        found = {*sweep.swept, *((sweep.carrier,) if sweep.anchors else ())}
        items = [item for seq in found if (item := self._messages.item(seq)) is not None]
        if any(map(self._is_covered, found)) or self._tokens is None or self._sweepable_items is None:
            self._rewrites.apply(seq, sweep)
            self._tokens = self._sweepable_items = None
            return
        tokens, images = self._tokens_of(items)
        self._rewrites.apply(seq, sweep)
        tokens_after, images_after = self._tokens_of(items)
        before, images_before = self._tokens
        self._tokens = before - tokens + tokens_after, images_before - images + images_after
        swept = self.swept
        self._sweepable_items = [item for item in self._sweepable_items if item.seq not in swept]

    def cover_of(self, seq: int) -> Cover | None:
        """Return the rewrite that stands for a message in the window; None if the message does."""
        place = bisect_left(self._covers, seq, key=_after)
        return self._covers[place - 1] if place > 0 and seq <= self._covers[place - 1].upto else None

    def _is_covered(self, seq: int) -> bool:
        return self.cover_of(seq) is not None

    def shows(self, seq: int) -> bool:
        """Return True if a message stands in the window: whole, or as markers."""
        left_out = {cover.event.kept for cover in self._covers if isinstance(cover.event, HandoverMade)}
        return seq not in self._rewrites.excluded and (seq in left_out or not self._is_covered(seq))

    def swept_since(self, seq: int) -> Set[int] | None:
        """Return the messages whose form rewrites after event `seq` changed; None: perhaps all entries."""
        if self.last_rearranging_seq > seq:
            return None
        seqs: set[int] = set()
        for rewrite_seq, rewrite in reversed(self._rewrites.by_seq.items()):
            if rewrite_seq <= seq:
                break
            if isinstance(rewrite, SweepMade):
                seqs.update(rewrite.swept, (rewrite.carrier,))
        return seqs

    def _tokens_of(self, entries: Sequence[WindowEntry]) -> tuple[int, int]:
        """Return the tokens of entries as shown now, and what markers in place of their images save."""
        tokens = image_tokens = 0
        for entry in entries:
            tokens += self.entry_tokens(entry)
            item = entry.item if isinstance(entry, PinnedCopy) else entry
            if isinstance(item, LogItem) and (images := self.images_of(item)):
                image_tokens += sum(image.saving for image in images)
        return tokens, image_tokens

    def rearrange(self) -> None:
        covers = build_covers(
            self._rewrites.active_handovers, self._rewrites.placed_observations, self._rewrites.active_folds
        )
        self._covers = active_covers(covers)
        self._arrange()

    def _arrange(self) -> None:
        self.last_rearranging_seq = self.last_rewrite_seq
        self._forget_sums()
        pinned = [
            item for seq in sorted(self._rewrites.pinned) if (item := self._messages.item(seq)) is not None
        ]
        self._tokens = self._sweepable_items = None
        self._entries = arrange_entries(
            self._messages.items, self._messages.position, self._covers, pinned, self.added_instructions
        )

    @property
    def swept(self) -> Set[int]:
        """Return the seqs of the messages whose content is shown as markers, by all active sweeps."""
        return self._rewrites.swept

    @property
    def handover(self) -> tuple[int, HandoverMade] | None:
        """Return the active handover that reaches furthest, with its seq."""
        first = self._covers[0] if self._covers else None
        return (first.seq, first.event) if first and isinstance(first.event, HandoverMade) else None

    @property
    def covers(self) -> tuple[Cover, ...]:
        return tuple(self._covers)

    def entries(self) -> list[WindowEntry]:
        """Return the window's entries in order. Do not change the list."""
        return self._entries

    def entry_tokens(self, entry: WindowEntry) -> int:
        """Return the tokens of an entry as the window shows it now, framing included.

        A handover is counted without the user's own messages in it, which depend on the policy.
        """
        if isinstance(entry, LogItem):
            return self._item_tokens(entry)
        if isinstance(entry, PinnedCopy):
            return self._item_tokens(entry.item) + PINNED_LABEL_TOKENS
        excluded = sum(event.tokens for event in self.exclusions_of(entry))
        if isinstance(entry, AddedInstructions):
            return (excluded or entry.event.text.tokens) + FRAMING_TOKENS
        covers = self.included_covers(entry)
        tokens = sum(cover.event.tokens for cover in covers) + excluded + FRAMING_TOKENS
        generations = [cover.event for cover in covers if isinstance(cover.event, ObservationsMade)]
        return tokens + (OBSERVATIONS_LABEL_TOKENS - ended_tokens(generations) if generations else 0)

    def exclusions_of(self, entry: WindowEntry) -> tuple[Excluded, ...]:
        """Return how the user excluded an entry, or the observations in it; empty if they did not."""
        if isinstance(entry, PinnedCopy) or not self._rewrites.excluded:
            return ()
        seqs = [cover.seq for cover in entry.covers] if isinstance(entry, SummaryBlock) else [entry.seq]
        found = (self._rewrites.excluded.get(seq) for seq in seqs)
        return tuple(dict.fromkeys(event for event in found if event is not None))

    def included_covers(self, block: SummaryBlock) -> tuple[Cover, ...]:
        return tuple(cover for cover in block.covers if cover.seq not in self._rewrites.excluded)

    def whole_attachments(self, covered: Iterable[LogItem] = ()) -> set[str]:
        """Return the digests of texts that the user attached whole to messages, without the covered ones."""
        covered_seqs = {item.seq for item in covered}
        items = [entry for entry in self._entries if isinstance(entry, LogItem)]
        return {
            attachment.digest
            for item in self.without_excluded(items)
            if item.seq not in covered_seqs and isinstance(item.event, UserSpoke)
            for attachment in item.event.attachments
            if attachment.is_whole and not (attachment.marker_tokens and item.seq in self.swept)
        }

    def whole_texts(self, covered: Iterable[LogItem]) -> set[str]:
        """Return the digests of texts and outputs that stand whole in messages that are not covered."""
        covered_seqs = {item.seq for item in covered}
        return self.whole_attachments(covered) | {
            entry.event.digest
            for entry in self._entries
            if isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered)
            if entry.seq not in covered_seqs and entry.seq not in self.swept and entry.event.form == "full"
        }

    def without_excluded(self, items: Iterable[LogItem]) -> list[LogItem]:
        """Return the messages that the user did not exclude: what may stand in a later note or summary.

        With an excluded summary, what it stands for is excluded.
        """
        if not self._rewrites.excluded:
            return list(items)
        covers = self._rewrites.excluded_covers
        return [
            item
            for item in items
            if item.seq not in self._rewrites.excluded
            and not any(after < item.seq <= upto and item.seq != left_out for after, upto, left_out in covers)
        ]

    def excluded_items(self) -> list[LogItem]:
        """Return the messages that the user excluded, and those that an excluded summary stands for, once."""
        items = [item for seq in self._rewrites.excluded if (item := self._messages.item(seq)) is not None]
        for after, upto, left_out in self._rewrites.excluded_covers:
            items += [item for item in self._messages.between(after, upto) if item.seq != left_out]
        return list({item.seq: item for item in items}.values())

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the tokens of all entries as shown now, and their images' share; without the handover."""
        if self._tokens is None:
            entries = [entry for entry in self._entries if not _is_handover(entry)]
            self._tokens = self._tokens_of(entries)
        return self._tokens

    def tokens_from(self, seq: int) -> int:
        """Return the tokens of all entries from a message on; of all if it stands nowhere for itself."""
        self._sum_up()
        return self._summed_tokens - self._tokens_before.get(seq, 0)

    def wordless_tokens(self, step: int, cumulative_tokens: int) -> int:
        """Return the tokens in the window, but for their plain text, of the messages up to a model call.

        Without those behind so many tokens of the log. Each counts as its framing at least.
        """
        self._sum_up()
        items = self._summed_items
        count = bisect_right(items, cumulative_tokens, key=_cumulative_tokens)
        count = bisect_right(items, step, hi=count, key=_step)
        return self._wordless_tokens[count - 1] if count else 0

    def _sum_up(self) -> None:
        """Add the new entries to the sums: between two rewrites no other one changes."""
        entries = self._entries
        tokens = self._summed_tokens
        wordless = self._wordless_tokens[-1] if self._wordless_tokens else 0
        for place in range(self._summed, len(entries)):
            entry = entries[place]
            entry_tokens = self.entry_tokens(entry)
            if isinstance(entry, LogItem):
                self._tokens_before[entry.seq] = tokens
                self._summed_items.append(entry)
                wordless += max(entry_tokens - entry.word_tokens, FRAMING_TOKENS)
                self._wordless_tokens.append(wordless)
            tokens += entry_tokens
        self._summed = len(entries)
        self._summed_tokens = tokens

    def _forget_sums(self) -> None:
        self._summed = self._summed_tokens = 0
        self._tokens_before = {}
        self._summed_items = []
        self._wordless_tokens = []

    @property
    def sweepable_items(self) -> list[LogItem]:
        """Return the outputs, calls and programs' texts in the window, in order, that have markers.

        Those that are not swept.

        Do not change the list.
        """
        if self._sweepable_items is None:
            items = (entry for entry in self._entries if isinstance(entry, LogItem))
            self._sweepable_items = [item for item in items if self._is_sweepable(item)]
        return self._sweepable_items

    def _is_sweepable(self, item: LogItem) -> bool:
        if item.seq in self.swept or item.seq in self._rewrites.excluded:
            return False
        if isinstance(item.event, UserSpoke) and not _has_only_programs(item.event):
            return False
        return item.saving > 0 or item.seq in self._rewrites.chosen_forms

    def sweep_savings(self, item: LogItem) -> int:
        """Return the tokens that a message's markers would save; 0 if it has none, is swept or excluded."""
        rewrites = self._rewrites
        seq = item.seq
        if seq in rewrites.swept or seq in rewrites.excluded:
            return 0
        chosen_form = rewrites.chosen_forms.get(seq)
        label_tokens = EDITED_LABEL_TOKENS if rewrites.edited_since(seq) else 0
        if chosen_form is not None and isinstance(item.event, ToolAnswered):
            return chosen_form.tokens - item.event.marker_tokens + label_tokens
        return item.saving + label_tokens

    def images_of(self, item: LogItem) -> tuple[Image, ...]:
        """Return the images sent with a message: none if it is swept or excluded."""
        images = _images_in(item.event)  # nearly always none: then nothing else is looked up
        if not images:
            return ()
        rewrites = self._rewrites
        seq = item.seq
        return () if seq in rewrites.swept or seq in rewrites.excluded else images

    def _item_tokens(self, item: LogItem) -> int:
        rewrites = self._rewrites
        seq = item.seq
        if rewrites.excluded and (excluded := rewrites.excluded.get(seq)):
            calls = len(item.event.calls) if isinstance(item.event, AssistantSpoke) else 0
            return excluded.tokens + FRAMING_TOKENS * (1 + calls) + self._anchor_tokens(seq)
        if seq in rewrites.swept:
            note_tokens = UNSHOWN_NOTE_TOKENS if rewrites.is_unshown(seq) else 0
            return item.tokens - item.saving + note_tokens + self._anchor_tokens(seq)
        label_tokens = EDITED_LABEL_TOKENS if rewrites.edited_since(seq) else 0
        if rewrites.chosen_forms and (chosen_form := rewrites.chosen_forms.get(seq)):
            return chosen_form.tokens + FRAMING_TOKENS + label_tokens
        return item.tokens + label_tokens

    def _anchor_tokens(self, seq: int) -> int:
        sweep = self._rewrites.anchors.get(seq)
        return sweep.anchor_tokens if sweep else 0

    def fork(self, messages: MessageLog, rewrites: RewriteState) -> WindowEntries:
        fork = forked(self)
        fork._messages = messages
        fork._rewrites = rewrites
        return fork


def _images_in(event: MessageEvent) -> tuple[Image, ...]:
    if isinstance(event, ToolAnswered):
        return event.images
    if isinstance(event, AssistantSpoke) or not event.attachments:
        return ()
    return tuple(attachment.image for attachment in event.attachments if attachment.image)


def _has_only_programs(message: UserSpoke) -> bool:
    """Return True if a sweep of a message takes nothing of the user's, neither words nor images."""
    is_cut = message.short is not None and message.short.is_cut
    return not is_cut and not any(attachment.image for attachment in message.attachments)


def _is_handover(entry: WindowEntry) -> bool:
    return isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade)


def _first_after(entries: Sequence[WindowEntry], seq: int, start: int = 0) -> int:
    """Return the place of the first entry that begins behind an event: the number of all if none does."""
    for place in range(start, len(entries)):
        entry = entries[place]
        if not isinstance(entry, PinnedCopy) and entry.after >= seq:
            return place
    return len(entries)
