"""The checks of the guided demo on a session: its calls, rewrites, and stored bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports import Store
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.summary import ObservationsPlaced
from helix_desktop.domain.text_format import format_bytes

MIN_CALLS, MIN_FOLDS, MIN_HANDOVERS = 80, 2, 1


@dataclass(frozen=True, slots=True)
class DemoCheck:
    """The result of one check."""

    name: str
    passed: bool
    text: str


async def check_session(store: Store, conversation: Conversation) -> list[DemoCheck]:
    """Check a session whose script was played to its end."""
    transcript = conversation.session.transcript
    answers = answers_in(transcript.items)
    recalled = [answer for answer in answers if answer.recalled and answer.ok]
    return [
        DemoCheck("tool calls", len(answers) >= MIN_CALLS, f"{len(answers)} in {transcript.turns} turns"),
        *_check_rewrites(transcript),
        await _check_totals(store),
        await _check_outputs(store, answers),
        await _check_arguments(store, transcript),
        DemoCheck("recalled by the agent", bool(recalled), f"{len(recalled)} times, by markers and indexes"),
        _check_window(conversation),
    ]


def answers_in(items: list[LogItem]) -> list[ToolAnswered]:
    """Return the outputs among messages, in order."""
    return [item.event for item in items if isinstance(item.event, ToolAnswered)]


def _check_rewrites(transcript: Transcript) -> list[DemoCheck]:
    """Check the rewrites of the window, mechanism by mechanism."""
    rewrites = transcript.rewrites
    sweeps = list(rewrites.sweeps.values())
    masked = [item for sweep in sweeps for seq in sweep.masked if (item := transcript.item(seq)) is not None]
    steps = sum(isinstance(item.event, AssistantSpoke) for item in masked)
    saved = sum(sweep.saved for sweep in sweeps)
    noun = "step" if steps == 1 else "steps"
    masked_text = f"{len(masked) - steps} outputs and the arguments of {steps} {noun} became markers"
    folds = list(rewrites.folds.values())
    folded, freed = sum(fold.steps for fold in folds), sum(fold.saved for fold in folds)
    observed = rewrites.observations.values()
    placed = rewrites.of_kind(ObservationsPlaced).values()
    facts, gone = sum(len(event.observations) for event in observed), sum(event.saved for event in placed)
    handovers = [
        handover for handover in rewrites.handovers.values() if handover.trigger is HandoverTrigger.THRESHOLD
    ]
    changes = ", ".join(f"{handover.before:,} -> {handover.after:,}" for handover in handovers)
    return [
        DemoCheck("sweeps", bool(sweeps), f"{len(sweeps)}: {masked_text}, {saved:,} tokens saved"),
        DemoCheck(
            "folds",
            len(folds) >= MIN_FOLDS,
            f"{len(folds)}: {folded} steps became notes, {freed:,} tokens saved",
        ),
        DemoCheck(
            "observations",
            bool(placed),
            f"{len(observed)} prepared with {facts} facts, {len(placed)} put in place, {gone:,} tokens saved",
        ),
        DemoCheck(
            "handovers",
            len(handovers) >= MIN_HANDOVERS,
            f"{len(handovers)} at the threshold: {changes} tokens",
        ),
    ]


async def _check_totals(store: Store) -> DemoCheck:
    totals = await store.totals()
    sizes = f"{format_bytes(totals.size)}, {format_bytes(totals.stored_size)} on disk"
    return DemoCheck("outputs cached", totals.entries > 0, f"{totals.entries} entries, {sizes}")


def _check_window(conversation: Conversation) -> DemoCheck:
    items = conversation.session.transcript.items
    unmanaged = sum(item.tokens for item in items)
    used = conversation.window.measure()[1].used
    peak = max(item.event.estimate for item in items if isinstance(item.event, AssistantSpoke))
    text = f"{unmanaged:,} unmanaged, largest request {peak:,}, now {used:,} tokens"
    return DemoCheck("window", peak < conversation.model.window, text)


async def _check_outputs(store: Store, answers: list[ToolAnswered]) -> DemoCheck:
    """Read every output back; compare it by digest, and with the log if that has it whole."""
    verified = compared = 0
    size = 0
    stored = [output for output in answers if output.digest]
    for answer in stored:
        data = await store.get(answer.digest)
        is_same = digest_of(data) == answer.digest
        if answer.whole:
            compared += 1
            is_same = is_same and data.decode("utf-8", "replace") == answer.text
        verified += is_same
        size += len(data)
    text = (
        f"{verified} of {len(stored)} read back by SHA-256, {compared} compared with the log, {size:,} bytes"
    )
    return DemoCheck("byte for byte", verified == len(stored), text)


async def _check_arguments(store: Store, transcript: Transcript) -> DemoCheck:
    """Read every large argument back and look for it in the call that it was taken from."""
    matching = total = 0
    for item in transcript.items:
        if not isinstance(item.event, AssistantSpoke):
            continue
        arguments = {call.id: call.arguments for call in item.event.calls}
        for short in item.event.short:
            values = json.loads(arguments[short.call_id]).values()
            for digest in short.digests:
                total += 1
                matching += (await store.get(digest)).decode("utf-8", "replace") in values
    return DemoCheck(
        "arguments byte for byte",
        matching == total > 0,
        f"{matching} of {total} are those of their calls",
    )
