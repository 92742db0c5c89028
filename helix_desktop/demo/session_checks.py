"""The checks of the guided demo on a session: its calls, rewrites, and stored bytes."""

from __future__ import annotations

import json

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.ports.store import Store
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import ObservationsPlaced
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Demo")

MIN_CALLS, MIN_FOLDS = 80, 2


class DemoCheck(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    passed: bool
    text: str


async def check_session(store: Store, conversation: Conversation) -> list[DemoCheck]:
    """Check a session whose script was played to its end."""
    transcript = conversation.session.transcript
    outputs = outputs_in(transcript.messages.items)
    recalled = [output for output in outputs if output.recalled and output.ok]
    return [
        _check_calls(len(outputs), transcript.messages.turns),
        *_check_rewrites(transcript),
        await _check_totals(store),
        await _check_outputs(store, outputs),
        await _check_arguments(store, transcript),
        DemoCheck(
            tr("recalled by the agent"),
            bool(recalled),
            tr.plural(len(recalled), "%n time", "%n times"),
        ),
        _check_window(conversation),
    ]


def outputs_in(items: list[LogItem]) -> list[ToolAnswered]:
    """Return the outputs among messages, in order."""
    return [item.event for item in items if isinstance(item.event, ToolAnswered)]


def _check_calls(calls: int, turns: int) -> DemoCheck:
    parts = (tr.plural(calls, "%n call", "%n calls"), tr.plural(turns, "%n turn", "%n turns"))
    return DemoCheck(tr("tool calls"), calls >= MIN_CALLS, " · ".join(parts))


def _check_rewrites(transcript: Transcript) -> list[DemoCheck]:
    """Check the rewrites of the window, mechanism by mechanism."""
    return [
        _check_cached(transcript),
        _check_noted(transcript),
        _check_observations(transcript),
        _check_checkpoints(transcript),
        _check_summarized(transcript),
    ]


def _check_cached(transcript: Transcript) -> DemoCheck:
    sweeps = list(transcript.rewrites.sweeps.values())
    masked = [
        item
        for sweep in sweeps
        for seq in sweep.masked
        if (item := transcript.messages.item(seq)) is not None
    ]
    steps = sum(isinstance(item.event, AssistantSpoke) for item in masked)
    parts = (
        tr.plural(len(sweeps), "%n time", "%n times"),
        tr.plural(len(masked) - steps, "%n output", "%n outputs"),
        tr.plural(steps, "arguments of %n step", "arguments of %n steps"),
        _saved_text(sum(sweep.saved for sweep in sweeps)),
    )
    return DemoCheck(tr("cached"), bool(sweeps), " · ".join(parts))


def _check_noted(transcript: Transcript) -> DemoCheck:
    folds = list(transcript.rewrites.folds.values())
    parts = (
        tr.plural(len(folds), "%n time", "%n times"),
        tr.plural(sum(fold.steps for fold in folds), "%n step", "%n steps"),
        _saved_text(sum(fold.saved for fold in folds)),
    )
    return DemoCheck(tr("compacted as notes"), len(folds) >= MIN_FOLDS, " · ".join(parts))


def _check_observations(transcript: Transcript) -> DemoCheck:
    observed = transcript.rewrites.observations.values()
    placed = transcript.rewrites.of_kind(ObservationsPlaced).values()
    parts = (
        tr.plural(len(observed), "written %n time", "written %n times"),
        tr.plural(sum(len(event.observations) for event in observed), "%n observation", "%n observations"),
        tr.plural(len(placed), "used %n time", "used %n times"),
        _saved_text(sum(event.saved for event in placed)),
    )
    return DemoCheck(tr("compacted as observations"), bool(placed), " · ".join(parts))


def _check_checkpoints(transcript: Transcript) -> DemoCheck:
    checkpoints = transcript.checkpoints.values()
    parts = (
        tr.plural(len(checkpoints), "%n time", "%n times"),
        *(tr("after {tokens} tokens", tokens=checkpoint.history) for checkpoint in checkpoints),
    )
    return DemoCheck(tr("checkpoint written"), bool(checkpoints), " · ".join(parts))


def _check_summarized(transcript: Transcript) -> DemoCheck:
    """Check the handovers: one at least comes by itself, at the share of the window that the policy says."""
    handovers = list(transcript.rewrites.handovers.values())
    automatic = sum(handover.trigger is HandoverTrigger.THRESHOLD for handover in handovers)
    changes = [
        tr("{before} → {after} tokens", before=handover.before, after=handover.after)
        for handover in handovers
    ]
    times = tr.plural(len(handovers), "%n time", "%n times")
    parts = (times, tr("{count} automatic", count=automatic), *changes)
    return DemoCheck(tr("compacted as handovers"), automatic > 0, " · ".join(parts))


def _saved_text(tokens: int) -> str:
    return tr("{tokens} tokens saved", tokens=tokens)


async def _check_totals(store: Store) -> DemoCheck:
    totals = await store.totals()
    parts = (
        tr.plural(totals.entries, "%n entry", "%n entries"),
        format_size(totals.size),
        tr("{size} on disk", size=format_size(totals.stored_size)),
    )
    return DemoCheck(tr("cache"), totals.entries > 0, " · ".join(parts))


def _check_window(conversation: Conversation) -> DemoCheck:
    items = conversation.session.transcript.messages.items
    unmanaged = sum(item.tokens for item in items)
    used = conversation.window.measure()[1].used
    peak = max(item.event.estimate for item in items if isinstance(item.event, AssistantSpoke))
    parts = (
        tr("{tokens} tokens unmanaged", tokens=unmanaged),
        tr("{tokens} in the largest request", tokens=peak),
        tr("{tokens} now", tokens=used),
    )
    return DemoCheck(tr("context"), peak < conversation.model.window, " · ".join(parts))


async def _check_outputs(store: Store, outputs: list[ToolAnswered]) -> DemoCheck:
    """Read every output back; compare it by digest, and with the log if that has it whole."""
    verified = compared = 0
    size = 0
    stored = [output for output in outputs if output.digest]
    for output in stored:
        data = await store.get(output.digest)
        is_same = digest_of(data) == output.digest
        if output.whole:
            compared += 1
            is_same = is_same and data.decode("utf-8", "replace") == output.text
        verified += is_same
        size += len(data)
    parts = (
        tr("{verified} of {stored} read back by SHA-256", verified=verified, stored=len(stored)),
        tr("{compared} compared with the log", compared=compared),
        tr("{size} bytes", size=size),
    )
    return DemoCheck(tr("outputs byte for byte"), verified == len(stored), " · ".join(parts))


async def _check_arguments(store: Store, transcript: Transcript) -> DemoCheck:
    """Read every large argument back and look for it in the call that it was taken from."""
    matching = total = 0
    for item in transcript.messages.items:
        if not isinstance(item.event, AssistantSpoke):
            continue
        arguments = {call.id: call.arguments for call in item.event.calls}
        for short in item.event.short:
            values = json.loads(arguments[short.call_id]).values()
            for digest in short.digests:
                total += 1
                matching += (await store.get(digest)).decode("utf-8", "replace") in values
    return DemoCheck(
        tr("arguments byte for byte"),
        matching == total > 0,
        tr("{matching} of {total} match their calls", matching=matching, total=total),
    )
