"""The demo model's handovers and observations, extracted from the history in a request.

Nothing is composed but the frame of a sentence: every path, number, decision and result comes from an entry
of the record, and the entry's id stands behind it.

A previous handover in the request is updated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from helix_desktop.context.summaries.message_facts import main_statement, only_announces
from helix_desktop.context.summaries.sections import (
    BACKGROUND,
    COMPLETED,
    DETAILS,
    ISSUES,
    PREFERENCES,
    TITLES,
    TODO_ITEMS,
)
from helix_desktop.domain.messages import typed_text
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.providers.demo.script import Script, newest_position

_RECORD_START = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_ENTRY = re.compile(r"^e(\d+) (user|assistant|tool)\b ?(.*)$")
_LATER_REQUEST = re.compile(r"^later e(\d+) user: (.+)$", re.MULTILINE)
_FACT = re.compile(r"^observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$")
_HEADING = re.compile(r"^## (.+)$")
_BULLET = re.compile(r"^- (.+?) \[(e\d+(?:, e\d+)*)\]$")


class HistoryLine(msgspec.Struct, frozen=True):
    seq: int
    role: str
    text: str


class SummaryPoint(msgspec.Struct, frozen=True):
    """A bullet: a sentence and the sequence numbers of its sources."""

    text: str
    sources: tuple[int, ...]

    @property
    def line(self) -> str:
        cited = f" [{', '.join(f'e{seq}' for seq in self.sources)}]" if self.sources else ""
        return f"- {self.text}{cited}"


def split_record(request: str) -> tuple[str, str]:
    match = _RECORD_START.search(request)
    return (request[: match.start()], request[match.end() :]) if match else (request, "")


def newest_request(head: str) -> SummaryPoint | None:
    """Return the user's newest message after the history, which stays as it is; None if there is none."""
    requests = _LATER_REQUEST.findall(head)
    return SummaryPoint(requests[-1][1], (int(requests[-1][0]),)) if requests else None


def read_facts(body: str) -> list[tuple[int, SummaryPoint]]:
    matches = [entry for line in body.splitlines() if (entry := _FACT.match(line))]
    return [
        (
            int(match[1]),
            SummaryPoint(match[2], tuple(int(seq[1:]) for seq in (match[3] or "").split(", ") if seq)),
        )
        for match in matches
    ]


def read_record(body: str) -> list[HistoryLine]:
    record: list[HistoryLine] = []
    for line in body.splitlines():
        if _FACT.match(line):
            continue
        entry = _ENTRY.match(line)
        if entry and int(entry[1]) > (record[-1].seq if record else 0):
            record.append(HistoryLine(int(entry[1]), entry[2], entry[3].removeprefix(": ").strip()))
        elif record:
            record[-1] = HistoryLine(
                record[-1].seq, record[-1].role, f"{record[-1].text}\n{line.removeprefix('| ')}"
            )
    return record


