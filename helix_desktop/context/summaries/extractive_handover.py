"""The sections of a handover that no model writes: the last resort, and the handover as it would be now.

Every sentence is quoted or counted, and each bullet names its sources. What the agent concluded comes before
what its calls did, which the ledger lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import (
    CommandRun,
    Ledger,
)
from helix_desktop.context.summaries.message_facts import (
    DECISION_CHARS,
    cut_between_words,
    is_bare_decision,
    is_bare_reply,
    preferences_in,
    statements_in,
)
from helix_desktop.context.summaries.sections import (
    BACKGROUND,
    COMPLETED,
    DETAILS,
    ISSUES,
    PREFERENCES,
    SECTIONS,
    TITLES,
    TODO_ITEMS,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import NO_MODEL, Bullet, HandoverMade, Section
from helix_desktop.domain.todo import TODO, TodoItem, TodoStatus, parse_items
from helix_desktop.domain.typed_text import typed_text

OPENING = "The user asked"
_OPEN_REQUEST = "Open request"
_ANSWERED_REQUEST = "Answered request"
_REQUEST_LABELS = (OPENING, _OPEN_REQUEST, _ANSWERED_REQUEST)
"""How a sentence begins that quotes a request."""
_NEWEST_REQUEST = (f"{_OPEN_REQUEST}: ", f"{_ANSWERED_REQUEST}: ")
"""The same of a request that was the newest."""
CHANGED = "Changed"
"""How a sentence begins that says what a call changed."""
RAN = "Ran"
"""How a sentence begins that says what a call ran."""
DONE = "Done"
"""How a sentence begins that says what is done of the agent's list."""
_EXIT = "exit"
_ENDED = "ended with"
_FAILED = "failed"
_CALL_WORDS = frozenset(f"{CHANGED} Committed {RAN} {_EXIT} {_ENDED} {_FAILED}".split())
"""What a sentence about a call says besides names and results."""
_REVERTED = ": the user reverted "
_PER_SECTION = 14  # bullets
_FINDINGS = 6  # newest ones of the turn that runs
_SENTENCE_CAP = 240  # characters
_STATEMENT_CAP = 400  # characters
_OF_CONCLUSION = 3  # sentences of a message that ended its turn
_OF_OTHERS = 2  # sentences of another message
_TODO_LABELS: dict[TodoStatus, str] = {"done": DONE, "in_progress": "In progress", "pending": "To do"}
_LIST_LABELS = tuple(f"{label}: " for label in _TODO_LABELS.values())
_ROUTINE = (f"{CHANGED} ", f"{RAN} `", f"{DONE}: ")  # the ledger and the todo list say it too
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
        self._preferences: list[Bullet] = []
        self._todo: tuple[int, tuple[TodoItem, ...]] = (0, ())
        self._earlier_todo: tuple[int, tuple[TodoItem, ...]] = (0, ())

    def add(self, item: LogItem) -> None:
        self.ledger.add(item)
        match item.event:
            case UserSpoke(text=text) if words := typed_text(text):
                self._is_answered = False
                if not is_bare_reply(words):
                    self._last_request = (item.seq, words)
                    self._first_request = self._first_request or self._last_request
                for preference in preferences_in(words):
                    self._add_preference(item.seq, preference, _SENTENCE_CAP)
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                if decision and not is_bare_decision(decision):
                    self._add_preference(item.seq, decision, DECISION_CHARS)
            case ToolAnswered(name=name, ok=is_ok) if name == TODO and not is_ok:
                self._todo = self._earlier_todo  # the tool refused the list
            case AssistantSpoke(text=text, calls=calls):
                lists = [
                    items for call in calls if call.name == TODO and (items := parse_items(call.arguments))
                ]
                if lists:
                    self._earlier_todo = self._todo
                    self._todo = (item.seq, lists[-1])
                if not calls and text.strip():  # what follows without a request goes on with nothing
                    self._is_answered = True
                self._add_statements(item.seq, text, is_conclusion=not calls)

    def _add_statements(self, seq: int, text: str, is_conclusion: bool) -> None:
        statements = statements_in(text, _OF_CONCLUSION if is_conclusion else _OF_OTHERS, _STATEMENT_CAP)
        stated = [Bullet(statement, (seq,)) for statement in statements]
        if is_conclusion:
            self._findings = []
            self._details = _newest([*self._details, *stated])
        else:
            self._findings = _newest([*self._findings, *stated])

    def _add_preference(self, seq: int, text: str, max_chars: int) -> None:
        bullet = Bullet(cut_between_words(" ".join(text.split()), max_chars), (seq,))
        others = [other for other in self._preferences if other.text != bullet.text]
        self._preferences = _newest([*others, bullet])

    def sections(self, previous: HandoverMade | None) -> tuple[Section, ...]:
        old: dict[str, Sequence[Bullet]] = (
            {section.title: section.bullets for section in previous.sections} if previous else {}
        )
        done = _newest(_todo_bullets(self._todo, "done"))
        request = [] if self._is_answered else self._request_on_record()
        new: dict[str, list[Bullet]] = {
            BACKGROUND.title: self._background(old.get(BACKGROUND.title, ())),
            DETAILS.title: _newest([*self._details, *self._findings[-_FINDINGS:]]),
            COMPLETED.title: _newest([*_completed(self.ledger), *done]),
            ISSUES.title: _newest([*_reverted(self.ledger), *_issues(self.ledger)]),
            TODO_ITEMS.title: [*request, *_todo_bullets(self._todo, "in_progress", "pending")],
            PREFERENCES.title: self._preferences,
        }
        over = {f"{CHANGED} {use.path}" for use in self.ledger.files.values() if use.is_reverted}
        outdated = _NEWEST_REQUEST if self._last_request or self._is_answered else ()
        old = {
            title: [it for it in bullets if it.text not in over and not it.text.startswith(outdated)]
            for title, bullets in old.items()
        }
        for title in (kind.title for kind in SECTIONS if kind.is_replaced):
            old[title] = self._still_open(old.get(title, ()), previous.upto if previous else 0)
        return tuple(Section(title, _join(old.get(title, ()), new[title])) for title in TITLES)

    def _background(self, old: Sequence[Bullet]) -> list[Bullet]:
        """Return the session's first request, unless it is known, and the last one once it is answered."""
        first = self._first_request
        last = self._last_request
        is_known = any(bullet.text.startswith(OPENING) for bullet in old)
        opening = [] if is_known else _request(OPENING, first)
        return [*opening, *(self._request_on_record() if self._is_answered and first != last else [])]

    def _request_on_record(self) -> list[Bullet]:
        return _request(_ANSWERED_REQUEST if self._is_answered else _OPEN_REQUEST, self._last_request)

    def _still_open(self, bullets: Iterable[Bullet], upto: int) -> list[Bullet]:
        """Return what a handover up to an event called open and nothing since settles, marked as of before.

        A newer todo list settles what the list had, and another run of a command its failure.
        """
        has_newer_list = self._todo[0] > upto
        commands = tuple(f"{_command(run)} " for run in self.ledger.commands.values() if run.seq > upto)
        return [
            Bullet(bullet.text.removesuffix(_EARLIER) + _EARLIER, bullet.sources)
            for bullet in bullets
            if not bullet.text.startswith(commands)
            if not (has_newer_list and bullet.text.startswith(_LIST_LABELS))
        ]


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


