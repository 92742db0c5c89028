"""The demo in the engine that people run: real tools, real counting, handovers by the real trigger."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import msgspec

from helix_desktop.agent.conversation import Parts
from helix_desktop.agent.room import Room
from helix_desktop.app.samples import DEMO_POLICY
from helix_desktop.config.prompts import prompts
from helix_desktop.context.event import AssistantSpoke, Event, ToolAnswered
from helix_desktop.context.event_rewrite import FoldMade, SweepMade
from helix_desktop.context.event_summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.context.policy import PROFILES, Policy
from helix_desktop.context.rewrite_kind import Trigger
from helix_desktop.context.tool import ApprovalAsk, Reply, Rule
from helix_desktop.providers.demo import DemoModel
from helix_desktop.providers.demo_script import read_scripts
from helix_desktop.providers.token_counter import TokenCounter
from helix_desktop.store.memory import MemoryStore
from helix_desktop.tools.toolbox import Toolbox
from tests.support.tool_demo import DEMO, sample

RESOURCES = DEMO.parent


class NoRules:
    """No saved approvals."""

    def rules(self, demo: bool = False) -> tuple[Rule, ...]:
        """None."""
        return ()

    def allowed(self, demo: bool) -> bool:
        """No call is allowed by another's answer."""
        return False

    async def add(self, rule: Rule) -> None:
        """Nothing is kept."""


class Willing:
    """A person who says yes once, each time."""

    async def decide(self, session: str, ask: ApprovalAsk) -> Reply:
        """Yes."""
        return Reply("once")


async def worked_through(root: Path, policy: Policy) -> list[Event]:
    """The events of a session in which the whole script was said to the demo model."""
    store, counter = MemoryStore(), TokenCounter(RESOURCES / "tokenizers" / "o200k_base.tiktoken")
    tools = Toolbox(root, store, RESOURCES / "prompts" / "tools", counter.count)
    clock = itertools.count(1_750_000_000_000, 1_000)
    parts = Parts(store, tools, counter, NoRules(), lambda: next(clock), prompts(), Willing())
    room = Room("w", parts, policy, DemoModel(DEMO, pause_s=0))
    talk = await room.begin()
    for ask in read_scripts(DEMO)[0].asks:
        ended = await talk.run(ask)
        assert ended.how == "done", ended
        await talk.settle()
    log = [one.event for one in talk.session.log]
    await talk.close()
    return log


def saw_what_it_said(log: list[Event]) -> bool:
    """Whether every figure that the demo states stood in its window, and the facts of the log came back."""
    said = [event.text for event in log if isinstance(event, AssistantSpoke)]
    assert any("**-0.043 m**" in text for text in said)
    assert any(
        "`test_the_gale_of_the_14th_raises_amber_in_the_evening` failed" in text for text in said[-12:]
    )
    return not [text for text in said if "(not in my window)" in text]


async def test_facts_from_two_handovers_ago_are_recalled(tmp_path: Path) -> None:
    wide = msgspec.structs.replace(PROFILES["balanced"], protect_tokens=42_000, sweep_max=100_000)
    policy = msgspec.structs.replace(
        wide, handover_cooldown_s=5, sweep_min=10_000, fold_after_steps=0, observe_at=0.0
    )
    log = await worked_through(sample("tidewatch", tmp_path), policy)
    made = [event for event in log if isinstance(event, HandoverMade)]
    said = [event.text for event in log if isinstance(event, AssistantSpoke)]
    answers = [event for event in log if isinstance(event, ToolAnswered)]
    assert len(answers) >= 80
    assert len(made) >= 2
    assert all(one.demo and not one.fallback and one.after < one.before for one in made)
    assert all(len(section.bullets) <= 8 for one in made for section in one.sections)
    assert [one.recalled for one in answers if one.recalled]
    assert any("looking in the index" in text for text in said)
    assert saw_what_it_said(log)


async def test_with_the_samples_own_numbers_every_mechanism_is_seen(tmp_path: Path) -> None:
    log = await worked_through(sample("tidewatch", tmp_path), DEMO_POLICY)
    count = Counter(type(event) for event in log)
    assert count[SweepMade] >= 2
    assert count[FoldMade] >= 2
    assert count[ObservationsPlaced] >= 1
    assert [event.trigger for event in log if isinstance(event, HandoverMade)][:1] == [Trigger.THRESHOLD]
    assert not count[HandoverFailed] + count[ObservationsFailed]
    assert saw_what_it_said(log)
