"""What changed in the context, and why, in a few words each; no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.context.intake.output_forms import preview_parts
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import FIELDS
from helix_desktop.context.summaries.summary_names import summary_name
from helix_desktop.context.window.used_tokens import output_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
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
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.typed_text import program_texts, typed_text
from helix_desktop.words.call_targets import given_text, output_title
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import recorded_writer
from helix_desktop.words.numbers import (
    format_integer,
    format_percent,
    format_token_count,
    format_token_difference,
    format_tokens,
)
from helix_desktop.words.sessions import session_title
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.summaries import summary_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compaction")
text = TextContext("Compaction")

_NAME_CAP = 60  # characters of an output's name
_NAMED_CHARS = 20_000  # characters of a message in which its words are looked for


def count_contents(events: Iterable[Event]) -> tuple[int, int, int]:
    """Return of how many outputs, texts of calls, and messages with images these are."""
    events = tuple(events)
    messages = [event for event in events if isinstance(event, UserSpoke)]
    outputs = sum(isinstance(event, ToolAnswered) for event in events) + sum(map(_programs_in, messages))
    calls = sum(len(event.short) for event in events if isinstance(event, AssistantSpoke))
    return outputs, calls, sum(_has_images(message) or not _programs_in(message) for message in messages)


def _programs_in(message: UserSpoke) -> int:
    """Return how many texts of programs a sweep of a message caches: they are outputs to a reader."""
    attached = (each for each in message.attachments if each.marker_tokens and not each.image)
    return len(message.short.digests if message.short else ()) + sum(1 for _ in attached)


def _has_images(message: UserSpoke) -> bool:
    return any(attachment.image for attachment in message.attachments)


def swept_contents_text(outputs: int, calls: int, image_messages: int) -> str:
    return tr("Cached {contents}", contents=swept_contents(outputs, calls, image_messages))


def swept_contents(outputs: int, calls: int, image_messages: int) -> tuple[str, ...]:
    """Return what was cached: outputs, texts of calls, the images of some messages; outputs if nothing."""
    contents = []
    if calls:
        contents.append(tr.plural(calls, "the text of %n tool call", "the text of %n tool calls"))
    if image_messages:
        contents.append(tr.plural(image_messages, "images of %n message", "images of %n messages"))
    if outputs or not contents:
        contents.insert(0, tr.plural(outputs, "%n output", "%n outputs"))
    return tuple(contents)


def restored_contents_text(counts: Sequence[int]) -> str:
    """Return what of a caching was restored, in the order of `swept_contents`; empty for nothing."""
    return tr("restored: {contents}", contents=swept_contents(*counts)) if any(counts) else ""


def handover_text(handover: HandoverMade, transcript: Transcript) -> str:
    if handover.origin:
        return tr("Continues “{title}”", title=session_title(handover.origin_title))
    if handover.revises:
        size = revision_size_text(handover.before, handover.after)
        return dotted((tr("Handover summary edited by you"), size))
    count = tr("Handover summary written again") if handover.replaces else summary_title(handover, transcript)
    before = format_tokens(handover.before)
    after = format_tokens(handover.after)
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


def preview_parts_text(shown: str) -> str:
    """Return which lines of a large text are `shown` to the model."""
    texts = {
        "ends": tr("only first and last lines"),
        "errors": tr("only first, last and error lines"),
        "definitions": tr("only first and last lines and definitions"),
        "matches": tr("only first matches"),
    }
    return texts[preview_parts(shown)]


def large_output_text(form: Form, shown: str, *, by_user: bool) -> str:
    """Return which part of a large output is `shown` to the model."""
    if form == "preview":
        return tr("Large output: {parts}", parts=preview_parts_text(shown))
    if by_user:
        return tr("Large output: only the part that you chose")
    return tr("Large output: only the part that the agent asked for")


def chosen_form_text(event: FormChosen, seq: int, transcript: Transcript) -> str:
    if output := restored_output(seq, transcript):
        choice = tr("You restored {output}", output=output)
    else:
        choice = _form_choice_text(event.form, _output_name(event.target, transcript))
    tokens = output_tokens(event.tokens)
    return f"{choice} · {format_token_count(tokens)}"


def restored_output(seq: int, transcript: Transcript) -> str:
    """Return the name of the output whose caching the user undid by change `seq`; empty of another one."""
    rewrites = transcript.rewrites
    event = rewrites.by_seq.get(seq)
    if not isinstance(event, FormChosen) or event.form != "full":
        return ""
    for at, sweep in rewrites.sweeps.items():
        undone_at = rewrites.undone.get(rewrites.recorded_with(at) or at, seq)
        if at < seq <= undone_at and event.target in sweep.swept:
            return _output_name(event.target, transcript)
    return ""


def undo_of_one_text(seq: int, transcript: Transcript, *, is_undo: bool) -> str:
    """Return what an undo or redo made of an output that `seq` restored; empty of any other change."""
    output = restored_output(seq, transcript)
    return restoring_text(output, is_cached=is_undo) if output else ""


def undo_text(title: str, *, is_undo: bool) -> str:
    """Return that a change was undone or redone."""
    return tr("Undone: {title}", title=title) if is_undo else tr("Redone: {title}", title=title)


def restoring_text(output: str, *, is_cached: bool) -> str:
    if is_cached:
        return tr("Cached again: {output}", output=output)
    return tr("Restored: {output}", output=output)


def _form_choice_text(form: Form, output: str) -> str:
    match form:
        case "full":
            return tr("You chose to send all of {output}", output=output)
        case "preview":
            return tr("You chose to send the first and last lines of {output}", output=output)
        case "compact":
            return tr("You chose to send a part of {output}", output=output)


def excluded_text(event: Excluded, transcript: Transcript) -> str:
    content = _excluded_name(event, transcript)
    if event.by_filter:
        return tr("Left out, as the provider’s content filter refused it: {content}", content=content)
    return tr("You left out {content}", content=content)


def _excluded_name(event: Excluded, transcript: Transcript) -> str:
    seq = event.targets[0]
    item = transcript.messages.item(seq)
    match item.event if item is not None else transcript.rewrites.by_seq.get(seq):
        case UserSpoke(text=text):
            words = typed_text(text[:_NAMED_CHARS]) or text[:_NAMED_CHARS]
            name = tr("your message “{text}”", text=ellipsize(" ".join(words.split()), _NAME_CAP))
        case AssistantSpoke():
            name = tr("an answer")
        case ToolAnswered():
            name = _output_name(seq, transcript)
        case (HandoverMade() | ObservationsPlaced() | FoldMade()) as summary:
            title = summary_title(summary, transcript)
            placements = transcript.rewrites.placements
            compacted = [placements[target] for target in event.targets if target in placements]
            if len(compacted) > 1:  # several stand as one
                title = translate(summary_name(transcript, compacted[0].after, compacted[-1].upto))
            name = tr("“{summary}”", summary=title)
        case _:
            name = tr("instructions")
    return name


def pin_text(event: Pinned | Unpinned, transcript: Transcript) -> str:
    output = _output_name(event.target, transcript)
    if isinstance(event, Unpinned):
        return tr("You unpinned {output}", output=output)
    return f"{tr('You pinned {output}', output=output)} · {tr('always kept in context')}"


def _output_name(seq: int, transcript: Transcript) -> str:
    """Return what a cached output is called, or what of another message was cached."""
    item = transcript.messages.item(seq)
    match item.event if item is not None else None:
        case ToolAnswered() as output:
            return ellipsize(output_title(output), _NAME_CAP)
        case AssistantSpoke() as response:
            return dotted(dict.fromkeys(name for _, name in given_names(response)))
        case UserSpoke() as message if _programs_in(message) and not _has_images(message):
            programs = program_texts(message.text)
            return ellipsize(programs[0].line, _NAME_CAP) if programs else tr("the text of your message")
        case UserSpoke():
            return tr("the images of your message")
    return f"e{seq}"


def given_names(response: AssistantSpoke) -> tuple[tuple[str, str], ...]:
    """Return what calls were given at length, by its digest, with what it is called."""
    digests = {short.call_id: short.digests for short in response.short}
    return tuple(
        (digest, ellipsize(one_line(given_text(call.name, call_target(call.arguments))), _NAME_CAP))
        for call in response.calls
        for digest in digests.get(call.id, ())
    )


_MANUAL = text("by you")
_ROOM = text("to make room")
_EARLY = text("to save tokens")


def trigger_text(trigger: HandoverTrigger, threshold: float) -> str:
    """Return what started a handover; `threshold` is what the policy said, 0: not to be said."""
    match trigger:
        case HandoverTrigger.MANUAL:
            return translate(_MANUAL)
        case HandoverTrigger.OVERFLOW:
            return translate(_ROOM)
        case HandoverTrigger.CONTINUED:
            return tr("start of this session")
    share = limit_text(trigger, threshold) if threshold else ""
    return tr("context reached {share}", share=share) if share else translate(_ROOM)


def limit_text(trigger: HandoverTrigger, limit: float) -> str:
    """Return where a trigger of the policy is due, in the unit of its field."""
    field = FIELDS[trigger.policy_field]
    if field.is_share:
        return format_percent(limit)
    return tr("{number} {unit}", number=format_integer(int(limit)), unit=translate(field.unit))


def reasons_text(reasons: Iterable[str]) -> str:
    """Return the most pressing reason of several changes."""
    full = translate(_ROOM)
    usual = translate(_EARLY)
    known = sorted(filter(None, reasons), key=lambda reason: (reason != full, reason == usual))
    return next(iter(known), "")


def divider_change_text(
    event: FoldMade | ObservationsPlaced | HandoverMade | Excluded, transcript: Transcript
) -> str:
    """Return what a rewrite that isn't a sweep did, for a line in the chat."""
    match event:
        case HandoverMade(revises=revises) if revises:
            return tr("Edited handover summary")
        case Excluded():
            return translate(STATE_WORDS["excluded"].label)
    return summary_title(event, transcript)


