"""What is cached: which old outputs and arguments become markers in a sweep, and when that pays off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import ceil

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy_numbers import REFERENCE_WINDOW, ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke

_IN_WORK_FACTOR = 2
_LEAST_IN_WORK = 3_000  # tokens: some texts of a file and the result of its tests are as large in any window
_FRESH_TOKENS = 5_000  # a large output that is still sent whole, and what was looked up for it
_ROOMY_BELOW = 0.215  # of the window: with 0.23 the bill in 32,000 tokens is 0.05 points more
_NAMED_SHARE = 0.2  # of a small window, for files that the user named, until it is fuller than the next
_NAMED_BELOW = 0.6
_RECALLED_STEPS = 3  # what was recalled is needed for the next calls
MIN_PROTECTED_STEPS = 2  # the newest model calls that are protected whatever the policy says
PROVIDER_CACHED_PRICE = 0.1  # price of a token the provider has cached, against a fresh one
REWRITE_PRICE = (
    1.15  # extra price of a token that must be sent again (1.25 written, less 0.1 it would have cost)
)
_PATIENCE = 4  # times the price that waiting must have cost in an empty window: see `rewrite_price`
_PATIENT_BELOW = 0.30  # of the window, as of `observe_at`: from there on waiting costs facts, too
NAMES_SHARE = 0.14  # of the policy's `anchor_tokens`: a line of names, as measured on recorded sessions
_NAMES_CALLS = 13  # model calls that a sweep's line of names stands until its outputs are folded
# Of `previous_turn_share`. On 63 recorded sessions 0.2 bills 33.5 % of unmanaged in Balanced; the names of
# the next calls are in the context as often with 0.5.
_CLEARED_SHARE = 0.5


class SweepPlan(msgspec.Struct, frozen=True):
    """A plan to turn the content of these messages into markers; `rent` is the cost of waiting, in tokens."""

    swept: tuple[int, ...]
    saved: int
    rent: float = 0.0


class WorkingSet(msgspec.Struct, frozen=True):
    """The messages that the running turn works on, and the newest of them in so many tokens together.

    `seqs` has each with the newest message that worked on it. In a small window other outputs would push the
    file that is edited out of it within a few steps. Outputs of tools that are never cached stay as
    if they were always worked on.
    """

    seqs: Mapping[int, int]
    newest: Set[int]
    never_cached: Set[int] = frozenset()

    @classmethod
    def of(cls, transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> WorkingSet:
        seqs = transcript.staleness.in_work
        never_cached = _never_cached(transcript, policy)
        # In a larger window what the user named stays long enough anyway.
        if gauge.window < REFERENCE_WINDOW and not _is_placed_at_once(policy):
            seqs = seqs | transcript.named_by_user
        newest = _newest_of(seqs, transcript, max(_IN_WORK_FACTOR * policy.protect_tokens, _LEAST_IN_WORK))
        if whole := _whole_on_request(transcript, policy):
            seqs = seqs | {seq: seq for seq in whole}
            newest = newest | whole
        with_never_cached = {**seqs, **{seq: seq for seq in never_cached}} if never_cached else seqs
        return cls(with_never_cached, newest, never_cached)

    def protected_until(self, item: LogItem, transcript: Transcript, policy: ContextPolicy) -> int:
        """Return the model call from which a message of these may leave the window.

        It stays for twice the steps and tokens of others; the newest of them whatever came after, and until
        the newest edit is old enough to be folded.
        """
        if item.seq in self.never_cached:
            return transcript.messages.steps + 1
        least_steps = _RECALLED_STEPS if _is_recalled(item) else MIN_PROTECTED_STEPS
        by_age = item.step + max(_IN_WORK_FACTOR * policy.protect_steps, least_steps)
        if item.seq in self.newest:
            worker = transcript.messages.item(self.seqs[item.seq]) or item
            return max(by_age, worker.step + policy.fold_after_steps)
        by_distance = transcript.messages.step_beyond(item, _IN_WORK_FACTOR * policy.protect_tokens)
        return by_age if by_distance is None else min(by_age, max(by_distance, item.step + least_steps))


def _whole_on_request(transcript: Transcript, policy: ContextPolicy) -> set[int]:
    """Return the large outputs of the running turn that are sent whole, as their calls asked for all of them.

    Else what is read in full for an answer leaves before it, and is recalled at once.
    """
    whole = set[int]()
    oldest_step = transcript.messages.steps - _IN_WORK_FACTOR * policy.protect_steps
    for item in reversed(transcript.messages.items):
        if not transcript.turn_open or item.turn <= transcript.complete_turn or item.step < oldest_step:
            break
        event = item.event
        is_whole = isinstance(event, ToolAnswered) and event.form == "full" and event.chosen == "rule"
        if is_whole and item.tokens > policy.intake_above > 0 and item.seq not in transcript.superseded:
            whole.add(item.seq)
    return whole


def _newest_of(seqs: Iterable[int], transcript: Transcript, max_tokens: float) -> set[int]:
    """Return the newest of these messages that are sent whole, in so many tokens together."""
    newest: set[int] = set()
    for seq in sorted(set(seqs) - transcript.window.swept, reverse=True):
        item = transcript.messages.item(seq)
        max_tokens -= item.tokens if item is not None else 0
        if max_tokens < 0:
            break
        newest.add(seq)
    return newest


class SweepCandidate(msgspec.Struct, frozen=True):
    """A message whose markers would save `saving` tokens, and the model calls it has waited for a sweep."""

    seq: int
    saving: int
    waited_steps: int


def whole_from(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the event from which on outputs and arguments stay, but for superseded ones.

    While the context is below `previous_turn_share` of the window, as the gauge says, it is the first of the
    newest complete turn; else it lies behind the newest event. No sweep or fold that the policy makes goes
    beyond it. How much leaves then, `excess_tokens` says.
    """
    if policy.previous_turn_share and gauge.used < policy.previous_turn_share * gauge.window:
        return transcript.messages.first_seq(transcript.complete_turn)
    return transcript.last_seq + 1


