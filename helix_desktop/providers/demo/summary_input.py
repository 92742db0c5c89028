"""What a request for a handover or for observations tells the demo model: entries, facts, former sections."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RECORD_START = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_ENTRY = re.compile(r"^e(\d+) (user|assistant|tool)\b ?(.*)$")
_FACT = re.compile(r"^observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$")
_HEADING = re.compile(r"^## (.+)$")
_BULLET = re.compile(r"^- (.+?) \[(e\d+(?:, e\d+)*)\]$")


@dataclass(frozen=True)
class Line:
    """An entry of the record: its id, who, and what was said."""

    seq: int
    role: str
    text: str


@dataclass(frozen=True)
class Point:
    """A bullet: a sentence and the ids it comes from."""

    text: str
    sources: tuple[int, ...]

    @property
    def line(self) -> str:
        """The bullet as it is written."""
        cited = f" [{', '.join(f'e{seq}' for seq in self.sources)}]" if self.sources else ""
        return f"- {self.text}{cited}"


def split_record(request: str) -> tuple[str, str]:
    """What stands before the record of a request, and the record."""
    found = _RECORD_START.search(request)
    return (request[: found.start()], request[found.end() :]) if found else (request, "")


def read_facts(body: str) -> list[tuple[int, Point]]:
    """The observed facts of a record, with their priorities."""
    found = [entry for line in body.splitlines() if (entry := _FACT.match(line))]
    return [
        (int(one[1]), Point(one[2], tuple(int(seq[1:]) for seq in (one[3] or "").split(", ") if seq)))
        for one in found
    ]


def read_record(body: str) -> list[Line]:
    """The messages of a record; what else stands there is left out."""
    found: list[Line] = []
    for line in body.splitlines():
        if _FACT.match(line):
            continue
        entry = _ENTRY.match(line)
        if entry and int(entry[1]) > (found[-1].seq if found else 0):
            found.append(Line(int(entry[1]), entry[2], entry[3].removeprefix(": ").strip()))
        elif found:
            found[-1] = Line(found[-1].seq, found[-1].role, f"{found[-1].text}\n{line.removeprefix('| ')}")
    return found


def read_sections(head: str) -> dict[str, list[Point]]:
    """The bullets of a handover that was written before, by section."""
    sections: dict[str, list[Point]] = {}
    current: list[Point] = []
    for line in head.splitlines():
        heading, bullet = _HEADING.match(line), _BULLET.match(line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif bullet:
            current.append(Point(bullet[1], tuple(int(one[1:]) for one in bullet[2].split(", "))))
    return sections
