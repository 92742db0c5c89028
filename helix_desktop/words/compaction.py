"""What changed in the context, why, and when the next compaction is due, in a few words each; no Qt."""

from __future__ import annotations

from collections.abc import Iterable

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import FIELDS, ContextPolicy
from helix_desktop.context.rewrites.planner import BREAKER_FAILURES, CompactionOutlook
from helix_desktop.context.window.usage_gauge import CompactionTrigger, UsageGauge, output_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    Form,
    FormChosen,
    HandoverTrigger,
    Pinned,
    PlacementReason,
    SweepMade,
    SweepReason,
    Unpinned,
)
from helix_desktop.domain.events.summary import (
    HandoverMade,
    ObservationsPlaced,
)
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.words.call_targets import output_title
from helix_desktop.words.direction import dotted
from helix_desktop.words.message_states import explain_hold
from helix_desktop.words.models import recorded_writer
from helix_desktop.words.numbers import (
    format_integer,
    format_percent,
    format_token_count,
    format_token_difference,
    format_tokens,
)
from helix_desktop.words.sessions import session_title
from helix_desktop.words.summaries import summary_title
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compaction")
text = TextContext("Compaction")

_NAME_CAP = 60  # characters of an output's name


def masked_contents_text(outputs: int, calls: int, image_messages: int) -> str:
    """Return what was cached: outputs, what some calls were given, the images of some messages."""
    if not (calls or image_messages):
        return tr.plural(outputs, "%n output cached", "%n outputs cached")
    contents = []
    if outputs:
        contents.append(tr.plural(outputs, "%n output", "%n outputs"))
    if calls:
        written = tr.plural(calls, "what the agent wrote in %n call", "what the agent wrote in %n calls")
        contents.append(written)
    if image_messages:
        contents.append(tr.plural(image_messages, "images of %n message", "images of %n messages"))
    return tr("Cached: {contents}", contents=tuple(contents))


def handover_text(handover: HandoverMade, transcript: Transcript) -> str:
    if handover.origin:
        return tr("Continues “{title}”", title=session_title(handover.origin_title))
    if handover.revises:
        size = revision_size_text(handover.before, handover.after)
        return dotted((tr("Summary edited by you"), size))
    count = tr("Summary written again") if handover.replaces else summary_title(handover, transcript)
    before, after = format_tokens(handover.before), format_tokens(handover.after)
    size = tr("{before} → {after} tokens", before=before, after=after)
    without_model = "" if handover.edited or recorded_writer(handover.model) else tr("without a model")
    return " · ".join(filter(None, (count, without_model, size)))


def context_change_text(before: int, after: int) -> str:
    """Return what rewrites made of the next request's tokens, as the gauge counts them."""
    return tr("Context: {before} → {after}", before=format_tokens(before), after=format_tokens(after))


def revision_size_text(before: int, after: int) -> str:
    """Return by how much the user's edit changed the context: `+17 tokens`, which its size would hide."""
    if before == after:
        return tr("same size")
    return tr("{difference} tokens", difference=format_token_difference(after - before))


def chosen_form_text(event: FormChosen, transcript: Transcript) -> str:
    choice = _form_choice_text(event.form, _output_name(event.target, transcript))
    tokens = output_tokens(event.tokens)
    return f"{choice} · {format_token_count(tokens)}"


def _form_choice_text(form: Form, output: str) -> str:
    match form:
        case "full":
            return tr("You recalled all of {output}", output=output)
        case "preview":
            return tr("You sent the beginning and end of {output}", output=output)
        case "compact":
            return tr("You sent a part of {output}", output=output)


def excluded_text(event: Excluded, transcript: Transcript) -> str:
    return tr("You left out {content}", content=_excluded_name(event, transcript))


