"""Every rewrite that a session can see, recorded on a maker: by the program's own rules, or by hand."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.intake.intake import decode_output
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries import observation, observation_task
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.observation import EventRange
from helix_desktop.domain.events.rewrite import Form, FormChosen, Pinned, Unpinned
from helix_desktop.domain.events.rewrite_kinds import PlacementReason, SweepReason
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.events.summary import Observation, ObservationsFailed, ObservationsMade
from tests.support.maker import Maker, at_once, shown_as, tokens

IDLE_S = 3_600  # long enough for every provider to have forgotten


def eager(policy: ContextPolicy) -> ContextPolicy:
    """A policy under which whatever can be folded, condensed or observed is."""
    return msgspec.structs.replace(
        policy,
        fold_after_steps=1,
        fold_least=0,
        protect_tokens=0,
        condense_at=0.01,
        condense_keep=0.2,
        observe_at=0.01,
        observe_place_at=max(policy.observe_place_at, 0.01),
        reflect_at=0.05,
    )


def fold(maker: Maker) -> int:
    """Fold all that can be; the provider has forgotten the session. How many folds that made."""
    before, kept = len(maker.transcript.rewrites.folds), maker.policy
    maker.now += IDLE_S * 1_000
    maker.policy = eager(kept)
    try:
        maker.tidy()
    finally:
        maker.policy = kept
    return len(maker.transcript.rewrites.folds) - before


def truncate(maker: Maker) -> None:
    """Leave out what panic leaves out."""
    at_once(maker.upkeep.truncate())


def observe(maker: Maker) -> int:
    """Prepare observations, or refine those in place if there are several; their seq, 0 if none are due."""
    window, policy = maker.frame.info.window, eager(maker.policy)
    refined = observation.due_reflection(maker.transcript, policy, window)
    stretch = refined or observation.due_observation(maker.transcript, policy, window)
    if stretch is None:
        return 0
    maker.record(observed(maker, stretch))
    return maker.transcript.last_seq


def observed(maker: Maker, stretch: EventRange) -> ObservationsMade:
    """The observations of a stretch that an observer with few words would make."""
    known = maker.transcript
    items = known.between(stretch.after, stretch.upto)
    text, entries = build_index_entry(known, stretch.after, stretch.upto)
    said = [
        Observation(one.at_ms, 1 + one.seq % 3, f"Something happened at {one.seq}.", (one.seq,))
        for one in items[:: max(1, len(items) // 4)]
    ]
    made = ObservationsMade(
        after=stretch.after,
        upto=stretch.upto,
        observations=tuple(said),
        quoted=observation_task.verbatim_seqs(items, min(maker.policy.user_text_tokens, 200)),
        ledger=build_ledger(items).text(maker.policy.ledger_tokens),
        index=maker.store(text),
        index_entries=entries,
        tokens=0,
        before=stretch.tokens,
        messages=len(items),
        model="none",
        reflection=bool(stretch.replaces),
        replaces=stretch.replaces,
    )
    return msgspec.structs.replace(made, tokens=tokens(observation.render_generation(made, known)))


def fail_to_observe(maker: Maker) -> None:
    """An observer that had nothing to say."""
    maker.record(ObservationsFailed("The observations were not taken.", "They say nothing."))


def place(maker: Maker) -> None:
    """The person puts what is prepared in place."""
    made = observation.pending_observations(maker.transcript)
    if made is not None:
        at_once(maker.upkeep.place_observations(made, PlacementReason.MANUAL))


def sweep_all(maker: Maker, newest: int) -> None:
    """Turn all but the newest steps into markers."""
    reason = SweepReason.MANUAL if newest else SweepReason.OVERFLOW
    maker.sweep(planner.sweep_all(maker.transcript, maker.policy, newest), reason)


def sweep_images(maker: Maker, newest: bool) -> None:
    """Let text and hash stand for the images the person sent."""
    maker.sweep(planner.sweep_images(maker.transcript, newest), SweepReason.OVERFLOW)


def outputs(maker: Maker) -> list[LogItem]:
    """The outputs that are cached, in order."""
    return [one for one in maker.transcript.items if isinstance(one.event, ToolAnswered) and one.event.digest]


def pin(maker: Maker, which: int) -> int:
    """The person pins an output; its seq, 0 if there is none."""
    found = outputs(maker)
    if not found:
        return 0
    maker.record(Pinned(found[which % len(found)].seq))
    return found[which % len(found)].seq


def unpin(maker: Maker, which: int) -> None:
    """The person takes a pin off."""
    found = sorted(maker.transcript.rewrites.pinned)
    if found:
        maker.record(Unpinned(found[which % len(found)]))


def choose_form(maker: Maker, which: int, form: Form) -> int:
    """The person chooses how an output is shown; the seq of the choice, 0 if there is no output."""
    found = outputs(maker)
    if not found:
        return 0
    item = found[which % len(found)]
    assert isinstance(item.event, ToolAnswered)
    if item.event.images:
        return 0
    digest = item.event.digest
    text = shown_as(decode_output(maker.contents[digest], digest)[0], digest, form)
    maker.record(FormChosen(item.seq, form, text, tokens(text)))
    return maker.transcript.last_seq
