"""The demo in the engine that people run: real tools, real counting, handovers by the real trigger."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from pathlib import Path

import msgspec

from helix_desktop.agent.ports import Tools
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import load_prompts
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger, SweepMade
from helix_desktop.domain.events.summary import (
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
    checkpoint_in,
)
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.samples import (
    FOLDER_MARK,
    RecordedCommand,
    RecordedCommands,
    commands_file,
    play_session,
    read_commands,
    unhurried_workspace,
)
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools
from tests.support.agent_rig import MemoryRules
from tests.support.demo_loop import DEMO_DIR, copy_sample_project

RESOURCES = DEMO_DIR.parent


def services_in(root: Path, store: MemoryStore) -> SessionServices:
    """Return the services of a workspace in a folder: real tools, real counting, every call approved."""
    counter = TiktokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")
    tools = create_workspace_tools(root, store, ToolSetup(RESOURCES / "prompts" / "tools", counter.count))
    clock = itertools.count(1_750_000_000_000, 1_000)
    services = SessionServices(
        store, tools, counter, MemoryRules(), lambda: next(clock), load_prompts(), FixedApprover("once")
    )
    services.is_unattended = False  # as in the window, where checkpoints are written
    return services


async def worked_through(services: SessionServices, policy: ContextPolicy) -> list[Event]:
    """Return the events of a session that sent the demo model its full script."""
    workspace = unhurried_workspace("w", services, policy, DEMO_DIR)
    conversation = await workspace.create_session()
    for ask in read_scripts(DEMO_DIR)[0].user_messages:
        ended = await conversation.run(ask)
        assert ended.how == "done", ended
        await conversation.wait_for_background_work()
    log = [entry.event for entry in conversation.session.log]
    await conversation.close()
    return log


class Recorder:
    """The tools of a workspace; what its commands print is recorded without its times and its folder.

    The agent gets it without them too, so that the window is as full in every run.
    """

    def __init__(self, tools: Tools, root: Path) -> None:
        self._tools = tools
        self._root = root
        self.specs = tools.specs
        self.approval = tools.approval
        self.commands: list[RecordedCommand] = []

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        result = await self._tools.run(call, on_output)
        if call.name != "run_command":
            return result
        printed = result.content.decode().replace(str(self._root), FOLDER_MARK)
        printed = re.sub(r"(?<= in )\d+\.\d+s", "0.020s", printed)
        command = RecordedCommand(result.target, result.exit_code or 0, printed.partition("\n")[2])
        self.commands.append(command)
        return msgspec.structs.replace(result, content=printed.encode())


def check_story(log: list[Event]) -> None:
    """Assert checkpoints, and then the one handover, with room for a script that changes a little.

    In 20,000 tokens a checkpoint is due after 35 %, which are 7,000, and again each time that so many came.
    The handover is due from 15,500 tokens on, 3,000 before the request is full; one of more than 18,500 would
    not leave room for its answer.
    """
    checkpoints = [event.prepared for event in log if isinstance(event, HandoverDiscarded) and event.prepared]
    (handover,) = (event for event in log if isinstance(event, HandoverMade))
    assert 5 <= len(checkpoints) <= 9
    assert all(checkpoint.history > 6_000 for checkpoint in checkpoints), "without the newest results"
    assert checkpoints[0].history < 7_000 + 2_000, "the first is written in the first task"
    assert handover.trigger is HandoverTrigger.THRESHOLD
    assert not handover.fallback
    before = log[: log.index(handover)]
    newest = max(seq for seq, event in enumerate(before, 1) if checkpoint_in(event) is not None)
    assert handover.checkpoint == newest, "it brings the newest checkpoint up to date"
    requests = [event.estimate for event in log if isinstance(event, AssistantSpoke)]
    at_handover = [estimate for estimate in requests if estimate >= 15_500]
    assert len(at_handover) == 1
    assert 16_000 < at_handover[0] < 18_300
    assert max(estimate for estimate in requests if estimate < 15_500) < 15_000


def recalled_what_it_wrote(log: list[Event]) -> bool:
    """Whether every figure that the demo states stood in its window, and the facts of the log came back."""
    texts = [event.text for event in log if isinstance(event, AssistantSpoke)]
    assert any("**-0.043 m**" in text for text in texts)
    assert any(
        "`test_the_gale_of_the_14th_raises_amber_in_the_evening` failed" in text for text in texts[-12:]
    )
    return not [text for text in texts if "(not found, an earlier session may have changed it)" in text]


async def test_facts_from_two_handovers_ago_are_recalled(tmp_path: Path) -> None:
    wide = msgspec.structs.replace(
        PROFILES["balanced"], protect_steps=10, protect_tokens=42_000, sweep_max=100_000
    )
    policy = msgspec.structs.replace(
        wide, handover_cooldown_s=5, handover_keep=0.2, sweep_min=10_000, fold_after_steps=0, observe_at=0.0
    )
    root = copy_sample_project("tidewatch", tmp_path)
    services = services_in(root, MemoryStore())
    services.tools = RecordedCommands(services.tools, read_commands(DEMO_DIR, "tidewatch"), root)
    log = await worked_through(services, policy)
    handovers = [event for event in log if isinstance(event, HandoverMade)]
    texts = [event.text for event in log if isinstance(event, AssistantSpoke)]
    answers = [event for event in log if isinstance(event, ToolAnswered)]
    assert len(answers) >= 80
    assert len(handovers) >= 2
    assert all(
        handover.demo and not handover.fallback and handover.after < handover.before for handover in handovers
    )
    assert all(len(section.bullets) <= 8 for handover in handovers for section in handover.sections)
    assert [answer.recalled for answer in answers if answer.recalled]
    assert any("so I look there" in text for text in texts)
    assert recalled_what_it_wrote(log)


async def test_the_default_policy_triggers_every_mechanism_and_its_commands_are_recorded(
    tmp_path: Path,
) -> None:
    """`HELIX_WRITE_GOLDEN=1 pytest` on this file records them again for the session a sample opens with."""
    root = copy_sample_project("tidewatch", tmp_path)
    store = MemoryStore()
    services = services_in(root, store)
    services.tools = recorder = Recorder(services.tools, root)
    log = await worked_through(services, ContextPolicy())
    count = Counter(type(event) for event in log)
    assert count[SweepMade] >= 1
    assert count[FoldMade] >= 2
    assert count[ObservationsPlaced] >= 1
    check_story(log)
    assert not count[HandoverFailed] + count[ObservationsFailed]
    assert recalled_what_it_wrote(log)
    if os.environ.get("HELIX_WRITE_GOLDEN"):
        path = commands_file(DEMO_DIR, "tidewatch")
        path.write_bytes(msgspec.json.format(msgspec.json.encode(recorder.commands), indent=1) + b"\n")
    assert read_commands(DEMO_DIR, "tidewatch") == recorder.commands


async def test_the_prepared_session_has_all_that_can_be_tried_at_once(tmp_path: Path) -> None:
    root = copy_sample_project("tidewatch", tmp_path)
    store = MemoryStore()
    (script,) = read_scripts(DEMO_DIR)
    services = services_in(root, store)
    clock = itertools.count(1_750_000_000_000, 10)
    services.clock = lambda: next(clock)  # the sample is played in seconds
    session_id = await play_session("w", services, DEMO_DIR, script, root)
    log = [entry.event for entry in await store.events(session_id)]
    count = Counter(type(event) for event in log)
    answers = [event for event in log if isinstance(event, ToolAnswered)]
    assert len(answers) >= 80
    assert count[SweepMade] >= 1
    assert count[FoldMade] >= 1
    assert count[ObservationsPlaced] >= 1
    check_story(log)
    assert {event.form for event in answers} == {"full", "preview", "compact"}
    assert {event.chosen for event in answers if event.form != "full"} == {"agent"}
    assert not [event for event in log if isinstance(event, TurnEnded) and event.how != "done"]
    assert not [event for event in answers if "not recorded" in event.text]
    texts = [event.text for event in log if isinstance(event, AssistantSpoke)]
    assert not [
        text
        for text in texts
        if "(not found, an earlier session may have changed it)" in text or "(demo:" in text
    ]
    assert sum("offline demo model" in text for text in texts) == 1