def _excluded_name(event: Excluded, transcript: Transcript) -> str:
    seq = event.targets[0]
    item = transcript.messages.item(seq)
    match item.event if item is not None else transcript.rewrites.by_seq.get(seq):
        case UserSpoke(text=text):
            name = tr("your message “{text}”", text=ellipsize(" ".join(text[:400].split()), _NAME_CAP))
        case AssistantSpoke():
            name = tr("an answer")
        case ToolAnswered():
            name = _output_name(seq, transcript)
        case (HandoverMade() | ObservationsPlaced() | FoldMade()) as summary:
            name = tr("“{summary}”", summary=summary_title(summary, transcript))
        case _:
            name = tr("instructions")
    return name


def pin_text(event: Pinned | Unpinned, transcript: Transcript) -> str:
    output = _output_name(event.target, transcript)
    if isinstance(event, Unpinned):
        return tr("You unpinned {output}", output=output)
    return f"{tr('You pinned {output}', output=output)} · {tr('always kept in context')}"


def _output_name(seq: int, transcript: Transcript) -> str:
    item = transcript.messages.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered):
        return f"e{seq}"
    return ellipsize(output_title(item.event), _NAME_CAP)


_TOO_LARGE = text("context was full")
_MANUAL, _EARLY = text("by you"), text("to save tokens")


def trigger_text(trigger: HandoverTrigger, threshold: float) -> str:
    """Return what started a handover; `threshold` is what the policy said, 0: not known."""
    match trigger:
        case HandoverTrigger.MANUAL:
            return translate(_MANUAL)
        case HandoverTrigger.OVERFLOW:
            return translate(_TOO_LARGE)
        case HandoverTrigger.CONTINUED:
            return tr("start of this session")
    return _fill_text(limit_text(trigger, threshold)) if threshold else tr("automatic")


def limit_text(trigger: HandoverTrigger, limit: float) -> str:
    """Return where a trigger of the policy is due, in the unit of its field."""
    field = FIELDS[trigger.policy_field]
    if field.is_share:
        return format_percent(limit)
    return tr("{number} {unit}", number=format_integer(int(limit)), unit=translate(field.unit))


def _distance_text(trigger: CompactionTrigger) -> str:
    distance = max(0, trigger.distance)
    if FIELDS[trigger.kind.policy_field].is_share:
        return format_tokens(distance)
    return limit_text(trigger.kind, distance)


def _fill_text(share: str) -> str:
    return tr("context reached {share}", share=share)


def reasons_text(reasons: Iterable[str]) -> str:
    """Return why several changes were made, in one reason: the most pressing one of them."""
    distinct = dict.fromkeys(filter(None, reasons))
    full, usual = translate(_TOO_LARGE), translate(_EARLY)
    by_weight = (full, *(reason for reason in distinct if reason != usual), usual)
    return next((reason for reason in by_weight if reason in distinct), "")


def divider_change_text(
    event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded, transcript: Transcript
) -> str:
    """Return what a rewrite did, for a line in the chat."""
    match event:
        case HandoverMade(revises=revises) if revises:
            return tr("summary edited")
        case Excluded():
            return tr("something left out")
        case SweepMade(reason=SweepReason.REFUSED):
            return tr("images cached")
        case SweepMade():
            return tr("outputs cached (stored)")
        case _:
            return summary_title(event, transcript)


def rewrite_reason_text(event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded) -> str:
    """Return why the context changed."""
    match event:
        case HandoverMade(trigger=trigger, threshold=threshold, revises=0):
            return trigger_text(trigger, threshold)
        case (
            Excluded()
            | HandoverMade()
            | SweepMade(reason=SweepReason.MANUAL)
            | ObservationsPlaced(reason=PlacementReason.MANUAL)
        ):
            return translate(_MANUAL)
        case (
            SweepMade(reason=SweepReason.OVERFLOW)
            | ObservationsPlaced(reason=PlacementReason.OVERFLOW)
            | FoldMade(how="truncate")
        ):
            return translate(_TOO_LARGE)
        case SweepMade(reason=SweepReason.REFUSED):
            return tr("provider refused the images")
        case SweepMade(reason=reason) if reason in ATTACHED_SWEEP_REASONS:
            return tr("with a compaction")
        case SweepMade() | FoldMade() | ObservationsPlaced():
            share = event.averted_handover_at
            return _fill_text(format_percent(share)) if share else translate(_EARLY)