def _join(old: Sequence[Bullet], new: Sequence[Bullet]) -> tuple[Bullet, ...]:
    """Return both; of too many the first two and the newest, without what calls did before all else."""
    bullets = list({bullet.text: bullet for bullet in (*old, *new)}.values())
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
    bullets = [Bullet(f"{CHANGED} {use.path}", (use.seq,)) for use in changed[-_PER_SECTION:]]
    bullets += [
        Bullet(_with_result(f"{RAN} {_command(run)}: {_EXIT} 0", run.result), (run.seq,))
        for run in passed[-_PER_SECTION:]
    ]
    return _newest(bullets)


def _reverted(ledger: Ledger) -> list[Bullet]:
    """Return what the user took back: a request that was done and is not wanted, or not like that."""
    reverted = [use for use in ledger.files.values() if use.revert is not None]
    return [
        Bullet(f"{use.path}{_REVERTED}{'part of ' * use.revert.is_partial}the change", (use.seq,))
        for use in reverted[-_PER_SECTION:]
        if use.revert is not None
    ]


def event_of(bullet: Bullet, reverts: Mapping[str, FileRevert]) -> int:
    """Return the event behind which a sentence is true: of a revert its own, which is no message."""
    path, revert, _ = bullet.text.partition(_REVERTED)
    reverted = reverts.get(path.removeprefix("./")) if revert else None
    return reverted.seq if reverted is not None else min(bullet.sources)


def _issues(ledger: Ledger) -> list[Bullet]:
    failed = [run for run in ledger.commands.values() if run.exit_code is not None and not run.ok]
    bullets = [
        Bullet(_with_result(f"{_command(run)} {_ENDED} {run.exit_code}", run.result), (run.seq,))
        for run in failed[-_PER_SECTION:]
    ]
    bullets += [
        Bullet(f"{failure.tool} {failure.target} {_FAILED}: {_sentence(failure.text)}", (failure.seq,))
        for failure in ledger.failures.values()
    ]
    return _newest(bullets)


def _with_result(text: str, result: str) -> str:
    return f"{text}: {_sentence(result)}" if result else text


def _command(run: CommandRun) -> str:
    return f"`{_sentence(run.command)}`"


def _sentence(text: str) -> str:
    return cut_between_words(" ".join(text.split()), _SENTENCE_CAP)


_QUOTED = "Quoted below"
_LISTED = "In the ledger below"
_BULLET_WORD = re.compile(r"[\w./-]+")


def without_repeated_bullets(handover: HandoverMade, verbatim: Sequence[str]) -> HandoverMade:
    """Return the handover as it is sent, where these messages of the user stand `verbatim` below it.

    Of a section whose sentences they or the ledger say whole, where they stand is left. What a model or the
    user wrote stays.
    """
    if handover.edited or handover.model not in ("", NO_MODEL):
        return handover
    texts = [_plain(text) for text in verbatim]
    lines = handover.ledger.splitlines()
    sections = tuple(_without_repeated_bullets(section, texts, lines) for section in handover.sections)
    return msgspec.structs.replace(handover, sections=sections)


def _without_repeated_bullets(section: Section, texts: Sequence[str], lines: Sequence[str]) -> Section:
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
    return found.issuperset(set(_BULLET_WORD.findall(bullet.text)) - _CALL_WORDS)


def _plain(text: str) -> str:
    return " ".join(text.split())
