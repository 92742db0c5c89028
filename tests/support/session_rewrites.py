"""Every visible rewrite of a session, recorded on a simulator: by the product's own rules, or manually."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.intake import decode_output
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites import sweep_plans
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.handover import newest_checkpoint
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.window.exclusions import excluded_event, plan_exclusion, plan_opening_exclusion
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import (
    Form,
    FormChosen,
    HandoverTrigger,
    Pinned,
    PlacementReason,
    SweepReason,
    Unpinned,
)
from helix_desktop.domain.events.summary import (
    SUMMARY_TEXT_VERSION,
    Bullet,
    HandoverDiscarded,
    HandoverMade,
    HandoverPrepared,
    Observation,
    ObservationsFailed,
    ObservationsMade,
    Section,
)
from tests.support.session_simulator import SessionSimulator, count_tokens, output_in_form, run_sync

IDLE_S = 3_600  # long enough for every provider to have forgotten


def eager_policy(policy: ContextPolicy) -> ContextPolicy:
    """A policy under which whatever can be folded, condensed or observed is."""
    return msgspec.structs.replace(
        policy, fold_after_steps=1, fold_least=0, protect_tokens=0, previous_turn_share=0.0,
        condense_at=0.01, condense_keep=0.2, observe_at=0.01,
        observe_place_at=max(policy.observe_place_at, 0.01), reflect_at=0.05,
    )  # fmt: skip


def fold_all(simulator: SessionSimulator) -> int:
    """Fold all that can be; the provider has forgotten the session. How many folds that made."""
    before = len(simulator.transcript.rewrites.folds)
    policy = simulator.policy
    simulator.now_ms += IDLE_S * 1_000
    simulator.policy = eager_policy(policy)
    try:
        simulator.apply_due_rewrites()
    finally:
        simulator.policy = policy
    return len(simulator.transcript.rewrites.folds) - before


def truncate(simulator: SessionSimulator) -> None:
    """Truncate as the panic level does."""
    run_sync(simulator.window_rewriter.truncate(1 << 40))


def prepare_observations(simulator: SessionSimulator) -> int:
    """Prepare observations, or refine those in place if there are several; their seq, 0 if none are due."""
    window = simulator.frame.info.window
    policy = eager_policy(simulator.policy)
    refined = observation.due_reflection(simulator.transcript, policy, window)
    stretch = refined or observation.due_observation(simulator.transcript, policy, window)
    if stretch is None:
        return 0
    simulator.record(build_observations(simulator, stretch))
    return simulator.transcript.last_seq


def build_observations(simulator: SessionSimulator, event_range: EventRange) -> ObservationsMade:
    transcript = simulator.transcript
    items = transcript.window.without_excluded(
        transcript.messages.between(event_range.after, event_range.upto)
    )
    text, entries = build_index_entry(transcript, event_range.after, event_range.upto)
    observations = [
        Observation(item.at_ms, 1 + item.seq % 3, f"Something happened at {item.seq}.", (item.seq,))
        for item in items[:: max(1, len(items) // 4)]
    ]
    event = ObservationsMade(
        after=event_range.after, upto=event_range.upto, observations=tuple(observations),
        text_version=SUMMARY_TEXT_VERSION,
        quoted=observation.verbatim_seqs(items, min(simulator.policy.user_text_tokens, 200)),
        ledger=build_ledger(items).text(simulator.policy.ledger_tokens),
        index=simulator.store_content(text), index_entries=entries, tokens=0, before=event_range.tokens,
        messages=len(items), model="none", reflection=bool(event_range.replaces),
        replaces=event_range.replaces,
    )  # fmt: skip
    return msgspec.structs.replace(
        event, tokens=count_tokens(observation.render_generation(event, transcript))
    )


def record_failed_observations(simulator: SessionSimulator) -> None:
    """An observer that had nothing to say."""
    simulator.record(ObservationsFailed("The observations were not taken.", "They say nothing."))


def place_observations(simulator: SessionSimulator) -> None:
    """Let the user place the pending observations."""
    event = observation.pending_observations(simulator.transcript)
    if event is not None:
        run_sync(simulator.window_rewriter.place_observations(event, PlacementReason.MANUAL))


def write_checkpoint(simulator: SessionSimulator, text: str = "It is half done") -> int:
    """Record a checkpoint of everything so far, each sentence citing the newest message; its seq.

    0: there is no message yet.
    """
    if not simulator.transcript.messages.items:
        return 0
    upto = simulator.transcript.messages.items[-1].seq
    sections = tuple(Section(title, (Bullet(text, (upto,)),)) for title in TITLES)
    trigger = HandoverTrigger.THRESHOLD
    newest = newest_checkpoint(simulator.transcript)
    handover = HandoverMade(
        *(upto, 0, sections, "", "", 0, 90, 400, 0, 4, "m", trigger),
        checkpoint=newest[0] if newest else 0,
        text_version=SUMMARY_TEXT_VERSION,
    )
    prepared = HandoverPrepared(handover, 40_000, 880)
    simulator.record(HandoverDiscarded(900, 0.01, unpriced=0, prepared=prepared))
    return simulator.transcript.last_seq


def sweep_all(simulator: SessionSimulator, newest: int) -> None:
    """Turn all but the newest steps into markers."""
    reason = SweepReason.MANUAL if newest else SweepReason.OVERFLOW
    simulator.record_sweep(sweep_plans.sweep_now(simulator.transcript, simulator.policy, newest), reason)


def sweep_images(simulator: SessionSimulator, newest: bool) -> None:
    """Replace the user's images by text and hash."""
    simulator.record_sweep(sweep_plans.sweep_images(simulator.transcript, newest), SweepReason.OVERFLOW)


