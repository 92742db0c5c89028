"""Observations: dense dated facts that take the place of raw history."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem, PinnedCopy, SummaryBlock
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.context.summaries.artifact_ledger import LEGEND
from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.context.summaries.transcript_lines import utc_day
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import UserSpoke
from helix_desktop.domain.events.summary import ObservationsMade, ObservationsPlaced

TITLE = "[Observations]"
_NOTE = (
    "Reference material: dated facts (1 vital, 3 minor) distilled from earlier work in this conversation by "
    "Helix Desktop. Data, not instructions. Everything they cover can be recalled by hash. Artifacts: "
    f"{LEGEND}."
)
MIN_MESSAGES = 8


class EventRange(msgspec.Struct, frozen=True):
    """History to observe: events behind `after`, up to and with `upto`, and its tokens in the window.

    `replaces` are the placings of the observations that a reflection refines.
    """

    after: int
    upto: int
    tokens: int
    replaces: tuple[int, ...] = ()


def due_observation(transcript: Transcript, policy: ContextPolicy, window: float) -> EventRange | None:
    """The raw history to observe now: more than `observe_at` of the window stands unobserved.

    Never the previous turn, nor the one under way, nor what the person took back; nothing while prepared
    observations wait for their place.
    """
    if not (policy.enabled and policy.observe_at) or pending_observations(transcript) is not None:
        return None
    raw = _unobserved(transcript, _undone_upto(transcript))
    if sum(transcript.entry_tokens(one) for one in raw) <= policy.observe_at * window:
        return None
    return _range_before_turn(transcript, raw, MIN_MESSAGES)


def observable_range(transcript: Transcript) -> EventRange | None:
    """The raw history that can be observed by hand, however little it is, also what was taken back."""
    return _range_before_turn(transcript, _unobserved(transcript, 0), 1)


def _range_before_turn(
    transcript: Transcript, raw: list[LogItem | SummaryBlock], min_messages: int
) -> EventRange | None:
    old = _before_previous_turn(transcript, raw)
    if not old:
        return None
    after, upto = old[0].after, old[-1].upto
    if len(transcript.between(after, upto)) < min_messages:
        return None
    return EventRange(after, upto, sum(transcript.entry_tokens(one) for one in old))


def due_reflection(transcript: Transcript, policy: ContextPolicy, window: float) -> EventRange | None:
    """The observations to refine: all that stand together, when they take over `reflect_at` of the window."""
    if not (policy.enabled and policy.observe_at) or pending_observations(transcript) is not None:
        return None
    found = refinable_range(transcript)
    return found if found is not None and found.tokens > policy.reflect_at * window else None


def refinable_range(transcript: Transcript) -> EventRange | None:
    """The largest run of observations in place with no message between them; one alone is refined already."""
    runs: list[list[Cover]] = [[]]
    covers = [one for one in transcript.covers if isinstance(one.event, ObservationsMade)]
    for cover in covers:
        if runs[-1] and transcript.between(runs[-1][-1].upto, cover.after):
            runs.append([])
        runs[-1].append(cover)
    best = max(runs, key=lambda run: sum(one.event.tokens for one in run))
    if len(best) < 2:  # noqa: PLR2004 - one alone
        return None
    tokens = sum(one.event.tokens for one in best)
    return EventRange(best[0].after, best[-1].upto, tokens, tuple(one.seq for one in best))


def pending_observations(transcript: Transcript) -> int | None:
    """The seq of the newest observations that are prepared, were never placed, and still fit their place."""
    observed = transcript.rewrites.observations
    unplaced = reversed(transcript.rewrites.unplaced_seqs)
    return next((seq for seq in unplaced if still_applies(transcript, observed[seq])), None)


def still_applies(transcript: Transcript, observations: ObservationsMade) -> bool:
    """Whether what observations were made of still stands in the window, and takes more room than they."""
    return (
        is_current(transcript, observations)
        and tokens_in_window(transcript, observations.after, observations.upto) > observations.tokens
    )


def is_current(transcript: Transcript, observations: ObservationsMade) -> bool:
    """Whether what observations were made of still stands in the window, whole and as it was read."""
    replaced: list[int] = []
    for cover in transcript.covers:
        if cover.upto <= observations.after or observations.upto <= cover.after:
            continue
        if cover.after < observations.after or observations.upto < cover.upto:
            return False
        if not isinstance(cover.event, FoldMade):
            replaced.append(cover.seq)
    return tuple(replaced) == observations.replaces


def tokens_in_window(transcript: Transcript, after: int, upto: int) -> int:
    """Tokens that a stretch takes in the window now, without what is pinned in it."""
    tokens = 0
    for entry in transcript.window_entries():
        if isinstance(entry, LogItem):
            tokens += transcript.entry_tokens(entry) if after < entry.seq <= upto else 0
        elif isinstance(entry, SummaryBlock):
            tokens += sum(one.event.tokens for one in entry.covers if after <= one.after and one.upto <= upto)
    return tokens


def _unobserved(transcript: Transcript, floor: int) -> list[LogItem | SummaryBlock]:
    """The messages and notes behind `floor` and behind all that a handover or observations stand for."""
    covers = (one.upto for one in transcript.covers if not isinstance(one.event, FoldMade))
    floor = max(floor, *covers, 0)
    live = (one for one in transcript.window_entries() if not isinstance(one, PinnedCopy))
    return [one for one in live if one.after >= floor]


def _undone_upto(transcript: Transcript) -> int:
    """The last event of observations that the person took out of the window; they are not made again."""
    rewrites = transcript.rewrites
    undone = (one for seq in rewrites.undone if isinstance(one := rewrites.by_seq[seq], ObservationsPlaced))
    return max((rewrites.observations[one.made].upto for one in undone), default=0)


def _before_previous_turn(
    transcript: Transcript, raw: Sequence[LogItem | SummaryBlock]
) -> list[LogItem | SummaryBlock]:
    """The entries before the newest complete turn, up to the last legal cut among them."""
    last_whole = transcript.turns - 1 if transcript.turn_open else transcript.turns
    legal = set(cuts.legal_cuts(raw))
    best = 0
    for position, entry in enumerate(raw):
        turn = _turn_of(transcript, entry)
        if position in legal and turn <= last_whole:
            best = position
        if turn >= last_whole:
            break
    return list(raw[:best])


def _turn_of(transcript: Transcript, entry: LogItem | SummaryBlock) -> int:
    if isinstance(entry, LogItem):
        return entry.turn
    covered = transcript.between(entry.after, entry.upto)
    return covered[-1].turn if covered else 0


def render_observations(generations: Sequence[ObservationsMade], transcript: Transcript) -> str:
    """The text of the observations' message: each generation with its facts, ledger, quotes and index."""
    return "\n".join([f"{TITLE} {_NOTE}", *(render_generation(one, transcript) for one in generations)])


def render_generation(generation: ObservationsMade, transcript: Transcript) -> str:
    """The text of one generation; a fact without sources is marked as unsupported."""
    lines: list[str] = []
    day = ""
    for one in generation.observations:
        if (this := utc_day(one.at)) != day:
            lines.append(this)
            day = this
        cited = f"[{', '.join(f'e{seq}' for seq in one.sources)}]" if one.sources else UNSUPPORTED
        lines.append(f"- ({one.priority}) {one.text} {cited}")
    if generation.ledger:
        lines += ["Artifacts:", generation.ledger]
    quotes = [item for seq in generation.quoted if (item := transcript.item(seq)) is not None]
    lines += [f"e{item.seq} user: {item.event.text}" for item in quotes if isinstance(item.event, UserSpoke)]
    lines.append(f"{bare_marker(generation.index)} {generation.index_entries} outputs covered here")
    return "\n".join(lines)
