"""Conclusions: what the agent came to in a turn, and the sentences of a message that state it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.markdown_lines import (
    is_table_row,
    row_text,
    without_bold,
    without_heading_mark,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.identifiers import identifiers_in

_READ_CHARS, _READ_TAIL = 3_000, 1_000  # characters of a long message in which sentences are looked for
_NAMED_CHARS = 400  # characters of a sentence in which names are looked for
_MAX_NAMES = 5  # of a sentence that count: a list of names states nothing
_MIN_WORDS = 6  # of a sentence without names that states something: not of `I found the issue.`
_LEAD_CHARS = 60  # characters of a heading that stands before the sentences below it
_MIN_OF_ITEM = 50  # characters of a list's item that is cut: less of it says nothing
_CAUSE_WORTH, _RESULT_WORTH = 3, 2  # in names
_REMEMBERED_TEXTS = 4_096  # of the agent: each stands in one condensed note after the other
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)\s+|(?<=[\u3002\uff01\uff1f])")
_PAUSE = re.compile(r"(?:\n|[.!?]\s)(?=\s*\S)")  # behind it a message can be read without what comes before
_FENCE = re.compile(r"^[^\S\n]*```", re.MULTILINE)
_HEADING = re.compile(r"#{1,6} +(.*)|\*\*([^*]+)\*\*:?$|([^|`.!?]*:)$")
_LISTED = re.compile(r"\A(?:[-*•]|\d{1,3}[.)]) ")
_RULER = re.compile(r"[-|:=*_~\s]*$")
_NUMBER = re.compile(r"#?\b\d[\w.,:%]*")
_CLAUSE_END = re.compile(
    r"(?<=[;:.!?])\s+(?=\S)|\s+(?=[–—]\s)|(?<=,)\s+(?=(?:but|and|because|since|so|which|while|not|it|then)\b)"
    r"|\s+(?=(?:but|because|instead of|rather than)\b)"
)
_CLAUSE_CHARS = 80  # characters for each clause of a cut sentence, but for the first two
_LEAST_CHARS = 20  # characters of a clause that is cut: less of it says nothing
_GAP = "…"
_ANNOUNCES = re.compile(
    r"(?:(?:ok(?:ay)?|now|next|first|then|great|good|perfect|excellent|alright|so|and)\b[\s,.!:]*)*"
    r"(?:let['’]?s?\b|I['’]ll|I will|I['’]m going to|I(?: (?:now|also|just|still))? (?:need|want|have) to"
    r"|would you like|do you want)\b",
    re.IGNORECASE,
)
# The next two search lower case: that takes a third of the time of a search that ignores the case.
_CAUSE = re.compile(
    r"\b(?:because|caus(?:e[sd]?|ing)|due to|reasons?|decided|turns out|found|root|culprit"
    r"|fix(?:es)? (?:is|was)|(?:bug|problem|issue) (?:is|was|here)|instead of|rather than|therefore"
    r"|means that|leads to|results in|so that|rejected)\b"
)
_RESULT = re.compile(
    r"\b(?:fixed|added|removed|deleted|renamed|replaced|changed|updated|implemented|created|moved|refactored"
    r"|committed|merged|pushed|pass(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|works|verified|confirmed|no longer"
    r"|returns|throws|raises|drops|ignores|remains|missing|wrong|broken|never|not|only|done|open)\b"
)
_OPEN = re.compile(
    r"\b(?:remain(?:s|ing)|not yet|todos?|follow-?ups?|left (?:open|to do|out|as is)|deferred"
    r"|untested|unresolved|out of scope|next steps?|blocked|known (?:issue|limitation)s?|unable to"
    r"|could(?: not|n['’]t)"
    r"|not (?:been )?(?:tested|covered|implemented|fixed|run|done|committed|pushed|verified|addressed)"
    r"|still (?:open|missing|fail\w*|broken|needs?|not|to be)"
    r"|(?:tests?|checks?|builds?|lint)\b[^;]{0,40}\b(?:fail|failing))\b"
)
_NOTHING_OPEN = re.compile(
    r"\b(?:no|0|zero|without|nothing|none)\b(?: \w+){0,3}?(?=[.,;:!]|$)|\bno longer \w+"
)
_NEEDS_SUBJECT = re.compile(
    r"(?:it|its|this|that|they|these|those|which|such|so|because|therefore|hence|thus|but|both|here)\b",
    re.IGNORECASE,
)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of a message, on one line; `worth` is 0 if it states nothing.

    `states_cause` is True if it says why something is or was decided, `states_result` if what was done or is
    so now. `needs` is the place of the heading
    above it, or of the sentence that has its subject; -1: it stands alone.
    """

    text: str
    worth: int = 0
    states_cause: bool = False
    needs: int = -1
    states_result: bool = False


