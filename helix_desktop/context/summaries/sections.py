"""The sections of a handover: what each is, and what it holds where no model writes it.

A section is declared once, in SECTIONS: what a model is asked for, what editors show and in which order
cards show it comes from there. Without a model (the last resort of the fallback chain, and the handover as
it would be now) every sentence is quoted or counted, and each bullet names its sources. What the agent
concluded comes before what its calls did, which the ledger lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType

import msgspec

from helix_desktop.context.intake.descriptions import find_error
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import GitCommit, Ledger, WorkingTree
from helix_desktop.context.summaries.message_facts import (
    DECISION_CHARS,
    cut_between_words,
    preferences_in,
    sentences_in,
    statements_in,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import NO_MODEL, Bullet, HandoverMade, Section
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import typed_text
from helix_desktop.domain.todo import TODO, TodoItem, TodoStatus, parse_items

OPENING = "The user asked"
LAST_REQUEST, ANSWERED_REQUEST = "Last request, not answered yet", "Last request, answered"
_PER_SECTION = 12  # bullets
_GIST_BULLETS = 2
_SECTION_BULLETS, _GIST_SECTIONS = 3, 2
_LABEL = re.compile(
    r"\W*((?:finding|issue|bug|problem|point|task|step|item|question|todo) ?#?\d+|#\d+)\b", re.IGNORECASE
)
_SETTLES = re.compile(
    r"\b(?:fixed|(?:re)?solved|answered|done|no longer|(?:works|passe?s?) now|now (?:works|passe?s?))\b",
    re.IGNORECASE,
)
_LEAVES_OPEN = re.compile(
    r"\b(?:not|none|nothing|neither|never|cannot|if|would|could|should|will|to be|before|until|still|yet)\b"
    r"|\bpart(?:ly|ially)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_FINDINGS = 6  # newest ones of the turn that runs
_COMMITS = 3  # newest ones among the work that is done: the ledger lists more
_SENTENCE_CAP, _STATEMENT_CAP = 240, 400  # characters
_ALIKE = 0.7  # of the words of the shorter one of two sentences
_OF_CONCLUSION, _OF_OTHERS = 3, 2  # sentences of a message that ended its turn, at least, and of others
_NUMBERED = re.compile(r"^ *\d{1,3}[.)] ", re.MULTILINE)  # an item: as many sentences are kept
_WORD, _NAME = re.compile(r"[\w./-]{3,}"), re.compile(r"[\d_/]|\w\.\w")
_TODO_LABELS: dict[TodoStatus, str] = {"done": "Done", "in_progress": "In progress", "pending": "To do"}
_ROUTINE = ("Changed ", "Ran `", "Done: ")  # the ledger and the todo list say it too
_LIST_LABELS = tuple(f"{label}: " for label in _TODO_LABELS.values())
_EARLIER = " (as of the last summary)"
_NO_REVERTS: Mapping[str, FileRevert] = MappingProxyType({})


class HistoryExtract:
    """What the sections are taken from without a model, added message by message."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._first_request: tuple[int, str] | None = None
        self._last_request: tuple[int, str] | None = None
        self._is_answered = False
        self._details: list[Bullet] = []
        self._findings: list[Bullet] = []  # of the turn that runs: its conclusion will say what they come to
        self._results: list[Bullet] = []
        self._preferences: list[Bullet] = []
        self._settled: list[tuple[int, str]] = []  # sentences that say something is done, in lower case
        self._todo: tuple[int, tuple[TodoItem, ...]] = (0, ())
        self._earlier_todo: tuple[int, tuple[TodoItem, ...]] = (0, ())

    def add(self, item: LogItem) -> None:
        self.ledger.add(item)
        match item.event:
            case UserSpoke(text=text) if words := typed_text(text):
                self._last_request, self._is_answered = (item.seq, words), False
                self._first_request = self._first_request or self._last_request
                for preference in preferences_in(words):
                    self._add_preference(item.seq, preference, _SENTENCE_CAP)
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                if decision:
                    self._add_preference(item.seq, decision, DECISION_CHARS)
            case ToolAnswered(name=name, ok=is_ok) if name == TODO and not is_ok:
                self._todo = self._earlier_todo  # the tool refused the list
            case AssistantSpoke(text=text, calls=calls):
                lists = [
                    items for call in calls if call.name == TODO and (items := parse_items(call.arguments))
                ]
                if lists:
                    self._earlier_todo, self._todo = self._todo, (item.seq, lists[-1])
                if not calls and text.strip():  # what follows without a request goes on with nothing
                    self._is_answered = True
                    self._add_settled(item.seq, text)
                self._add_statements(item.seq, text, is_conclusion=not calls)

    def _add_statements(self, seq: int, text: str, is_conclusion: bool) -> None:
        """Add what a message states: causes and facts, and of one that ended its turn what was done."""
        of_conclusion = min(max(_OF_CONCLUSION, len(_NUMBERED.findall(text))), _PER_SECTION)
        statements = statements_in(text, of_conclusion if is_conclusion else _OF_OTHERS, _STATEMENT_CAP)
        details: list[Bullet] = []
        results: list[Bullet] = []
        findings: list[Bullet] = []
        for sentence in statements:
            bullet = Bullet(sentence.text, (seq,))
            if sentence.states_cause or (is_conclusion and not sentence.states_result):
                details.append(bullet)
            elif is_conclusion:
                results.append(bullet)
            else:
                findings.append(bullet)
        self._findings = [] if is_conclusion else _with_newer(self._findings, findings)
        self._details = _with_newer(self._details, details)
        self._results = _with_newer(self._results, results)

    def _add_settled(self, seq: int, text: str) -> None:
        sentences = [sentence.text for sentence in sentences_in(text)]
        settled = [each for each in sentences if _SETTLES.search(each) and not _LEAVES_OPEN.search(each)]
        self._settled += [(seq, each.lower()) for each in settled]

    def _add_preference(self, seq: int, text: str, max_chars: int) -> None:
        bullet = Bullet(cut_between_words(" ".join(text.split()), max_chars), (seq,))
        others = [other for other in self._preferences if other.text != bullet.text]
        self._preferences = _newest([*others, bullet])

    def sections(self, previous: HandoverMade | None) -> tuple[Section, ...]:
        old: dict[str, Sequence[Bullet]] = (
            {section.title: section.bullets for section in previous.sections} if previous else {}
        )
        new = {kind.title: kind.extract(self, old.get(kind.title, ())) for kind in SECTIONS}
        over = {f"Changed {use.path}" for use in self.ledger.files.values() if use.is_reverted}
        old = {
            title: [bullet for bullet in bullets if bullet.text not in over] for title, bullets in old.items()
        }
        for title in (kind.title for kind in SECTIONS if kind.is_replaced):
            old[title] = self._still_open(old.get(title, ()), previous.upto if previous else 0)
        return tuple(Section(title, _join(old.get(title, ()), new[title])) for title in TITLES)

    def background(self, old: Sequence[Bullet]) -> list[Bullet]:
        """Return the session's first request, unless it is known, and the last one once it is answered."""
        first, last = self._first_request, self._last_request
        is_known = any(bullet.text.startswith(OPENING) for bullet in old)
        is_repeated = not is_known and first != last and first and last and first[1] == last[1]
        opening = [] if is_known or is_repeated else _request(OPENING, first)
        return [*opening, *(self._request_on_record() if self._is_answered and first != last else [])]

    def details(self, _: Sequence[Bullet]) -> list[Bullet]:
        """Return causes and facts that the agent stated, the newest of the running turn among them."""
        return _with_newer(self._details, self._findings[-_FINDINGS:])

    def completed(self, _: Sequence[Bullet]) -> list[Bullet]:
        """Return what was changed, run and committed, and the results that the agent stated."""
        results = _newest([*_todo_bullets(self._todo, "done"), *self._results])
        return _newest([*_completed(self.ledger), *results, *_commits(self.ledger)])

    def issues(self, _: Sequence[Bullet]) -> list[Bullet]:
        return _newest([*_reverted(self.ledger), *_issues(self.ledger)])

    def todo(self, _: Sequence[Bullet]) -> list[Bullet]:
        """Return the request that is not answered yet, and what is left of the agent's list."""
        request = [] if self._is_answered else self._request_on_record()
        return [*request, *_todo_bullets(self._todo, "in_progress", "pending")]

    def preferences(self, _: Sequence[Bullet]) -> list[Bullet]:
        """Return what the user asked for always, and forbade."""
        return self._preferences

    def _request_on_record(self) -> list[Bullet]:
        return _request(ANSWERED_REQUEST if self._is_answered else LAST_REQUEST, self._last_request)

    def _still_open(self, bullets: Iterable[Bullet], upto: int) -> list[Bullet]:
        """Return what a handover up to an event called open and nothing since settles, marked as of before.

        A newer message of the user settles questions, a newer todo list what the list had, another run of
        a command its failure, and a sentence that says so a numbered point or a failure with its names.
        """
        is_asked_on = self._last_request is not None and self._last_request[0] > upto
        has_newer_list = self._todo[0] > upto
        commands = {f"`{_sentence(run.command)}` " for run in self.ledger.commands.values() if run.seq > upto}
        return [
            Bullet(bullet.text.removesuffix(_EARLIER) + _EARLIER, bullet.sources)
            for bullet in bullets
            if not bullet.text.startswith((f"{LAST_REQUEST}: ", *commands))
            if not (is_asked_on and bullet.text.removesuffix(_EARLIER).endswith("?"))
            if not (has_newer_list and bullet.text.startswith(_LIST_LABELS))
            if not any(_is_settled(bullet.text, sentence) for seq, sentence in self._settled if seq > upto)
        ]


