"""Mixtures of all that other agents write into a session, in any order of near lines, cut and in stages."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from helix_desktop.foreign.sources import HISTORY_NAMES
from helix_desktop.store.remote.server import SharedStore
from tests.integration.foreign.test_exactly import codex, counted, differences
from tests.integration.foreign.test_import import (
    SESSION,
    Line,
    Rig,
    answer,
    called,
    output,
    record,
    said,
    user,
)
from tests.support.foreign_counts import count_source
from tests.support.image_bytes import minimal_png
from tests.support.store.builders import START_MS, TickingClock

SEEDS = range(10)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
_NEAR = 4  # lines that a record stands before its place at most
_NOTICE = "<task-notification><summary>Done</summary></task-notification>"


def encoded_image(number: int) -> str:
    return base64.b64encode(minimal_png(8 + number, 8, number)).decode()


def dated(lines: list[Line]) -> list[Line]:
    first = datetime(2026, 2, 12, 7, 51, tzinfo=UTC)
    times = [(first + timedelta(seconds=place / 2)).isoformat() for place in range(len(lines))]
    return [{**line, "timestamp": time} for line, time in zip(lines, times, strict=True)]


class ClaudeTalk:
    """A session of Claude Code of several turns, each of a shape that chance picks."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.lines: list[Line] = []
        self.answers: list[str] = []  # the records with which turns ended
        self.last = ""
        self.calls = 0
        shapes = (self.ask, self.ask, self.go_back, self.show_image, self.notice, self.search)
        self.ask()
        for _ in range(5):
            chance.choice(shapes)()
        if chance.random() < 0.5:
            self.add(user("", "<command-name>/exit</command-name>\n<command-message>exit</command-message>"))
        self.lines = dated(self.lines)

    def add(self, line: Line, parent: str | None = None) -> str:
        before = self.last
        if parent is not None:
            before = parent
        self.last = f"r{len(self.lines)}"
        self.lines.append({**line, "uuid": self.last, "parentUuid": before or None})
        return self.last

    def answer(self) -> None:
        """Call tools in several records of one answer, with an output each, and say something."""
        message = f"m{len(self.lines)}"
        if self.chance.random() < 0.5:
            self.add(answer("", "", said("I look."), message=message))
        for left in reversed(range(self.chance.randint(0, 3))):
            self.calls += 1
            call = self.add(answer("", "", called(f"c{self.calls}"), message=message))
            content: Any = f"output {self.calls}\n"
            if self.chance.random() < 0.3:
                source = {"type": "base64", "media_type": "image/png", "data": encoded_image(self.calls)}
                content = [{"type": "text", "text": content}, {"type": "image", "source": source}]
            self.add(output("", "", f"c{self.calls}", content))
            if left:  # the next call follows this one, or its output
                self.last = self.chance.choice((call, self.last))
        self.answers.append(
            self.add(answer("", "", said(f"Answer {len(self.lines)}"), message=f"{message} end"))
        )

    def ask(self) -> None:
        reminder = self.chance.choice(("", "<system-reminder>Be brief.</system-reminder>"))
        self.add(user("", f"{reminder}Question {len(self.lines)}"))
        self.answer()

    def go_back(self) -> None:
        self.add(user("", f"Instead {len(self.lines)}"), self.chance.choice(self.answers))
        self.answer()

    def show_image(self) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": encoded_image(len(self.lines))}
        blocks = [said(f"See {len(self.lines)}"), {"type": "image", "source": source}]
        self.add(record("", "", "user", {"role": "user", "content": blocks}))
        self.answer()

    def notice(self) -> None:
        self.add(user("", _NOTICE))
        self.answer()

    def search(self) -> None:
        self.add(user("", f"Search {len(self.lines)}"))
        name = f"s{len(self.lines)}"
        use = {"type": "server_tool_use", "id": name, "name": "web_search", "input": {}}
        found = {"type": "web_search_tool_result", "tool_use_id": name, "content": []}
        line = answer("", "", use, found, said("Found."), message=name)
        self.answers.append(self.add(line))


