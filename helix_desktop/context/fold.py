"""Fold: old closed steps become one note, without a model and without loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.context.event import ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import FoldKind, FoldMade
from helix_desktop.context.history import FRAMING
from helix_desktop.context.layout import Block, Entry, Item, PinnedCopy, edges_of, parted
from helix_desktop.context.policy import Policy
from helix_desktop.context.sweep import CACHED_PRICE, REWRITE_PRICE, Sweep, resent
from helix_desktop.context.transcript import PINNED_LABEL, Transcript

PHRASE = 8  # tokens that a call takes in a note, as measured on recorded sessions
HEADER = 60  # tokens of a note's first line


class Fold(msgspec.Struct, frozen=True):
    """A stretch to fold: events behind `after`, up to and with `upto`, and about the tokens it frees."""

    after: int
    upto: int
    gain: int
    how: FoldKind = "fold"


class _Old(msgspec.Struct, frozen=True):
    """A message that may be folded, the tokens that frees, and the model calls it has waited."""

    item: Item
    gain: int
    waited: int


def due(
    transcript: Transcript,
    policy: Policy,
    riding: Sweep | None = None,
    sweeping: int = 0,
    cold: bool = False,
    edges: Sequence[int] = (),
) -> list[Fold]:
    """The stretches whose folding pays now, oldest first; empty while it does not.

    Folded are closed steps older than `fold_after_steps` calls and farther back than `protect_tokens`. The
    newest message of the person stays outside, so there may be two. Waiting costs rent, as for a sweep, and
    the sweep that would ride on the same rewrite (`riding`) helps to pay. From `sweeping` on (0: nothing) the
    request is written afresh anyway. No fold reaches across one of the `edges`, where observations will begin
    or end.
    """
    if not (policy.enabled and policy.fold_after_steps):
        return []
    runs = _runs(transcript, policy, edges)
    gain = sum(_gain_of(run) for run in runs)
    if not runs or gain < (policy.fold_least // 4 if cold else policy.fold_least):
        return []
    if not cold and not _pays(transcript, runs, gain, riding, sweeping):
        return []
    return [Fold(run[0].item.seq - 1, run[-1].item.seq, _gain_of(run)) for run in runs]


def _pays(
    transcript: Transcript, runs: list[list[_Old]], gain: int, riding: Sweep | None, sweeping: int
) -> bool:
    rent = CACHED_PRICE * sum(old.gain * old.waited for run in runs for old in run)
    behind = resent(transcript, runs[0][0].item.seq) - gain
    if sweeping:
        return rent >= REWRITE_PRICE * (behind - resent(transcript, sweeping))
    if riding is not None:
        rent += riding.rent
        behind -= riding.saved
    return rent >= REWRITE_PRICE * behind


def _runs(transcript: Transcript, policy: Policy, edges: Sequence[int]) -> list[list[_Old]]:
    """The stretches of old closed steps that stand raw in the window, split where something else stands."""
    newest = _newest_user(transcript)
    stay = _taken_back(transcript)
    edges = (*edges, *edges_of(transcript.covers))
    runs: list[list[_Old]] = [[]]
    for entry in _old_entries(transcript, policy):
        if not isinstance(entry, Item) or entry.seq == newest or _inside(entry.seq, stay):
            runs.append([])
        else:
            if edges and runs[-1] and parted(runs[-1][-1].item.seq, entry.seq, edges):
                runs.append([])
            runs[-1].append(_old(transcript, policy, entry))
    return [run for run in runs if run and _gain_of(run) > HEADER]


def _old_entries(transcript: Transcript, policy: Policy) -> list[Entry]:
    """The entries before the protected tail, up to the end of a closed step."""
    last_step = transcript.steps - policy.fold_after_steps
    far = transcript.total - policy.protect_tokens
    live = transcript.live()
    end = 0
    for position, entry in enumerate(live):
        if isinstance(entry, Item) and (entry.step > last_step or entry.cumulative > far):
            break
        following = live[position + 1] if position + 1 < len(live) else None
        if not (isinstance(following, Item) and isinstance(following.event, ToolAnswered)):
            end = position + 1
    return live[:end]


def _old(transcript: Transcript, policy: Policy, item: Item) -> _Old:
    by_distance = transcript.step_beyond(item, policy.protect_tokens) or transcript.steps
    since = max(item.step + policy.fold_after_steps, by_distance)
    return _Old(item, _gain(transcript, item), transcript.steps - since + 1)


def _newest_user(transcript: Transcript) -> int:
    return transcript.users[-1].seq if transcript.users else 0


def _taken_back(transcript: Transcript) -> list[FoldMade]:
    """Folds that the person undid: not made again by the program."""
    rewrites = transcript.rewrites
    return [one for seq in rewrites.undone if isinstance(one := rewrites.made[seq], FoldMade)]


def _gain_of(run: Sequence[_Old]) -> int:
    """Tokens that folding these messages frees, about."""
    return sum(old.gain for old in run) - HEADER


def _gain(transcript: Transcript, item: Item) -> int:
    if isinstance(item.event, UserSpoke):
        return FRAMING
    if item.seq in transcript.rewrites.pinned:
        return -PINNED_LABEL
    line = PHRASE if isinstance(item.event, ToolAnswered) else 2
    return max(0, transcript.shown_tokens(item) - item.words - line)


def freed(transcript: Transcript, stretch: Fold, tokens: int) -> int:
    """Tokens that a note of so many tokens frees in the place of a stretch; pinned outputs stay beside it."""
    stood = 0
    for entry in transcript.live():
        if isinstance(entry, Item) and stretch.after < entry.seq <= stretch.upto:
            pinned = entry.seq in transcript.rewrites.pinned
            stood += -PINNED_LABEL if pinned else transcript.shown_tokens(entry)
        elif isinstance(entry, Block) and stretch.after < entry.upto <= stretch.upto:
            stood += transcript.shown_tokens(entry)
    return stood - tokens - FRAMING


def condense_due(
    transcript: Transcript, policy: Policy, window: int, edges: Sequence[int] = ()
) -> Fold | None:
    """The older notes to replace by one shorter note, when all notes outgrow their share of the window."""
    if not (policy.enabled and policy.fold_after_steps and policy.condense_at):
        return None
    newest = _newest_user(transcript)
    notes = [one for one in transcript.live() if is_note(one) or _is_older_word(one, newest)]
    while notes and isinstance(notes[-1], Item):
        notes.pop()
    cap = policy.condense_at * window
    if sum(transcript.shown_tokens(one) for one in notes) <= cap:
        return None
    kept, count = 0, len(notes)
    while count and kept + transcript.shown_tokens(notes[count - 1]) <= policy.condense_keep * cap:
        count -= 1
        kept += transcript.shown_tokens(notes[count])
    stay = [one for one in _taken_back(transcript) if one.how == "condense"]
    old = {one.seq for one in notes[:count] if isinstance(one, Block) and not _inside(one.upto, stay)}
    found = [_condensed(transcript, policy, segment, window) for segment in _segments(transcript, old, edges)]
    best = max(found, key=lambda one: one.gain, default=None)
    return best if best is not None and best.gain >= policy.fold_least else None


def condensed_tokens(policy: Policy, window: int) -> int:
    """Tokens that the agent's own words may take in a condensed note."""
    return int(policy.condense_at * policy.condense_keep * 0.5 * window)