class SectionKind(msgspec.Struct, frozen=True):
    """One section of every handover.

    `scope` tells a model what belongs there, `rank` is its place on cards, where what is open comes first,
    `priority` that of an observation made of one of its points (1 vital, 3 minor), `priority_of_calls` of
    one that only calls say: the ledger lists it. `extract` returns its points without a model, given
    those of the previous handover. `is_replaced`: its points are open ones, and those of the previous
    handover that are settled by now go. `is_listed`: the ledger lists what calls did of it.
    """

    title: str
    scope: str
    rank: int
    priority: int
    priority_of_calls: int
    extract: Callable[[HistoryExtract, Sequence[Bullet]], list[Bullet]]
    is_replaced: bool = False
    is_listed: bool = False


BACKGROUND = SectionKind(
    "Project Background",
    "what the project is and what the user wants of it; technology, structure, where things are.",
    rank=6,
    priority=1,
    priority_of_calls=1,
    extract=HistoryExtract.background,
)
DETAILS = SectionKind(
    "Technical Details",
    "constraints found; decisions with their reasons, and the ways that were rejected and why; lessons "
    "from what failed. Where the user changed their mind, what holds now and what it replaced stand in "
    "one bullet.",
    rank=4,
    priority=2,
    priority_of_calls=2,
    extract=HistoryExtract.details,
)
COMPLETED = SectionKind(
    "Completed Work",
    "what was changed in which file, and what proved it.",
    rank=3,
    priority=2,
    priority_of_calls=3,
    extract=HistoryExtract.completed,
    is_listed=True,
)
ISSUES = SectionKind(
    "Current Issues",
    "what fails or is open, with its error text; what blocks the work, and on whom it waits.",
    rank=1,
    priority=2,
    priority_of_calls=2,
    extract=HistoryExtract.issues,
    is_replaced=True,
    is_listed=True,
)
TODO_ITEMS = SectionKind(
    "TODO Items",
    "what is left, most urgent first.",
    rank=2,
    priority=1,
    priority_of_calls=1,
    extract=HistoryExtract.todo,
    is_replaced=True,
)
PREFERENCES = SectionKind(
    "User Preferences",
    "what the user asked for always, what they forbade, style and way of working.",
    rank=5,
    priority=1,
    priority_of_calls=1,
    extract=HistoryExtract.preferences,
)
SECTIONS = (BACKGROUND, DETAILS, COMPLETED, ISSUES, TODO_ITEMS, PREFERENCES)
"""The sections, in the order in which a model writes and reads them."""
TITLES = tuple(kind.title for kind in SECTIONS)
KINDS = {kind.title: kind for kind in SECTIONS}
"""By title; a stored handover may have others."""
_NUMBERS = {6: "six", 7: "seven", 8: "eight"}


