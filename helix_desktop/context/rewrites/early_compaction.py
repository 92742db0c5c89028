"""Early compaction: which old steps become a note without a model, and when that pays off."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import PINNED_LABEL_TOKENS
from helix_desktop.context.log.window_layout import (
    AddedInstructions,
    LogItem,
    PinnedCopy,
    SummaryBlock,
    WindowEntry,
    crosses_edge,
    edges_of,
    newest_instructions,
)
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.caching import (
    PROVIDER_CACHED_PRICE,
    SweepPlan,
    WorkingSet,
    excess_tokens,
    names_line_tokens,
    rewrite_price,
    whole_from,
)
from helix_desktop.context.summaries.handover import (
    newest_texts_tokens,
    user_text_budget,
)
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldKind, FoldMade

# As measured on 2,399 folds of recorded sessions, in Balanced and Lean together.
PHRASE_TOKENS = 17  # tokens that a call takes in a note, its short result included
HEADER_TOKENS = 31  # tokens of a note's first line
NOTE_CALLS = 44  # model calls that a note stands in the window until it is condensed with others
_LEAST_RUN = 60  # tokens that a note of its own has to free


class FoldPlan(msgspec.Struct, frozen=True):
    """A range to fold: events after `after` up to and including `upto`; `gain` is about the tokens freed."""

    after: int
    upto: int
    gain: int
    how: FoldKind = "fold"


class _Run(msgspec.Struct):
    """Messages that may be folded together, each with the tokens this frees; `gain` is that of all."""

    items: list[tuple[LogItem, int]] = []
    gain: int = -HEADER_TOKENS

    def add(self, item: LogItem, gain: int) -> None:
        self.items.append((item, gain))
        self.gain += gain


def due_folds(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    sweep_plan: SweepPlan | None = None,
    rewritten_from_seq: int = 0,
    is_cold: bool = False,
    edges: Sequence[int] = (),
) -> list[FoldPlan]:
    """Return the ranges that are worth folding now, oldest first; empty while none are.

    Closed steps older than `fold_after_steps` calls and farther back than `protect_tokens` are folded. Steps
    that sweeps spare because the running turn works on them stay, as the user's newest message does, so there
    may be several ranges: else nothing behind a file that is edited for long would be folded. Waiting costs
    rent, as for a sweep, and the sweep that would share the rewrite (`sweep_plan`) adds its savings; a note
    costs what it adds to the window for as long as it stands. What sending again costs depends on how full a
    window of so many tokens is. Once `previous_turn_share` is passed, no more of the last two turns is folded
    than the excess, and that at once. From `rewritten_from_seq` on (0: nothing) the request is resent anyway.
    No fold crosses one of the `edges`, where observations will begin or end.
    """
    if not (policy.enabled and policy.fold_after_steps):
        return []
    least = policy.fold_least // 4 if is_cold else policy.fold_least
    # The last model call, and the last token of the log, that lie before the protected tail.
    messages = transcript.messages
    whole = messages.tokens_before(whole_from(transcript, policy, gauge))
    tail = (
        messages.steps - policy.fold_after_steps,
        min(messages.total_tokens - policy.protect_tokens, whole),
    )
    if transcript.window.wordless_tokens(*tail) < least:  # no fold frees more
        return []
    excess = excess_tokens(policy, gauge)
    runs = _foldable_runs(transcript, policy, gauge, tail, edges)
    if excess:
        runs = _without_surplus(transcript, runs, excess)
    names = sum(names_line_tokens(policy, run.gain) for run in runs)
    gain = sum(run.gain for run in runs) - names
    if not runs or gain < least:
        return []
    is_due = is_cold or 0 < excess <= gain
    if not is_due and not _pays_off(transcript, policy, gauge, runs, names, sweep_plan, rewritten_from_seq):
        return []
    return [FoldPlan(run.items[0][0].after, run.items[-1][0].seq, run.gain) for run in runs]


def _without_surplus(transcript: Transcript, runs: Sequence[_Run], excess: int) -> list[_Run]:
    """Return the runs up to the step with which the excess leaves; older turns are all in them.

    What leaves counts as in a sweep, so that a note has the steps whose contents a sweep would take.
    """
    shorter = []
    freed = 0
    last_step = 0
    for run in runs:
        oldest = _Run()
        for item, gain in run.items:
            is_of_two_turns = item.turn >= transcript.complete_turn
            if freed >= excess and is_of_two_turns and item.step != last_step:
                break
            oldest.add(item, gain)
            freed += transcript.window.sweep_savings(item) or gain
            last_step = item.step
        if oldest.gain > _LEAST_RUN:
            shorter.append(oldest)
    return shorter


def _pays_off(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    runs: list[_Run],
    names: int,
    sweep_plan: SweepPlan | None,
    rewritten_from_seq: int,
) -> bool:
    waited = sum(freed * _waited_steps(transcript, policy, item) for run in runs for item, freed in run.items)
    rent = PROVIDER_CACHED_PRICE * (waited - NOTE_CALLS * (HEADER_TOKENS * len(runs) + names))
    behind = transcript.window.tokens_from(runs[0].items[0][0].seq) - sum(run.gain for run in runs) + names
    price = rewrite_price(transcript.window.tokens[0], gauge.window)
    if rewritten_from_seq:
        return rent >= price * (behind - transcript.window.tokens_from(rewritten_from_seq))
    if sweep_plan is not None:
        rent += sweep_plan.rent
        behind -= sweep_plan.saved
    return rent >= price * behind


def _foldable_runs(
    transcript: Transcript,
    policy: ContextPolicy,
    gauge: UsageGauge,
    tail: tuple[int, int],
    edges: Sequence[int],
) -> list[_Run]:
    """Return the runs of old closed steps shown raw in the window, split at entries of other kinds."""
    newest = _newest_user_seq(transcript)
    staying = _places_in_work(transcript, policy, gauge) | _restored_places(transcript)
    edges = sorted({*edges, *edges_of(transcript.window.covers)})
    runs = [_Run()]
    for entry in _old_entries(transcript, tail):
        stays = isinstance(entry, LogItem) and (entry.seq == newest or _place(entry) in staying)
        if isinstance(entry, LogItem) and not stays:
            while edges and runs[-1].items and edges[0] < runs[-1].items[-1][0].seq:
                del edges[0]
            if edges and runs[-1].items and edges[0] < entry.seq:
                runs.append(_Run())
            runs[-1].add(entry, _item_gain(transcript, entry))
        elif runs[-1].items and not isinstance(entry, AddedInstructions):  # which outlast notes
            runs.append(_Run())
    return [run for run in runs if run.gain > _LEAST_RUN]


def _old_entries(transcript: Transcript, tail: tuple[int, int]) -> list[WindowEntry]:
    """Return the entries before the protected tail, in closed steps."""
    last_step, last_cumulative = tail
    live = transcript.window.entries()
    end = len(live)
    for position in range(len(live) - 1, -1, -1):  # what is protected is the shorter part
        entry = live[position]
        if isinstance(entry, LogItem):
            if entry.step <= last_step and entry.cumulative_tokens <= last_cumulative:
                break
            end = position
    while end and end < len(live) and _is_answer(live[end]):
        end -= 1
    return live[:end]


def _place(item: LogItem) -> tuple[int, bool]:
    """Return the step of a message, and whether it is the user's: these stay and go for themselves."""
    return item.step, isinstance(item.event, UserSpoke)


