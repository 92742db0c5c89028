"""What a message states in words: conclusions, rules, files, and hashes and numbers with their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from helix_desktop.domain.events.summary import FactKind
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.typed_text import typed_text

_HEADING_MARK = re.compile(r"\A#{1,6} +")
_LIST_MARK = re.compile(r"\A(?:[-*•>] +)+(?:\[[ xX]\] +)?")
_BOLD = re.compile(r"(?<![\w*])\*\*([^*\n]+)\*\*(?![\w*])")


def _without_bold(line: str) -> str:
    return _BOLD.sub(r"\1", line) if "**" in line else line


_MAX_NAMES = 5  # of a sentence that count: a list of names states nothing
_MIN_WORDS = 6  # of a sentence without names that states something: not of `I found the issue.`
_LEAD_CHARS = 60  # characters of a heading that stands before the sentences below it
_REMEMBERED_TEXTS = 4_096  # of the agent: each stands in one summary after the other
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)(?<!\b(?i:e\.g|i\.e)\.)\s+|(?<=[\u3002\uff01\uff1f])"
)
"""Behind the number of an item and an abbreviation no sentence ends."""
_HEADING = re.compile(r"#{1,6} +(.*)|\*\*([^*]+)\*\*:?$|([^|`.!?]*:)$")
_LISTED = re.compile(r"\A(?:[-*•]|\d{1,3}[.)]) ")
_RULER = re.compile(r"[-|:=*_~\s]*$")
_NUMBER = re.compile(r"#?\b\d[\w.,:%]*")
_GAP = "…"
_ANNOUNCES = re.compile(
    r"(?:(?:ok(?:ay)?|now|next|first|then|great|good|perfect|excellent|alright|so|and)\b[\s,.!:]*)*"
    r"(?:let['’]?s?\b|I['’]ll|I will|I['’]m going to|I(?: (?:now|also|just|still))? (?:need|want|have) to)\b",
    re.IGNORECASE,
)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of a message on one line, behind the heading or the words with a colon above it.

    An item of `Not tested:` says something else alone. `worth` counts the names and numbers in it, at least
    as 1; 0: it states nothing, says what comes next, or asks.
    """

    text: str
    worth: int


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def sentences_in(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message, without code blocks; of a very long one those of its beginning."""
    if len(text) > _PARSED_CHARS:
        text = text[:_PARSED_CHARS].rpartition("\n")[0]
    found: list[Sentence] = []
    lead = ""
    is_listed = False
    for line in _prose_lines(text):
        was_listed = is_listed
        is_listed = bool(_LISTED.match(line))
        if not line or (was_listed and not is_listed):  # what follows a list is no item of it
            lead = ""
        if (heading := _heading(line)) is not None:
            lead = heading
            continue
        prose = _HEADING_MARK.sub("", line)
        lead = lead if prose == line else ""  # a heading that is too long for one
        for part in split_sentences(_without_bold(prose)):
            plain = _LISTED.sub("", part).strip("| ")
            if part.endswith(":"):
                lead = plain
                continue
            found.append(Sentence(f"{lead} {plain}".strip(), _worth(part)))
            lead = lead if is_listed else ""
    return tuple(found)


def split_sentences(line: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(line) if part]


def main_statement(text: str, max_chars: int) -> str:
    """Return the sentence that states most, whole, in `max_chars` characters; empty if none fits."""
    return next(iter(statements_in(text, 1, max_chars)), "")


def statements_in(text: str, count: int, max_chars: int) -> list[str]:
    """Return the sentences that state most, at most `count` in their order, each whole in `max_chars`."""
    fitting = [each for each in sentences_in(text) if each.worth and len(each.text) <= max_chars]
    best = sorted(range(len(fitting)), key=lambda place: -fitting[place].worth)[:count]
    return [fitting[place].text for place in sorted(best)]


def cut_between_words(text: str, max_chars: int) -> str:
    """Return the beginning of a text in `max_chars` characters.

    It ends before a word that does not fit, unless that is nearly all.
    """
    if len(text) <= max_chars:
        return text
    if max_chars <= 0:
        return ""
    part = text[: max_chars - 1]  # one character is left for the ellipsis
    is_in_word = not text[len(part)].isspace()
    last_space = part.rfind(" ")
    if is_in_word and last_space > max_chars // 4:
        part = part[:last_space]
    return part.rstrip() + _GAP


def _worth(sentence: str) -> int:
    if sentence.endswith("?") or _ANNOUNCES.match(sentence):
        return 0
    names = min(len({*identifiers_in(sentence), *_NUMBER.findall(sentence)}), _MAX_NAMES)
    return names or int(len(sentence.split()) >= _MIN_WORDS)


def _prose_lines(text: str) -> Iterator[str]:
    """Yield the lines outside of code blocks that say something; an empty one stands for a block."""
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
            yield ""
        elif not (in_code or _RULER.match(line)):
            yield " ".join(line.split())


def _heading(line: str) -> str | None:
    """Return a heading as it stands before a sentence; None if a line is none, or too long for one."""
    match = _HEADING.match(line)
    heading = _without_bold(next(filter(None, match.groups()), "").strip()) if match else ""
    if not 0 < len(heading) <= _LEAD_CHARS:
        return None
    return heading if heading.endswith((":", ".", "!", "?")) else f"{heading}:"


RULE_CHARS = 240  # characters of a rule that are quoted
DECISION_CHARS = 800  # characters of a question, which has few, and the user's reply to it
_PARSED_CHARS = 20_000  # characters of a message that are searched
_LEAST_CHARS = 9  # of a rule: shorter ones name nothing
_REMEMBERED_RULES = 1_024  # messages, of which each summary asks again
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE_START = (
    r"(?:(?:^|[.;:,!?()\n])[-–—•*\s]*|\s[-–—•]\s+"
    r"|\b(?:and|but|so|then|just|please|should|must|ok(?:ay)?|now|you)\s+)"
)
_COMMAND = re.compile(
    rf"{_CLAUSE_START}(?:always|never|don['’]t|do not|avoid|keep|prefer(?:ably)?|only use|use only)\b"
    r"|(?<!['’]ll )(?<!\bto )\bmake sure\b|\bmust(?:n['’]t| not| never| always| only)\b"
    r"|\b(?:you|we|it|they|this|all|each|every) must\b|\bI(?:['’]d| would)? prefer\b"
    r"|\bI (?:don['’]t|never|always) (?:want|like)\b",
    re.IGNORECASE,
)
"""How a user says how things are to be done: by a command, not by what `never` happens or is not there."""
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_BARE_REPLIES = frozenset({
    "yes", "yep", "yeah", "no", "nope", "ok", "okay", "sure", "please", "thanks", "thank", "you", "go", "on",
    "ahead", "continue", "proceed", "do", "it", "that", "this", "now", "so", "right", "good", "great", "fine",
    "update", "all", "of", "them", "both", "correct", "exactly", "again", "try",
})  # fmt: skip
"""Words of messages that only agree, or ask to go on."""


def _without_marks(line: str) -> str:
    return _without_bold(_LIST_MARK.sub("", _HEADING_MARK.sub("", line)))


def instructions_in(text: str) -> Iterator[str]:
    """Yield the sentences of a user's message that set a rule, on one line each."""
    for sentence in _SENTENCE.split(text[:_PARSED_CHARS]):
        line = _without_marks(" ".join(sentence.split()))
        if len(line) < _LEAST_CHARS or sentence.startswith("#") or line.endswith(("?", ":")):
            continue
        if _COMMAND.search(line):
            yield cut_between_words(line, RULE_CHARS)


def is_bare_reply(text: str) -> bool:
    """Return True for a message such as `Yes` or `Go on`, which says nothing without what it replies to."""
    words = _WORD.findall(text.lower())
    return len(words) <= 1 or _BARE_REPLIES.issuperset(words)


def is_bare_decision(decision: str) -> bool:
    """Return True if neither a question nor the reply to it names anything: `Update? – Yes`."""
    return all(len(_WORD.findall(part)) <= 1 for part in decision.rpartition(" – ")[::2])


@lru_cache(maxsize=_REMEMBERED_RULES)
def preferences_in(text: str) -> tuple[str, ...]:
    """Return how the user wants things done: a short message whole, of a long one its rules."""
    if not _COMMAND.search(text):
        return ()
    if len(text) <= RULE_CHARS:
        return (text,)
    return tuple(instructions_in(text))


_AROUND_CHARS = 80  # characters before a number, and behind it, in which its sentence lies
_REMEMBERED = 8_192  # messages whose facts are remembered: each summary asks for those of the whole session
HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b")
NUMBER = re.compile(
    r"#\d{1,7}\b|(?<![\w.])[$€£]\s?\d[\d.,]*\d?\b|(?<![\w.#])\d[\d.,]{0,30}\s?(?:%|ms|µs|ns|s|sec(?:onds?)?|min(?:utes?)?|h(?:ours?)?"
    r"|days?|weeks?|[KMGT]i?B|kB|bytes|tokens|lines|px|rows|[kM]\b|°C|km|kg|USD|EUR)(?!\w)"
)
IN_SENTENCES: Mapping[FactKind, re.Pattern[str]] = {"hashes": HASH, "numbers": NUMBER}

MessageFact = tuple[FactKind, str, str]
"""A fact of a message: its kind, itself, and of a hash or a number the sentence that it is in."""


@lru_cache(maxsize=_REMEMBERED)
def facts_in_words(text: str) -> tuple[MessageFact, ...]:
    """Return the hashes and numbers in a message, with their sentences."""
    part = text[:_PARSED_CHARS]
    facts = list[MessageFact]()
    for match in HASH.finditer(part):
        facts.append(("hashes", match[0], sentence_around(part, match)))
    for match in NUMBER.finditer(part):
        number = " ".join(match[0].split()).rstrip(".,")
        facts.append(("numbers", number, sentence_around(part, match)))
    return tuple(facts)


@lru_cache(maxsize=_REMEMBERED)
def facts_in_request(text: str) -> tuple[MessageFact, ...]:
    """Return the hashes, numbers and rules in what the user typed into a message."""
    words = typed_text(text)
    facts = [*facts_in_words(words)]
    facts += [("instructions", sentence, "") for sentence in instructions_in(words)]
    return tuple(facts)


def sentence_around(text: str, match: re.Match[str]) -> str:
    """Return the sentence that a match is in, on one line, or what stands around it in a long one."""
    before = text[max(0, match.start() - _AROUND_CHARS) : match.start()]
    behind = text[match.end() : match.end() + _AROUND_CHARS]
    start = _SENTENCE.split(before)[-1]
    end = _SENTENCE.split(behind, maxsplit=1)[0]
    opening = closing = ""
    if len(start) == _AROUND_CHARS:
        opening = "… "
        start = start.partition(" ")[2] or start
    if len(end) == _AROUND_CHARS:
        closing = "…"
        end = end.rpartition(" ")[0] or end
    sentence = " ".join(f"{start}{match[0]}{end}".split())
    return f"{opening}{sentence if opening else _without_marks(sentence)}{closing}"


def plain_number(text: str) -> str:
    """Return a number without spaces, and without the punctuation behind it."""
    return "".join(text.split()).rstrip(".,")