def name_sections(prompt: str) -> str:
    """Return the prompt for handovers with the headings of the sections, and what belongs where."""
    headings = "\n".join(f"## {title}" for title in TITLES)
    scopes = "\n".join(f"- {kind.title}: {kind.scope}" for kind in SECTIONS)
    filled = prompt.replace("{number}", _NUMBERS.get(len(SECTIONS), str(len(SECTIONS))))
    return filled.replace("{headings}", headings).replace("{scopes}", scopes)


def ordered_sections(sections: Sequence[Section]) -> list[Section]:
    """Return sections in the order of a timeline: what is open comes first."""
    return sorted(sections, key=lambda section: KINDS[section.title].rank if section.title in KINDS else 0)


def gist_sections(sections: Sequence[Section]) -> list[Section]:
    filled = [section for section in ordered_sections(sections) if section.bullets]
    return [Section(section.title, section.bullets[:_SECTION_BULLETS]) for section in filled[:_GIST_SECTIONS]]


def gist_bullets(sections: Sequence[Section]) -> list[Bullet]:
    """Return the sentences that say most of a handover, in a few lines."""
    firsts = [bullet for section in ordered_sections(sections) for bullet in section.bullets[:1]]
    return firsts[:_GIST_BULLETS]


def extractive_handover(
    items: Iterable[LogItem], previous: HandoverMade | None, reverts: Mapping[str, FileRevert] = _NO_REVERTS
) -> tuple[Section, ...]:
    """Return the sections for these messages, updating the previous handover's.

    `reverts` are the user's of what the agent changed in files, by path.
    """
    extract = HistoryExtract()
    for item in items:
        extract.add(item)
    extract.ledger.mark_reverted(reverts)
    return extract.sections(previous)


