"""Background work of a conversation: handover, observations, intake, subagents; as jobs and as a card."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import (
    CompactionProgress,
    IntakeProgress,
    ObservationProgress,
    SideQuestionProgress,
    SubagentProgress,
)
from helix_desktop.ui.chat.rows.subagent_status import RUNNING_PHASE_TEXTS
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.shell_data import JobAction, JobRow
from helix_desktop.ui.timeline.card_data import Attempt, RunningCard
from helix_desktop.ui.timeline.card_texts import phase_text, running_text
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")

_JOB_IDS: dict[Attempt, str] = {"handover": "compaction", "observations": "observation"}
CALL_JOB = "call:"
"""Begins the id of a job that is a call; the call's id follows."""


BackgroundProgress = (
    CompactionProgress | ObservationProgress | IntakeProgress | SideQuestionProgress | SubagentProgress
)


class BackgroundJobs:
    """Keeps the newest word of each."""

    def __init__(self) -> None:
        self._handover, self._observation = CompactionProgress("idle"), ObservationProgress("idle")
        self._intake, self._side_question = IntakeProgress("idle"), SideQuestionProgress()
        self._subagents: dict[str, SubagentProgress] = {}

    def apply(self, update: BackgroundProgress) -> bool:
        """Take an update in; whether it says something new."""
        match update:
            case CompactionProgress():
                self._handover = update
            case ObservationProgress():
                self._observation = update
            case IntakeProgress():
                self._intake = update
            case SideQuestionProgress():
                if update.is_running == self._side_question.is_running:
                    return False  # only its words went on
                self._side_question = update
            case SubagentProgress(session_id=child, phase=phase):
                if phase in RUNNING_PHASE_TEXTS:
                    self._subagents[child] = update
                else:
                    self._subagents.pop(child, None)
        return True

    @property
    def card(self) -> RunningCard | None:
        """Return the handover or the observations under way; None while neither is."""
        for what, progress in self._compactions.items():
            if progress.phase != "idle":
                return RunningCard(progress.phase, progress.text, what, _estimate_of(progress))
        return None

    @property
    def _compactions(self) -> dict[Attempt, CompactionProgress | ObservationProgress]:
        return {"handover": self._handover, "observations": self._observation}

    @property
    def is_idle(self) -> bool:
        """Return True while nothing of it runs."""
        return not (self.card or self._subagents or self._side_question.is_running or self._intake.text)

    def rows(self, conversation: Conversation, start: StartCoroutine) -> list[JobRow]:
        """Return a line for each that runs in a conversation, with what stops it."""
        stops: dict[Attempt, Callable[[], object]] = {
            "handover": conversation.handovers.cancel,
            "observations": conversation.observations.cancel,
        }
        rows = [
            JobRow(
                _JOB_IDS[what],
                _job_text(what, progress),
                action=JobAction("stop", stops[what], tr("Nothing changes.")),
            )
            for what, progress in self._compactions.items()
            if progress.phase != "idle"
        ]
        rows += self._subagent_rows(conversation)
        if self._side_question.is_running:

            def stop() -> None:
                start(conversation.side_questions.cancel(), "cancel side question")

            words = tr("Answering a side question")
            rows.append(JobRow("side_question", words, action=JobAction("stop", stop)))
        if self._intake.text:
            rows.append(JobRow("intake", translate(self._intake.text)))
        return rows

    def _subagent_rows(self, conversation: Conversation) -> list[JobRow]:
        """Return a line for each subagent; one for all that wait for their turn, where there are several."""
        queued = [child for child, moved in self._subagents.items() if moved.phase == "queued"]
        summed = queued if len(queued) > 1 else []
        effect = tr("What it did so far is kept in its session.")
        rows = [
            JobRow(
                CALL_JOB + moved.call_id if moved.call_id else child,
                _subagent_text(moved),
                action=stop_call(conversation, moved.call_id, effect) if moved.call_id else None,
            )
            for child, moved in self._subagents.items()
            if child not in summed
        ]
        if summed:
            words = tr.plural(len(summed), "%n subagent queued", "%n subagents queued")
            rows.append(JobRow("subagents", words))
        return rows


def stop_call(conversation: Conversation, call_id: str, effect: str) -> JobAction:
    """Return what stops a running call, and nothing else."""
    return JobAction("stop", lambda: conversation.running_calls.stop(call_id), effect)


def _job_text(what: Attempt, progress: CompactionProgress | ObservationProgress) -> str:
    phase = phase_text(progress.phase) if progress.phase != "idle" else ""
    return " · ".join(filter(None, (running_text(what), phase, _estimate_of(progress))))


def _estimate_of(progress: CompactionProgress | ObservationProgress) -> str:
    return estimate_text(progress.estimate) if progress.estimate is not None else ""


def _subagent_text(progress: SubagentProgress) -> str:
    """Return what a subagent does now, and how full its context is."""
    used, window = format_tokens(progress.used), format_tokens(progress.window)
    parts = (
        tr("Subagent: {title}", title=progress.title) if progress.title else tr("Subagent"),
        translate(RUNNING_PHASE_TEXTS[progress.phase]),
        tr.plural(progress.steps, "%n model call", "%n model calls"),
        tr("{used} of {window} tokens", used=used, window=window),
    )
    return " · ".join(parts)
