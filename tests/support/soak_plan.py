"""What the turns of a soak run are: tools, faults, stops and tasks for subagents, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from helix_desktop.domain.events.summary import SECTIONS
from tests.support.llmock import Behaviour

Fate = Literal["plain", "fault", "outage", "refusal", "stop", "subagents"]

FATES: tuple[tuple[Fate, int], ...] = (
    ("plain", 52),
    ("fault", 33),
    ("subagents", 7),
    ("stop", 5),
    ("refusal", 2),
    ("outage", 1),
)
"""What becomes of a turn, and how often in a hundred."""

_WORDS = (
    "the",
    "parser",
    "reads",
    "each",
    "line",
    "and",
    "finds",
    "its",
    "place",
    "before",
    "another",
    "comes",
)
_FILES = {"small.txt": 12, "middle.txt": 220, "large.txt": 2_500, "src/main.py": 60, "src/deep/notes.md": 30}
_PASSING = (429, 500, 502, 503, 529, 408)
_CUTS = ("disconnect", "truncate", "malformed")
"""Ways to break a stream; within its first four pieces, for even the shortest answer is not over then."""


@dataclass(frozen=True)
class Turn:
    """One turn: what the person says, and what the server does then."""

    text: str
    fate: Fate
    behaviours: tuple[Behaviour, ...]


def fill(root: Path) -> None:
    """Put files of all sizes into the project's folder."""
    for name, lines in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{number}: {' '.join(_WORDS[number % 9 :])} of {name}\n" for number in range(lines))
        path.write_text(text, encoding="utf-8")


def aside() -> Behaviour:
    """What is answered to requests without tools: good for a handover and for observations."""
    facts = "\n".join(f"- The soak run went on as planned with {name}; nothing was lost." for name in _FILES)
    text = "\n".join(f"## {title}\n{facts}" for title in SECTIONS)
    return {"type": "reply", "text": text, "times": None, "match": {"tools": False}}


def turns(count: int, seed: int) -> list[Turn]:
    """So many turns; the same seed gives the same."""
    chance = random.Random(seed)
    kinds, weights = zip(*FATES, strict=True)
    return [_turn(number, chance.choices(kinds, weights)[0], chance) for number in range(count)]


def _turn(number: int, fate: Fate, chance: random.Random) -> Turn:
    words = " ".join(chance.choices(_WORDS, k=chance.randint(5, 60)))
    steps = [_step(number, chance) for _ in range(chance.randint(0, 3))]
    if fate == "subagents":
        steps.insert(
            0, _reply("I share the work.", [_errand(number, one) for one in range(chance.randint(1, 3))])
        )
    said = _reply(" ".join(chance.choices(_WORDS, k=chance.randint(12, 120))), [])
    faults = {"fault": _faults, "outage": _outage, "refusal": _refusal}.get(fate, _nothing)(chance)
    return Turn(f"Turn {number}: {words}.", fate, (*faults, *steps, said))


def _nothing(_: random.Random) -> list[Behaviour]:
    return []


def _faults(chance: random.Random) -> list[Behaviour]:
    status = chance.choice(_PASSING)
    late = round(chance.uniform(0.02, 0.2), 3)
    kinds: list[Callable[[], Behaviour]] = [
        lambda: {"type": "fail", "status": status, "retry_after": late, "times": chance.randint(1, 2)},
        lambda: {"type": "stream_fault", "kind": chance.choice(_CUTS), "after_chunks": chance.randint(0, 3)},
        lambda: {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 0.9},
        lambda: {"type": "tool_fault", "kind": chance.choice(["malformed_arguments", "unknown_tool"])},
        lambda: {"type": "slow_first_token", "seconds": late},
    ]
    # One or two of a kind each: together they stay below what is given up on.
    first, second = chance.choices(range(len(kinds)), (8, 12, 1, 4, 2), k=2)
    return [kinds[one]() for one in sorted({first, second})]


def _outage(chance: random.Random) -> list[Behaviour]:
    return [{"type": "fail", "status": chance.choice([429, 503]), "retry_after": 0.02, "times": 4}]


def _refusal(chance: random.Random) -> list[Behaviour]:
    return [{"type": "fail", "status": chance.choice([400, 401, 403, 404, 422])}]


def _step(number: int, chance: random.Random) -> Behaviour:
    calls = [chance.choice(_CALLS)(number, chance) for _ in range(chance.randint(1, 3))]
    return _reply("Let me look." if chance.random() < 0.6 else "", calls)


def _reply(text: str, calls: list[dict[str, Any]]) -> Behaviour:
    match = {"match": {"tools": True}}  # questions beside the conversation come without tools
    return {"type": "reply", "text": text, "tool_calls": calls, **match}


def _errand(number: int, one: int) -> dict[str, Any]:
    task = f"Task {number}.{one}: look at small.txt and say what it is about."
    return {"name": "delegate", "arguments": {"task": task, "title": f"Task {number}.{one}"}}


_Maker = Callable[[int, random.Random], dict[str, Any]]


def _call(name: str, **arguments: Any) -> _Maker:
    return lambda number, chance: {
        "name": name,
        "arguments": {
            key: value(number, chance) if callable(value) else value for key, value in arguments.items()
        },
    }


def _file(_: int, chance: random.Random) -> str:
    return chance.choice([*_FILES, "src/missing.py", "../outside.txt"])


def _written(number: int, chance: random.Random) -> str:
    return f"# turn {number}\n" + "".join(f"value_{one} = {one}\n" for one in range(chance.randint(2, 120)))


_CALLS: tuple[_Maker, ...] = (
    *[_call("read_file", path=_file)] * 6,
    *[_call("list_directory", path=".", depth=3)] * 2,
    *[_call("search_text", pattern="parser", path=".")] * 2,
    *[_call("write_file", path=lambda number, _: f"out/file_{number % 40}.py", content=_written)] * 2,
    _call("edit_file", path="small.txt", old_text="line", new_text="line", replace_all=True),
    _call("edit_file", path="small.txt", old_text="not in there", new_text="at all"),
    _call("run_command", command=lambda number, _: f"printf 'turn %s\\n' {number}; ls -la src | head -20"),
    _call("run_command", command="seq 1 4000"),
    _call("run_command", command="exit 3"),
    _call("search_cached_content", query="parser line"),
    _call("recall_cached_content", hash="0" * 64),
)