def _newest(bullets: list[Bullet]) -> list[Bullet]:
    return bullets[-_PER_SECTION:]


def _with_newer(old: Sequence[Bullet], new: Sequence[Bullet]) -> list[Bullet]:
    """Return the newest of both; of two that say much the same the newer one."""
    words = [_words(bullet) for bullet in new]
    different = [bullet for bullet in old if not any(_is_alike(_words(bullet), newer) for newer in words)]
    return _newest([*different, *new])


def _is_settled(text: str, sentence: str) -> bool:
    """Return True if a sentence in lower case has the number of an open point, or all names of a failure."""
    if label := _LABEL.match(text):
        point, settles = rf"{re.escape(label[1].lower())}\b(?!\.\d)", _SETTLES.pattern
        said = rf"{point}[^,;:]{{0,60}}{settles}|{settles} (?:\w+ ){{0,2}}{point}"
        return re.search(said, sentence) is not None
    names = [name for name in identifiers_in(text) if not name.endswith(("Error", "Exception"))]
    return bool(names and find_error(text)) and all(name.lower() in sentence for name in names)


def _words(bullet: Bullet) -> Set[str]:
    return set(_WORD.findall(bullet.text.lower()))


def _is_alike(words: Set[str], others: Set[str]) -> bool:
    """Return True if two sentences say much the same, of the same names and numbers."""
    fewer, more = sorted((words, others), key=len)
    is_of_same = all(word in more for word in fewer if _NAME.search(word))
    return is_of_same and len(fewer & more) >= _ALIKE * len(fewer)


def _join(old: Sequence[Bullet], new: Sequence[Bullet]) -> tuple[Bullet, ...]:
    """Return both; of too many the first two and the newest, without what calls did before all else."""
    others = [
        bullet for bullet in old if not bullet.text.startswith((f"{LAST_REQUEST}: ", f"{ANSWERED_REQUEST}: "))
    ]
    bullets = list({bullet.text: bullet for bullet in (*others, *new)}.values())
    excess = len(bullets) - _PER_SECTION
    routine = [bullet for bullet in bullets if bullet.text.startswith(_ROUTINE)][: max(0, excess)]
    bullets = [bullet for bullet in bullets if bullet not in routine]
    if len(bullets) <= _PER_SECTION:
        return tuple(bullets)
    return (*bullets[:2], *bullets[-(_PER_SECTION - 2) :])


def _request(label: str, request: tuple[int, str] | None) -> list[Bullet]:
    return [Bullet(f"{label}: {_sentence(request[1])}", (request[0],))] if request else []


def _todo_bullets(todo: tuple[int, tuple[TodoItem, ...]], *statuses: TodoStatus) -> list[Bullet]:
    seq, items = todo
    return [
        Bullet(f"{_TODO_LABELS[item.status]}: {_sentence(item.content)}", (seq,))
        for status in statuses
        for item in items
        if item.status == status
    ]


def _completed(ledger: Ledger) -> list[Bullet]:
    changed = [use for use in ledger.files.values() if use.is_changed]
    passed = [run for run in ledger.commands.values() if run.exit_code == 0 and run.ok]
    bullets = [Bullet(f"Changed {use.path}", (use.seq,)) for use in changed[-_PER_SECTION:]]
    bullets += [
        Bullet(_with_result(f"Ran `{_sentence(run.command)}`: exit 0", run.result), (run.seq,))
        for run in passed[-_PER_SECTION:]
    ]
    return _newest(bullets)


