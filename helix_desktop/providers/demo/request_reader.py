"""Read a request for the demo model: the user's message, the position in the script, the tools' outputs.

Nothing is remembered between requests. Its place follows from the text of its own newest answer, or, after a
handover, from the sentence there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.messages import Message
from helix_desktop.providers.demo.position import ScriptPosition, last_step, newest_position, placed_step
from helix_desktop.providers.demo.script import Script, ScriptedRecall, Task

SUMMARY_OPENING = "[Conversation History Summary]"
_REFERENCE = (SUMMARY_OPENING, "[Observations]", "[Folded steps]")
_HANDLE = re.compile(r'\[CACHED\] recall_cached_content\("([0-9a-f]{8,64})"\)')
_INDEX = re.compile(
    rf"{_HANDLE.pattern}(?= [\d,]+ outputs? covered here)"
    rf"|(?:(?<=outputs in )|(?<= 1 output in )){_HANDLE.pattern}"
)
_ENTRY = re.compile(r"^([0-9a-f]{12}) e(\d+) (\w+) (.+)$", re.MULTILINE)
_DENIED = "The user did not allow this call."
_ERROR_LINE = re.compile(
    r"^(Cannot |There is no |old_text |This workspace's cache |The command was refused"
    r"|.{0,200}? was refused: |.{0,200}? was not written|\w+ was called with wrong arguments|\w+ failed)"
)
_CUT_OFF = (
    "The user stopped the turn before this call ended",
    "The app stopped before this call",
    "This call did not run: ",
    "no exit code: its turn ended",
    "no exit code: the app stopped",
)
_NO_PYTHON = re.compile(r"^exit code (127|9009)\b")


@dataclass(frozen=True)
class ToolOutput:
    """The output of a tool as the request contains it, and the call it answers."""

    tool: str
    arguments: dict[str, object]
    text: str

    @property
    def is_denied(self) -> bool:
        """True if the user did not allow the call."""
        return self.text.startswith(_DENIED)

    @property
    def error_line(self) -> str:
        """The tool's error message; empty if it did not fail."""
        return self.text.split("\n", 1)[0][:200] if _ERROR_LINE.match(self.text) else ""

    @property
    def lacks_python(self) -> bool:
        """True if the command failed because this system has no program named `python3`."""
        return bool(_NO_PYTHON.match(self.text)) and str(self.arguments.get("command")).startswith("python3 ")


