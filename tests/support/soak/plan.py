"""The turns of a soak run: tools, faults, stops and subagent tasks, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from helix_desktop.context.summaries.sections import TITLES
from tests.support.model_servers.llmock import Behavior

TurnKind = Literal["plain", "fault", "outage", "refusal", "stop", "subagents"]

TURN_KIND_WEIGHTS: tuple[tuple[TurnKind, int], ...] = (
    ("plain", 52),
    ("fault", 33),
    ("subagents", 7),
    ("stop", 5),
    ("refusal", 2),
    ("outage", 1),
)
"""What becomes of a turn, and how often in a hundred."""

_WORDS = (
    "the", "parser", "reads", "each", "line", "and", "finds", "its", "place", "before", "another", "comes",
)  # fmt: skip
_FILES = {"small.txt": 12, "middle.txt": 220, "large.txt": 2_500, "src/main.py": 60, "src/deep/notes.md": 30}
_RETRYABLE_STATUSES = (429, 500, 502, 503, 529, 408)
_STREAM_FAULTS = ("disconnect", "truncate", "malformed")
"""Ways to break a stream; within its first four pieces, for even the shortest answer is not over then."""


@dataclass(frozen=True)
class PlannedTurn:
    """One turn: the user's message and the server's replies."""

    text: str
    kind: TurnKind
    behaviors: tuple[Behavior, ...]


def write_project_files(root: Path) -> None:
    """Put files of all sizes into the project's folder."""
    for name, lines in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{number}: {' '.join(_WORDS[number % 9 :])} of {name}\n" for number in range(lines))
        path.write_text(text, encoding="utf-8")


def background_reply() -> Behavior:
    """Return the reply to requests without tools: valid for a handover and for observations."""
    facts = "\n".join(f"- The soak run went on as planned with {name}; nothing was lost." for name in _FILES)
    text = "\n".join(f"## {title}\n{facts}" for title in TITLES)
    return {"type": "reply", "text": text, "times": None, "match": {"tools": False}}


def plan_turns(count: int, seed: int) -> list[PlannedTurn]:
    """Return `count` turns; the same seed returns the same."""
    chance = random.Random(seed)
    kinds, weights = zip(*TURN_KIND_WEIGHTS, strict=True)
    return [_plan_turn(number, chance.choices(kinds, weights)[0], chance) for number in range(count)]


def _plan_turn(number: int, kind: TurnKind, rng: random.Random) -> PlannedTurn:
    words = " ".join(rng.choices(_WORDS, k=rng.randint(5, 60)))
    steps = [_step(number, rng) for _ in range(rng.randint(0, 3))]
    if kind == "subagents":
        steps.insert(
            0, _reply("I share the work.", [_delegate_call(number, i) for i in range(rng.randint(1, 3))])
        )
    reply = _reply(" ".join(rng.choices(_WORDS, k=rng.randint(12, 120))), [])
    faults = {"fault": _faults, "outage": _outage, "refusal": _refusal}.get(kind, _no_faults)(rng)
    return PlannedTurn(f"Turn {number}: {words}.", kind, (*faults, *steps, reply))


def _no_faults(_: random.Random) -> list[Behavior]:
    return []


def _faults(rng: random.Random) -> list[Behavior]:
    status = rng.choice(_RETRYABLE_STATUSES)
    late = round(rng.uniform(0.02, 0.2), 3)
    kinds: list[Callable[[], Behavior]] = [
        lambda: {"type": "fail", "status": status, "retry_after": late, "times": rng.randint(1, 2)},
        lambda: {
            "type": "stream_fault",
            "kind": rng.choice(_STREAM_FAULTS),
            "after_chunks": rng.randint(0, 3),
        },
        lambda: {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 0.9},
        lambda: {"type": "tool_fault", "kind": rng.choice(["malformed_arguments", "unknown_tool"])},
        lambda: {"type": "slow_first_token", "seconds": late},
    ]
    # One or two of each kind: together they stay below the retry limit.
    first, second = rng.choices(range(len(kinds)), (8, 12, 1, 4, 2), k=2)
    return [kinds[kind]() for kind in sorted({first, second})]


def _outage(rng: random.Random) -> list[Behavior]:
    return [{"type": "fail", "status": rng.choice([429, 503]), "retry_after": 0.02, "times": 4}]


def _refusal(rng: random.Random) -> list[Behavior]:
    return [{"type": "fail", "status": rng.choice([400, 401, 403, 404, 422])}]


def _step(number: int, rng: random.Random) -> Behavior:
    calls = [rng.choice(_CALL_FACTORIES)(number, rng) for _ in range(rng.randint(1, 3))]
    return _reply("Let me look." if rng.random() < 0.6 else "", calls)


def _reply(text: str, calls: list[dict[str, Any]]) -> Behavior:
    match = {"match": {"tools": True}}  # background requests come without tools
    return {"type": "reply", "text": text, "tool_calls": calls, **match}


def _delegate_call(number: int, index: int) -> dict[str, Any]:
    task = f"Task {number}.{index}: look at small.txt and say what it is about."
    return {"name": "delegate", "arguments": {"task": task, "title": f"Task {number}.{index}"}}


_CallFactory = Callable[[int, random.Random], dict[str, Any]]


def _call_factory(name: str, **arguments: Any) -> _CallFactory:
    return lambda number, chance: {
        "name": name,
        "arguments": {
            key: value(number, chance) if callable(value) else value for key, value in arguments.items()
        },
    }


def _file_path(_: int, rng: random.Random) -> str:
    return rng.choice([*_FILES, "src/missing.py", "../outside.txt"])


def _file_text(number: int, rng: random.Random) -> str:
    return f"# turn {number}\n" + "".join(f"value_{i} = {i}\n" for i in range(rng.randint(2, 120)))


_CALL_FACTORIES: tuple[_CallFactory, ...] = (
    *[_call_factory("read_file", path=_file_path)] * 6,
    *[_call_factory("list_directory", path=".", depth=3)] * 2,
    *[_call_factory("search_text", pattern="parser", path=".")] * 2,
    *[_call_factory("write_file", path=lambda number, _: f"out/file_{number % 40}.py", content=_file_text)]
    * 2,
    _call_factory("edit_file", path="small.txt", old_text="line", new_text="line", replace_all=True),
    _call_factory("edit_file", path="small.txt", old_text="not in there", new_text="at all"),
    _call_factory(
        "run_command", command=lambda number, _: f"printf 'turn %s\\n' {number}; ls -la src | head -20"
    ),
    _call_factory("run_command", command="seq 1 4000"),
    _call_factory("run_command", command="exit 3"),
    _call_factory("search_cached_content", query="parser line"),
    _call_factory("recall_cached_content", hash="0" * 64),
)
