"""A hundred steps in a small window: what left it, what stayed, and what the way back cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites.sweep import MIN_PROTECTED_STEPS
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from tests.support.long_task import LOOKING, MODULES, RULE, Worker, write_library
from tests.support.loop_rig import RESERVE, LoopRig, loop_rig

WINDOW = 24_000
POLICY = PROFILES["balanced"]
RECALL_STEPS = 3  # model calls that recalled content stays for


async def test_a_hundred_steps_with_little_room(tmp_path: Path) -> None:
    worker = Worker()
    async with loop_rig(tmp_path, worker, POLICY, window=WINDOW) as rig:
        write_library(rig.root)
        await rig.conversation.set_mode("auto")
        for turn in worker.plan:
            assert (await rig.conversation.run(turn.prompt)).how == "done"
            await rig.conversation.wait_for_background_work()
        await rig.assert_consistent()
        log = rig.conversation.session.log

        assert_task_is_done(rig.root)
        assert len(rig.chat_requests) >= 100
        assert len(rig.events(SweepMade)) > 5
        assert len(rig.events(FoldMade)) > 5
        assert list(left_before_stale(log)) == [], "stale and superseded content goes first"
        assert list(left_before_older(log)) == [], "what is worked on goes last"
        assert list(left_in_work(log)) == [], "the file that is edited, its newest text and test, never left"
        assert list(left_too_soon(log)) == [], "what was recalled stays for the next calls"
        first = next(n for n, sent in enumerate(rig.chat_requests) if is_rule_in(sent.messages))
        assert all(is_rule_in(sent.messages) for sent in rig.chat_requests[first:])
        assert max(len(sent.received.body) // 4 for sent in rig.chat_requests) <= WINDOW - RESERVE
        lookups = looked_up(rig)
        assert len(lookups) >= 12, "most steps need what an earlier one found"
        assert sum(lookups.values()) <= 1.3 * len(lookups), lookups


@dataclass(frozen=True)
class RemovedMessages:
    """What left the window before one request, and what else could have: messages by seq.

    `before` is the session before it.
    """

    before: Transcript
    left: frozenset[int]
    could_leave: frozenset[int]

    @property
    def not_removed(self) -> frozenset[int]:
        """Return what could have left and did not."""
        return self.could_leave - self.left

    def __str__(self) -> str:
        return (
            f"before e{self.before.last_seq + 1}: {sorted(self.left)} left, {sorted(self.not_removed)} stayed"
        )


def departures(log: Sequence[RecordedEvent]) -> Iterator[RemovedMessages]:
    """Yield what each rewrite took out of the window; those before one request are one."""
    transcript = Transcript()
    before: Transcript | None = None
    for entry in log:
        if isinstance(entry.event, SweepMade | FoldMade):
            before = before or transcript.fork()
        elif isinstance(entry.event, AssistantSpoke | UserSpoke) and before is not None:
            could = standing(before)
            not_removed = standing(transcript)
            yield RemovedMessages(before, could - not_removed, removable(before, could))
            before = None
        transcript.apply(entry)


def standing(transcript: Transcript) -> frozenset[int]:
    """Return the messages whose outputs or arguments stand whole and could be markers."""
    return frozenset(
        item.seq
        for item in transcript.window.entries()
        if isinstance(item, LogItem)
        and not isinstance(item.event, UserSpoke)
        and transcript.window.masking_savings(item) >= POLICY.least_saving
    )


def removable(transcript: Transcript, seqs: frozenset[int]) -> frozenset[int]:
    """Return those of them that are neither of the newest steps nor recalled just now."""
    items = [item for seq in seqs if (item := transcript.messages.item(seq)) is not None]
    return frozenset(
        item.seq
        for item in items
        if transcript.messages.steps - item.step
        >= (
            RECALL_STEPS
            if isinstance(item.event, ToolAnswered) and item.event.recalled
            else MIN_PROTECTED_STEPS
        )
    )


def left_before_stale(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield where something fresh of the running turn left, and something stale of it stayed."""
    for departure in departures(log):
        transcript = departure.before
        start = transcript.messages.user_items[-1].seq
        stale = transcript.superseded.keys() - transcript.in_work
        fresh = {seq for seq in departure.left if seq > start} - transcript.superseded.keys()
        if fresh and any(seq in stale and seq > start for seq in departure.not_removed):
            yield str(departure)


def left_before_older(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield where something that the turn works on left, and something older stayed that it does not."""
    for departure in departures(log):
        in_work = departure.before.in_work
        newest = max((seq for seq in departure.left if seq in in_work), default=0)
        if any(seq < newest and seq not in in_work for seq in departure.not_removed):
            yield str(departure)


def left_in_work(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield where something left that a turn works on which edits files."""
    for departure in departures(log):
        if departure.before.messages.turns > 1 and departure.left & departure.before.in_work:
            yield str(departure)


def left_too_soon(log: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield where recalled content left before the model was called so often with it."""
    for departure in departures(log):
        for seq in departure.left:
            item = departure.before.messages.item(seq)
            recalled = item is not None and isinstance(item.event, ToolAnswered) and item.event.recalled
            if item is not None and recalled and departure.before.messages.steps - item.step < RECALL_STEPS:
                yield str(departure)


def is_rule_in(messages: Sequence[dict[str, Any]]) -> bool:
    """Return True if the user's rule stands in a request."""
    return any(RULE in str(message["content"]) for message in messages)


def looked_up(rig: LoopRig) -> Counter[tuple[str, str]]:
    found = (LOOKING.match(response.text) for response in rig.events(AssistantSpoke))
    return Counter((match[1], match[2]) for match in found if match)


def assert_task_is_done(root: Path) -> None:
    """Assert that the files hold what was measured, as the user wants it."""
    for name in MODULES:
        values = [float(line) for line in (root / f"data/{name}.txt").read_text().splitlines()]
        floor = f"{sum(values) / len(values):.4f}"
        text = (root / f"tides/{name}.py").read_text()
        gain = f"{float(floor) * values[0]:.5f}"
        comment = "# checked by harbour office 7731"
        assert f"NOISE_FLOOR = {floor}  {comment}\nGAIN = {gain}  {comment}\n" in text
        assert (
            f"noise floor of {name}: {floor}\ngain needed by {name}: {gain}\n"
            in (root / "report.md").read_text()
        )
        trim = re.search(rf"def trim_{name}\((.*)\):", text)
        assert trim is not None
        assert f"values = trim_{name}(values)  # takes ({trim[1]})" in text