def _is_older_word(entry: Entry, newest: int) -> bool:
    return isinstance(entry, Item) and isinstance(entry.event, UserSpoke) and entry.seq != newest


def _segments(transcript: Transcript, old: set[int], edges: Sequence[int]) -> list[list[Item | Block]]:
    """Stretches of these notes, with the messages between them that were too few for a note of their own."""
    newest, stay = _newest_user(transcript), _taken_back(transcript)
    edges = (*edges, *edges_of(transcript.covers))
    segments: list[list[Item | Block]] = [[]]
    for entry in transcript.live():
        if isinstance(entry, PinnedCopy):
            continue
        is_old = isinstance(entry, Block) and entry.seq in old
        if not is_old and (isinstance(entry, Block) or entry.seq == newest or _inside(entry.seq, stay)):
            segments.append([])
            continue
        if segments[-1] and parted(segments[-1][-1].upto, entry.upto, edges):
            segments.append([])
        if is_old or segments[-1]:
            segments[-1].append(entry)
    for segment in segments:
        while segment and isinstance(segment[-1], Item):
            segment.pop()
    return [one for one in segments if one]


def _inside(seq: int, stretches: Iterable[FoldMade]) -> bool:
    return any(one.after < seq <= one.upto for one in stretches)


def _condensed(transcript: Transcript, policy: Policy, segment: list[Item | Block], window: int) -> Fold:
    first, last = segment[0], segment[-1]
    assert isinstance(first, Block)  # a segment begins and ends with a note
    assert isinstance(last, Block)
    after, upto = first.after, last.upto
    said = [min(one.tokens, policy.condense_message) for one in transcript.users_between(after, upto)]
    new = min(sum(said), policy.user_text_tokens) + condensed_tokens(policy, window) + policy.ledger_tokens
    return Fold(after, upto, sum(transcript.shown_tokens(one) for one in segment) - new, "condense")


def is_note(entry: Entry) -> bool:
    """Whether an entry is the note of a fold."""
    return isinstance(entry, Block) and isinstance(entry.event, FoldMade)
