"""The words for summaries: what they are called, and what they name of the messages they cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import newest_checkpoint, newest_known
from helix_desktop.context.summaries.summary_names import handover_name, summary_name
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
    SummaryCoverage,
)
from helix_desktop.domain.text_format import ellipsize, plain_line
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.words.lines import dotted
from helix_desktop.words.model_names import recorded_writer
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_LINE_CHARS = 160  # characters of the facts of a kind that are listed; the first is always
_NAME_CHARS = 70  # characters of a fact, which may be a sentence


class MissingText(msgspec.Struct, frozen=True):
    """What a summary does not name: in `lines`, a kind of fact and those facts; `heading` is above them."""

    heading: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        lines = (tr("{kind}: {facts}", kind=kind, facts=facts) for kind, facts in self.lines)
        return "\n".join((tr("{heading}:", heading=self.heading) if self.heading else "", *lines))


NOTHING_MISSING = MissingText()


def missing_rules(coverage: Sequence[SummaryCoverage]) -> tuple[Bullet, ...]:
    """Return the user's instructions and decisions that a summary does not say, in any words."""
    return tuple(rule for kind in coverage if kind.kind == "instructions" for rule in kind.missing)


def missing_rules_text(coverage: Sequence[SummaryCoverage]) -> MissingText:
    """Return these quoted, as far as there is room; empty if the summary says all of them."""
    rules = [kind for kind in coverage if kind.kind == "instructions" and kind.missing]
    lines = tuple((tr("Instructions"), _listed(kind)) for kind in rules)
    return MissingText(tr("Not in the text, added below it"), lines) if lines else NOTHING_MISSING


def _listed(coverage: SummaryCoverage) -> str:
    """Return the facts that stand below a summary, and how many are named nowhere in the window."""
    listed: list[str] = []
    room = _LINE_CHARS
    for fact in coverage.missing:
        name = " ".join(fact.text.split())
        name = ellipsize(plain_line(name), _NAME_CHARS)
        if listed and len(name) > room:
            break
        listed.append(name)
        room -= len(name)
    more = len(coverage.missing) - len(listed)
    if more:
        listed.append(tr.plural(more, "and %n more", "and %n more"))
    elsewhere = coverage.total - coverage.named - coverage.verbatim - len(coverage.missing)
    if elsewhere > 0:
        listed.append(
            tr.plural(elsewhere, "%n more only in stored outputs", "%n more only in stored outputs")
        )
    return dotted(listed)


def handover_titles(transcript: Transcript) -> dict[int, str]:
    """Return titles by events, oldest first; a number tells those apart that would have the same.

    Those that were written to compact later are called prepared.
    """
    titles: dict[int, str] = {}
    times = Counter[str]()
    handovers = transcript.written_handovers
    for seq, handover in handovers.items():
        title = _title(handover, transcript, is_prepared=seq in transcript.checkpoints)
        times[title] += 1
        count = times[title]
        titles[seq] = title if count == 1 else tr("{title} ({count})", title=title, count=count)
    return titles


def unsent_title(transcript: Transcript, after: int, upto: int) -> str:
    """Return what a shorter form of older messages is called that stands for none of them yet."""
    return _prepared(translate(summary_name(transcript, after, upto)))


def _prepared(title: str) -> str:
    return tr("{title}, prepared", title=title)


def unsent_state(transcript: Transcript, seq: int, *, is_managed: bool) -> str:
    """Return the state of a summary that a compaction can still use; empty if one was made from it.

    It is to come unless the context is not managed or on hold, or a compaction came without it.
    """
    if any(made.checkpoint == seq for made in transcript.rewrites.active_handovers.values()):
        return ""
    is_passed_over = any(cover.seq > seq for cover in transcript.window.covers)
    if is_managed and not transcript.on_hold and not is_passed_over:
        return tr("Not in context yet")
    return tr("Not in context")


def checkpoint_state(transcript: Transcript, seq: int, *, is_managed: bool) -> str:
    """Return the state of a checkpoint that a compaction can still use; empty of another one."""
    newest = newest_checkpoint(transcript)
    is_newest = newest is not None and newest[0] == seq
    return unsent_state(transcript, seq, is_managed=is_managed) if is_newest else ""


def unused_state(used_in: str = "") -> str:
    """Return what became of a summary that no compaction can use any more: the one made from it, if any."""
    return tr("Used in “{title}”", title=used_in) if used_in else tr("Not used")


def summary_title(
    event: HandoverMade | FoldMade | ObservationsMade | ObservationsPlaced, transcript: Transcript
) -> str:
    """Return what a summary is called wherever it stands: by its turns, or by the session it is from."""
    match event:
        case HandoverMade(origin=origin) if origin:
            return _title(event, transcript)
        case HandoverMade():
            return translate(handover_name(transcript, event))
        case ObservationsPlaced(made=made):
            observations = transcript.rewrites.observations.get(made)
            if observations is None:
                return tr("Compacted messages")
            return summary_title(observations, transcript)
    return translate(summary_name(transcript, event.after, event.upto))


def _title(handover: HandoverMade, transcript: Transcript, *, is_prepared: bool = False) -> str:
    if handover.origin:
        return tr("Handover summary of “{title}”", title=session_title(handover.origin_title))
    name = translate(handover_name(transcript, handover))
    if is_prepared:
        name = _prepared(name)
    if handover.replaces:
        return tr("{title}, written again", title=name)
    return tr("{title}, edited", title=name) if handover.revises else name


def as_of_text(handover: HandoverMade, transcript: Transcript) -> str:
    """Return as of when a handover calls something open; empty if no message came since."""
    items = transcript.messages.items
    known = transcript.messages.position(newest_known(handover))
    return tr("as of {time}", time=format_moment(items[known - 1].at_ms)) if 0 < known < len(items) else ""


def unused_text(event: HandoverMade | ObservationsMade) -> str:
    """Return why a summary was made without a model, and that the model's wasn't used; else empty."""
    if recorded_writer(event.model) or not (event.fallback or event.refused):
        return ""
    refused = tr("The model's summary wasn't used.") if event.refused else ""
    return translate(join_sentences(refused, event.fallback))
