"""The offline demo model: bundled, without key and network, it follows a script with the real tools.

It is a pure function of the request. In the sample project it follows a script; anywhere else it looks around
and says what it is. Handovers and observations it makes by extraction (see demo_points).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from helix_desktop.context.intake.output_extract import OPENING as EXTRACT_OPENING
from helix_desktop.context.intake.output_form_choice import OPENING as FORMS_OPENING
from helix_desktop.context.window.side_question import OPENING as SIDE_QUESTION_OPENING
from helix_desktop.context.window.side_question import question_in
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    StreamItem,
    TextDelta,
    ToolCall,
)
from helix_desktop.providers.demo.handover import OPENING, write_handover
from helix_desktop.providers.demo.large_outputs import choose_forms, write_extract
from helix_desktop.providers.demo.observations import (
    OBSERVATION_OPENING,
    REFLECTION_OPENING,
    write_observations,
    write_reflection,
)
from helix_desktop.providers.demo.position import ScriptPosition
from helix_desktop.providers.demo.request_reader import (
    RequestReader,
    ToolOutput,
)
from helix_desktop.providers.demo.script import Script, ScriptedRecall, ScriptStep, Task, read_scripts

DEMO_LABEL = "demo/offline"
_WINDOW, _RESERVE = 20_000, 1_500
_CHUNK = re.compile(r"(?:\S+\s*){1,3}")
_CONTINUE_REQUEST = re.compile(r"\s*(go on|continue|carry on|weiter|继续|继续吧)\s*[.!。]?\s*", re.IGNORECASE)
_SPECIAL = re.compile(r"[.+*?()\[\]{}|^$\\]")
_NOT_FOUND = "(not found, an earlier session may have changed it)"
_DONE_BEFORE = """\
**Some of this was done before**: an earlier session changed the sample's files. It is the newest \
other session whose *Changes* page lists `{path}`. To see it from the start, open that session, choose \
*Revert everything in this session* in the menu of *Changes*, and send this message again here."""
_README = re.compile(r"^ *(readme(?:\.\w+)?) ", re.IGNORECASE | re.MULTILINE)
_ADD_MODEL_HELP = """\
**To use a real model**, open *Settings → Providers* and add a server: one on this computer \
(Ollama, LM Studio, llama.cpp, vLLM) needs only its address, a hosted one its address and a key. \
Then choose it below the message box."""


Calls = tuple[tuple[str, dict[str, object]], ...]
"""Tool calls by name and arguments."""


@dataclass(frozen=True)
class DemoReply:
    """The text of an answer, and its tool calls."""

    text: str
    calls: Calls = ()