def read_sections(head: str) -> dict[str, list[SummaryPoint]]:
    sections: dict[str, list[SummaryPoint]] = {}
    current: list[SummaryPoint] = []
    for line in head.splitlines():
        heading, bullet = _HEADING.match(line), _BULLET.match(line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif bullet:
            current.append(
                SummaryPoint(bullet[1], tuple(int(source[1:]) for source in bullet[2].split(", ")))
            )
    return sections


FIRST_REQUEST = "The user asked first:"
"""The beginning of the point that says what a session is about."""

TEST_RUN, NEWEST_RUN, FAILING = "Test run:", "The newest test run", "Failing test:"
LEFT_TO_USER = "Left to the user:"
_PASSED = "OK."
_REQUEST = "The user asked:"
_BEGINNING = 9  # events up to which a request is a session's first: later records begin in its middle
MAX_POINTS = 8
"""Maximum points per section."""

_PREFERENCE = re.compile(
    r"\b(do not|don't|without|keep|please|always|never|prefer|only|small)\b", re.IGNORECASE
)
_DETAIL = re.compile(r"\d|`")
_TEST_COUNT = re.compile(r"Ran (\d+) tests?")
_VERDICT = re.compile(r"(?m)(?:^|: )(OK|FAILED \([^)\n]*\))\s*$")
_CHANGE = re.compile(r"Edited |Wrote |Lines: ")  # of a file: Completed Work says it
_LEFT = re.compile(r"\b(?:yours to decide|left for you)\b", re.IGNORECASE)
_LEFT_OPENING = re.compile(r"left for you: ", re.IGNORECASE)
_CHANGED = re.compile(r"(Edited|Wrote)(?: [\d,]+ bytes to)? ([^\s:]+)")
_SAID_OF_CHANGE = re.compile(
    r"(Edited [^\s:]+|Wrote [\d,]+ bytes to \S+)(?=[: ])"
    r".*?(?:Lines: \d+(?: (?:->|→) \d+)?|\([^)]*\))[.:] (?!Lines: )(.+)"
)
"""What an answer says of a change, behind the line of the tool."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_MIN_CHARS, _MAX_CHARS = 30, 240  # characters of a bullet's sentence: a longer one is left out, none is cut
_REQUEST_CHARS = 180  # characters of a quoted request: whole sentences, the first in any case
_CONCLUSION_CHARS = 320  # characters of what an answer came to, which may be several sentences
_MAX_TYPED = 1_500  # characters of a message: a longer one was pasted, and its rules are a template's
_MAX_CONCLUSIONS = 3  # newest that stand for work of which no call is known
_CALLS = " -> calls "


def extract_points(
    lines: Sequence[HistoryLine], scripts: Sequence[Script] = (), request: SummaryPoint | None = None
) -> dict[str, list[SummaryPoint]]:
    """Return the points of a history, by section; its place in one of the scripts is one of them.

    The newest request may be one after this history.
    """
    points = {title: _WRITERS[title](lines) for title in TITLES}
    points[TODO_ITEMS.title] += _newest_request(lines, request)
    points[TODO_ITEMS.title] += _place(lines, scripts)
    return points


def _background(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    requests = _requests(lines)
    points = [
        SummaryPoint(
            f"{FIRST_REQUEST if line.seq <= _BEGINNING else _REQUEST} {_quoted(line.text)}", (line.seq,)
        )
        for line in requests[:1]
    ]
    for line in _tool_lines(lines, "read_file README"):
        blocks = [" ".join(block.split()) for block in line.text.split("\n\n")[1:]]
        prose = [block for block in blocks if block and block[0].isalnum()]
        points += [SummaryPoint(f"The README says: {_quoted(prose[0])}", (line.seq,))] if prose else []
    for line in _tool_lines(lines, "list_directory"):
        match = re.search(r"\(([\d,]+) entr", line.text)
        points += (
            [SummaryPoint(f"The workspace was listed: {match[1]} entries.", (line.seq,))] if match else []
        )
    return points[:3]


def _requests(lines: Iterable[HistoryLine]) -> list[HistoryLine]:
    """Return what the user said, without commands of the terminal that a message holds."""
    users = (HistoryLine(line.seq, line.role, typed_text(line.text)) for line in lines if line.role == "user")
    return [line for line in users if line.text]


def _details(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points: list[SummaryPoint] = []
    for line in lines:
        if line.role != "assistant":
            continue
        points += [SummaryPoint(sentence, (line.seq,)) for sentence in _sentences(_answer_text(line))]
    return points


def _sentences(text: str) -> list[str]:
    plain_lines = [_plain(line) for line in text.splitlines()]
    parts = [
        part
        for line in plain_lines
        if not line.startswith("|")
        for part in re.split(r"(?<=[.;])\s+(?=[A-Z`])", line)
    ]
    return [" ".join(part.split()) for part in parts if _is_detail(part)]


def _plain(line: str) -> str:
    """Return a line without the signs of a list and of bold text."""
    return re.sub(r"^[-*\d.]+ |\*\*", "", line).strip()


def _is_detail(sentence: str) -> bool:
    return (
        _MIN_CHARS < len(sentence) <= _MAX_CHARS
        and bool(_DETAIL.search(sentence))
        and not only_announces(sentence)
        and not _CHANGE.search(sentence)
        and not _LEFT.search(sentence)
    )


def _completed(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    reads = [line for line in lines if line.role == "tool" and line.text.startswith("read_file ")]
    points: list[SummaryPoint] = []
    if reads and not any(_is_change(line) for line in lines):
        names = list(dict.fromkeys(line.text.split()[1].rstrip(":") for line in reads))
        rest = f" and {len(names) - 4} more" if len(names) > 4 else ""  # noqa: PLR2004 - names that fit a line
        text = f"Read {len(names)} files: {', '.join(names[:4])}{rest}."
        points.append(SummaryPoint(text, tuple(line.seq for line in reads[:4])))
    changed: dict[str, SummaryPoint] = {}
    for line in lines:
        match = re.search(r"((?:Wrote|Edited) [^\n\"]+)", line.text) if _is_change(line) else None
        if match:
            place = match[1].partition(" Lines: ")[0]
            changed[changed_path(place)] = SummaryPoint(place, (line.seq,))
        elif line.role == "assistant":
            changed.update(_said_of_changes(line))
    passed = [run for run in _runs(lines)[-1:] if _PASSED in run.text]
    done = [*points, *changed.values(), *passed]
    return done or _conclusions(lines)[-_MAX_CONCLUSIONS:]


def _said_of_changes(line: HistoryLine) -> dict[str, SummaryPoint]:
    """Return what an answer says that it changed, by path."""
    said: dict[str, SummaryPoint] = {}
    for text in map(_plain, _answer_text(line).splitlines()):
        match = _SAID_OF_CHANGE.search(text)
        if match and (path := changed_path(match[1])):
            said[path] = SummaryPoint(f"{match[1].split()[0]} {path}: {match[2]}", (line.seq,))
    return said


def changed_path(text: str) -> str:
    """Return the path that a point reports as changed; empty if it reports something else."""
    match = _CHANGED.match(text)
    return match[2] if match else ""


def _conclusions(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    answers = (line for line in lines if line.role == "assistant" and _CALLS not in f" {line.text}")
    statements = ((line, main_statement(line.text, _CONCLUSION_CHARS)) for line in answers)
    return [
        SummaryPoint(" ".join(statement.split()), (line.seq,)) for line, statement in statements if statement
    ]


def _runs(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points = []
    for line in _tool_lines(lines, "run_command"):
        test_count, verdict = _TEST_COUNT.search(line.text), _VERDICT.search(line.text)
        if verdict:
            count = f"{test_count[1]} tests, " if test_count else ""
            points.append(SummaryPoint(f"{TEST_RUN} {count}{verdict[1]}.", (line.seq,)))
    return points


def _issues(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    points = [
        SummaryPoint(f"Not allowed by the user: {_first_line(line)}", (line.seq,))
        for line in lines
        if _is_denied(line)
    ]
    failed = [line for line in lines if line.role == "tool" and " FAILED: " in line.text.split("\n", 1)[0]]
    points += [
        SummaryPoint(f"Failed: {_first_line(line)}", (line.seq,))
        for line in failed
        if not line.text.startswith("run_command") and not _is_denied(line)
    ]
    points += [SummaryPoint(state, sources) for state, _, sources in _left_to_user(lines) if state]
    runs = _runs(lines)
    if runs and _PASSED not in runs[-1].text:
        failed_run = f"{NEWEST_RUN} fails: {runs[-1].text.removeprefix(TEST_RUN).strip()}"
        points.append(SummaryPoint(failed_run, runs[-1].sources))
        names = {
            name: line.seq
            for line in _tool_lines(lines, "run_command")
            for name in re.findall(r"FAIL: (\w+)", line.text)
        }
        points += [SummaryPoint(f"{FAILING} {name}.", (seq,)) for name, seq in names.items()]
    return points[-MAX_POINTS:]


def _left_to_user(lines: Sequence[HistoryLine]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return what answers left to the user: how it is now, where they say it, and what is to be done."""
    found: list[tuple[str, str, tuple[int, ...]]] = []
    for line in lines:
        for text in _answer_text(line).splitlines() if line.role == "assistant" else ():
            if not _LEFT.search(text):
                continue
            plain = _LEFT_OPENING.sub("", _plain(text)).removeprefix("Note: ")
            sentences = [part for part in _SENTENCE_END.split(plain) if not _LEFT.search(part)]
            state, _, action = " ".join(sentences).rpartition("; ")
            if action:
                found.append((f"{state[:1].upper()}{state[1:]}." if state else "", action, (line.seq,)))
    return found


def _todo(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    return [SummaryPoint(f"{LEFT_TO_USER} {action}", sources) for _, action, sources in _left_to_user(lines)]


def _newest_request(lines: Sequence[HistoryLine], request: SummaryPoint | None) -> list[SummaryPoint]:
    if request is not None:
        return [SummaryPoint(f"Newest request: {_quoted(request.text)}", request.sources)]
    return [
        SummaryPoint(f"Newest request in this record: {_quoted(line.text)}", (line.seq,))
        for line in _requests(lines)[-1:]
    ]


def _place(lines: Sequence[HistoryLine], scripts: Sequence[Script]) -> list[SummaryPoint]:
    for line in reversed(lines):
        position = newest_position([_answer_text(line)], scripts) if line.role == "assistant" else None
        if position is not None:
            return [SummaryPoint(position.place, (line.seq,))]
    return []


def _answer_text(line: HistoryLine) -> str:
    return f" {line.text}".partition(_CALLS)[0].lstrip()  # a line may have calls only


def _preferences(lines: Sequence[HistoryLine]) -> list[SummaryPoint]:
    typed = (line for line in _requests(lines) if len(line.text) <= _MAX_TYPED)
    return [
        SummaryPoint(f"The user wants: {_as_sentence(_quoted(part.removeprefix('but ')))}", (line.seq,))
        for line in typed
        for part in re.split(r"(?<=[.!?,])\s+", line.text)
        if _PREFERENCE.search(part) and " " in part and not part.endswith("?")
    ]


_WRITERS: dict[str, Callable[[Sequence[HistoryLine]], list[SummaryPoint]]] = {
    BACKGROUND.title: _background,
    DETAILS.title: _details,
    COMPLETED.title: _completed,
    ISSUES.title: _issues,
    TODO_ITEMS.title: _todo,
    PREFERENCES.title: _preferences,
}


def _tool_lines(lines: Iterable[HistoryLine], start: str) -> list[HistoryLine]:
    return [line for line in lines if line.role == "tool" and line.text.startswith(start)]


def _is_change(line: HistoryLine) -> bool:
    return line.role == "tool" and line.text.startswith(("write_file ", "edit_file "))


def _is_denied(line: HistoryLine) -> bool:
    return line.role == "tool" and "The user did not allow this call" in line.text


def _first_line(line: HistoryLine) -> str:
    return _quoted(line.text.split("\n", 1)[0])


def _as_sentence(part: str) -> str:
    """Return a part of a sentence with a capital letter and without the comma at its end."""
    return part[:1].upper() + (f"{part[1:-1]}." if part.endswith(",") else part[1:])


def _quoted(text: str) -> str:
    """Return the first sentences of a text; only a first one that is too long is cut."""
    first, *others = _SENTENCE_END.split(" ".join(text.split()))
    quoted = ellipsize(first, _REQUEST_CHARS)
    for sentence in others:
        if len(quoted) + len(sentence) >= _REQUEST_CHARS:
            break
        quoted = f"{quoted} {sentence}"
    return quoted


OPENING = "[Write a handover]"
_MERGES = "The handovers of the parts of a long record, oldest first, to be merged into one:"
_PART = re.compile(r"^part \d+: ", re.MULTILINE)
_FOCUS = "Pay special attention to: "
_IMPORTANT = re.compile(r"cause|offset|recalibrat|threshold|proof|effect|limit|because|left", re.IGNORECASE)
_SECTION_OPENINGS = tuple(
    (title, re.compile(begins))
    for title, begins in (
        (BACKGROUND.title, "The user asked|The README says|The workspace was listed"),
        (PREFERENCES.title, "The user wants"),
        (COMPLETED.title, "Read |Wrote |Edited |Test run"),
        (TODO_ITEMS.title, r"Newest request|Request \d+:|Place in the script|Left to the user"),
        (ISSUES.title, "Not allowed|Failed|Failing|The newest test run"),
    )
)
_ENDS = re.compile(
    r"Newest request|Request \d+:|Place in the script|The newest test run|Failing test|Failed: "
)
"""Of what was open: what each update says again, if it still is."""
_NOTHING = "None."
_FORMER_NOTHING = "The demo model found nothing of this kind."
_MAX_TOTAL_CHARS = 1_950  # characters of all bullets: about 700 tokens with their citations
_DOCUMENT = re.compile(r"\S+\.md\b")


def write_handover(request: str, scripts: Sequence[Script] = ()) -> str:
    """Return the handover for the text of a summary request, with its place in one of the scripts."""
    if _MERGES in request:
        return _merge_parts(request)
    head, body = split_record(request)
    lines = read_record(body)
    previous = read_sections(head)
    for title, facts in _group_by_section(read_facts(body)).items():
        previous[title] = _merge_section(previous.get(title, []), facts, title)
    focus = next((line.removeprefix(_FOCUS) for line in head.splitlines() if line.startswith(_FOCUS)), "")
    points = extract_points(lines, scripts, newest_request(head))
    if previous:
        points[BACKGROUND.title] = [
            point for point in points[BACKGROUND.title] if FIRST_REQUEST not in point.text
        ]
    if focus:
        words = {word.lower() for word in re.findall(r"\w{4,}", focus)}
        points[DETAILS.title].sort(key=lambda point: any(word in point.text.lower() for word in words))
    sections = {title: _merge_section(previous.get(title, []), points[title], title) for title in TITLES}
    _shorten_to_fit(sections)
    return "\n".join(
        part for title in TITLES for part in (f"## {title}", *_section_bullets(sections[title], lines))
    )


def _merge_parts(request: str) -> str:
    """Merge the handovers of the parts into one: each updates the earlier ones."""
    head, _, body = request.partition(_MERGES)
    sections = read_sections(head)
    for part in _PART.split(body)[1:]:
        part_sections = read_sections("\n".join(line.removeprefix("| ") for line in part.splitlines()))
        sections = {
            title: _merge_section(sections.get(title, []), part_sections.get(title, []), title)
            for title in TITLES
        }
    _shorten_to_fit(sections)
    return "\n".join(
        part for title in TITLES for part in (f"## {title}", *_section_bullets(sections[title], ()))
    )


def _group_by_section(facts: Iterable[tuple[int, SummaryPoint]]) -> dict[str, list[SummaryPoint]]:
    sections: dict[str, list[SummaryPoint]] = {}
    for _, point in facts:
        title = next(
            (title for title, pattern in _SECTION_OPENINGS if pattern.match(point.text)), DETAILS.title
        )
        sections.setdefault(title, []).append(point)
    return sections


def _section_bullets(points: Sequence[SummaryPoint], lines: Sequence[HistoryLine]) -> list[str]:
    last = f" [e{lines[-1].seq}]" if lines else ""
    return [point.line for point in points] or [f"- {_NOTHING}{last}"]


def _merge_section(previous: list[SummaryPoint], new: list[SummaryPoint], title: str) -> list[SummaryPoint]:
    """Merge old points that still hold with new ones; of too many, keep the most important."""
    previous, new = (
        [point for point in points if point.text not in (_NOTHING, _FORMER_NOTHING)]
        for points in (previous, new)
    )
    if title in (ISSUES.title, TODO_ITEMS.title):
        known = {point.text for point in new}
        open_points = [
            point
            for point in previous
            if point.text not in known
            and (
                point.text.startswith(LEFT_TO_USER)
                if title == TODO_ITEMS.title
                else not _ENDS.match(point.text)
            )
        ]
        return [*open_points, *new][-MAX_POINTS:]
    if title == COMPLETED.title:
        changed_paths = {changed_path(point.text) for point in new}
        still_valid = [point for point in previous if changed_path(point.text) not in {"", *changed_paths}]
        return _most_important([*still_valid, *new], lambda point: not _DOCUMENT.search(point.text))
    point_by_text = {point.text: point for point in previous}
    point_by_text.update({point.text: point for point in new})
    return _most_important(_with_one_first_request(list(point_by_text.values())), _importance)


def _most_important(
    points: Sequence[SummaryPoint], importance: Callable[[SummaryPoint], int]
) -> list[SummaryPoint]:
    """Return as many points as a section has at most, in their order; of equals the newest."""
    ranked = sorted(enumerate(points), key=lambda place: (importance(place[1]), place[0]))
    return [point for _, point in sorted(ranked[-MAX_POINTS:])]


def _importance(point: SummaryPoint) -> int:
    return len(_IMPORTANT.findall(point.text))


def _with_one_first_request(points: Sequence[SummaryPoint]) -> list[SummaryPoint]:
    """Return the points without what was asked first in a later part of the session."""
    requests = [point for point in points if point.text.startswith(FIRST_REQUEST)]
    later = sorted(requests, key=lambda point: point.sources)[1:]
    return [point for point in points if point not in later]


def _shorten_to_fit(sections: dict[str, list[SummaryPoint]]) -> None:
    """Drop the least important point of the longest section, the oldest of equals, until all fit."""
    while sum(len(point.line) for points in sections.values() for point in points) > _MAX_TOTAL_CHARS:
        fullest = max(sections.values(), key=lambda points: sum(len(point.line) for point in points))
        if len(fullest) < 2:  # noqa: PLR2004 - a section keeps at least one point
            return
        fullest.remove(min(fullest[1:], key=_importance))


OBSERVATION_OPENING, REFLECTION_OPENING = "[Write observations]", "[Refine observations]"
_PRIORITIES = {
    BACKGROUND.title: 1,
    PREFERENCES.title: 1,
    COMPLETED.title: 2,
    ISSUES.title: 2,
    DETAILS.title: 3,
}
_MAX_FACTS = 40  # facts of one generation
_MAX_FACT_CHARS = 250  # a longer sentence is left to the handover
_MAX_REFLECTION_SHARE = 0.5  # of the characters that a reflection leaves, at most
_TEST_STATE = re.compile(r"Test run|The newest test run|Failing test")


def write_observations(request: str) -> str:
    head, body = split_record(request)
    known_texts = {point.text for _, point in read_facts(head)}
    points = extract_points(read_record(body))
    facts = [
        (priority, point)
        for title, priority in _PRIORITIES.items()
        for point in points[title]
        if point.text not in known_texts and len(point.text) <= _MAX_FACT_CHARS
    ]
    facts.sort(key=lambda fact: fact[1].sources)
    return _format_facts(_drop_least_important(facts, _MAX_FACTS))


def write_reflection(request: str) -> str:
    """Return the observations of a request without those that were superseded."""
    _, body = split_record(request)
    newest: dict[str, tuple[int, SummaryPoint]] = {}
    facts = read_facts(body)
    for priority, point in facts:
        if _TEST_STATE.match(point.text) and not point.text.startswith(
            FAILING
        ):  # a run, with what fails in it
            newest = {key: fact for key, fact in newest.items() if not _TEST_STATE.match(fact[1].text)}
        key = changed_path(point.text) or point.text
        newest.pop(key, None)
        newest[key] = (priority, point)
    current = list(newest.values())
    max_chars = _MAX_REFLECTION_SHARE * sum(len(point.line) for _, point in facts)
    while len(current) > 1 and sum(len(point.line) for _, point in current) > max_chars:
        current = _drop_least_important(current, len(current) - 1)
    return _format_facts(current)


def _drop_least_important(
    facts: list[tuple[int, SummaryPoint]], max_count: int
) -> list[tuple[int, SummaryPoint]]:
    """Drop the least important facts, the oldest of equals first, down to `max_count`."""
    remaining = list(facts)
    while len(remaining) > max_count:
        remaining.remove(max(remaining, key=lambda fact: fact[0]))
    return remaining


def _format_facts(facts: list[tuple[int, SummaryPoint]]) -> str:
    lines = [f"- ({priority}) {point.line.removeprefix('- ')}" for priority, point in facts]
    return "\n".join(lines) or "- (3) Nothing of note was said."
