"""Parse a request for a handover or observations: history lines, facts, sections of the last handover."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RECORD_START = re.compile(r"^The (?:messages|observations) to \w+(?: \w+)?:$", re.MULTILINE)
_ENTRY = re.compile(r"^e(\d+) (user|assistant|tool)\b ?(.*)$")
_LATER_REQUEST = re.compile(r"^later e(\d+) user: (.+)$", re.MULTILINE)
_FACT = re.compile(r"^observed \(([123])\) \S+: (.+?)(?: \[(e\d+(?:, e\d+)*)\])?$")
_HEADING = re.compile(r"^## (.+)$")
_BULLET = re.compile(r"^- (.+?) \[(e\d+(?:, e\d+)*)\]$")


@dataclass(frozen=True)
class HistoryLine:
    """A message of the history: its sequence number, role, and text."""

    seq: int
    role: str
    text: str


@dataclass(frozen=True)
class SummaryPoint:
    """A bullet: a sentence and the sequence numbers of its sources."""

    text: str
    sources: tuple[int, ...]

    @property
    def line(self) -> str:
        """The bullet as Markdown."""
        cited = f" [{', '.join(f'e{seq}' for seq in self.sources)}]" if self.sources else ""
        return f"- {self.text}{cited}"


def split_record(request: str) -> tuple[str, str]:
    """Split a request into the text before its history, and the history."""
    match = _RECORD_START.search(request)
    return (request[: match.start()], request[match.end() :]) if match else (request, "")


def newest_request(head: str) -> SummaryPoint | None:
    """Return the user's newest message after the history, which stays as it is; None if there is none."""
    requests = _LATER_REQUEST.findall(head)
    return SummaryPoint(requests[-1][1], (int(requests[-1][0]),)) if requests else None


def read_facts(body: str) -> list[tuple[int, SummaryPoint]]:
    """Return the observed facts in a history, with their priorities."""
    matches = [entry for line in body.splitlines() if (entry := _FACT.match(line))]
    return [
        (
            int(match[1]),
            SummaryPoint(match[2], tuple(int(seq[1:]) for seq in (match[3] or "").split(", ") if seq)),
        )
        for match in matches
    ]


def read_record(body: str) -> list[HistoryLine]:
    """Return the messages in a history; skip everything else."""
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
    """Return the bullets of a previous handover, by section."""
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
