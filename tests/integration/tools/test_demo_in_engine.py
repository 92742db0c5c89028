"""The demo in the engine that people run: real tools, real counting, handovers by the real trigger."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.prompts import load_prompts
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger
from helix_desktop.domain.events.session import AssistantSpoke, Event, ToolAnswered
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.providers.demo.model import DemoModel
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.sample_workspaces import DEMO_POLICY
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools
from tests.support.demo_loop import DEMO_DIR, copy_sample_project

RESOURCES = DEMO_DIR.parent


class NoRules:
    """No saved approvals."""

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """None."""
        return ()

    def note_allowed(self, demo: bool) -> bool:
        """No call is allowed by another's answer."""
        return False

    async def add(self, rule: PermissionRule) -> None:
        """Store nothing."""


async def worked_through(root: Path, policy: ContextPolicy) -> list[Event]:
    """Return the events of a session that sent the demo model its full script."""
    store, counter = MemoryStore(), TiktokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")
    tools = create_workspace_tools(root, store, ToolSetup(RESOURCES / "prompts" / "tools", counter.count))
    clock = itertools.count(1_750_000_000_000, 1_000)
    parts = SessionServices(
        store, tools, counter, NoRules(), lambda: next(clock), load_prompts(), FixedApprover("once")
    )
    workspace = OpenWorkspace("w", parts, policy, DemoModel(DEMO_DIR, pause_s=0))
    conversation = await workspace.create_session()
    for ask in read_scripts(DEMO_DIR)[0].user_messages:
        ended = await conversation.run(ask)
        assert ended.how == "done", ended
        await conversation.wait_for_background_work()
    log = [entry.event for entry in conversation.session.log]
    await conversation.close()
    return log


def recalled_what_it_wrote(log: list[Event]) -> bool:
    """Whether every figure that the demo states stood in its window, and the facts of the log came back."""
    texts = [event.text for event in log if isinstance(event, AssistantSpoke)]
    assert any("**-0.043 m**" in text for text in texts)
    assert any(
        "`test_the_gale_of_the_14th_raises_amber_in_the_evening` failed" in text for text in texts[-12:]
    )
    return not [text for text in texts if "(not in my context)" in text]


async def test_facts_from_two_handovers_ago_are_recalled(tmp_path: Path) -> None:
    wide = msgspec.structs.replace(
        PROFILES["balanced"], protect_steps=10, protect_tokens=42_000, sweep_max=100_000
    )
    policy = msgspec.structs.replace(
        wide, handover_cooldown_s=5, sweep_min=10_000, fold_after_steps=0, observe_at=0.0
    )
    log = await worked_through(copy_sample_project("tidewatch", tmp_path), policy)
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
    assert any("looking in the index" in text for text in texts)
    assert recalled_what_it_wrote(log)


async def test_the_samples_own_policy_triggers_every_mechanism(tmp_path: Path) -> None:
    log = await worked_through(copy_sample_project("tidewatch", tmp_path), DEMO_POLICY)
    count = Counter(type(event) for event in log)
    assert count[SweepMade] >= 2
    assert count[FoldMade] >= 2
    assert count[ObservationsPlaced] >= 1
    assert [event.trigger for event in log if isinstance(event, HandoverMade)][:1] == [
        HandoverTrigger.THRESHOLD
    ]
    assert not count[HandoverFailed] + count[ObservationsFailed]
    assert recalled_what_it_wrote(log)