def _places_in_work(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> set[tuple[int, bool]]:
    in_work = WorkingSet.of(transcript, policy, gauge)
    items = (transcript.messages.item(seq) for seq in in_work.seqs.keys() - transcript.window.swept)
    return {
        _place(item)
        for item in items
        if item is not None and in_work.protected_until(item, transcript, policy) > transcript.messages.steps
    }


def _restored_places(transcript: Transcript) -> set[tuple[int, bool]]:
    restored = transcript.rewrites.restored
    entries = transcript.window.entries() if restored else ()
    return {_place(entry) for entry in entries if isinstance(entry, LogItem) and entry.seq in restored}


def _is_answer(entry: WindowEntry) -> bool:
    return isinstance(entry, LogItem) and isinstance(entry.event, ToolAnswered)


def _waited_steps(transcript: Transcript, policy: ContextPolicy, item: LogItem) -> int:
    by_distance = transcript.messages.step_beyond(item, policy.protect_tokens) or transcript.messages.steps
    since = max(item.step + policy.fold_after_steps, by_distance)
    return transcript.messages.steps - since + 1


def _newest_user_seq(transcript: Transcript) -> int:
    return transcript.messages.user_items[-1].seq if transcript.messages.user_items else 0


def _item_gain(transcript: Transcript, item: LogItem) -> int:
    if isinstance(item.event, UserSpoke):
        return FRAMING_TOKENS
    if item.seq in transcript.rewrites.pinned:
        return -PINNED_LABEL_TOKENS
    line = PHRASE_TOKENS if isinstance(item.event, ToolAnswered) else 2
    return max(0, transcript.window.entry_tokens(item) - item.word_tokens - line)


def tokens_freed(transcript: Transcript, plan: FoldPlan, tokens: int) -> int:
    """Return the tokens freed by replacing a range with a note of `tokens` tokens; pinned outputs stay."""
    stood = 0
    newest = newest_instructions(transcript.window.added_instructions)
    for entry in transcript.window.entries():
        if isinstance(entry, AddedInstructions):
            leaves = plan.after < entry.seq <= plan.upto and entry.seq not in newest
            stood += transcript.window.entry_tokens(entry) if leaves else 0
        elif isinstance(entry, LogItem) and plan.after < entry.seq <= plan.upto:
            pinned = entry.seq in transcript.rewrites.pinned
            stood += -PINNED_LABEL_TOKENS if pinned else transcript.window.entry_tokens(entry)
        elif isinstance(entry, SummaryBlock) and plan.after < entry.upto <= plan.upto:
            stood += transcript.window.entry_tokens(entry)
    return stood - tokens - FRAMING_TOKENS


def due_condensation(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, edges: Sequence[int] = ()
) -> FoldPlan | None:
    """Return the older notes to condense into one, once all notes outgrow their share of the window.

    Never those with words of the newest complete turn, which stay as they are.
    """
    if not (policy.enabled and policy.fold_after_steps and policy.condense_at):
        return None
    notes = _notes_and_user_messages(transcript)
    cap = policy.condense_at * gauge.window
    tokens = [transcript.window.entry_tokens(entry) for entry in notes]
    if sum(tokens) <= cap:
        return None
    kept_tokens = 0
    count = len(notes)
    while count and kept_tokens + tokens[count - 1] <= policy.condense_keep * cap:
        count -= 1
        kept_tokens += tokens[count]
    old = {
        note.seq
        for note in notes[:count]
        if isinstance(note, SummaryBlock) and note.upto not in transcript.rewrites.restored
    }
    segments = _segments(transcript, policy, gauge, old, edges)
    plans = [_condensation(transcript, policy, segment, gauge.window) for segment in segments]
    best = max(plans, key=lambda plan: plan.gain, default=None)
    return best if best is not None and best.gain >= policy.fold_least else None


def condensed_tokens(policy: ContextPolicy, window_size: int) -> int:
    """Return the tokens the agent's own text may take in a condensed note."""
    return int(policy.condense_at * policy.condense_keep * 0.5 * window_size)


def _notes_and_user_messages(transcript: Transcript) -> list[WindowEntry]:
    """Return the notes of folds and, up to the last of them, the user's messages but their newest one.

    The newest one is the running turn's instruction, and stays a message.
    """
    newest = _newest_user_seq(transcript)
    last = transcript.window.covers[-1].upto if transcript.window.covers else 0
    found: list[WindowEntry] = []
    for entry in transcript.window.entries():
        if isinstance(entry, LogItem):
            if entry.seq > last:
                break
            if isinstance(entry.event, UserSpoke) and entry.seq != newest:
                found.append(entry)
        elif is_fold_note(entry):
            found.append(entry)
    while found and isinstance(found[-1], LogItem):
        found.pop()
    return found


def _segments(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, old: set[int], edges: Sequence[int]
) -> list[list[LogItem | SummaryBlock]]:
    """Return the runs of these notes, with the messages between them that were too few for their own note."""
    newest = _newest_user_seq(transcript)
    first_kept = whole_from(transcript, policy, gauge)
    spared = _places_in_work(transcript, policy, gauge) | _restored_places(transcript)
    turn = transcript.complete_turn
    turn_first = transcript.messages.first_seq(turn)
    turn_end = transcript.messages.first_seq(turn + 1)
    edges = (*edges, *edges_of(transcript.window.covers))
    segments: list[list[LogItem | SummaryBlock]] = [[]]
    for entry in transcript.window.entries():
        if isinstance(entry, PinnedCopy | AddedInstructions):
            continue
        is_of_turn = entry.upto >= turn_first and entry.after < turn_end - 1
        is_old = isinstance(entry, SummaryBlock) and entry.seq in old and not is_of_turn
        if not is_old and (
            isinstance(entry, SummaryBlock)
            or is_of_turn
            or entry.seq == newest
            or entry.seq >= first_kept
            or _place(entry) in spared
        ):
            segments.append([])
            continue
        if segments[-1] and crosses_edge(segments[-1][-1].upto, entry.upto, edges):
            segments.append([])
        if is_old or segments[-1]:
            segments[-1].append(entry)
    for segment in segments:
        while segment and isinstance(segment[-1], LogItem):
            segment.pop()
    return [segment for segment in segments if segment]


def _condensation(
    transcript: Transcript, policy: ContextPolicy, segment: list[LogItem | SummaryBlock], window_size: int
) -> FoldPlan:
    first = segment[0]
    last = segment[-1]
    assert isinstance(first, SummaryBlock)  # a segment begins and ends with a note
    assert isinstance(last, SummaryBlock)
    after = first.after
    upto = last.upto
    budget = user_text_budget(policy.user_text_tokens, window_size)
    new = newest_texts_tokens(transcript.messages.users_between(after, upto), budget)
    new += condensed_tokens(policy, window_size) + policy.ledger_tokens
    return FoldPlan(
        after, upto, sum(transcript.window.entry_tokens(item) for item in segment) - new, "condense"
    )


def is_fold_note(entry: WindowEntry) -> bool:
    return isinstance(entry, SummaryBlock) and isinstance(entry.event, FoldMade)
