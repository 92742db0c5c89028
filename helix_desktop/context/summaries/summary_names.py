"""What summaries are called: by the turns whose messages they stand for."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim

_text = TextContext("Context")


def summary_name(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> TranslatableText:
    """Return what stands in place of the messages behind `after`, up to `upto`, is called: by its turns."""
    turns = compacted_turns(transcript, after, upto, kept_seq)
    return _text("Compacted {turns}", turns=turns) if turns else _text("Compacted messages")


def compacted_turns(transcript: Transcript, after: int, upto: int, kept_seq: int = 0) -> TranslatableText:
    """Return the turns of the messages behind `after`, up to `upto`; empty if there are none.

    Of the first or the last one is named which part they are where model calls of it are not among them. A
    message that is `kept_seq` is none of them.
    """
    first, last, starts_late, ends_early = turn_range(transcript, after, upto, kept_seq)
    if first == last:
        match starts_late, ends_early:
            case False, False:
                return _turns(first, last)
            case False, True:
                return _text("start of turn {number}", number=first)
            case True, False:
                return _text("rest of turn {number}", number=first)
            case _:
                return _text("middle of turn {number}", number=first)
    first_whole, last_whole = first + starts_late, last - ends_early
    if first_whole > last_whole:
        return _text("rest of turn {first}, start of {last}", first=first, last=last)
    turns = _turns(first_whole, last_whole)
    if starts_late:
        turns = _text("rest of turn {number}, {turns}", number=first, turns=turns)
    return _text("{turns}, start of {number}", turns=turns, number=last) if ends_early else turns


def _turns(first: int, last: int) -> TranslatableText:
    if first < last:
        return _text("turns {first}–{last}", first=first, last=last)
    return _text("turn {number}", number=first) if first else verbatim("")


def turn_range(
    transcript: Transcript, after: int, upto: int, kept_seq: int = 0
) -> tuple[int, int, bool, bool]:
    """Return the first and the last of these turns, zeros for none, and of which of the two more stands."""
    messages = transcript.messages
    items = messages.items
    first, last = messages.position(after), messages.position(upto) - 1
    if first <= last and items[last].seq == kept_seq:
        last -= 1
    if first > last:
        return 0, 0, False, False
    begin = bisect_left(items, items[first].turn, key=attrgetter("turn"))
    end = bisect_left(items, items[last].turn + 1, key=attrgetter("turn"))
    starts_late = first > begin and messages.step_in_turn(items[first - 1]) > 0
    ends_early = items[end - 1].step > items[last].step
    return max(1, items[first].turn), max(1, items[last].turn), starts_late, ends_early
