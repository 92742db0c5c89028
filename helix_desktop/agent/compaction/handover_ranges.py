"""The ranges of messages that a handover may cover, what it has to free, whether it may still be recorded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.agent.session import Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites import caching, compaction_due
from helix_desktop.context.summaries.handover_revision import same_range, without_handover
from helix_desktop.context.summaries.legal_ranges import HandoverRange, legal_ranges
from helix_desktop.context.window.used_tokens import UsageGauge, measure_next_request, measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import HandoverTrigger, SweepMade, SweepReason
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")
_MAX_RANGES = 200  # to choose from: each is priced, and nobody reads more


def active_handover(transcript: Transcript, seq: int) -> HandoverMade:
    """Return the active handover `seq`. Raises CompactionRefused if another one is active, or none."""
    current = transcript.window.handover
    if current is None or current[0] != seq:
        raise CompactionRefused(
            _text("The summary wasn't changed."),
            _text("Another summary is in the context now, or none is."),
            _text("Open the timeline and try again."),
        )
    return current[1]


def frees_little(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, range_: HandoverRange
) -> bool:
    """Return True if a handover on request would free little there, or nothing."""
    least = min(gauge.window, gauge.used) * policy.handover_least_gain
    return compaction_due.expected_savings(transcript, policy, gauge, range_) < least


def ranges_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> list[HandoverRange]:
    """Return all legal ranges, the one to propose first, then the furthest first.

    That is the furthest one before the newest turn which leaves the share of what is used that the policy
    keeps, if it frees enough; else one in the newest turn.
    """
    least = tokens_to_leave(policy, gauge)
    found = legal_ranges(transcript, 0, in_newest_turn=True)
    older = legal_ranges(transcript, least)
    if older and not frees_little(transcript, policy, gauge, older[0]):
        proposed = older[:1]
    else:
        proposed = legal_ranges(transcript, least, in_newest_turn=True)[:1] or found[:1]
    return [*proposed, *(range_ for range_ in found if range_ not in proposed)]


def tokens_to_leave(policy: ContextPolicy, gauge: UsageGauge) -> int:
    """Return the tokens that stay behind a handover on request, by our count."""
    return int(min(gauge.window, gauge.used) * policy.handover_keep / gauge.ratio)


def range_on_request(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge, upto: int = 0
) -> HandoverRange:
    """Return the range that ends at event `upto` (0: the one to propose). Raises CompactionRefused."""
    found = ranges_on_request(transcript, policy, gauge)
    if not found:
        raise _nothing_to_compact(has_messages=bool(transcript.messages.items))
    range_ = next((candidate for candidate in found if upto in {0, candidate.upto}), None)
    if range_ is None:
        raise CompactionRefused(
            _text("Can't compact up to this message (e{event}).", event=str(upto)),
            _text("It can only end after a complete step, before the newest part."),
            _text("Choose another message."),
        )
    return range_


def range_of_everything(transcript: Transcript) -> HandoverRange:
    """Return the range of every message. Raises CompactionRefused without one."""
    items = transcript.messages.items
    if not items:
        raise _nothing_to_compact(has_messages=False)
    return HandoverRange(items[-1].seq, 0, len(items), sum(map(transcript.window.entry_tokens, items)))


def without_active(transcript: Transcript, seq: int) -> tuple[Transcript, HandoverRange]:
    """Return a fork without the active handover `seq`, and its range. Raises CompactionRefused."""
    handover = active_handover(transcript, seq)
    fork, _ = without_handover(transcript)
    return fork, same_range(fork, handover.upto, handover.kept)


def thinned(ranges: Sequence[HandoverRange], upto: int) -> list[HandoverRange]:
    """Return at most about `_MAX_RANGES` of these, with the first and the nearest one before event `upto`."""
    step = -(-len(ranges) // _MAX_RANGES)
    nearest = next((range_ for range_ in ranges if range_.upto <= upto), None)
    return [range_ for place, range_ in enumerate(ranges) if place % step == 0 or range_ is nearest]


def _nothing_to_compact(has_messages: bool) -> CompactionRefused:
    return CompactionRefused(
        _text("Nothing to compact yet."),
        _text("Only the newest message and what was answered last are left; they always stay.")
        if has_messages
        else _text("This session has no messages."),
        _text("Send a message first."),
    )


def takes_place_of_same(transcript: Transcript, event: HandoverMade) -> bool:
    """Return True if a handover still updates and replaces what it was written for."""
    base, replaces = without_handover(transcript) if event.replaces else (transcript, ())
    current = base.window.handover
    return (current[0] if current else 0) == event.former and replaces == event.replaces


def checked_events(session: Session, event: HandoverMade) -> tuple[Event, ...]:
    """Return a handover with its figures, and the sweep that goes with it.

    Raises CompactionRefused if it is outdated, or if too little is freed. One that the user asked for may
    free as little as its draft said; only their own text not less than that.
    """
    transcript, policy, frame = session.transcript, session.policy, session.frame
    what, fix = _text("The conversation wasn't compacted."), _text("Nothing was changed.")
    if not takes_place_of_same(transcript, event):
        raise CompactionRefused(what, _text("The history changed in the meantime."), fix)
    base = without_handover(transcript)[0] if event.replaces else transcript
    forked, sweeps = transcript.fork_with(event), tuple[SweepMade, ...]()
    plan = caching.sweep_with_rewrite(forked, policy, measure_next_request(forked, policy, frame))
    if plan is not None:
        sweeps = (SweepMade(plan.masked, plan.saved, SweepReason.HANDOVER),)
        forked = forked.fork_with(*sweeps)
    after = project(forked, policy, frame)
    usage = measure_usage(project(transcript, policy, frame), transcript, policy, frame)
    freed = round((project(base, policy, frame).estimate - after.estimate) * usage.ratio)
    if event.trigger is not HandoverTrigger.MANUAL and freed < max(
        1, compaction_due.least_gain(policy, usage)
    ):
        why = _text(
            "It would free only {tokens} tokens, less than {share} % of the context window.",
            tokens=freed,
            share=round(policy.handover_least_gain * 100),
        )
        raise CompactionRefused(what, why, fix)
    if (
        event.trigger is HandoverTrigger.MANUAL
        and event.edited
        and freed < min(0, event.before - event.after)
    ):
        why = _text("With your text, the context would be {tokens} tokens larger.", tokens=-freed)
        raise CompactionRefused(what, why, fix)
    used_after = measure_usage(after, forked, policy, frame).used
    return (msgspec.structs.replace(event, before=usage.used, after=used_after), *sweeps)
