"""Typed canaries over five rounds of observations and handovers, whatever the summarizer does.

Each is visible in the window or one call away: its handle stands there, or that of an index which covers it.
A summary that lost one is flagged before it is put in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import msgspec
import pytest

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.events.summary import (
    FactKind,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import ModelRequest, ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.scripted_model import (
    Script,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    text_reply,
    tool_call_reply,
)

ROUNDS = 5
# Only what the test asks for rewrites the window; little of the user's text stays verbatim.
BY_HAND = msgspec.structs.replace(
    PROFILES["balanced"], protect_steps=1_000, protect_tokens=10**6, preview_above=0.8, fold_after_steps=0,
    sweep="fixed", sweep_fixed=10**6, observe_at=0.9, observe_place_at=0.9, handover_at=0.95,
    handover_least_messages=10_000, handover_least_gain=0.0, user_text_tokens=60,
)  # fmt: skip
_INDEX = re.compile(r'recall_cached_content\("([0-9a-f]{12})"\) [\d,]+ outputs? covered here')
FILLER = "and so on " * 80


def canaries(number: int) -> dict[str, str]:
    """Return what must not be lost of a round, by its type."""
    return {
        "path": f"src/gen/module_{number}.py",
        "hash": f"9fceb02d0ae{number}",
        "number": f"#47{number}1",
        "measure": f"{number}3.5 ms",
        "command": f"make check_{number} --strict",
        "instruction": f"Never rename table_{number} before the release.",
        "decision": f"keep schema_{number} because readers lock it",
        "error": f"ValueError: field_{number} is too short",
    }


FLAGGED: dict[str, FactKind] = {
    "path": "files",
    "hash": "hashes",
    "number": "numbers",
    "measure": "numbers",
    "command": "commands",
    "instruction": "instructions",
}


class CanaryTools(ScriptedTools):
    """Tools that write a file, and run a command that fails."""

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Return the output that the call's arguments hold."""
        arguments = json.loads(call.arguments)
        failed = call.name == "run_command"
        return ToolResult(
            f"{FILLER}\n{arguments['output']}\n{FILLER}".encode(),
            ok=not failed,
            exit_code=2 if failed else None,
            target=arguments["target"],
        )


def working(number: int) -> Script:
    """Return a model that writes a file, runs a check, and says what it decided."""
    found = canaries(number)

    def reply(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user":
            return tool_call_reply(
                ("write_file", {"target": found["path"], "output": "Wrote it."}),
                ("run_command", {"target": found["command"], "output": f"E   {found['error']}"}),
                id_prefix=f"c{len(request.messages)}-{number}-",
            )
        return text_reply(
            f"Decided to {found['decision']}: commit {found['hash']} takes {found['measure']}. {FILLER}"
        )

    return reply


def handover(*lines: str) -> str:
    """Return a handover that says the same in each section."""
    return "\n".join(f"## {title}\n" + "\n".join(lines) for title in TITLES)


def user_entry(request: ModelRequest) -> str:
    entries: list[str] = re.findall(r"^(e\d+) user: ", request.messages[-1].text, re.MULTILINE)
    return entries[-1] if entries else "e3"


def drops(request: ModelRequest) -> list[str]:
    """Say that work was done, at length, and nothing of what matters."""
    return [f"- Work went on as the user wished, part {n} of it [{user_entry(request)}]" for n in range(9)]


def invents(request: ModelRequest) -> list[str]:
    """Say what never happened."""
    source = user_entry(request)
    return [f"- src/invented_{n}.py was deleted; commit abcdef{n}0 is deployed [{source}]" for n in range(9)]


def reverses(request: ModelRequest) -> list[str]:
    """Say that the user wants what they forbade."""
    source = user_entry(request)
    return [f"- The user wants to rename table_{n} before the release [{source}]" for n in range(1, 9)]


def empties(_: ModelRequest) -> list[str]:
    """Say nothing."""
    return ["- None"]


Lines = Callable[[ModelRequest], list[str]]


def model_of(lines: Lines | None) -> ScriptedModel:
    """Return a model whose summaries say these lines; none: it cannot be reached, so they are extracts."""
    if lines is None:
        unreachable = [ModelUnreachable(verbatim("It is gone."))]
        return ScriptedModel(
            working(0), summary_script=lambda _: unreachable, observation_script=lambda _: unreachable
        )
    return ScriptedModel(
        working(0),
        summary_script=lambda request: text_reply(handover(*lines(request))),
        observation_script=lambda request: text_reply("\n".join(lines(request))),
    )


@pytest.mark.parametrize("lines", [None, drops, invents, reverses, empties])
async def test_five_rounds_lose_nothing(lines: Lines | None) -> None:
    """Observations of two rounds, then a handover, five times over; manually, so that each happens."""
    rig = AgentRig(model_of(lines), BY_HAND, tools=CanaryTools())
    await rig.begin()
    for number in range(1, ROUNDS + 1):
        rig.model.script = working(number)
        found = canaries(number)
        await rig.conversation.run(f"Fix {found['number']} now. {found['instruction']} {FILLER}")
        await rig.conversation.run(f"Go on with it. {FILLER}")
        rig.conversation.observations.start()
        await rig.wait_until_idle()
        await assert_within_one_call(rig, number)
        for _ in range(2):
            await rig.conversation.run(f"And a bit more of it. {FILLER}")
        rig.conversation.handovers.start()
        await rig.wait_until_idle()
        await assert_within_one_call(rig, number)
    assert len(rig.events(HandoverMade)) == ROUNDS
    assert len(rig.events(ObservationsPlaced)) == ROUNDS or lines is empties
    for event in (*rig.events(HandoverMade), *rig.events(ObservationsMade)):
        assert_flagged(event)


async def assert_within_one_call(rig: AgentRig, rounds: int) -> None:
    """Assert that each canary so far is in the window, or found by one recall on an index in it."""
    request = rig.conversation.window.measure()[0].request
    parts = [
        part for sent in request.messages for part in (sent.text, *(call.arguments for call in sent.calls))
    ]
    text = "\n".join(parts)
    indexes = _INDEX.findall(text)
    for number in range(1, rounds + 1):
        for kind, canary in canaries(number).items():
            if canary not in text:
                found = [await recall(rig, index, re.escape(canary)) for index in indexes]
                assert any(canary in answer for answer in found), f"{kind} of round {number}: {canary}"


async def recall(rig: AgentRig, index: str, pattern: str) -> str:
    tool = RecallCachedContent(rig.store, WordCounter().count, Ripgrep(None, {}))
    return (await tool.run("r", RecallArguments(index, pattern=pattern))).model_text


def assert_flagged(event: HandoverMade | ObservationsMade) -> None:
    """Assert that each canary that neither summary nor ledger has is missing in the event's check."""
    sections = event.sections if isinstance(event, HandoverMade) else ()
    facts = event.observations if isinstance(event, ObservationsMade) else ()
    bullets = [bullet.text for section in sections for bullet in section.bullets]
    summary = "\n".join([*bullets, *(fact.text for fact in facts), event.ledger])
    checked = {kind.kind: kind for kind in event.coverage}
    newest = max(int(number) for number in re.findall(r"module_(\d)", event.ledger) or ["0"])
    for name, canary in canaries(newest).items() if newest else ():
        if name in FLAGGED and canary not in summary:
            kind = checked[FLAGGED[name]]
            listed = "\n".join("".join(fact.text.split()) for fact in kind.missing)
            omitted = kind.total - kind.named - kind.verbatim - len(kind.missing)
            assert "".join(canary.split()) in listed or kind.verbatim or omitted
