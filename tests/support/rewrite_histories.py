"""Histories with every kind of rewrite: folds, observations, pins, chosen forms, arguments as markers.

They record what the engine would: ranges end at closed positions, notes and index entries are real.
"""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import strategies as st

from helix_desktop.context.intake.marker import sweep_arguments
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.rewrites import sweep_plans
from helix_desktop.context.rewrites.anchors import FOLD_TITLE
from helix_desktop.context.rewrites.step_notes import (
    render_condensed_note,
    render_fold_note,
    render_truncation_note,
)
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.legal_ranges import closed_positions
from helix_desktop.context.window.used_tokens import estimate_next_request
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import (
    FoldKind,
    FoldMade,
    Form,
    FormChosen,
    Pinned,
    PlacementReason,
    Redone,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.summary import (
    SUMMARY_TEXT_VERSION,
    Observation,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ToolCall
from tests.support.histories import SESSION_ACTIONS, Draw, SessionSimulator, count_tokens, histories

DATE_MS = 1_760_000_000_000  # milliseconds; a date for observations
SeqRange = tuple[int, int]


def seq_range_between(simulator: SessionSimulator, first: int, last: int) -> SeqRange | None:
    """The events between two closed positions of the window; None when there are too few."""
    live = [
        entry for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock)
    ]
    ends = [0, *closed_positions(live)]
    begin, end = sorted((ends[first % len(ends)], ends[last % len(ends)]))
    if begin == end:
        return None
    head = live[begin]
    tail = live[end - 1]
    after = head.covers[0].after if isinstance(head, SummaryBlock) else head.seq - 1
    return after, tail.upto if isinstance(tail, SummaryBlock) else tail.seq


def fold(simulator: SessionSimulator, seq_range: SeqRange, kind: FoldKind = "fold") -> int:
    after, upto = seq_range
    text, entries = build_index_entry(simulator.transcript, after, upto)
    index = simulator.store_content(text)
    items = simulator.transcript.messages.between(after, upto)
    words = render_fold_note(items, index, entries)
    if kind == "condense":
        words = render_condensed_note(items, index, entries, 200, 2_000, simulator.policy)
    if kind == "truncate":
        words = render_truncation_note(index, entries, len(items))
    steps = len({item.step for item in items})
    if kind != "truncate":
        words = f"{words}\n{FOLD_TITLE} e{upto}: src/app_{upto}.py"
    simulator.record(FoldMade(after, upto, words, count_tokens(words), index, entries, steps, 40, kind))
    return simulator.transcript.last_seq


def observe(simulator: SessionSimulator, seq_range: SeqRange, replaces: tuple[int, ...] = ()) -> int:
    """Record prepared observations of a stretch, or of observations in place; their seq."""
    after, upto = seq_range
    text, entries = build_index_entry(simulator.transcript, after, upto)
    items = simulator.transcript.messages.between(after, upto)
    facts = tuple(
        Observation(DATE_MS + item.seq, 1 + item.seq % 3, f"Fact from e{item.seq}.", (item.seq,))
        for item in items[:4]
    )
    facts = facts or (Observation(DATE_MS, 2, "Nothing much."),)
    ledger = build_ledger(items).text(200)
    quoted = observation.verbatim_seqs(items, 200)
    simulator.record(
        ObservationsMade(
            after, upto, facts, quoted, ledger, simulator.store_content(text), entries,
            60, 400, len(items), "test/small",
            bool(replaces), replaces, text_version=SUMMARY_TEXT_VERSION,
        )
    )  # fmt: skip
    return simulator.transcript.last_seq


def place_observations(simulator: SessionSimulator, observations_seq: int) -> int:
    placed = ObservationsPlaced(observations_seq, PlacementReason.THRESHOLD, 0)
    before, after = (
        estimate_next_request(transcript, simulator.policy, simulator.frame)
        for transcript in (simulator.transcript, simulator.transcript.fork_with(placed))
    )
    simulator.record(msgspec.structs.replace(placed, saved=before - after))
    return simulator.transcript.last_seq


def write_large_file(simulator: SessionSimulator, text: str = "line of a file\n" * 60) -> int:
    """A step whose call carries a large argument, answered; its seq."""
    if not simulator.transcript.turn_open:
        simulator.send_message("Write it.")
    simulator.answer_all_calls("rest")
    number = simulator.transcript.last_seq
    call = ToolCall(f"write-{number}", "write_file", f'{{"path": "a{number}.py", "content": {_json(text)}}}')
    short = sweep_arguments(call)
    assert short is not None
    simulator.store_content(text)
    response = AssistantSpoke(
        "", "test/small", count_tokens(call.arguments), (call,), short=(short.call,), short_tokens=30
    )
    simulator.record(response)
    simulator.answer_call(0, "written")
    return number + 1


def output_seqs(simulator: SessionSimulator) -> list[int]:
    items = simulator.transcript.messages.items
    return [item.seq for item in items if isinstance(item.event, ToolAnswered) and item.event.digest]


def choose_form(simulator: SessionSimulator, seq: int, form: Form, text: str) -> int:
    """Record the user's choice of another form; return its seq."""
    simulator.record(
        FormChosen(seq, form, text, count_tokens(text), "names only" if form == "compact" else "")
    )
    return simulator.transcript.last_seq


class _Rewriter:
    """Draws which rewrite happens next, and records it if it is possible now."""

    def __init__(self, simulator: SessionSimulator, draw: Draw) -> None:
        self.simulator = simulator
        self._draw = draw

    def act(self, action: str) -> None:
        getattr(self, action)()

    def fold(self) -> None:
        """Steps become a note, notes a shorter one, or only an index stays."""
        if stretch := self._draw_range():
            fold(self.simulator, stretch, self._draw(st.sampled_from(("fold", "condense", "truncate"))))

    def observe(self) -> None:
        if stretch := self._draw_range():
            observe(self.simulator, stretch)

    def place(self) -> None:
        """Prepared observations are used."""
        if waiting := list(self.simulator.transcript.rewrites.unplaced_seqs):
            place_observations(self.simulator, waiting[-1])

    def pin(self) -> None:
        if target := self._draw_output():
            pinned = target in self.simulator.transcript.rewrites.pinned
            self.simulator.record(Unpinned(target) if pinned else Pinned(target))

    def form(self) -> None:
        """Let the user choose another form."""
        if target := self._draw_output():
            form = self._draw(st.sampled_from(get_args(Form)))
            choose_form(self.simulator, target, form, "head\n[…]\ntail")

    def write(self) -> None:
        """A call carries a large argument."""
        write_large_file(self.simulator)

    def sweep(self) -> None:
        """All old content becomes markers."""
        self.simulator.record_sweep(
            sweep_plans.sweep_now(self.simulator.transcript, self.simulator.policy), SweepReason.MANUAL
        )

    def hand_over(self) -> None:
        """A handover."""
        self.simulator.hand_over(self._draw_number())

    def fail(self) -> None:
        """Observations are not made."""
        self.simulator.record(ObservationsFailed("No observations were made.", "The model said nothing."))

    def undo(self) -> None:
        transcript = self.simulator.transcript
        if undoable := [seq for seq in transcript.rewrites.by_seq if transcript.can_undo(seq)]:
            self.simulator.record(Undone(undoable[self._draw_number() % len(undoable)]))

    def redo(self) -> None:
        if gone := sorted(self.simulator.transcript.rewrites.undone):
            self.simulator.record(Redone(gone[self._draw_number() % len(gone)]))

    def _draw_range(self) -> SeqRange | None:
        return seq_range_between(self.simulator, self._draw_number(), self._draw_number())

    def _draw_output(self) -> int:
        seqs = output_seqs(self.simulator)
        return seqs[self._draw_number() % len(seqs)] if seqs else 0

    def _draw_number(self) -> int:
        return self._draw(st.integers(0, 99))


ACTIONS = (
    "fold", "fold", "observe", "place", "place", "pin", "form", "write", "sweep", "hand_over", "fail", "undo",
    "redo",
)  # fmt: skip


@st.composite
def histories_with_rewrites(draw: Draw, max_rewrites: int = 10) -> SessionSimulator:
    """Return a history with rewrites of every kind on top, some of them undone."""
    simulator = draw(histories(SESSION_ACTIONS))
    rewriter = _Rewriter(simulator, draw)
    for action in draw(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=max_rewrites)):
        rewriter.act(action)
    return simulator


def _json(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
