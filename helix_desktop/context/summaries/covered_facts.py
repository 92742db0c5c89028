"""The coverage check: which facts of the covered messages a summary and its ledger name, and which not.

Facts are what an agent goes wrong without or looks up by its name: the user's instructions, what the agent
concluded at the end of each turn, files, commands, hashes, and numbers with `#` or a unit. A hash or a number
is quoted with its sentence: alone it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, dropwhile, islice, takewhile
from typing import TypeAlias, get_args

import msgspec

from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import Ledger, whole_command
from helix_desktop.context.summaries.message_facts import (
    DECISION_CHARS,
    IN_SENTENCES,
    NUMBER,
    MessageFact,
    cut_between_words,
    facts_in_request,
    facts_in_words,
    is_bare_decision,
    main_statement,
    plain_number,
    split_sentences,
)
from helix_desktop.context.summaries.sections import TODO_ITEMS
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Bullet, FactKind, SummaryCoverage
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.question import denial_reason
from helix_desktop.domain.todo import NO_LIST, TodoList
from helix_desktop.domain.typed_text import typed_text

MAX_CHECKED = 200  # newest instructions, and newest conclusions, that are checked
CHARS_PER_TOKEN = 3  # low, so that what is missing stays within its tokens
_CONCLUSION_CHARS = 400  # characters of a conclusion that are quoted
_SHARED_WORDS = 0.7  # share of an instruction's words that a line must have to name it
_CITING_WORDS = 0.5  # the same of all lines together that cite its entry: they say it in other words
_ABOUT_USER = frozenset({"user", "ask", "said", "forbid", "forbad"})  # how a note says that the user said it
_SHORT = 3  # words of an instruction so short that a line must have all of them
_SHARED_NAMES = 0.5  # share of a conclusion's names and numbers that a line must have to name it
_CITED = re.compile(r"\[(e\d{1,12}(?:, e\d{1,12})*)\]$")
_MAY_BE_QUOTED: Container[FactKind] = ("instructions", "conclusions", "hashes", "numbers")
_MAY_BE_REPLACED: Container[FactKind] = ("instructions", "conclusions", "numbers")
_HASH_DIGITS = 7  # digits by which a hash is named
_COMMAND_CHARS = 60  # characters of a command by which it is named
_NEGATION = re.compile(
    r"\b(?:never|not|no|none|nothing|without|avoid(?:s|ed)?|forbid(?:s|den)?|forbade|refus\w+|cannot"
    r"|(?:do|does|did|must|should|would|could|can|wo|is|are|was|were)n['’]t)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{3,}")
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ies|ing|ed|es|s|ly)$")
_TODO_HEADING = f"## {TODO_ITEMS.title}"
_Line: TypeAlias = tuple[frozenset[str], bool]
"""The words of a line, and whether it forbids or denies something."""
_COMMON = frozenset({
    "the", "and", "for", "that", "this", "with", "from", "you", "your", "are", "was", "were", "have", "has",
    "had", "will", "would", "should", "shall", "must", "can", "could", "may", "please", "make", "sure", "its",
    "always", "only", "any", "all", "each", "every", "into", "also", "then", "than", "they", "our", "never",
    "not", "don", "doesn", "without", "avoid", "but", "when", "what", "which", "want", "let",
})  # fmt: skip
"""Words that say nothing of what a sentence is about; what forbids is compared apart."""
_FIGURE = re.compile(r"\b\d[\w.,:]*\w\b")  # a number of two digits or more
_SHARES: Mapping[FactKind, float] = {
    "instructions": 0.4,
    "tasks": 0.4,
    "conclusions": 0.8,
    "files": 0.2,
    "hashes": 0.12,
    "numbers": 0.18,
    "commands": 0.1,
}  # of the characters for facts that are missing; conclusions and tasks have theirs beside the others'


class CoveredFacts:
    """The facts of messages, added one by one: by kind, each with the newest event that has it."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        """With a `ledger` that is filled elsewhere, its files and commands are the ones to check."""
        self.ledger = ledger if ledger is not None else Ledger()
        self._fills_ledger = ledger is None
        self.facts: dict[FactKind, dict[str, int]] = {kind: {} for kind in get_args(FactKind)}
        self.sentences: dict[str, str] = {}  # of hashes and numbers: the newest one that each is in
        self.replies: dict[int, str] = {}  # the user's replies to questions, by their events

    def add(self, item: LogItem) -> None:
        if self._fills_ledger:
            self.ledger.add(item)
        match item.event:
            case UserSpoke(text=text):
                self._note_all(facts_in_request(text), item.seq)
            case AssistantSpoke(text=text, calls=calls):
                self._note_all(facts_in_words(text), item.seq)
                if not calls and (statement := main_statement(text, _CONCLUSION_CHARS)):
                    self._note("conclusions", statement, item.seq)
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                if decision:
                    self.replies[item.seq] = denial_reason(output.text) or decision.rpartition(" – ")[2]
                    if not is_bare_decision(decision):
                        self._note("instructions", cut_between_words(decision, DECISION_CHARS), item.seq)

    def _note_all(self, facts: Iterable[MessageFact], seq: int) -> None:
        for kind, fact, sentence in facts:
            self._note(kind, fact, seq, sentence)

    def _note(self, kind: FactKind, fact: str, seq: int, sentence: str = "") -> None:
        self.facts[kind].pop(fact, None)
        self.facts[kind][fact] = seq
        if sentence:
            self.sentences[fact] = sentence

    @property
    def changed_files(self) -> frozenset[str]:
        return frozenset(path for path, use in self.ledger.files.items() if use.is_changed)

    def of_kind(self, kind: FactKind) -> Mapping[str, int]:
        """Return the facts of a kind with their newest events, oldest first."""
        facts = self.facts[kind]
        match kind:
            case "files":
                return {path: use.seq for path, use in self.ledger.files.items() if use.is_file}
            case "commands":
                return {run.command: run.seq for run in self.ledger.commands.values() if run.command.strip()}
            case "instructions" | "conclusions":
                return dict([*facts.items()][-MAX_CHECKED:])
        return facts


def covered_facts(items: Iterable[LogItem]) -> CoveredFacts:
    facts = CoveredFacts()
    for item in items:
        facts.add(item)
    return facts


def check_covered_facts(
    facts: CoveredFacts, text: str, max_chars: int, quoted: Container[int] = (), todo_list: TodoList = NO_LIST
) -> tuple[SummaryCoverage, ...]:
    """Return by kind how many facts a summary's text names, and those it does not, newest first.

    The missing ones are listed in about `max_chars` characters, conclusions in 0.8 times and tasks in 0.4
    times as many more, to stand below the summary; files that were changed come before those that were only
    read. A sentence with several hashes, or several numbers, is listed once. `quoted` are the seqs of
    messages that stay verbatim: what these say is counted, not listed. Tasks are what is left to do on the
    `todo_list`.
    """
    named = CheckedText(text)
    is_quoted = quoted.__contains__
    checked: list[SummaryCoverage] = []
    for kind, share in _SHARES.items():
        of_kind = todo_list.open_tasks if kind == "tasks" else facts.of_kind(kind)
        if not of_kind:
            continue
        missing = [Bullet(fact, (seq,)) for fact, seq in named.missing(facts, kind, of_kind)]
        changed = facts.changed_files if kind == "files" else frozenset()
        newest = sorted(missing, key=lambda fact: (fact.text not in changed, -fact.sources[0]))
        if kind in _MAY_BE_QUOTED:
            newest = [fact for fact in newest if not is_quoted(fact.sources[0])]
        groups = _by_text(kind, newest, facts.sentences)
        lines = [msgspec.structs.replace(group[0], text=text) for text, group in groups.items()]
        listed = tuple(_within(lines, int(max_chars * share)))
        also_listed = sum(len(groups[line.text]) - 1 for line in lines[: len(listed)])
        named_count = len(of_kind) - len(missing)
        checked.append(
            SummaryCoverage(
                kind, named_count, len(of_kind), listed, verbatim=len(missing) - len(newest) + also_listed
            )
        )
    return tuple(checked)


def _by_text(
    kind: FactKind, facts: Iterable[Bullet], sentences: Mapping[str, str]
) -> dict[str, list[Bullet]]:
    """Return facts by the text that is listed for them: of hashes and numbers a sentence with them."""
    groups: dict[str, list[Bullet]] = {}
    pattern = IN_SENTENCES.get(kind)
    if pattern is None:
        return {fact.text: [fact] for fact in facts}
    listed: dict[tuple[int, str], str] = {}  # of an event: what is quoted around one number has others, too
    for fact in facts:
        seq = fact.sources[0]
        sentence = listed.get((seq, plain_number(fact.text)), sentences.get(fact.text, fact.text))
        if sentence not in groups:
            for match in pattern.finditer(sentence):
                listed.setdefault((seq, plain_number(match[0])), sentence)
        groups.setdefault(sentence, []).append(fact)
    return groups


def missing_facts_text(coverage: Sequence[SummaryCoverage]) -> str:
    """Return what a summary does not name as lines below it, each with its event; empty if nothing.

    Below it, not asked for again: that would be another call as large, which a model may refuse. Where a
    newer fact may replace an older one, as another number for the same thing, the line says its order:
    whether it does can't be known from the words alone.
    """
    lines: list[str] = []
    for kind in coverage:
        if not kind.missing:
            continue
        entries = "; ".join(f"{fact.text} [e{fact.sources[0]}]" for fact in kind.missing)
        more = kind.total - kind.named - kind.verbatim - len(kind.missing)
        rest = f"; {more} more in the index" if more > 0 else ""
        order = ", newest first" if len(kind.missing) > 1 and kind.kind in _MAY_BE_REPLACED else ""
        lines.append(f"- {_LABELS[kind.kind]}{order}: {entries}{rest}")
    return "\n".join(lines)


_LABELS: Mapping[FactKind, str] = {
    "instructions": "The user wrote or decided",
    "tasks": "Left to do on the todo list",
    "conclusions": "The agent concluded then",  # entries after it may have changed that
    "files": "Files",
    "commands": "Commands",
    "hashes": "Sentences with hashes",
    "numbers": "Sentences with numbers",
}


def _within(facts: Sequence[Bullet], max_chars: int) -> Iterator[Bullet]:
    """Yield the facts that fit, shortened to one line."""
    for fact in facts:
        line = " ".join(fact.text.split())[:DECISION_CHARS]
        max_chars -= len(line) + 10
        if max_chars < 0:
            return
        yield msgspec.structs.replace(fact, text=line)


class CheckedText:
    """A text, as a summary or an answer, that is asked whether it names a fact."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = " ".join(text.split())
        self._names = {part for name in identifiers_in(text) for part in (name, _last_part(name))}
        self._numbers = {plain_number(number) for number in NUMBER.findall(text)}
        lines = [line for line in text.splitlines() if line.strip()]
        self._lines = [*map(_read_line, lines)]
        # Only those behind the heading: a word of a task stands elsewhere, too.
        behind = islice(dropwhile(lambda line: not line.strip().startswith(_TODO_HEADING), lines), 1, None)
        todo = takewhile(lambda line: not line.startswith("## "), behind)
        self._todo_lines = [*map(_read_line, todo)]
        self._names_by_line = [_names_and_figures(line) for line in lines]
        self._by_source: dict[str, list[int]] = {}  # the lines that cite an entry, by their places
        for place, line in enumerate(lines):
            cited = _CITED.search(line)
            for source in cited[1].split(", ") if cited else ():
                self._by_source.setdefault(source, []).append(place)

    def missing(
        self, facts: CoveredFacts, kind: FactKind, of_kind: Mapping[str, int]
    ) -> Iterator[tuple[str, int]]:
        """Yield the facts of a kind that the text does not name, with their events."""
        for fact, seq in of_kind.items():
            is_told = seq in facts.replies and self.says_reply(facts.replies[seq], seq)
            if not is_told and not self.names(kind, fact, seq):
                yield fact, seq

    def names(self, kind: FactKind, fact: str, seq: int) -> bool:
        match kind:
            case "files":
                return _last_part(fact) in self._names or self._has_file_name(fact)
            case "commands":
                line = whole_command(fact)
                parts = (line, line.rpartition(" && ")[2])  # a summary leaves out the change of folder
                return any(part[:_COMMAND_CHARS] in self._plain for part in parts)
            case "hashes":
                return fact[:_HASH_DIGITS] in self._text
            case "numbers":
                return plain_number(fact) in self._numbers
            case "instructions" | "tasks":
                lines = self._lines if kind == "instructions" else self._lines_on_tasks(fact, seq)
                is_told_otherwise = kind == "instructions" and self._says_in_other_words(fact, seq)
                return is_told_otherwise or self._has_instruction(fact, lines)
            case "conclusions":
                return self._has_conclusion(fact, seq)

    def says_reply(self, reply: str, seq: int) -> bool:
        """Return True if the lines that cite an event can say what the user replied there, in any words.

        They have the names and numbers of the reply, and deny something if it does.
        """
        citing = self._by_source.get(f"e{seq}", ())
        names_there = frozenset(chain.from_iterable(self._names_by_line[place] for place in citing))
        negates = bool(_NEGATION.search(reply))
        return (
            bool(citing)
            and _names_and_figures(reply) <= names_there
            and negates == any(self._lines[place][1] for place in citing)
        )

    def _has_file_name(self, path: str) -> bool:
        """Return True if the text has a file's name that is no identifier: with a space, or `.gitignore`."""
        name = _last_part(path)
        is_hidden = name.startswith(".") and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self._text)
        return bool(is_hidden) or (" " in path and path in self._text)

    def _lines_on_tasks(self, task: str, seq: int) -> Sequence[_Line]:
        """Return the lines that can name a task: a task of one word, as a file, stands in others as well.

        A line that cites the list itself, of the event `seq`, can say that the list is out of date.
        """
        if self._todo_lines:
            citing = self._by_source.get(f"e{seq}", ())
            return [*self._todo_lines, *(self._lines[place] for place in citing)]
        return self._lines if " " in task.strip() else ()

    def _has_instruction(self, sentence: str, lines: Sequence[_Line]) -> bool:
        """Return True if one line has most of its words, and forbids if the sentence forbids."""
        words = _words(sentence)
        forbids = bool(_NEGATION.search(sentence))
        needed = len(words) if len(words) <= _SHORT else round(_SHARED_WORDS * len(words))
        return any(len(words & line) >= needed and forbids == line_forbids for line, line_forbids in lines)

    def _says_in_other_words(self, sentence: str, seq: int) -> bool:
        """Return True if the lines that cite an event have half of a sentence's words, and all it names.

        A number or a name stands in a summary as it is, whatever the words around it. A sentence that denies
        something needs a line that does; the words of another one stand in lines that deny nothing.
        """
        citing = self._by_source.get(f"e{seq}", ())
        if not citing:
            return False
        words = _words(sentence)
        negates = bool(_NEGATION.search(sentence))
        agreeing = citing if negates else [place for place in citing if not self._lines[place][1]]
        there = words.intersection(chain.from_iterable(self._lines[place][0] for place in agreeing))
        names_there = frozenset(chain.from_iterable(self._names_by_line[place] for place in citing))
        return (
            len(there) >= _CITING_WORDS * len(words)
            and len(words) > 1
            and _names_and_figures(sentence) <= names_there
            and (not negates or any(self._lines[place][1] for place in citing))
        )

    def _has_conclusion(self, sentence: str, seq: int) -> bool:
        """Return True if one line has half of its names and numbers; without any, most of its words.

        Of a sentence that negates, a line has to negate something, too: a cut often takes that half.
        """
        names = _names_and_figures(sentence)
        negates = bool(_NEGATION.search(sentence))
        if self._says_in_other_words(sentence, seq):
            return True
        if not names:
            return self._has_instruction(sentence, self._lines)
        return any(
            len(names & line) >= _SHARED_NAMES * len(names) and (line_negates or not negates)
            for line, (_, line_negates) in zip(self._names_by_line, self._lines, strict=True)
        )