def is_by_user(event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded) -> bool:
    """Return True if the user changed the context so, not Helix by itself."""
    match event:
        case HandoverMade(trigger=trigger, revises=revises):
            return bool(revises) or trigger == HandoverTrigger.MANUAL
        case SweepMade(reason=reason):
            return reason == SweepReason.MANUAL
        case ObservationsPlaced(reason=placement):
            return placement == PlacementReason.MANUAL
    return isinstance(event, Excluded) and not event.by_filter


def rewrite_reason_text(event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded) -> str:
    """Return why the context changed."""
    if is_by_user(event):
        return translate(_MANUAL)
    match event:
        case HandoverMade(trigger=trigger):
            return trigger_text(trigger, 0)
        case (
            SweepMade(reason=SweepReason.OVERFLOW)
            | ObservationsPlaced(reason=PlacementReason.OVERFLOW)
            | FoldMade(how="truncate")
        ):
            return translate(_ROOM)
        case SweepMade(reason=SweepReason.REFUSED):
            return tr("provider refused the images")
        case Excluded(by_filter=True):
            return tr("the provider’s content filter refused it")
        case SweepMade(reason=reason) if reason in ATTACHED_SWEEP_REASONS:
            return tr("with a compaction")
        case SweepMade() | FoldMade() | ObservationsPlaced():
            return translate(_ROOM if event.averted_handover_at else _EARLY)
    return ""


def unusual_reason_text(
    event: SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded,
) -> str:
    """Return why the context changed; empty if Helix kept it small, as it does by itself."""
    reason = rewrite_reason_text(event)
    return "" if reason in (translate(_ROOM), translate(_EARLY)) else reason


def retaken_text(count: int) -> str:
    """Return that a rewrite took so many messages that the user had brought back; empty if none."""
    if not count:
        return ""
    return tr.plural(count, "with %n message that you had restored", "with %n messages that you had restored")