def _reverted(ledger: Ledger) -> list[Bullet]:
    """Return what the user took back: a request that was done and is not wanted, or not like that."""
    reverted = [use for use in ledger.files.values() if use.revert is not None]
    return [
        Bullet(f"{use.path}: the user reverted {'part of ' * use.revert.is_partial}the change", (use.seq,))
        for use in reverted[-_PER_SECTION:]
        if use.revert is not None
    ]


def _commits(ledger: Ledger) -> list[Bullet]:
    tree, commits = ledger.working_tree, ledger.git.newest_first[:_COMMITS]
    newest: list[GitCommit | WorkingTree] = [*([tree] if tree else []), *commits]
    return [Bullet(entry.text, (entry.seq,)) for entry in reversed(newest)]


def _issues(ledger: Ledger) -> list[Bullet]:
    failed = [run for run in ledger.runs if run.exit_code is not None and not run.ok and not run.passed]
    bullets = [
        Bullet(_with_result(f"`{_sentence(run.command)}` ended with {run.exit_code}", run.result), (run.seq,))
        for run in failed[-_PER_SECTION:]
    ]
    bullets += [
        Bullet(f"{failure.tool} {failure.target} failed: {_sentence(failure.text)}", (failure.seq,))
        for failure in [*ledger.failures.values()][-3:]
    ]
    return _newest(bullets)


def _with_result(text: str, result: str) -> str:
    return f"{text}: {_sentence(result)}" if result else text


def _sentence(text: str) -> str:
    return cut_between_words(" ".join(text.split()), _SENTENCE_CAP)


_QUOTED, _LISTED = "Quoted below", "In the ledger below"
_BULLET_WORD = re.compile(r"[\w./-]+")
_REQUEST_LABELS = (OPENING, LAST_REQUEST, ANSWERED_REQUEST, "Last request covered here")
"""How a sentence begins that quotes a request; the last one in handovers of older versions."""
_LABEL_WORDS = frozenset(["Changed", "Committed", "Opened", "Ran", "exit", "ended", "with", "failed"])


def without_repeats(handover: HandoverMade, verbatim: Sequence[str]) -> HandoverMade:
    """Return the handover as it is sent, where these messages of the user stand `verbatim` below it.

    Of a section whose sentences they or the ledger say whole, where they stand is left. What a model or the
    user wrote stays.
    """
    if handover.edited or handover.model not in ("", NO_MODEL):
        return handover
    texts = [_plain(text) for text in verbatim]
    lines = handover.ledger.splitlines()
    sections = tuple(_without_repeats(section, texts, lines) for section in handover.sections)
    return msgspec.structs.replace(handover, sections=sections)


def _without_repeats(section: Section, texts: Sequence[str], lines: Sequence[str]) -> Section:
    bullets: list[Bullet] = []
    repeated: dict[str, list[int]] = {}
    listed = {kind.title for kind in SECTIONS if kind.is_listed}
    for bullet in section.bullets:
        label = next((label for label in _REQUEST_LABELS if bullet.text.startswith(f"{label}: ")), "")
        words = _plain(bullet.text.removeprefix(f"{label}: ")).removesuffix("…").rstrip()
        if any(words in text for text in texts):
            if label:
                bullets.append(Bullet(f"{label}: {_QUOTED.lower()}", bullet.sources))
            else:
                repeated.setdefault(_QUOTED, []).extend(bullet.sources)
        elif section.title in listed and _is_listed(bullet, lines):
            repeated.setdefault(_LISTED, []).extend(bullet.sources)
        else:
            bullets.append(bullet)
    if not bullets:
        bullets = [Bullet(where, tuple(dict.fromkeys(sources))) for where, sources in repeated.items()]
    return Section(section.title, tuple(bullets))


def _is_listed(bullet: Bullet, lines: Sequence[str]) -> bool:
    """Return True if the ledger's lines of a sentence's sources have all its words."""
    numbers = {f"e{seq}" for seq in bullet.sources}
    found: set[str] = set()
    for line in lines:
        words = _BULLET_WORD.findall(line)
        if not numbers or not numbers.isdisjoint(words):
            found.update(words)
    return found.issuperset(set(_BULLET_WORD.findall(bullet.text)) - _LABEL_WORDS)


def _plain(text: str) -> str:
    return " ".join(text.split())
