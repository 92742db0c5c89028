"""The agent's present todo list: what is left to do stands in every request, whatever left the window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.todo import TodoItem, list_text
from helix_desktop.replay import Replayer

FIRST = (
    TodoItem("Read the parser", "done"),
    TodoItem("Rework the lexer", "in_progress"),
    TodoItem("Test it"),
)
SECOND = (*(TodoItem(item.content, "done") for item in FIRST[:2]), TodoItem("Test it", "in_progress"))
LEFT = "1 of 3 done:\n- now: Rework the lexer\n- then: Test it\n"


class TodoSession:
    """A session that calls tools, with its requests."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer, self._calls = replayer, 0
        replayer.feed({"role": "user", "content": "Please do the work."})

    def call(self, name: str, arguments: object, output: str) -> None:
        self._calls += 1
        call = {"id": f"c{self._calls}", "name": name, "arguments": json.dumps(arguments)}
        self.replayer.prepare_request()
        self.replayer.feed({"role": "assistant", "content": "", "tool_calls": [call]})
        answer = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": output}
        self.replayer.feed(answer)

    def plan(self, items: tuple[TodoItem, ...]) -> None:
        """Let the agent replace its list."""
        self.call("todo", {"items": msgspec.to_builtins(items)}, list_text(items))

    def read_files(self, count: int) -> None:
        """Let the agent read so many files, of some 1,000 tokens each."""
        for number in range(count):
            path = f"src/f{self._calls}.py"
            self.call("read_file", {"path": path}, f"line of file {number} with some words\n" * 120)

    def request_text(self) -> str:
        return "\n".join(
            f"{message['content']}{message.get('tool_calls')}" for message in self.replayer.request()
        )

    def count(self, kind: type[FoldMade | SweepMade], how: str = "fold") -> int:
        rewrites = self.replayer.session.transcript.rewrites.by_seq.values()
        return sum(isinstance(event, kind) and getattr(event, "how", how) == how for event in rewrites)


@contextmanager
def working(policy: ContextPolicy) -> Iterator[TodoSession]:
    replayer = Replayer(policy)
    try:
        yield TodoSession(replayer)
    finally:
        replayer.close()


@pytest.mark.parametrize("name", ["balanced", "lean"])
def test_what_is_left_to_do_stands_in_the_note_of_its_steps(name: str) -> None:
    """With the entry that has the whole list, once."""
    with working(PROFILES[name]) as work:
        work.plan(FIRST)
        work.read_files(40)
        assert work.count(FoldMade) > 1
        assert work.request_text().count(LEFT) == 1


def test_a_condensed_note_still_says_what_is_left_to_do() -> None:
    """However many notes were made since."""
    policy = msgspec.structs.replace(PROFILES["lean"], condense_at=0.005, fold_least=200, ledger_tokens=100)
    with working(policy) as work:
        work.plan(FIRST)
        work.read_files(80)
        assert work.count(FoldMade, "condense") > 0
        assert work.request_text().count(LEFT) == 1


def test_a_newer_list_takes_its_place_in_later_notes() -> None:
    """A list on which nothing is left is in none."""
    done = tuple(TodoItem(item.content, "done") for item in FIRST)
    with working(PROFILES["balanced"]) as work:
        work.plan(FIRST)
        work.plan(SECOND)
        work.read_files(40)
        assert work.request_text().count("Todo list (e") == 1
        assert "2 of 3 done:\n- now: Test it\n" in work.request_text()
        work.plan(done)
        work.read_files(40)
        assert work.request_text().count("Todo list (e") == 1  # that of the older note


def test_a_long_list_is_no_marker_while_something_is_left_to_do() -> None:
    """Its arguments leave once a newer list has taken its place."""
    items = tuple(TodoItem(f"Step {number} of many, in some more words") for number in range(40))
    policy = msgspec.structs.replace(
        PROFILES["balanced"], fold_after_steps=0, sweep="at once", previous_turn_share=0.0
    )
    with working(policy) as work:
        work.plan(items)
        work.read_files(12)
        assert work.count(SweepMade) > 1
        assert '"Step 7 of many, in some more words"' in work.request_text()
        work.plan(SECOND)
        work.read_files(12)
        assert '"Step 7 of many, in some more words"' not in work.request_text()


def test_a_refused_list_does_not_take_the_place_of_the_present_one() -> None:
    """The tool takes no list with an empty item."""
    with working(PROFILES["balanced"]) as work:
        work.plan(FIRST)
        work.call("todo", {"items": [{"content": ""}, 3]}, "An item is empty.")
        work.read_files(40)
        assert work.request_text().count(LEFT) == 1