def codex_talk(chance: Random) -> list[Line]:
    lines = [codex(0, "session_meta", id=SESSION, cwd="/home/ann/shop"), codex(0, "turn_context", model="m")]
    calls = taken = 0
    for turn in range(5):
        blocks: list[Line] = [{"type": "input_text", "text": f"Question {turn}"}]
        if chance.random() < 0.4:
            url = f"data:image/png;base64,{encoded_image(turn)}"
            blocks.append({"type": "input_image", "image_url": url})
        if chance.random() < 0.4:
            added = {"type": "input_text", "text": "<environment_context>x</environment_context>"}
            lines.append(codex(0, "response_item", type="message", role="user", content=[added]))
        lines.append(codex(0, "response_item", type="message", role="user", content=blocks))
        if chance.random() < 0.4:
            action = {"type": "search", "query": "ports"}
            lines.append(codex(0, "response_item", type="web_search_call", action=action))
        for _ in range(chance.randint(0, 3)):
            names = [f"c{calls + number}" for number in range(chance.randint(1, 3))]
            calls += len(names)
            for name in names:
                call = {"type": "function_call", "call_id": name, "name": "shell", "arguments": "{}"}
                lines.append(codex(0, "response_item", **call))
            chance.shuffle(names)
            for name in names:
                text: Any = f"output of {name}\n"
                if chance.random() < 0.3:
                    url = f"data:image/png;base64,{encoded_image(40 + calls)}"
                    text = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": url}]
                item = {"type": "function_call_output", "call_id": name, "output": text}
                lines.append(codex(0, "response_item", **item))
            taken += 100
            info = {
                "total_token_usage": {"input_tokens": taken, "output_tokens": taken // 10},
                "last_token_usage": {"input_tokens": 100, "output_tokens": 10},
            }
            lines.append(codex(0, "event_msg", type="token_count", info=info))
        said_it = [{"type": "output_text", "text": f"Answer {turn}"}]
        lines.append(codex(0, "response_item", type="message", role="assistant", content=said_it))
        lines.append(codex(0, "event_msg", type="task_complete"))
        if turn in (1, 3) and chance.random() < 0.5:
            lines.append(codex(0, "event_msg", type="thread_rolled_back", num_turns=1))
    return dated(lines)


def cline_talk(chance: Random) -> list[Line]:
    messages: list[Line] = []
    calls = 0
    words = [said("<task>\nQuestion\n</task>")]
    for turn in range(6):
        messages.append({"role": "user", "content": words})
        paths = [f"file{calls + number}.py" for number in range(chance.randint(1, 3))]
        uses = [called(f"c{calls + n}", "read_file", path=path) for n, path in enumerate(paths)]
        messages.append({"role": "assistant", "content": [said(f"Step {turn}"), *uses]})
        words = []
        for path in paths:
            header = f"[read_file for '{path}'] Result:"
            if chance.random() < 0.5:
                words.append(said(f"{header}\ncontent of {path}\n"))
            else:
                words += [said(header), said(f"content of {path}")]
            if chance.random() < 0.3:
                source = {"type": "base64", "media_type": "image/png", "data": encoded_image(calls)}
                words.append({"type": "image", "source": source})
        calls += len(paths)
        if chance.random() < 0.4:
            words.append(said(f"<feedback>\nMore {turn}\n</feedback>"))
        words.append(said("<environment_details>\nnone\n</environment_details>"))
    messages += [{"role": "user", "content": words}, {"role": "assistant", "content": [said("All read.")]}]
    return [{**message, "ts": START_MS + 60_000 * place} for place, message in enumerate(messages)]


Talk = Callable[[Random], list[Line]]
TALKS: dict[str, Talk] = {
    "claude-code": lambda chance: ClaudeTalk(chance).lines,
    "codex": codex_talk,
    "cline": cline_talk,
}
PATHS = {
    "claude-code": f".claude/projects/-home-ann-shop/{SESSION}.jsonl",
    "codex": f".codex/sessions/2026/02/12/rollout-{SESSION}.jsonl",
    "cline": f".cline/data/tasks/1/{HISTORY_NAMES[0]}",
}


@asynccontextmanager
async def new_rig(folder: Path) -> AsyncIterator[Rig]:
    await asyncio.to_thread(folder.mkdir)
    store = await SharedStore.open(folder / "store", "a" * 32, TickingClock())
    try:
        yield Rig(folder, store)
    finally:
        await store.close()


def shuffled(chance: Random, agent: str, lines: list[Line]) -> list[Line]:
    """Return the lines in any order of near ones; those that end a turn of Codex stand behind it."""
    if agent == "cline":  # its list is written as a whole
        return lines
    turns = 0
    keys: list[tuple[int, float]] = []
    for place, line in enumerate(lines):
        is_end = line.get("payload", {}).get("type") in ("task_complete", "thread_rolled_back")
        turns += is_end
        keys.append((turns, place + chance.random() * _NEAR * (not is_end)))
        turns += is_end
    places = sorted(range(len(lines)), key=keys.__getitem__)
    return [lines[place] for place in places]


def file_text(agent: str, lines: list[Line], chance: Random) -> str:
    """Return the text of a session; of one with lines, some records stand on the same one."""
    if agent == "cline":
        return json.dumps(lines)
    return "".join(json.dumps(line) + chance.choice(("", *"\n" * 9)) for line in lines).rstrip() + "\n"


def write(rig: Rig, agent: str, text: str, encoding: str = "utf-8") -> Path:
    path = rig.home / PATHS[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding=encoding)
    return path


def stages(agent: str, lines: list[Line], text: str, chance: Random) -> list[str]:
    """Return what was in a file at some moments while it was written: lines are appended, a list is not."""
    if agent == "cline":
        return [json.dumps(lines[:cut]) for cut in sorted(chance.sample(range(1, len(lines)), 4))]
    return [text[:cut] for cut in sorted(chance.sample(range(1, len(text)), 4))]


@pytest.mark.parametrize("agent", TALKS)
async def test_a_mixture_comes_in_exactly_in_any_order_of_near_lines(tmp_path: Path, agent: str) -> None:
    for seed in SEEDS:
        chance = Random(seed)
        encoding = ENCODINGS[seed % len(ENCODINGS)]
        lines = shuffled(chance, agent, TALKS[agent](chance))
        async with new_rig(tmp_path / str(seed)) as rig:
            path = write(rig, agent, file_text(agent, lines, chance), encoding)
            (found,) = await rig.foreign.find([path])
            assert differences(count_source(path), await counted(rig, found)) == [], seed


@pytest.mark.parametrize("agent", TALKS)
async def test_a_mixture_comes_in_stages_as_at_once(tmp_path: Path, agent: str) -> None:
    """Each import but the last ends anywhere, while the file is written."""
    for seed in SEEDS:
        chance = Random(seed)
        lines = shuffled(chance, agent, TALKS[agent](chance))
        text = file_text(agent, lines, chance)
        async with new_rig(tmp_path / str(seed)) as rig:
            for stage in stages(agent, lines, text, chance):
                path = write(rig, agent, stage)
                os.utime(path, (START_MS / 1000, START_MS / 1000))  # a moment ago, by the clock of the import
                found, _ = await rig.foreign.find_readable([path])
                if found:
                    await rig.run(found)
            path = write(rig, agent, text)
            (one,) = await rig.foreign.find([path])
            source = count_source(path)
            here = await counted(rig, one)
            if source.branches:  # the way that was imported first stays the session
                here.calls = source.calls
            assert differences(source, here) == [], seed
            assert len([one for one in await rig.store.sessions() if not one.branch_of]) == 1