class RequestReader:
    """A parsed request."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._user_index = max(
            (index for index, message in enumerate(messages) if _is_user_message(message)), default=-1
        )
        self.user_message = messages[self._user_index].text if self._user_index >= 0 else ""
        self.messages_since = messages[self._user_index + 1 :]
        self.outputs = list(_tool_outputs(self.messages_since))

    @property
    def summary_text(self) -> str:
        """The texts in place of older messages, in order: handover, observations, notes of folds."""
        texts = (message.text for message in self.messages if message.role == "user")
        return "\n".join(text for text in texts if text.startswith(_REFERENCE))

    @property
    def newest_outputs(self) -> list[ToolOutput]:
        """The outputs of the newest step's calls."""
        last = max(
            (index for index, message in enumerate(self.messages_since) if message.role == "assistant"),
            default=0,
        )
        return list(_tool_outputs(self.messages_since[last:]))

    def position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """Return the position in a script, if the newest message is one of its messages.

        Notes of the app may stand before it, such as that of a mode, or of files that changed meanwhile.
        """
        paragraphs = self.user_message.split("\n\n")
        texts = [" ".join(" ".join(paragraphs[first:]).split()) for first in range(len(paragraphs))]
        for script in scripts:
            for number, script_message in enumerate(script.user_messages):
                if any(text.startswith(" ".join(script_message.split())) for text in texts):
                    return ScriptPosition(script, number, self._steps_done(number, script.task[number]))
        return None

    def unfinished_position(self, scripts: Sequence[Script]) -> ScriptPosition | None:
        """Return the last unfinished task, for a user who says "go on"; None if there is none."""
        answers = [message.text for message in reversed(self.messages) if message.role == "assistant"]
        position = newest_position(answers, scripts)
        if position is None or position.is_finished:
            return None
        last = max(index for index, message in enumerate(self.messages) if message.role == "assistant")
        was_cut_off = any(message.text.startswith(_CUT_OFF) for message in self.messages[last:])
        cut_off_step = bool(was_cut_off and last_step(self.messages[last].text, position.task))
        return replace(position, steps_done=position.steps_done - cut_off_step)

    def _steps_done(self, number: int, task: Task) -> int:
        answers = [message.text for message in self.messages_since if message.role == "assistant"]
        if answers:
            return max(last_step(text, task) for text in answers)
        step = placed_step(self.summary_text, number)
        return step if step < len(task.step) else 0

    def find_fact(self, pattern: str, recalls: Sequence[ScriptedRecall] = ()) -> str:
        """Return the first group of a pattern in the newest matching output since the question; or empty.

        Else in what stands for older messages, and in older outputs only when they are what the task set out
        to recall: a figure of another run must not pass for one of this run.
        """
        texts = [output.text for output in reversed(self.outputs)]
        for recall in recalls:
            matching_texts = [
                output.text for output in _tool_outputs(self.messages) if _is_output_of(output, recall)
            ]
            texts += matching_texts if recall.oldest else matching_texts[::-1]
        matches = (re.search(pattern, text) for text in [*texts, self.summary_text])
        return next((match[1].strip() for match in matches if match), "")

    def has_full_output(self, recall: ScriptedRecall) -> bool:
        """Return True if the request still contains the whole output, so that no recall is needed."""
        outputs = [output for output in _tool_outputs(self.messages) if _is_output_of(output, recall)]
        return bool(outputs) and not _HANDLE.search(outputs[-1].text) and not outputs[-1].error_line

    def find_digest(self, recall: ScriptedRecall) -> str:
        """Return the output's digest from a marker or a recalled index; empty if neither has it."""
        in_window = [digest for output in _tool_outputs(self.messages) for digest in _handles(output, recall)]
        in_indexes = sorted(entry for text in self._index_texts() for entry in _entries(text, recall))
        # What an index names is older than what stands in the window.
        digests = [*(digest for _, digest in in_indexes), *in_window]
        return (digests[0] if recall.oldest else digests[-1]) if digests else ""

    def has_oldest(self, recall: ScriptedRecall) -> bool:
        """Return True if an index lists the output: it leads to all that is older, too."""
        return any(_entries(text, recall) for text in self._index_texts())

    def next_index(self, pattern: str, oldest: bool = False) -> str:
        """Return the digest of an index not yet searched for this pattern; empty if all were.

        The newest comes first or, with `oldest`, last. A search goes through the indexes inside by itself.
        """
        newest_indexes = [first or second for first, second in _INDEX.findall(self.summary_text)]
        newest_indexes = newest_indexes if oldest else newest_indexes[::-1]
        searched = {output.arguments.get("hash") for output in self._searched(pattern)}
        return next((digest for digest in newest_indexes if digest not in searched), "")

    def has_searched(self, pattern: str) -> bool:
        """Return True if an index was already searched for this pattern."""
        return bool(self._searched(pattern))

    def _searched(self, pattern: str) -> list[ToolOutput]:
        return [output for output in self.outputs if output.arguments.get("pattern") == pattern]

    def ledger_digest(self, recall: ScriptedRecall) -> str:
        """Return the digest's first digits from a ledger in the window; empty if none lists it."""
        pattern = rf"^(?:\w+|[$!]) {re.escape(recall.target)}(?: \(exit \S+\))? ([0-9a-f]{{12}}) e\d+(?::|$)"
        match = re.search(pattern, self.summary_text, re.MULTILINE)
        return match[1] if match else ""

    def _index_texts(self) -> list[str]:
        """Return the answers to searches of an index that found something, in their order."""
        return [
            output.text
            for output in self.outputs
            if output.tool == RECALL_TOOL and _ENTRY.search(output.text)
        ]


def _is_user_message(message: Message) -> bool:
    return message.role == "user" and not message.text.startswith(_REFERENCE)


def _tool_outputs(messages: Sequence[Message]) -> Iterator[ToolOutput]:
    calls = {call.id: call for message in messages for call in message.calls}
    for message in messages:
        if message.role != "tool" or message.call_id not in calls:
            continue
        call = calls[message.call_id]
        try:
            arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
        except (msgspec.MsgspecError, RecursionError):
            arguments = {}
        yield ToolOutput(call.name, arguments, message.text)


def _is_output_of(output: ToolOutput, recall: ScriptedRecall) -> bool:
    arguments = output.arguments
    target = arguments.get("path" if output.tool == "read_file" else "command")
    if "start_line" in arguments:
        target = f"{target}:{arguments['start_line']}-{arguments.get('end_line', '')}"
    return output.tool == recall.tool and target == recall.target


def _entries(text: str, recall: ScriptedRecall) -> list[tuple[int, str]]:
    """Return event and digest of each entry of an index for this output."""
    return [
        (int(event), digest)
        for digest, event, tool, rest in _ENTRY.findall(text)
        if tool == recall.tool and rest.startswith(recall.target + ",")
    ]


def _handles(output: ToolOutput, recall: ScriptedRecall) -> list[str]:
    return _HANDLE.findall(output.text)[-1:] if _is_output_of(output, recall) else []