def user_source(statement: str, items: Iterable[LogItem]) -> int:
    """Return the newest message in which the user says this in these words; 0 if there is none.

    One sentence of it has most of the words, each name and number, and forbids if the statement does.
    """
    words = _words(statement) - _ABOUT_USER
    names = _names_and_figures(statement)
    negates = bool(_NEGATION.search(statement))
    found = 0
    for item in items if len(words) > 1 else ():
        said = typed_text(item.event.text) if isinstance(item.event, UserSpoke) else None
        if isinstance(item.event, ToolAnswered):
            said = user_decision(item.event)
        for sentence in chain.from_iterable(map(split_sentences, (said or "").splitlines())):
            is_said = (
                len(words & _words(sentence)) >= _SHARED_WORDS * len(words)
                and names <= _names_and_figures(sentence)
                and bool(_NEGATION.search(sentence)) == negates
            )
            found = max(found, item.seq) if is_said else found
    return found


def _read_line(line: str) -> _Line:
    return _words(line), bool(_NEGATION.search(line))


def _names_and_figures(text: str) -> frozenset[str]:
    return frozenset([*map(_last_part, identifiers_in(text)), *_FIGURE.findall(text)])


def _words(text: str) -> frozenset[str]:
    """Return what a text is about: its words without endings, so that `uses tabs` is `use tab`."""
    return frozenset(map(_stem, frozenset(_WORD.findall(text.lower())) - _COMMON))


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """Return an English word without the ending of a plural or a verb's form."""
    return _ENDING.sub("", word)


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