def retaken_text(count: int) -> str:
    """Return that a rewrite took so many messages that the user had brought back; empty if none."""
    if not count:
        return ""
    return tr("including {count} that you had restored", count=format_integer(count))


def threshold_text(policy: ContextPolicy, trigger: CompactionTrigger) -> str:
    """Return where it is compacted, and where in a model's context window if that is earlier."""
    usual = limit_text(trigger.kind, round(getattr(policy, trigger.kind.policy_field), 2))
    here = limit_text(trigger.kind, trigger.limit)
    if here == usual:
        return usual
    return tr("{usual}, here {here} to leave room for the answer", usual=usual, here=here)


def compaction_text(outlook: CompactionOutlook, gauge: UsageGauge, policy: ContextPolicy) -> str:
    """Return when the conversation is compacted; if it is above the threshold and isn't, why, in a line."""
    share = limit_text(gauge.trigger.kind, gauge.trigger.limit)
    match outlook.state:
        case "off":
            return tr("Context management is off.")
        case "hold":
            return explain_hold()
        case "paused":
            return " ".join((tr("Compaction only when you start it."), breaker_text()))
        case "room":
            if policy.fold_after_steps or policy.observe_at:
                return tr(
                    "All of this is sent with every request. So outputs are cached (stored, can be recalled) "
                    "and older messages compacted (a summary replaces them): early if that saves tokens, at "
                    "{share} in any case.",
                    share=share,
                )
            return tr(
                "All of this is sent with every request. So outputs are cached (stored, can be recalled) if "
                "that saves tokens, and at {share} older messages are compacted (a summary replaces them).",
                share=share,
            )
        case "due":
            return tr("{share} is reached: compacts once a summary is written.", share=share)
        case "full" | "facts":
            return tr("{share} is reached: compacts with the next request.", share=share)
        case "waiting":
            time = _pause_text(outlook.wait_ms // 1000)
            return tr("{share} is reached: compacts {time} after the last attempt.", share=share, time=time)
        case "too_little":
            once = tr("{share} is reached: compacts once that frees enough.", share=share)
            return f"{once}\n{_too_little_text(outlook)}"


def _too_little_text(outlook: CompactionOutlook) -> str:
    least = format_token_count(round(outlook.least))
    if outlook.freed is None:
        return tr("Too few messages lie before the newest ones, which always stay.")
    if outlook.freed <= 0:
        return tr("It would free nothing now. It has to free {least}.", least=least)
    return tr(
        "It would free about {tokens} now. It has to free {least}.",
        tokens=format_token_count(outlook.freed),
        least=least,
    )


def _pause_text(seconds: int) -> str:
    """Return how long a pause is; whole minutes without seconds."""
    if seconds % 60:
        return format_duration(seconds * 1000)
    return tr("{minutes} min", minutes=seconds // 60)


def gauge_compaction_text(trigger: CompactionTrigger, is_managed: bool, is_on_hold: bool) -> str:
    if not is_managed:
        return tr("compaction off")
    if is_on_hold:
        return tr("paused")
    if trigger.is_due:
        return tr("above {share}", share=limit_text(trigger.kind, trigger.limit))
    return tr("compaction in ≈ {tokens}", tokens=_distance_text(trigger))


def next_try_text(failures: int) -> str:
    """Return whether Helix tries again by itself after so many failures in a row."""
    if failures >= BREAKER_FAILURES:
        return " ".join((tr("Helix doesn't try again by itself."), breaker_text()))
    return tr.plural(
        BREAKER_FAILURES,
        "Helix tries again later, until %n attempt has failed.",
        "Helix tries again later, until %n attempts in a row have failed.",
    )


def breaker_text() -> str:
    """Return why only the user compacts the conversation now."""
    return tr.plural(
        BREAKER_FAILURES,
        "The last attempt failed or freed too little.",
        "The last %n attempts failed or freed too little.",
    )
