"""What the demo model sees in a request: who asked what, how far it has come, what the tools answered.

Nothing is remembered between requests. Its place is the note at the end of its own newest answer, or, after a
handover or a fold, the note that stands there verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from helix_desktop.domain.messages import Message
from helix_desktop.providers.demo.script import Recall, Script, Task

SUMMARY_OPENING = "[Conversation History Summary]"
_REFERENCE = (SUMMARY_OPENING, "[Observations]", "[Folded steps]")
_NOTE = re.compile(r"\(demo: task (\d+), step (\d+) of \d+(, looking in the index)?\)")
_HANDLE = re.compile(r'\[CACHED\] recall_cached_content\("([0-9a-f]{64})"\)')
_INDEX = re.compile(rf"{_HANDLE.pattern}(?= \d+ outputs covered here)|(?<=outputs in ){_HANDLE.pattern}")
_PREVIOUS_INDEX = re.compile(
    r"^(?:\d+[:-])?([0-9a-f]{64}) the index of everything before this one", re.MULTILINE
)
_ENTRY = re.compile(r"^(?:\d+[:-])?([0-9a-f]{64}) e(\d+) (\w+) (.+)$", re.MULTILINE)
_DENIED = "The user did not allow this call."
_ERROR_LINE = re.compile(
    r"^(Cannot |There is no |old_text |This workspace's cache |The command was refused"
    r"|.{0,200}? was refused: |.{0,200}? was not written|\w+ was called with wrong arguments|\w+ failed)"
)
_CUT_OFF = ("The user stopped the turn before this call ended", "The app stopped before this call")
_NO_PYTHON = re.compile(r"^exit code (127|9009)\b")


def position_note(task: int, step: int, step_count: int, in_index: bool = False) -> str:
    """The note by which an answer says where it stands; counted from 1."""
    return f"_(demo: task {task}, step {step} of {step_count}{', looking in the index' if in_index else ''})_"


@dataclass(frozen=True)
class ScriptPosition:
    """A task (from 0) and how many of its steps are done."""

    script: Script
    task_index: int
    steps_done: int

    @property
    def task(self) -> Task:
        """The task itself."""
        return self.script.task[self.task_index]


@dataclass(frozen=True)
class ToolOutput:
    """A tool's answer as it stands in the request, and the call it answers."""

    tool: str
    arguments: dict[str, object]
    text: str

    @property
    def is_denied(self) -> bool:
        """True if the user did not allow the call."""
        return self.text.startswith(_DENIED)

    @property
    def error_line(self) -> str:
        """What went wrong, in the tool's own words; empty when nothing did."""
        return self.text.split("\n", 1)[0][:200] if _ERROR_LINE.match(self.text) else ""

    @property
    def lacks_python(self) -> bool:
        """Whether the command failed because this system has no `python3` of that name."""
        return bool(_NO_PYTHON.match(self.text)) and str(self.arguments.get("command")).startswith("python3 ")


