"""What summaries are called: by the turns whose messages they stand for."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim

_text = TextContext("Context")


def summary_name(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> TranslatableText:
    """Return what stands in place of the messages behind `after`, up to `upto`, is called: by its turns."""
    turns = compacted_turns(transcript, after, upto, kept_seq)
    return _text("Compacted {turns}", turns=turns) if turns else _text("Compacted messages")


def handover_name(transcript: Transcript, handover: HandoverMade) -> TranslatableText:
    """Return what a handover is called: by its turns, or by the session that it is from.

    Without a model it has no sections: then it is called by what it stands for.
    """
    if handover.origin:
        return _text("Handover summary of “{title}”", title=handover.origin_title)
    if handover.model == NO_MODEL:
        return summary_name(transcript, 0, handover.upto, handover.kept)
    turns = compacted_turns(transcript, 0, handover.upto, handover.kept)
    if not turns:
        return _text("Handover summary of older messages")
    return _text("Handover summary of {turns}", turns=turns)


def compacted_turns(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> TranslatableText:
    """Return the turns of the messages behind `after`, up to `upto`; empty if there are none.

    Of one turn alone, how many tool calls of it they are, where others of it aren't among them; of several
    turns, that they are parts of them. A message that is `kept_seq` is none of them.
    """
    first, last, is_part = turn_range(transcript, after, upto, kept_seq)
    turns = _turns(first, last)
    if not is_part:
        return turns
    calls = transcript.messages.counts(after, upto).calls
    if first < last:
        return _text("parts of {turns}", turns=turns)
    if calls:
        return _text.plural(calls, "%n tool call of {turns}", "%n tool calls of {turns}", turns=turns)
    return _text("part of {turns}", turns=turns)


def _turns(first: int, last: int) -> TranslatableText:
    if first < last:
        return _text("turns {first}–{last}", first=first, last=last)
    return _text("turn {number}", number=first) if first else verbatim("")


def turn_range(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> tuple[int, int, bool]:
    """Return the first and the last of these turns, zeros for none, and whether more of these two stands."""
    messages = transcript.messages
    items = messages.items
    first = messages.position(after)
    last = messages.position(upto) - 1
    if first <= last and items[last].seq == kept_seq:
        last -= 1
    if first > last:
        return 0, 0, False
    begin = bisect_left(items, items[first].turn, key=attrgetter("turn"))
    end = bisect_left(items, items[last].turn + 1, key=attrgetter("turn"))
    starts_late = first > begin and messages.step_in_turn(items[first - 1]) > 0
    is_part = starts_late or items[end - 1].step > items[last].step
    return max(1, items[first].turn), max(1, items[last].turn), is_part