def cached_outputs(simulator: SessionSimulator) -> list[LogItem]:
    return [
        item
        for item in simulator.transcript.messages.items
        if isinstance(item.event, ToolAnswered) and item.event.digest
    ]


def pin(simulator: SessionSimulator, index: int) -> int:
    """Let the user pin an output; return its seq, 0 if there is none."""
    outputs = cached_outputs(simulator)
    if not outputs:
        return 0
    simulator.record(Pinned(outputs[index % len(outputs)].seq))
    return outputs[index % len(outputs)].seq


def exclude(simulator: SessionSimulator, index: int) -> int:
    """Let the user exclude an entry of the window, or a text of the opening; the seq, 0 if they can't."""
    transcript = simulator.transcript
    window = simulator.window()
    parts = len(transcript.opening or ())
    index %= max(1, parts + len(window.entries))
    if index < parts:
        planned = plan_opening_exclusion(transcript, transcript.opening_seq, index + 1, 64)
    elif window.entries:
        entry = window.entries[index - parts]
        seq = entry.item.seq if isinstance(entry, PinnedCopy) else entry.seq
        planned = plan_exclusion(window, transcript, seq, 64)
    else:
        planned = None
    if planned is None:
        return 0
    simulator.contents.update((content.digest, content.data) for content in planned.contents)
    tokens = sum(map(count_tokens, planned.counted_texts))
    simulator.record(excluded_event(planned, tokens, transcript, simulator.policy, simulator.frame))
    return simulator.transcript.last_seq


def unpin(simulator: SessionSimulator, index: int) -> None:
    """Let the user remove a pin."""
    pinned = sorted(simulator.transcript.rewrites.pinned)
    if pinned:
        simulator.record(Unpinned(pinned[index % len(pinned)]))


def restore_message(simulator: SessionSimulator, index: int) -> None:
    """Let the user undo the caching of what calls were given, or of the images of a message."""
    window = simulator.transcript.window
    swept = (item for item in window.entries() if isinstance(item, LogItem) and item.seq in window.swept)
    cached = [item for item in swept if not isinstance(item.event, ToolAnswered)]
    if cached:
        item = cached[index % len(cached)]
        simulator.record(FormChosen(item.seq, "full", "", item.tokens - FRAMING_TOKENS))


def choose_form(simulator: SessionSimulator, index: int, form: Form) -> int:
    """Let the user choose an output's form; return the seq of the choice, 0 if there is no output."""
    outputs = cached_outputs(simulator)
    if not outputs:
        return 0
    item = outputs[index % len(outputs)]
    assert isinstance(item.event, ToolAnswered)
    if item.event.images:
        return 0
    digest = item.event.digest
    text = output_in_form(decode_output(simulator.contents[digest], digest)[0], digest, form)
    simulator.record(FormChosen(item.seq, form, text, count_tokens(text)))
    return simulator.transcript.last_seq