def conclusions_in(items: Sequence[LogItem]) -> list[LogItem]:
    """Return the messages that ended their turns: without calls, and before the user's next."""
    found = []
    for item, following in zip_longest(items, items[1:]):
        event = item.event
        if (
            isinstance(event, AssistantSpoke)
            and not event.calls
            and (following is None or isinstance(following.event, UserSpoke))
            and event.text.strip()
        ):
            found.append(item)
    return found


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def sentences_in(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message, of a long one those of its head and tail; without code blocks."""
    if len(text) > _READ_CHARS + _READ_TAIL:
        text = _head_and_tail(text)
    found: list[Sentence] = []
    lead = -1  # the heading or colon that the next line belongs to
    before = -1  # the sentence that may have its subject
    is_listed = False
    for line in _prose_lines(text):
        was_listed, is_listed = is_listed, bool(_LISTED.match(line))
        if not line or (was_listed and not is_listed):  # what follows a list is no item of it
            lead = before = -1
        if not line:
            continue
        if (heading := _heading(line)) is not None:
            lead, before = len(found), -1
            found.append(Sentence(heading))
        else:
            prose = without_heading_mark(line)
            lead = lead if prose == line else -1  # a heading that is too long for one
            for part in _SENTENCE_END.split(without_bold(prose)):
                needs = before if before >= 0 and _NEEDS_SUBJECT.match(part) else lead
                found.append(_sentence(part, needs, found[lead].text if lead >= 0 else ""))
                if part.endswith(":"):
                    lead = before = len(found) - 1
                elif not is_listed:
                    lead, before = -1, len(found) - 1
    return tuple(found)


def only_announces(sentence: str) -> bool:
    """Return True for a sentence that says what comes next, or asks."""
    return sentence.endswith(("?", ":")) or _ANNOUNCES.match(sentence) is not None


def states_anything(text: str) -> bool:
    """Return False for a message that only announces what the agent does next."""
    return any(sentence.worth for sentence in sentences_in(text))


def ends_with_announcement(text: str) -> bool:
    """Return True for a message that breaks off: its last sentence says what the agent does next."""
    found = sentences_in(text)
    return bool(found) and not found[-1].text.endswith("?") and only_announces(found[-1].text)


def informative_sentences(text: str, max_chars: int) -> list[Sentence]:
    """Return the sentences that state most in about `max_chars`, in their order; none if no one does.

    Each has the heading above it, or the sentence that has its subject, if both fit.
    """
    sentences = sentences_in(text)
    best = sorted(
        (place for place, sentence in enumerate(sentences) if sentence.worth),
        key=lambda place: (-sentences[place].worth, place),
    )
    fitting: set[int] = set()
    left = max_chars
    for place in best:
        own = {place} - fitting
        together = own | ({sentences[place].needs} - {-1} - fitting)
        for more in (together, own):
            size = sum(len(sentences[each].text) + 1 for each in more)
            if size <= left:
                fitting |= more
                left -= size
                break
        else:
            if not fitting:
                return [sentences[place]]
    return [sentences[place] for place in sorted(fitting)]


def main_statement(text: str, max_chars: int) -> str:
    """Return the sentence that states most with what it needs before it; empty if no one states anything.

    It stays whole if it fits in `max_chars` characters, else in three fifths of them. The other items of its
    list have the rest, each whole or cut.
    """
    found = sentences_in(text)
    best = max(range(len(found)), key=lambda place: found[place].worth, default=0)
    if not found or not found[best].worth:
        return ""
    needs = found[best].needs
    lead = f"{cut_sentence(_LISTED.sub('', found[needs].text), max_chars // 2)} " if needs >= 0 else ""
    parts = {best: _LISTED.sub("", found[best].text).strip("| ")}
    for place in range(len(found)) if needs >= 0 else ():
        if found[place].needs == needs and (found[place].worth or _LISTED.match(found[place].text)):
            parts[place] = _LISTED.sub("", found[place].text).strip("| ")
    left = max_chars - len(lead)
    if len(parts[best]) > left:
        parts[best] = cut_sentence(parts[best], left if len(parts) == 1 else left * 3 // 5)
    left -= len(parts[best])
    fitting = {best}
    for place in sorted(parts.keys() - fitting, key=lambda place: (-found[place].worth, place)):
        least = min(len(parts[place]), _MIN_OF_ITEM) + 2
        if least <= left:
            fitting.add(place)
            left -= least
    for place in sorted(fitting - {best}):
        room = min(len(parts[place]), _MIN_OF_ITEM) + left
        left -= max(0, min(len(parts[place]), room) - _MIN_OF_ITEM)
        parts[place] = cut_sentence(parts[place], room)
    places = [place for place in sorted(fitting) if place == best or not _is_piece(parts[place])]
    *others, last = (parts[place] for place in places)
    return lead + "; ".join([*(part.removesuffix(".") for part in others), last])


def _is_piece(text: str) -> bool:
    """Return True for the beginning of a word alone."""
    return text.endswith(_GAP) and " " not in text


def cut_sentence(text: str, max_chars: int) -> str:
    """Return a sentence in `max_chars` characters: of a longer one the clauses that name something.

    Both halves of `It isn't in X; Y sets it` say something. Where not all fit, those that name least for
    their length are left out; of the others the long ones are cut, the best one to three fifths.
    """
    if len(text) <= max_chars:
        return text
    clauses = _CLAUSE_END.split(text)
    worths = [_count_names(clause) for clause in clauses]
    max_clauses = max(2, max_chars // _CLAUSE_CHARS)
    first = worths.index(max(worths))
    others = (place for place in range(len(clauses)) if place != first)
    by_density = sorted(others, key=lambda place: -worths[place] / (len(clauses[place]) + _LEAST_CHARS))
    best = [first, *by_density[: max_clauses - 1]]
    fitting = {place for place in best if worths[place]} or {first}
    left = max_chars - 2 * (len(fitting) + 1)
    size = len(clauses[first])
    shares = {first: size if size <= left * 4 // 5 else left * 3 // 5 if len(fitting) > 1 else left}
    left -= shares[best[0]]
    shortest_first = sorted(fitting - {first}, key=lambda place: len(clauses[place]))
    for number, place in enumerate(shortest_first):
        share = min(len(clauses[place]), left // (len(shortest_first) - number))
        if share >= min(len(clauses[place]), _LEAST_CHARS):
            shares[place] = share
            left -= share
    for place in sorted(range(len(clauses)), key=lambda place: -worths[place]):
        if place not in shares and len(clauses[place]) < left:
            shares[place] = len(clauses[place])
            left -= len(clauses[place]) + 1
    parts: list[str] = []
    for place, clause in enumerate(clauses):
        if place in shares:
            parts.append(cut_between_words(clause, shares[place]))
        elif not (parts and parts[-1].endswith(_GAP)):
            parts.append(_GAP)
    cut = " ".join(parts).replace(f" {_GAP}", _GAP)
    return cut if len(cut) <= max_chars else cut_between_words(cut, max_chars)


def cut_between_words(text: str, max_chars: int) -> str:
    """Return the beginning of a text in `max_chars` characters.

    It ends before a word or a name in quotes that does not fit, unless that is nearly all.
    """
    if len(text) <= max_chars:
        return text
    part = text[: max(0, max_chars - 1)]
    end = len(part) if text[len(part)].isspace() else part.rfind(" ")
    if part.count("`", 0, max(0, end)) % 2:
        end = part.rindex("`", 0, end)
    return f"{(part[:end] if end > max_chars // 4 else part).rstrip()}{_GAP}"[: max(0, max_chars)]


def statements_in(text: str, count: int) -> list[Sentence]:
    """Return the sentences that state most, at most `count`, each with what it needs before it.

    Those that need the same one are one statement; marks of lists and tables are left out.
    """
    found = sentences_in(text)
    best = sorted((n for n in range(len(found)) if found[n].worth), key=lambda n: -found[n].worth)[:count]
    return _with_leads(found, best)


def open_points_in(text: str, count: int) -> list[Sentence]:
    """Return what a message that ended its turn leaves open, at most `count`: gaps, failures, a question."""
    found = sentences_in(text)
    places = [place for place in range(len(found)) if _is_open(found, place)]
    return _with_leads(found, places[-count:])


def _is_open(found: Sequence[Sentence], place: int) -> bool:
    sentence = found[place]
    if sentence.text.endswith("?"):
        return place == len(found) - 1
    lead = found[sentence.needs].text if sentence.needs >= 0 else ""
    is_stated = bool(sentence.worth) or (bool(lead) and not sentence.text.endswith(":"))
    return is_stated and bool(_OPEN.search(_NOTHING_OPEN.sub("", f"{lead} {sentence.text}".lower())))


def _with_leads(found: Sequence[Sentence], places: Sequence[int]) -> list[Sentence]:
    """Return sentences as statements, in their order: behind what they need, together if it is the same."""
    subjects = {found[place].needs for place in places}
    statements: dict[tuple[int, int], Sentence] = {}
    for place in sorted(set(places) - subjects):
        sentence, plain = found[place], _LISTED.sub("", found[place].text).strip("| ")
        key = (sentence.needs, 0) if sentence.needs >= 0 else (-1, place)
        earlier = statements.get(key)
        if earlier is not None:
            plain = f"{earlier.text}; {plain}"
        elif sentence.needs >= 0:
            plain = f"{_LISTED.sub('', found[sentence.needs].text)} {plain}"
        both = (sentence, earlier or sentence)
        statements[key] = msgspec.structs.replace(
            sentence,
            text=plain,
            states_cause=any(each.states_cause for each in both),
            states_result=any(each.states_result for each in both),
        )
    return list(statements.values())


def _sentence(text: str, needs: int, heading: str) -> Sentence:
    if only_announces(text):
        return Sentence(text, 0, False, needs)
    part = text[:_NAMED_CHARS]
    names = _count_names(part)
    lowered = part.lower()
    states_cause = bool(_CAUSE.search(lowered) or (heading and _CAUSE.search(heading.lower())))
    states_result = bool(_RESULT.search(lowered))
    worth = min(names, _MAX_NAMES)
    if worth or len(text.split()) >= _MIN_WORDS:
        worth += _CAUSE_WORTH * states_cause + _RESULT_WORTH * states_result
    return Sentence(text, worth, states_cause, needs, states_result)


def _count_names(text: str) -> int:
    return len({*identifiers_in(text), *_NUMBER.findall(text)})


def _head_and_tail(text: str) -> str:
    """Return head and tail of a message: the tail from a sentence's beginning, and code within its block."""
    head, tail_start = text[:_READ_CHARS], len(text) - _READ_TAIL
    pause = _PAUSE.search(text, tail_start)
    tail_start = pause.end() if pause else tail_start
    is_between_odd = (len(_FENCE.findall(text, 0, tail_start)) - len(_FENCE.findall(head))) % 2
    return "\n".join([head, *(["```"] if is_between_odd else []), text[tail_start:]])


def _prose_lines(text: str) -> Iterator[str]:
    """Yield the lines outside of code blocks that say something; an empty one stands for a block.

    A table's row is `first cell: others`; its head says nothing without the rows.
    """
    in_code = False
    lines = text.splitlines()
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            yield ""
        elif not in_code and not _RULER.match(line):
            if not is_table_row(line):
                yield " ".join(line.split())
            elif not (is_table_row(following) and _RULER.match(following)):
                yield row_text(line)


def _heading(line: str) -> str | None:
    """Return a heading as it stands before a sentence; None if a line is none, or too long for one."""
    match = _HEADING.match(line)
    heading = without_bold(next(filter(None, match.groups()), "").strip()) if match else ""
    if not 0 < len(heading) <= _LEAD_CHARS:
        return None
    return heading if heading.endswith((":", ".", "!", "?")) else f"{heading}:"
