"""The demo model's handovers and observations: what the engine extracts where no model writes them.

They are read back from a request, as a model reads it, and cite its entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.handover import parse_bullets, parse_heading
from helix_desktop.context.summaries.message_facts import sentences_in, statements_in
from helix_desktop.context.summaries.observation import (
    extract_observations,
    merge_observations,
    observation_bullet,
)
from helix_desktop.context.summaries.sections import (
    BACKGROUND,
    COMPLETED,
    DETAILS,
    ISSUES,
    KINDS,
    SECTIONS,
    TITLES,
    TODO_ITEMS,
    extractive_handover,
)
from helix_desktop.context.summaries.sections import OPENING as BEGINNING
from helix_desktop.context.summaries.summary_task import MERGE_TITLE
from helix_desktop.domain.events.conversation import AssistantSpoke, MessageEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Observation, ObservationsMade, Section
from helix_desktop.domain.messages import ToolCall
from helix_desktop.providers.demo.script import Script, newest_position

_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_RECORD_START = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_ENTRY = re.compile(r"^e(\d+) (user|assistant|tool)\b(?:: ?| )(.*)$")
_OUTPUT = re.compile(r"(\S+) (.*?)(?: exit (-?\d+))?( FAILED)?: ?(.*)", re.DOTALL)
_CALLS = " -> calls "
_FACT = re.compile(
    r"^(?:known \d+: )?observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$", re.MULTILINE
)
_PLACE = re.compile(r"^- Request \d+: .+ steps? done\..*\n?", re.MULTILINE)
_RUN = re.compile(r"Ran `(\S+ \S+ \S+)")  # a program with what it runs, such as `python3 -m unittest`
_SOURCE = re.compile(r"\be(\d+)\b")
_BULLET = "- "
_MAX_POINTS = 8  # of a section
_MAX_CHARS = 1_950  # characters of all bullets: about 700 tokens with their citations
_NEWEST, _OF_MESSAGE, _STATEMENT_CHARS = 60, 20, 320  # messages, statements of each, characters of those
_CHANGED, _NOTHING = "Changed ", "None."
_BEGINNINGS = (
    (BACKGROUND.title, (BEGINNING,)),
    (COMPLETED.title, (_CHANGED, "Ran ", "Done: ", "Committed ")),
)


def write_handover(request: str, scripts: Sequence[Script] = ()) -> str:
    """Return the handover for the text of a summary request, with its place in one of the scripts."""
    head, merges, parts = request.partition(MERGE_TITLE)
    if merges:
        sections = _sections_of(head)
        for part in _PART.split(parts)[1:]:
            sections = _joined(sections, _sections_of(part.replace("\n| ", "\n")))
        return _text(sections, 0)
    head, body = _split(request)
    items = _items_of(body)
    previous = _joined(_sections_of(_PLACE.sub("", head)), _by_section(_facts_of(body)))
    former = tuple(Section(title, tuple(previous.get(title, ()))) for title in TITLES)
    last = items[-1].seq if items else 0
    handover = HandoverMade(0, 0, former, "", "", 0, 0, 0, 0, 0, "", HandoverTrigger.CONTINUED)
    written = extractive_handover(items, handover if previous else None)
    sections = {section.title: [*section.bullets] for section in written}
    done, issues = sections[COMPLETED.title], sections[ISSUES.title]
    runs = {bullet: run[1] for bullet in done if (run := _RUN.match(bullet.text))}
    done = [bullet for bullet in done if bullet not in runs]
    sections[COMPLETED.title] = sorted([*[*runs][-1:], *done], key=_is_other)
    sections[ISSUES.title] = [
        it
        for it in issues
        if not any(run.sources > it.sources and f"`{program}" in it.text for run, program in runs.items())
    ]
    known = "".join(bullet.text for bullets in sections.values() for bullet in bullets)
    sections[DETAILS.title] += [
        Bullet(sentence.text, (item.seq,))
        for item in items[-_NEWEST:]
        if isinstance(item.event, AssistantSpoke)
        for sentence in statements_in(item.event.text, _OF_MESSAGE, _STATEMENT_CHARS)
        if sentence.text not in known
    ]
    sections[TODO_ITEMS.title] += _place(items, scripts)
    return _text(sections, last)


def write_observations(request: str) -> str:
    head, body = _split(request)
    return _facts_text(extract_observations(_items_of(body), _facts_of(head)))


def write_reflection(request: str) -> str:
    """Return the observations of a request in fewer words."""
    facts = tuple(_facts_of(_split(request)[1]))
    made = ObservationsMade(0, 0, facts, (), "", "", 0, 0, 0, 0, "")
    return _facts_text(merge_observations([made]))


def _split(request: str) -> tuple[str, str]:
    match = _RECORD_START.search(request)
    return (request[: match.start()], request[match.end() :]) if match else (request, "")


def _items_of(body: str) -> list[LogItem]:
    """Return the messages of a record, with what the extraction reads of them."""
    found: list[tuple[int, str, str]] = []
    for line in body.splitlines():
        entry = _ENTRY.match(line)
        if entry and int(entry[1]) > (found[-1][0] if found else 0):
            found.append((int(entry[1]), entry[2], entry[3]))
        elif found and not _FACT.match(line):
            seq, role, text = found[-1]
            found[-1] = seq, role, f"{text}\n{line.removeprefix('| ')}"
    return [LogItem(seq, seq, 0, 0, _event(role, text), 0, 0) for seq, role, text in found]


def _event(role: str, text: str) -> MessageEvent:
    if role == "user":
        return UserSpoke(text, 0)
    if role == "assistant":
        words, calls, names = f" {text}".partition(_CALLS)
        return AssistantSpoke(words.strip(), "", 0, (ToolCall("", names, "{}"),) if calls else ())
    output = _OUTPUT.fullmatch(text)
    name, target, code, failed, printed = output.groups() if output else ("", "", None, None, text)
    return ToolAnswered(
        *("", name, printed, "", 0, 0, 0, target),
        ok=not failed,
        exit_code=int(code) if code else None,
        first_line=printed.split("\n", 1)[0],
    )


def _facts_of(text: str) -> list[Observation]:
    found = [
        (int(priority), fact, tuple(map(int, _SOURCE.findall(sources))))
        for priority, fact, sources in _FACT.findall(text)
    ]
    return [
        Observation(max(sources, default=0), priority, fact, sources) for priority, fact, sources in found
    ]


def _sections_of(text: str) -> dict[str, list[Bullet]]:
    """Return the bullets of a handover in a text, by section."""
    sections: dict[str, list[Bullet]] = {}
    current: list[Bullet] = []
    for line in text.splitlines():
        if title := parse_heading(line):
            current = sections.setdefault(title, []) if title in KINDS else []
        elif line.startswith(_BULLET):
            sources = frozenset(map(int, _SOURCE.findall(line)))
            current += parse_bullets([line.removeprefix(_BULLET)], sources)
    return sections


def _by_section(facts: Iterable[Observation]) -> dict[str, list[Bullet]]:
    sections: dict[str, list[Bullet]] = {}
    for fact in facts:
        title = next((title for title, begins in _BEGINNINGS if fact.text.startswith(begins)), DETAILS.title)
        sections.setdefault(title, []).append(Bullet(fact.text, fact.sources))
    return sections


def _joined(
    sections: Mapping[str, Sequence[Bullet]], later: Mapping[str, Sequence[Bullet]]
) -> dict[str, list[Bullet]]:
    """Return the bullets of both, each once; what is open is as the later one says, if it says anything."""
    joined: dict[str, list[Bullet]] = {}
    for kind in SECTIONS:
        old, new = sections.get(kind.title, ()), later.get(kind.title, ())
        both = new if kind.is_replaced and new else (*old, *new)
        joined[kind.title] = list({bullet.text: bullet for bullet in both}.values())
    return {title: bullets for title, bullets in joined.items() if bullets}


def _place(items: Sequence[LogItem], scripts: Sequence[Script]) -> list[Bullet]:
    for item in reversed(items):
        text = item.event.text if isinstance(item.event, AssistantSpoke) else ""
        if text and (position := newest_position([text], scripts)) is not None:
            return [Bullet(position.place, (item.seq,))]
    return []


def _text(sections: Mapping[str, Sequence[Bullet]], last_seq: int) -> str:
    """Return the handover; until all fit, what states least goes from the longest section."""
    points = {title: list(sections.get(title, ())) for title in TITLES}

    def excess(bullets: list[Bullet]) -> tuple[bool, int]:
        return len(bullets) > _MAX_POINTS, sum(len(_line(bullet)) for bullet in bullets[1:])

    while True:
        fullest = max(points.values(), key=excess)
        chars = sum(len(_line(bullet)) for bullets in points.values() for bullet in bullets)
        if len(fullest) <= 1 or (chars <= _MAX_CHARS and not excess(fullest)[0]):
            break
        fullest.remove(min(fullest[1:], key=lambda it: (not _is_other(it), _worth(it))))
    nothing = [Bullet(_NOTHING, (last_seq,) if last_seq else ())]
    parts = ((f"## {title}", *map(_line, points[title] or nothing)) for title in TITLES)
    return "\n".join(line for part in parts for line in part)


def _is_other(bullet: Bullet) -> bool:
    return not bullet.text.startswith(_CHANGED)


def _worth(bullet: Bullet) -> int:
    return max((sentence.worth for sentence in sentences_in(bullet.text)), default=0)


def _line(bullet: Bullet) -> str:
    cited = f" [{', '.join(f'e{seq}' for seq in bullet.sources)}]" if bullet.sources else ""
    return f"{_BULLET}{bullet.text}{cited}"


def _facts_text(facts: Iterable[Observation]) -> str:
    return "\n".join(map(observation_bullet, facts)) or "- (3) Nothing of note was said."
