"""Histories with every kind of rewrite: folds, observations, pins, chosen forms, arguments as markers.

What they record is what the engine would: stretches end at legal cuts, notes and index entries are real.
"""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from helix_desktop.context.intake.argument_markers import mask_arguments
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.rewrites import fold_note, planner
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.context.summaries import observation_task
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.domain.events.rewrite import (
    FoldKind,
    FoldMade,
    Form,
    FormChosen,
    Pinned,
    Redone,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.rewrite_kinds import PlacementReason, SweepReason
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.summary import (
    Observation,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ToolCall
from tests.support.histories import WORK, Draw, Maker, histories, tokens

AT = 1_760_000_000_000  # milliseconds; a date for observations
Stretch = tuple[int, int]


def stretch_of(maker: Maker, first: int, last: int) -> Stretch | None:
    """The events between two legal cuts of the window; None when there are too few."""
    live = [one for one in maker.transcript.window_entries() if isinstance(one, LogItem | SummaryBlock)]
    ends = [0, *cuts.legal_cuts(live)]
    begin, end = sorted((ends[first % len(ends)], ends[last % len(ends)]))
    if begin == end:
        return None
    head, tail = live[begin], live[end - 1]
    after = head.covers[0].after if isinstance(head, SummaryBlock) else head.seq - 1
    return after, tail.upto if isinstance(tail, SummaryBlock) else tail.seq


def fold(maker: Maker, stretch: Stretch, how: FoldKind = "fold") -> int:
    """Record the fold of a stretch; its seq."""
    after, upto = stretch
    text, entries = build_index_entry(maker.transcript, after, upto)
    index, items = maker.store(text), maker.transcript.between(after, upto)
    words = fold_note.render_fold_note(items, index, entries)
    if how == "condense":
        words = fold_note.render_condensed_note(items, index, entries, 200, maker.policy)
    if how == "truncate":
        words = fold_note.render_truncation_note(index, entries, len(items))
    steps = len({item.step for item in items})
    maker.record(FoldMade(after, upto, words, tokens(words), index, entries, steps, 40, how))
    return maker.transcript.last_seq


def observe(maker: Maker, stretch: Stretch, replaces: tuple[int, ...] = ()) -> int:
    """Record prepared observations of a stretch, or of observations in place; their seq."""
    after, upto = stretch
    text, entries = build_index_entry(maker.transcript, after, upto)
    items = maker.transcript.between(after, upto)
    facts = tuple(
        Observation(AT + item.seq, 1 + item.seq % 3, f"Fact from e{item.seq}.", (item.seq,))
        for item in items[:4]
    )
    facts = facts or (Observation(AT, 2, "Nothing much."),)
    ledger, quoted = build_ledger(items).text(200), observation_task.verbatim_seqs(items, 200)
    maker.record(
        ObservationsMade(
            after, upto, facts, quoted, ledger, maker.store(text), entries, 60, 400, len(items), "test/small",
            bool(replaces), replaces,
        )
    )  # fmt: skip
    return maker.transcript.last_seq


def place(maker: Maker, made: int) -> int:
    """Put prepared observations in place; the seq of that."""
    maker.record(ObservationsPlaced(made, PlacementReason.THRESHOLD, 340))
    return maker.transcript.last_seq


def write(maker: Maker, text: str = "line of a file\n" * 60) -> int:
    """A step whose call carries a large argument, answered; its seq."""
    if not maker.transcript.turn_open:
        maker.user("Write it.")
    maker.answer_all("rest")
    number = maker.transcript.last_seq
    call = ToolCall(f"write-{number}", "write_file", f'{{"path": "a{number}.py", "content": {_json(text)}}}')
    short = mask_arguments(call)
    assert short is not None
    maker.store(text)
    spoke = AssistantSpoke(
        "", "test/small", tokens(call.arguments), (call,), short=(short.call,), short_tokens=30
    )
    maker.record(spoke)
    maker.answer(0, "written")
    return number + 1


def outputs(maker: Maker) -> list[int]:
    """The seqs of all outputs that have a content."""
    items = maker.transcript.items
    return [one.seq for one in items if isinstance(one.event, ToolAnswered) and one.event.digest]


def choose(maker: Maker, seq: int, form: Form, text: str) -> int:
    """Record the person's choice of another form; the seq of that."""
    maker.record(FormChosen(seq, form, text, tokens(text), "names only" if form == "compact" else ""))
    return maker.transcript.last_seq


class _Rewriter:
    """Draws which rewrite happens next, and records it if it is possible now."""

    def __init__(self, maker: Maker, draw: Draw) -> None:
        self.maker, self._draw = maker, draw

    def act(self, action: str) -> None:
        """One action."""
        getattr(self, action)()

    def fold(self) -> None:
        """Steps become a note, notes a shorter one, or only an index stays."""
        if stretch := self._stretch():
            fold(self.maker, stretch, self._draw(st.sampled_from(("fold", "condense", "truncate"))))

    def observe(self) -> None:
        """Observations are prepared."""
        if stretch := self._stretch():
            observe(self.maker, stretch)

    def place(self) -> None:
        """Prepared observations are put in place."""
        if waiting := list(self.maker.transcript.rewrites.unplaced_seqs):
            place(self.maker, waiting[-1])

    def pin(self) -> None:
        """An output is pinned, or a pin is taken off."""
        if target := self._output():
            pinned = target in self.maker.transcript.rewrites.pinned
            self.maker.record(Unpinned(target) if pinned else Pinned(target))

    def form(self) -> None:
        """The person chooses another form."""
        if target := self._output():
            form = self._draw(st.sampled_from(get_args(Form)))
            choose(self.maker, target, form, "head\n[…]\ntail")

    def write(self) -> None:
        """A call carries a large argument."""
        write(self.maker)

    def sweep(self) -> None:
        """All old content becomes markers."""
        self.maker.sweep(planner.sweep_all(self.maker.transcript, self.maker.policy), SweepReason.MANUAL)

    def hand_over(self) -> None:
        """A handover."""
        self.maker.hand_over(self._number())

    def fail(self) -> None:
        """Observations are not made."""
        self.maker.record(ObservationsFailed("No observations were made.", "The model said nothing."))

    def undo(self) -> None:
        """Any rewrite is undone."""
        known = self.maker.transcript
        if held := [seq for seq in known.rewrites.by_seq if known.can_undo(seq)]:
            self.maker.record(Undone(held[self._number() % len(held)]))

    def redo(self) -> None:
        """Any undone rewrite holds again."""
        if gone := sorted(self.maker.transcript.rewrites.undone):
            self.maker.record(Redone(gone[self._number() % len(gone)]))

    def _stretch(self) -> Stretch | None:
        return stretch_of(self.maker, self._number(), self._number())

    def _output(self) -> int:
        found = outputs(self.maker)
        return found[self._number() % len(found)] if found else 0

    def _number(self) -> int:
        return self._draw(st.integers(0, 99))


ACTIONS = (
    "fold", "fold", "observe", "place", "place", "pin", "form", "write", "sweep", "hand_over", "fail", "undo",
    "redo",
)  # fmt: skip


@st.composite
def rewritten(draw: Draw, most: int = 10) -> Maker:
    """A usual history with rewrites of every kind on top, some of them undone."""
    maker = draw(histories(WORK))
    rewriter = _Rewriter(maker, draw)
    for action in draw(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=most)):
        rewriter.act(action)
    return maker


def _json(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