def excess_tokens(policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the tokens, by our count, that leave together once `previous_turn_share` is passed; else 0.

    They bring the context half of the share below it: enough that it is not passed again for many steps, and
    no more, as the two newest turns stay whole as far as they may. 0 also where that is less than a note
    frees: then each rewrite takes all that it may, as so small a context would be rewritten all the time.
    And 0 where batches don't wait for their rent: what these policies protect is large enough.
    """
    limit = policy.previous_turn_share * gauge.window
    cleared = _CLEARED_SHARE * limit
    if policy.sweep != "rent" or not limit or gauge.used < limit or cleared < policy.fold_least:
        return 0
    return ceil((gauge.used - limit + cleared) / gauge.ratio)


def sweep_candidates(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> list[SweepCandidate]:
    """Return the outputs and arguments that may become markers now, oldest first.

    The newest tail is protected: `protect_steps` model calls and `protect_tokens` tokens, whichever ends
    first, at least two calls; more in a small window, see `_fresh_outputs` and `_named_files`; arguments have
    their own number of steps. What is superseded is not protected but by these two calls. What the running
    turn works on is protected twice as long: by age alone the newest of it, up to twice `protect_tokens`
    together, 3,000 at least, and large outputs that their calls asked for as a whole; a file also
    `fold_after_steps` calls from each edit on, what the turn recalled, or the user named for it in a small
    window, until its end. Of the last two turns only what is superseded
    is a candidate in a small context, and in a larger one no more than what makes it small again; see
    `whole_from` and `excess_tokens`. Never candidates: what the user pinned, the newest
    copy of often recalled content, and user messages, whose images have a sweep of their own. Swept is a
    state: a marker is never a candidate again (invariant 5).
    """
    candidates = []
    superseded = set[int]()
    in_work = WorkingSet.of(transcript, policy, gauge)
    steps = transcript.messages.steps
    first_kept = whole_from(transcript, policy, gauge)
    oldest_protected = None
    fresh = _fresh_outputs(transcript, policy, gauge)
    named = _named_files(transcript, policy, gauge)
    for item, saving in _sweepable_items(transcript, policy, MIN_PROTECTED_STEPS):
        is_in_work = item.seq in in_work.seqs
        is_superseded = not is_in_work and item.seq in transcript.superseded
        if not is_superseded and (
            item.seq >= first_kept or _leaves_after(item, oldest_protected, transcript, policy)
        ):
            continue
        since = _eligible_since(item, transcript, policy, in_work)
        if since is not None and not is_superseded and item.seq in fresh:
            since = max(since, item.step + policy.protect_steps)
        if since is not None and since <= steps and item.seq not in named:
            candidates.append(SweepCandidate(item.seq, saving, steps - since))
            if is_superseded:
                superseded.add(item.seq)
        elif since is not None and not is_in_work:
            oldest_protected = oldest_protected or item
    excess = excess_tokens(policy, gauge)
    if not excess:
        return candidates
    first_whole = transcript.messages.first_seq(transcript.complete_turn)
    leaving = {it.seq for it in candidates if it.seq < first_whole} | superseded
    return _oldest_that_free(excess, candidates, leaving)


def _oldest_that_free(
    tokens: int, candidates: Sequence[SweepCandidate], leaving: Set[int]
) -> list[SweepCandidate]:
    """Return those that are `leaving` anyway, and the oldest others that free the tokens with them."""
    freed = sum(candidate.saving for candidate in candidates if candidate.seq in leaving)
    oldest = []
    for candidate in candidates:
        if candidate.seq in leaving:
            oldest.append(candidate)
        elif freed < tokens:
            oldest.append(candidate)
            freed += candidate.saving
    return oldest


def _fresh_outputs(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> Set[int]:
    """Return the outputs of the running turn that stay for `protect_steps` calls in a small window.

    They are the newest one, and of the others as many as have `_FRESH_TOKENS` with it: `protect_tokens`
    shrinks with the window, what the agent reads does not, and a file left before it was edited. None where
    room is short, or facts are put in place once they are noted: more is lost to these then.
    """
    is_crowded = transcript.window.tokens[0] > _ROOMY_BELOW * gauge.window
    is_small = gauge.window < REFERENCE_WINDOW and not _is_placed_at_once(policy)
    if not is_small or is_crowded or not transcript.turn_open:
        return frozenset()
    oldest_step = transcript.messages.steps - policy.protect_steps + 1
    tokens = 0
    fresh = set[int]()
    for item in reversed(transcript.messages.items):
        if item.turn <= transcript.complete_turn or item.step < oldest_step:
            break
        if isinstance(item.event, ToolAnswered):
            tokens += item.tokens
            if fresh and tokens > _FRESH_TOKENS:
                break
            fresh.add(item.seq)
    return fresh


def _is_placed_at_once(policy: ContextPolicy) -> bool:
    return 0 < policy.observe_place_at <= policy.observe_at


def _named_files(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> Set[int]:
    """Return the texts of files that the user named, which stay in a small window until the turn has ended.

    Else files to be reviewed are cached before the answer is written, or before the queued message that names
    them is sent, and recalled at once. Not where facts are put in place at once, to send the least: there it
    bills 0.4 points more in 32,000 tokens.
    """
    is_crowded = transcript.window.tokens[0] > _NAMED_BELOW * gauge.window
    is_small = gauge.window < REFERENCE_WINDOW and not _is_placed_at_once(policy)
    if not is_small or is_crowded or not transcript.turn_open:
        return frozenset()
    return _newest_of(transcript.named_by_user, transcript, _NAMED_SHARE * gauge.window)


def _leaves_after(
    item: LogItem, oldest: LogItem | None, transcript: Transcript, policy: ContextPolicy
) -> bool:
    """Return True if a message of the last two turns stays until the `oldest` protected one has left.

    A kind that is protected for longer must not outlast newer ones: older turns leave first, then the newest
    complete one, oldest step first, then the running one.
    """
    if oldest is None or not policy.previous_turn_share or item.turn < transcript.complete_turn:
        return False
    return oldest.turn < item.turn or (item.turn == transcript.complete_turn and oldest.step < item.step)


def closed_candidates(
    transcript: Transcript, policy: ContextPolicy, protected_steps: int
) -> list[SweepCandidate]:
    """Return what may become markers where only the newest model calls are protected, oldest first.

    Never what has no answer yet.
    """
    steps = transcript.messages.steps
    return [
        SweepCandidate(item.seq, saving, steps - item.step)
        for item, saving in _sweepable_items(transcript, policy, protected_steps)
        if not (transcript.open_calls and isinstance(item.event, AssistantSpoke) and item.step == steps)
    ]


def _sweepable_items(
    transcript: Transcript, policy: ContextPolicy, protected_steps: int
) -> Iterator[tuple[LogItem, int]]:
    """Yield what markers save enough tokens of, with these; nothing new, pinned or never cached."""
    min_saving = max(policy.least_saving, 1)
    last_step = transcript.messages.steps - protected_steps
    staying = transcript.rewrites.pinned | _never_cached(transcript, policy)
    for item in transcript.window.sweepable_items:
        saving = transcript.window.sweep_savings(item) if item.step <= last_step else 0
        if saving >= min_saving and item.seq not in staying:
            yield item, saving


def _never_cached(transcript: Transcript, policy: ContextPolicy) -> frozenset[int]:
    """Return the outputs that become neither markers nor notes: sweeps and folds ask only here."""
    if not policy.never_cache:
        return frozenset()
    items = (entry for entry in transcript.window.entries() if isinstance(entry, LogItem))
    return frozenset(
        item.seq
        for item in items
        if isinstance(item.event, ToolAnswered) and item.event.name in policy.never_cache
    )


def image_messages(transcript: Transcript) -> tuple[int, ...]:
    """Return the seqs of user messages whose images could be shown as text and hash, oldest first."""
    user_items = (
        item
        for item in transcript.window.entries()
        if isinstance(item, LogItem) and isinstance(item.event, UserSpoke)
    )
    return tuple(item.seq for item in user_items if transcript.window.sweep_savings(item) > 0)


def _eligible_since(
    item: LogItem, transcript: Transcript, policy: ContextPolicy, in_work: WorkingSet
) -> int | None:
    """Return the model call from which a message may become markers; None while it may not.

    What is superseded goes first, as soon as it may at all. What the running turn works on goes last. The
    present todo list stays as long as something is left to do.
    """
    todo_list = transcript.todo_list
    if item.seq in (todo_list.call_seq, todo_list.answer_seq) and todo_list.is_open:
        return None
    is_in_work = item.seq in in_work.seqs
    is_superseded = not is_in_work and item.seq in transcript.superseded
    if isinstance(item.event, AssistantSpoke):
        steps = MIN_PROTECTED_STEPS if is_superseded else policy.protect_argument_steps
        return item.step + max(steps, MIN_PROTECTED_STEPS) if policy.protect_argument_steps else None
    if _is_recalled_often(item, transcript, policy):
        return None
    if is_superseded:
        return item.step + MIN_PROTECTED_STEPS
    if is_in_work:
        return in_work.protected_until(item, transcript, policy)
    least_steps = _RECALLED_STEPS if _is_recalled(item) else MIN_PROTECTED_STEPS
    by_age = item.step + max(policy.protect_steps, least_steps)
    by_distance = transcript.messages.step_beyond(item, policy.protect_tokens)
    return by_age if by_distance is None else min(by_age, max(by_distance, item.step + least_steps))


def _is_recalled(item: LogItem) -> bool:
    return isinstance(item.event, ToolAnswered) and bool(item.event.recalled)


def _is_recalled_often(item: LogItem, transcript: Transcript, policy: ContextPolicy) -> bool:
    """Return True for the newest copy of content recalled at least as often as the policy says."""
    event = item.event
    if not isinstance(event, ToolAnswered) or not event.recalled or not policy.protect_recalls:
        return False
    return (
        transcript.recall_counts[event.recalled] >= policy.protect_recalls
        and transcript.newest_recall_seqs.get(event.recalled) == item.seq
    )


def sweep_with_rewrite(transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge) -> SweepPlan | None:
    """Return a sweep of all candidates: sharing another rewrite of the same request, it costs nothing extra.

    What the user took back is exempt.
    """
    if not policy.enabled:
        return None
    candidates = [
        candidate
        for candidate in sweep_candidates(transcript, policy, gauge)
        if candidate.seq not in transcript.sweep_exempt
    ]
    if not candidates:
        return None
    saved = sum(candidate.saving for candidate in candidates)
    return SweepPlan(tuple(candidate.seq for candidate in candidates), saved, _waiting_cost(candidates))


def pays_off(transcript: Transcript, policy: ContextPolicy, plan: SweepPlan, gauge: UsageGauge) -> bool:
    """Return True if sweeping all candidates pays off now on its own, or frees what `excess_tokens` says."""
    if policy.sweep == "at once":
        return True
    if policy.sweep == "fixed":
        return plan.saved >= policy.sweep_fixed
    names = names_line_tokens(policy, plan.saved)
    saved = plan.saved - names
    if saved < policy.sweep_min:
        return False
    if 0 < excess_tokens(policy, gauge) <= plan.saved:
        return True
    # All behind it counts, the newest step too, though that is read uncached either way: else rewrites come
    # right behind a large new output, and in a small window take what the running turn works on.
    resent = transcript.window.tokens_from(plan.swept[0]) - saved
    price = rewrite_price(transcript.window.tokens[0], gauge.window) * resent
    price += PROVIDER_CACHED_PRICE * _NAMES_CALLS * names
    return saved >= policy.sweep_max or plan.rent >= price


def rewrite_price(used: float, window_size: int) -> float:
    """Return what sending a token again counts against waiting, with `used` tokens of the window.

    In an empty window four times its price: the session may end before a rewrite has paid off, and what waits
    stays in view. The fuller the window the less; where facts would be noted, the price alone. Measured on
    recorded sessions in windows of 128,000 and 32,000 tokens.
    """
    room = max(0.0, 1 - used / (_PATIENT_BELOW * window_size))
    return REWRITE_PRICE * (1 + (_PATIENCE - 1) * room)


def names_line_tokens(policy: ContextPolicy, freed: int) -> int:
    """Return about the tokens of the line of names that a rewrite which frees `freed` tokens will add."""
    return min(int(policy.anchor_tokens * NAMES_SHARE), freed // 2)


def _waiting_cost(candidates: list[SweepCandidate]) -> float:
    """Return what keeping these in the window has cost since they became candidates, in uncached tokens."""
    return PROVIDER_CACHED_PRICE * sum(
        candidate.saving * (candidate.waited_steps + 1) for candidate in candidates
    )


def tokens_saved(transcript: Transcript, seqs: tuple[int, ...]) -> int:
    items = (item for seq in seqs if (item := transcript.messages.item(seq)) is not None)
    return sum(transcript.window.sweep_savings(item) for item in items)
