"""What runs beside a conversation: handover, observations, intake, subagents; as jobs and as a card."""

from __future__ import annotations

from collections import Counter

from helix_desktop.agent.update import (
    CompactionMoved,
    IntakeMoved,
    ObservationMoved,
    SubagentMoved,
    Update,
)
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.frame.rows import JobRow
from helix_desktop.ui.spending.rows import estimate_text
from helix_desktop.ui.timeline.rows import Phase, RunningCard

_PHASES: dict[str, Phase] = {"read": "Read", "summarise": "Summarise", "check": "Check", "write": "Write"}
_DOING = {
    "queued": "waits for a place",
    "thinking": "asks its model",
    "working": "runs tools",
    "waiting": "waits for you",
}

_SEVERAL = {"waiting": "waiting for you", "working": "working", "thinking": "thinking", "queued": "to come"}


class Beside:
    """Keeps the newest word of each."""

    def __init__(self) -> None:
        self._handover, self._observing = CompactionMoved("idle"), ObservationMoved("idle")
        self._intake = IntakeMoved("idle")
        self._subagents: dict[str, SubagentMoved] = {}

    def take(self, update: Update) -> bool:
        """Take an update in; whether it was one of these."""
        match update:
            case CompactionMoved():
                self._handover = update
            case ObservationMoved():
                self._observing = update
            case IntakeMoved():
                self._intake = update
            case SubagentMoved(child=child, phase=phase):
                self._subagents.pop(child, None)
                if phase in _DOING:
                    self._subagents[child] = update
            case _:
                return False
        return True

    @property
    def card(self) -> RunningCard | None:
        """The handover or the observations under way; None while neither is."""
        for moved, what in ((self._handover, "Handover"), (self._observing, "Observing")):
            phase = _PHASES.get(moved.phase)
            if phase is not None:
                return RunningCard(phase, moved.text, what, _takes(moved))
        return None

    @property
    def jobs(self) -> list[JobRow]:
        """A line for each that runs."""
        jobs = []
        if self._handover.phase in _PHASES:
            jobs.append(JobRow("compaction", _job_text("Handing over", self._handover), None, True))
        if self._observing.phase in _PHASES:
            jobs.append(JobRow("observation", _job_text("Observing", self._observing), None, True))
        jobs += self._at_work()
        if self._intake.text:
            jobs.append(JobRow("intake", self._intake.text, None, False))
        return jobs

    def _at_work(self) -> list[JobRow]:
        """A line for a subagent; one for all where there are several, whose cards say more."""
        if len(self._subagents) <= 1:
            return [JobRow(child, _doing(moved), None, False) for child, moved in self._subagents.items()]
        doing = Counter[str](moved.phase for moved in self._subagents.values())
        parts = [f"{doing[phase]} {words}" for phase, words in _SEVERAL.items() if phase in doing]
        return [JobRow("subagents", f"{len(self._subagents)} subagents · {' · '.join(parts)}", None, False)]


def _job_text(doing: str, moved: CompactionMoved | ObservationMoved) -> str:
    parts = (doing, _PHASES[moved.phase], _takes(moved))
    return " · ".join(part for part in parts if part)


def _takes(moved: CompactionMoved | ObservationMoved) -> str:
    return estimate_text(moved.estimate) if moved.estimate is not None else ""


def _doing(moved: SubagentMoved) -> str:
    """What a subagent does now, and how full its window is."""
    steps = f"{moved.steps} step{'s' if moved.steps != 1 else ''}"
    use = f"{tokens_text(moved.use)} of {tokens_text(moved.window)} tokens"
    return f"Subagent {moved.title or 'at work'} · {_DOING[moved.phase]} · {steps} · {use}"