class RequestReader:
    """A request, read."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._user_index = max((n for n, one in enumerate(messages) if _is_user_message(one)), default=-1)
        self.user_message = messages[self._user_index].text if self._user_index >= 0 else ""
        self.messages_since = messages[self._user_index + 1 :]
        self.outputs = list(_tool_outputs(self.messages_since))

    @property
    def summary_text(self) -> str:
        """What stands for older messages, in order: the handover, observations, notes of folded steps."""
        texts = (one.text for one in self.messages if one.role == "user")
        return "\n".join(text for text in texts if text.startswith(_REFERENCE))

    @property
    def newest_outputs(self) -> list[ToolOutput]:
        """The answers to the newest step's calls."""
        last = max((n for n, one in enumerate(self.messages_since) if one.role == "assistant"), default=0)
        return list(_tool_outputs(self.messages_since[last:]))

    def position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """Where the demo stands, if the newest message is one of a script's."""
        asked = " ".join(self.user_message.split())
        for script in scripts:
            for number, ask in enumerate(script.user_messages):
                if asked.startswith(" ".join(ask.split())):
                    return ScriptPosition(
                        script, number, self._steps_done(number, len(script.task[number].step))
                    )
        return None

    def unfinished_position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """The scripted task that was begun last and not ended, for a user who says "go on"."""
        cut_off = False
        for script in scripts:
            for message in reversed(self.messages):
                cut_off = cut_off or message.text.startswith(_CUT_OFF)
                found = _NOTE.findall(message.text) if message.role == "assistant" else []
                if found and 0 < int(found[-1][0]) <= len(script.task):
                    number, done = int(found[-1][0]) - 1, int(found[-1][1]) - bool(found[-1][2] or cut_off)
                    ends = len(script.task[number].step)
                    return ScriptPosition(script, number, done) if done < ends else None
        return None

    def _steps_done(self, number: int, steps: int) -> int:
        own = [one.text for one in self.messages_since if one.role == "assistant"]
        notes = [found for text in own for found in _NOTE.findall(text) if int(found[0]) == number + 1]
        if not notes and not own:
            notes = [found for found in _NOTE.findall(self.summary_text) if int(found[0]) == number + 1]
            notes = [found for found in notes if int(found[1]) < steps]
        return max((int(step) - bool(index) for _, step, index in notes), default=0)

    def find_fact(self, pattern: str, recalls: Sequence[Recall] = ()) -> str:
        """The first group of a pattern in the newest output since the question that matches, or empty.

        Else in what stands for older messages, and in older outputs only when they are what the task set out
        to recall: a figure of another run must not be told as one of this run.
        """
        texts = [output.text for output in reversed(self.outputs)]
        for recall in recalls:
            wanted = [output.text for output in _tool_outputs(self.messages) if _is_output_of(output, recall)]
            texts += wanted if recall.oldest else wanted[::-1]
        matches = (re.search(pattern, text) for text in [*texts, self.summary_text])
        return next((found[1].strip() for found in matches if found), "")

    def has_full_output(self, recall: Recall) -> bool:
        """Whether the wanted output still stands in the request, so that nothing need be recalled."""
        same = [output for output in _tool_outputs(self.messages) if _is_output_of(output, recall)]
        return bool(same) and not _HANDLE.search(same[-1].text) and not same[-1].error_line

    def find_digest(self, recall: Recall) -> str:
        """The digest of the wanted output, from a marker or a recalled index; empty if neither names it."""
        found = [digest for output in _tool_outputs(self.messages) for digest in _handles(output, recall)]
        listed = sorted(entry for text in self._index_texts() for entry in _entries(text, recall))
        # What an index names is older than what stands in the window.
        every = [*(digest for _, digest in listed), *found]
        return (every[0] if recall.oldest else every[-1]) if every else ""

    def has_oldest(self, recall: Recall) -> bool:
        """Whether an index that leads to no older one names the wanted output: those before it were read."""
        return any(
            _entries(text, recall) and not _PREVIOUS_INDEX.search(text) for text in self._index_texts()
        )

    def next_index(self, pattern: str, oldest: bool = False) -> str:
        """The digest of an index not yet searched for this pattern; empty when all were.

        First those in the window, the newest of them first or, with `oldest`, last; then those that they name
        as their former ones.
        """
        heads = [first or second for first, second in _INDEX.findall(self.summary_text)]
        heads = heads if oldest else heads[::-1]
        former = [digest for text in self._index_texts() for digest in _PREVIOUS_INDEX.findall(text)]
        asked = {output.arguments.get("hash") for output in self._searched(pattern)}
        return next((digest for digest in [*heads, *former] if digest not in asked), "")

    def has_searched(self, pattern: str) -> bool:
        """Whether an index was already searched for this pattern."""
        return bool(self._searched(pattern))

    def _searched(self, pattern: str) -> list[ToolOutput]:
        return [output for output in self.outputs if output.arguments.get("pattern") == pattern]

    def ledger_digest(self, recall: Recall) -> str:
        """The digest's beginning as a ledger in the window gives it; empty if none does."""
        line = rf"^(?:\w+|\$) {re.escape(recall.target)}(?: \(exit \S+\))? ([0-9a-f]{{12}}) e\d+$"
        found = re.search(line, self.summary_text, re.MULTILINE)
        return found[1] if found else ""

    def _index_texts(self) -> list[str]:
        """The recalled index texts, in the order in which they were read."""
        recalled = [output.text for output in self.outputs if output.tool == "recall_cached_content"]
        return [text for text in recalled if _ENTRY.search(text) or _PREVIOUS_INDEX.search(text)]


def _is_user_message(message: Message) -> bool:
    return message.role == "user" and not message.text.startswith(_REFERENCE)


def _tool_outputs(messages: Sequence[Message]) -> Iterator[ToolOutput]:
    calls = {call.id: call for one in messages for call in one.calls}
    for message in messages:
        if message.role != "tool" or message.call_id not in calls:
            continue
        call = calls[message.call_id]
        try:
            arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
        except msgspec.MsgspecError:
            arguments = {}
        yield ToolOutput(call.name, arguments, message.text)


def _is_output_of(output: ToolOutput, recall: Recall) -> bool:
    about = output.arguments.get("path" if output.tool == "read_file" else "command")
    return output.tool == recall.tool and about == recall.target and "start_line" not in output.arguments


def _entries(text: str, recall: Recall) -> list[tuple[int, str]]:
    """Event and digest of the wanted output, as an index names them."""
    return [
        (int(event), digest)
        for digest, event, tool, rest in _ENTRY.findall(text)
        if tool == recall.tool and rest.startswith(recall.target + ",")
    ]


def _handles(output: ToolOutput, recall: Recall) -> list[str]:
    return _HANDLE.findall(output.text)[-1:] if _is_output_of(output, recall) else []
