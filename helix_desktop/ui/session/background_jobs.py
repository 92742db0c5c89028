"""Background work of a conversation: handover, observations, intake, subagents; as jobs and as a card."""

from __future__ import annotations

from helix_desktop.agent.session import (
    CompactionProgress,
    IntakeProgress,
    ObservationProgress,
    SideQuestionProgress,
    SubagentProgress,
    Update,
)
from helix_desktop.ui.chat.rows.subagent_status import RUNNING_PHASE_TEXTS
from helix_desktop.ui.design.shell_data import JobRow
from helix_desktop.ui.timeline.card_data import Attempt, RunningCard
from helix_desktop.ui.timeline.card_texts import phase_text, running_text
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")

_JOB_IDS: dict[Attempt, str] = {"handover": "compaction", "observations": "observation"}
SIDE_QUESTION_JOB = "side_question"
CALL_JOB = "call:"
"""Begins the id of a job that is a call; the call's id follows."""


class BackgroundJobs:
    """Keeps the newest word of each."""

    def __init__(self) -> None:
        self._handover, self._observation = CompactionProgress("idle"), ObservationProgress("idle")
        self._intake, self._side_question = IntakeProgress("idle"), SideQuestionProgress()
        self._subagents: dict[str, SubagentProgress] = {}

    def apply(self, update: Update) -> bool:
        """Take an update in; whether it was one of these."""
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
            case _:
                return False
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
    def jobs(self) -> list[JobRow]:
        """Return a line for each that runs."""
        jobs = [
            JobRow(
                _JOB_IDS[what],
                _job_text(what, progress),
                None,
                True,
                tr("Nothing changes."),
                cancel_action="stop",
            )
            for what, progress in self._compactions.items()
            if progress.phase != "idle"
        ]
        jobs += self._subagent_jobs()
        if self._side_question.is_running:
            words = tr("Answering a side question")
            jobs.append(JobRow(SIDE_QUESTION_JOB, words, None, True, cancel_action="stop"))
        if self._intake.text:
            jobs.append(JobRow("intake", translate(self._intake.text), None, False))
        return jobs

    def _subagent_jobs(self) -> list[JobRow]:
        """Return a line for each subagent; one for all that wait for their turn, where there are several."""
        queued = [child for child, moved in self._subagents.items() if moved.phase == "queued"]
        summed = queued if len(queued) > 1 else []
        rows = [
            JobRow(
                call_job_id(moved.call_id) if moved.call_id else child,
                _subagent_text(moved),
                None,
                bool(moved.call_id),
                tr("What it did so far is kept in its session."),
                cancel_action="stop",
            )
            for child, moved in self._subagents.items()
            if child not in summed
        ]
        if summed:
            words = tr.plural(len(summed), "%n subagent queued", "%n subagents queued")
            rows.append(JobRow("subagents", words, None, False))
        return rows


def call_job_id(call_id: str) -> str:
    """Return the job of a call."""
    return CALL_JOB + call_id


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