class DemoModel:
    """The offline demo model; `folder` holds its scripts, `pause_s` is the pause between chunks of text."""

    def __init__(self, folder: Path, pause_s: float = 0.02) -> None:
        self._folder, self._pause_s = folder, pause_s
        self._scripts: tuple[Script, ...] | None = None

    @property
    def info(self) -> ModelInfo:
        """Its name and limits; the window is small on purpose, so that handovers come soon."""
        provider, name = DEMO_LABEL.split("/")
        return ModelInfo(provider, name, window=_WINDOW, reserve=_RESERVE, demo=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield the answer in small chunks, and a `ModelResponse` last."""
        if self._scripts is None:
            self._scripts = await asyncio.to_thread(read_scripts, self._folder)
        reply = reply_to(request, self._scripts)
        for chunk in _CHUNK.findall(reply.text):
            await asyncio.sleep(self._pause_s)
            yield TextDelta(chunk)
        calls = _tool_calls(request, reply)
        yield ModelResponse(reply.text, calls, stop="calls" if calls else "end")


def reply_to(request: ModelRequest, scripts: Sequence[Script]) -> DemoReply:
    """Return the reply to a request: always the same for the same request."""
    reader = RequestReader(request.messages)
    summary = write_summary(reader.user_message, scripts)
    if summary:
        return DemoReply(summary)
    position = reader.position(scripts)
    if position is None and _CONTINUE_REQUEST.fullmatch(reader.user_message):
        position = reader.unfinished_position(scripts)
    if position is None:
        return _look_around(reader, request)
    return _follow_script(reader, position)


def write_summary(request_text: str, scripts: Sequence[Script] = ()) -> str:
    """Return the text for a request that is no message of a user; empty if it is one."""
    writers: tuple[tuple[str, Callable[[str], str]], ...] = (
        (OPENING, lambda request: write_handover(request, scripts)),
        (OBSERVATION_OPENING, write_observations),
        (REFLECTION_OPENING, write_reflection),
        (SIDE_QUESTION_OPENING, _answer_side_question),
        (FORMS_OPENING, lambda question: choose_forms(question, scripts)),
        (EXTRACT_OPENING, write_extract),
    )
    return next((write(request_text) for opening, write in writers if request_text.startswith(opening)), "")


def _answer_side_question(request_text: str) -> str:
    question = question_in(request_text)
    return (
        f"You ask: *{question}*. I follow a script, so I can't say. A real model would answer from what is "
        "in the context now; neither question nor answer enters it."
    )


def _follow_script(reader: RequestReader, position: ScriptPosition) -> DemoReply:
    steps = position.task.step
    retries = _python_retries(reader.newest_outputs)
    if retries:
        return DemoReply("This system has no `python3`; I try `python`.", retries)
    texts, is_as_expected = _error_texts(reader.newest_outputs), True
    for number, step in enumerate(steps[position.steps_done :], position.steps_done + 1):
        recall = _plan_recall(reader, step.recall) if step.recall else None
        if recall is not None and recall.in_index:
            return DemoReply("\n\n".join([*texts, recall.text]), recall.calls)
        calls = tuple((str(call["tool"]), _arguments(call)) for call in step.calls)
        text, has_facts = _fill_text(reader, step, position.task)
        is_as_expected = is_as_expected and has_facts
        texts += [text, recall.text if recall is not None else ""]
        calls += recall.calls if recall is not None else ()
        if calls or number == len(steps):
            if not calls and _was_done_before(reader.outputs, is_as_expected):
                texts.append(_done_before(reader.outputs, position.script))
            return DemoReply("\n\n".join(part for part in texts if part), calls)
    return DemoReply("This part of the demo is done. The script's next message goes on from here.")


def _was_done_before(outputs: Sequence[ToolOutput], is_as_expected: bool) -> bool:
    """Return True if the sample's files are no longer what the script expects of them."""
    if any(output.is_denied for output in outputs):
        return False
    has_errors = any(output.error_line for output in outputs)
    return bool(_failed_edits(outputs)) or (not has_errors and not is_as_expected)


def _failed_edits(outputs: Sequence[ToolOutput]) -> list[str]:
    """Return the paths of the edits whose old text is not there any more."""
    return [
        str(output.arguments.get("path"))
        for output in outputs
        if output.tool == "edit_file" and output.error_line.startswith("old_text")
    ]


def _done_before(outputs: Sequence[ToolOutput], script: Script) -> str:
    """Return the advice on files that an earlier session changed, with one by which that session is found.

    Sessions are not in a request, and those of the sample share their title.
    """
    edits = [
        str(call["path"])
        for task in script.task
        for step in task.step
        for call in step.calls
        if call["tool"] == "edit_file"
    ]
    return _DONE_BEFORE.format(path=[*_failed_edits(outputs), *edits][0])


@dataclass(frozen=True)
class _RecallPlan:
    """How an output is recalled: the text about it, the calls if needed, and whether they read an index."""

    text: str
    calls: Calls = ()
    in_index: bool = False


def _plan_recall(reader: RequestReader, target: ScriptedRecall) -> _RecallPlan:
    escaped_target = _SPECIAL.sub(r"\\\g<0>", target.target)
    search = f"^{target.tool} {escaped_target},"  # as an index describes an output
    index = reader.next_index(search, target.oldest)
    needs_older_index = bool(index) and target.oldest and not reader.has_oldest(target)
    digest = "" if needs_older_index else reader.find_digest(target)
    if digest:
        return _RecallPlan("", _recall_call(digest, target.pattern))
    if reader.has_full_output(target) and not needs_older_index:
        return _RecallPlan("It is still whole in my context, so I don't need to recall it.")
    if index:
        text = (
            "Its digest is no longer in my context. An index there lists what was covered, so I look there."
        )
        if reader.has_searched(search):
            text = "That index doesn't have all of it. There is another one, so I look there too."
        return _RecallPlan(text, _recall_call(index, search), in_index=True)
    prefix = reader.ledger_digest(target)
    if prefix:
        return _RecallPlan("The ledger in my context gives its digest.", _recall_call(prefix, target.pattern))
    return _RecallPlan("I can't find its digest in my context, so I continue without it.")


def _recall_call(digest: str, pattern: str) -> Calls:
    arguments: dict[str, object] = {"hash": digest}
    if pattern:
        arguments["pattern"] = pattern
    return ((RECALL_TOOL, arguments),)


def _fill_text(reader: RequestReader, step: ScriptStep, task: Task) -> tuple[str, bool]:
    """Return a step's text, and whether it says what the script expects."""
    recalls = [other_step.recall for other_step in task.step if other_step.recall]
    facts = {name: reader.find_fact(pattern, recalls) or _NOT_FOUND for name, pattern in step.find.items()}
    text, is_as_expected = step.say.strip(), True
    for name, variants in step.variants.items():
        filled = [_replace_facts(variant, facts).lstrip("\n") for variant in variants]
        sentence = next((variant for variant in filled if _NOT_FOUND not in variant), filled[0])
        text = text.replace(f"{{{name}}}", sentence)
        is_as_expected = is_as_expected and sentence == filled[0]
    text = _replace_facts(text, facts)
    return text, is_as_expected and _NOT_FOUND not in text


def _replace_facts(text: str, facts: Mapping[str, str]) -> str:
    for name, fact in facts.items():
        text = text.replace(f"{{{name}}}", fact)
    return text


def _arguments(call: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in call.items() if name != "tool"}


def _error_texts(outputs: Sequence[ToolOutput]) -> list[str]:
    texts = [
        f"`{output.tool}` was not allowed, so I leave it out and go on."
        for output in outputs
        if output.is_denied
    ]
    texts += [
        f"`{output.tool}` did not work: {output.error_line} I go on."
        for output in outputs
        if output.error_line
    ]
    return list(dict.fromkeys(texts))


def _python_retries(outputs: Sequence[ToolOutput]) -> Calls:
    commands = [str(output.arguments["command"]) for output in outputs if output.lacks_python]
    return tuple(
        ("run_command", {"command": "python " + command.removeprefix("python3 ")}) for command in commands
    )


def _look_around(reader: RequestReader, request: ModelRequest) -> DemoReply:
    tool_names = {spec.name for spec in request.tools}
    called = {call.name for message in reader.messages_since for call in message.calls}
    if not called and "list_directory" in tool_names:
        text = (
            "I am the **offline demo model**: a script, not a language model. I cannot work on that by "
            "myself, but the tools are real, so I look at what is here."
        )
        return DemoReply(text, (("list_directory", {"depth": 2}),))
    listing = next((entry.text for entry in reader.outputs if entry.tool == "list_directory"), "")
    readme = _README.search(listing)
    if "read_file" not in called and readme and "read_file" in tool_names:
        return DemoReply(f"There is a `{readme[1]}`. I read it.", (("read_file", {"path": readme[1]}),))
    return DemoReply(_folder_report(reader, listing))


def _folder_report(reader: RequestReader, listing: str) -> str:
    paragraphs = _error_texts(reader.newest_outputs)
    match = re.search(r"\(([\d,]+) entr(?:y|ies)\)", listing)
    if match:
        paragraphs.append(
            f"**This folder** has {match[1]} {'entry' if match[1] == '1' else 'entries'}, two levels deep."
        )
    readme_output = next(
        (output for output in reader.outputs if output.tool == "read_file" and not output.error_line), None
    )
    if readme_output is not None and not readme_output.is_denied:
        paragraphs.append(_describe_readme(str(readme_output.arguments.get("path")), readme_output.text))
    paragraphs.append(
        "**What I can do:** follow the script of the sample project *tidewatch* (reading, searching, finding "
        "and fixing a bug, running its tests), recall cached outputs by their digest, and write handovers. "
        "Free questions need a real model."
    )
    return "\n\n".join([*paragraphs, _ADD_MODEL_HELP])


def _describe_readme(path: str, text: str) -> str:
    blocks = [" ".join(block.split()) for block in text.split("\n\n")]
    prose = [block for block in blocks if block and not block.startswith(("#", "|", "-", "`", "[", "<", "!"))]
    title = next((block.lstrip("# ") for block in blocks if block.startswith("#")), path)
    return (
        f"**{title}**, says its `{path}`: {prose[0][:400]}" if prose else f"Its `{path}` begins with: {title}"
    )


def _tool_calls(request: ModelRequest, reply: DemoReply) -> tuple[ToolCall, ...]:
    """Return the calls with ids that differ between requests, and are the same for the same request."""
    if not reply.calls:
        return ()
    seed = hashlib.sha256(msgspec.json.encode(request.messages)).hexdigest()[:16]
    return tuple(
        ToolCall(f"demo_{seed}_{number}", name, msgspec.json.encode(arguments).decode())
        for number, (name, arguments) in enumerate(reply.calls)
    )
