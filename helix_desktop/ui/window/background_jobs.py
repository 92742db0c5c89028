"""What runs in sessions as jobs: handovers, facts, subagents, long calls; and the first copy of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import (
    CallStarted,
    CompactionProgress,
    IntakeProgress,
    ObservationProgress,
    PreparationProgress,
    SideQuestionProgress,
    SubagentProgress,
)
from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.agent.tool_calls.runner import RunningCall
from helix_desktop.context.log.running_calls import running_target
from helix_desktop.domain.cost import CostEstimate
from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.changes.coverage import copied_share
from helix_desktop.ui.chat.rows.row_texts import RUNNING_PHASES
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.timeline.cards import Attempt, RunningCard
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.status_lines import JobAction, JobRow
from helix_desktop.words.call_targets import call_title, call_verb
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")

_JOB_IDS: dict[Attempt, str] = {"handover": "compaction", "observations": "observation"}
_INTAKE = "intake"
_CHECKPOINT = "checkpoint"
_TITLE = "title"
_BESIDE_MESSAGE = {*_JOB_IDS.values(), _INTAKE, _CHECKPOINT, _TITLE}
"""What a model does to the context, mostly by itself: it stands beside the message, and covers nothing."""
CALL_JOB = "call:"
"""Begins the id of a job that is a call; the call's id follows."""
# Names of groups of lines.
_CALLS = "calls"
_FIRST_COPY = "first_copy"
_LONG_MS = 1_000  # that a call runs before it has a line
_POLL_MS = 250
_MAX_CHARS = 80  # of a target

BackgroundProgress = (
    CompactionProgress
    | ObservationProgress
    | PreparationProgress
    | IntakeProgress
    | SideQuestionProgress
    | SubagentProgress
)


class BackgroundJobs:
    """Keeps the newest word of each."""

    def __init__(self) -> None:
        self._handover = CompactionProgress("idle")
        self._observation = ObservationProgress("idle")
        self._intake = IntakeProgress()
        self._side_question = SideQuestionProgress()
        self._subagents: dict[str, SubagentProgress] = {}
        self._prepared: dict[str, CostEstimate] = {}  # titles and checkpoints under way

    def apply(self, update: BackgroundProgress) -> bool:
        """Take an update in; whether it says something new."""
        match update:
            case CompactionProgress():
                self._handover = update
            case ObservationProgress():
                self._observation = update
            case PreparationProgress(work=work, estimate=None):
                self._prepared.pop(work, None)
            case PreparationProgress(work=work, estimate=CostEstimate() as estimate):
                self._prepared[work] = estimate
            case IntakeProgress():
                self._intake = update
            case SideQuestionProgress():
                if update.is_running == self._side_question.is_running:
                    return False  # only its words went on
                self._side_question = update
            case SubagentProgress(session_id=child, phase=phase):
                if phase in RUNNING_PHASES:
                    self._subagents[child] = update
                else:
                    self._subagents.pop(child, None)
        return True

    @property
    def card(self) -> RunningCard | None:
        """Return the handover or the observations under way; None while neither is."""
        progress = self.compaction
        if progress is None or progress.phase == "idle":
            return None
        title = running_text(progress)
        estimate = _estimate_of(progress)
        return RunningCard(progress.phase, title, progress.text, estimate, _is_early(progress))

    @property
    def compaction(self) -> CompactionProgress | ObservationProgress | None:
        """Return what a model writes, the handover before the observations; None while it writes nothing."""
        return next((progress for progress in self._compactions.values() if progress.phase != "idle"), None)

    @property
    def _compactions(self) -> dict[Attempt, CompactionProgress | ObservationProgress]:
        return {"handover": self._handover, "observations": self._observation}

    @property
    def is_idle(self) -> bool:
        is_preparing = bool(self.card or self._prepared)
        return not (is_preparing or self._subagents or self._side_question.is_running or self._intake.text)

    def rows(self, conversation: Conversation, start: StartCoroutine) -> list[JobRow]:
        stops: dict[Attempt, Callable[[], object]] = {
            "handover": conversation.handovers.cancel,
            "observations": conversation.observations.cancel,
        }
        rows = []
        for what, progress in self._compactions.items():
            if progress.phase != "idle" and not _is_early(progress):
                words = " · ".join(filter(None, (running_text(progress), _estimate_of(progress))))
                why = tr("A model summarizes older messages for a compaction. Stop changes nothing.")
                stop_it = JobAction("stop", stops[what], why)
                rows.append(JobRow(_JOB_IDS[what], words, action=stop_it, short_text=tr("Summarizing…")))
        rows += self._subagent_rows(conversation)
        if self._side_question.is_running:
            cancel = conversation.side_questions.cancel
            stop_it = JobAction("stop", lambda: start(cancel(), "cancel side question"))
            rows.append(JobRow("side_question", tr("Answering a side question"), action=stop_it))
        if self._intake.text:
            rows.append(JobRow(_INTAKE, translate(self._intake.text), short_text=tr("Shortening…")))
        return rows + self._preparation_rows(conversation)

    def _preparation_rows(self, conversation: Conversation) -> list[JobRow]:
        """Return a line for each request that a model works on although nothing waits for it."""
        rows = []
        if self._observation.phase != "idle" and self._observation.is_early:
            cancel = conversation.observations.cancel
            rows.append(_summary_row(_JOB_IDS["observations"], self._observation.estimate, cancel))
        if (estimate := self._prepared.get(_CHECKPOINT)) is not None:
            rows.append(_summary_row(_CHECKPOINT, estimate, conversation.checkpoints.cancel))
        if (estimate := self._prepared.get(_TITLE)) is not None:
            words = tr("Writing a title")
            rows.append(JobRow(_TITLE, _with_reading(words, estimate), short_text=words))
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


class SessionJobs(QObject):
    """Lists what runs in the session on screen, and the first copy of its workspace's files.

    A call has a line once it takes long, in sight of the chat only if its share is known: it is a card there.
    Until the first copy is done, not every change can be undone.
    """

    def __init__(
        self, window: MainWindow, session: Session, background: Mapping[str, BackgroundJobs]
    ) -> None:
        """`background` is what a window that was open before knows to run in the background."""
        super().__init__(window)
        self._window = window
        self._session = session
        self._jobs = window.jobs
        self._lazy_timeline = window.pages.timeline
        self._composer = window.pages.chat.composer
        self.background = deepcopy(dict(background))
        """What runs in the background, by session, in all open workspaces, while any does."""
        self._copied: OpenWorkspace | None = None  # the workspace whose first copy is followed
        self._stop_following: Callable[[], None] = lambda: None
        self._poll_timer = QTimer(self, interval=_POLL_MS)
        self._poll_timer.timeout.connect(self._show_calls)
        session.changed.connect(self._show_background)
        window.page_shown.connect(lambda _: self._show_background())
        self._lazy_timeline.when_built(lambda _: self._show_background())
        session.changed.connect(self._poll_timer.start)
        session.changed.connect(self._follow_copy)
        session.on(CallStarted, lambda _: self._poll_timer.isActive() or self._poll_timer.start())

    def follow(self, _workspace: OpenWorkspace, session_id: str, update: BackgroundProgress) -> None:
        """Follow the background work of every open session: it may come on screen while that runs."""
        jobs = self.background.get(session_id, BackgroundJobs())
        if not jobs.apply(update):
            return
        self.background[session_id] = jobs
        if jobs.is_idle:
            del self.background[session_id]
        if session_id == self._session.id:
            self._show_background()

    def _show_background(self) -> None:
        jobs = self.background.get(self._session.id, BackgroundJobs())
        if (timeline := self._lazy_timeline.find()) is not None:
            timeline.set_running(jobs.card)
        conversation = self._session.find_conversation()
        rows = jobs.rows(conversation, self._session.start) if conversation else []
        self._jobs.show_jobs([row for row in rows if row.id not in _BESIDE_MESSAGE])
        work = next((row for row in rows if row.id in _BESIDE_MESSAGE), None)
        composer = self._composer
        if work is None:
            composer.show_work()
        elif work.action is None:
            composer.show_work(work.text, work.short_text)
        else:
            composer.show_work(work.text, work.short_text, why=work.action.effect, end=work.action.run)

    def _show_calls(self) -> None:
        conversation = self._session.find_conversation()
        running = conversation.running_calls.running if conversation is not None else ()
        if conversation is None or not running:
            self._poll_timer.stop()
            self._jobs.show_jobs([], _CALLS)
            return
        now_ms = wall_clock_ms()
        rows = [
            _call_row(conversation, call, now_ms)
            for call in running
            if call.call.name != DELEGATE
            and now_ms - call.started_at_ms >= _LONG_MS
            and (call.share is not None or self._window.page() != "chat")
        ]
        self._jobs.show_jobs(rows, _CALLS)

    def _follow_copy(self) -> None:
        workspace = self._session.workspace if self._session.has_workspace else None
        if workspace is self._copied:
            return
        self._stop_following()
        self._copied = workspace
        self._stop_following = workspace.changes.listen(self._show_copy) if workspace else lambda: None
        self._show_copy()

    def _show_copy(self) -> None:
        """Show how many files are in; after a restart it goes on, or still is paused."""
        rows = []
        if self._copied is not None:
            changes = self._copied.changes
            coverage = self._copied.changes.coverage
            has_begun = bool(coverage.files) or coverage.is_paused
            if has_begun and not (coverage.is_complete or coverage.error):
                pause = partial(changes.pause_copy, not coverage.is_paused)
                start = self._session.start
                rows = [_copy_row(coverage, lambda: start(pause(), "pause the first copy"))]
        self._jobs.show_jobs(rows, _FIRST_COPY)


def _is_early(progress: CompactionProgress | ObservationProgress) -> bool:
    return isinstance(progress, ObservationProgress) and progress.is_early


def running_text(progress: CompactionProgress | ObservationProgress) -> str:
    turns = translate(progress.turns) if isinstance(progress, ObservationProgress) else ""
    if turns:
        return tr("Summarizing {turns}…", turns=turns)
    return tr("Summarizing older messages…")


def _summary_row(job_id: str, estimate: CostEstimate | None, cancel: Callable[[], object]) -> JobRow:
    words = tr("Preparing a handover summary")
    why = tr("A model summarizes older messages ahead of a compaction. Stop changes nothing.")
    stop_it = JobAction("stop", cancel, why)
    return JobRow(job_id, _with_reading(words, estimate), action=stop_it, short_text=words)


def _with_reading(words: str, estimate: CostEstimate | None) -> str:
    """Return what a model does, with the tokens that it reads, once they are known."""
    if estimate is None:
        return words
    return " · ".join((words, tr("reads {tokens}", tokens=format_tokens(estimate.tokens))))


def stop_call(conversation: Conversation, call_id: str, effect: str) -> JobAction:
    return JobAction("stop", lambda: conversation.running_calls.stop(call_id), effect)


def _estimate_of(progress: CompactionProgress | ObservationProgress) -> str:
    """Return what it takes; nothing where its price isn't known."""
    estimate = progress.estimate
    return estimate_text(estimate) if estimate is not None and estimate.cost is not None else ""


def _subagent_text(progress: SubagentProgress) -> str:
    used = format_tokens(progress.used)
    window = format_tokens(progress.window)
    parts = (
        tr("Subagent: {title}", title=progress.title) if progress.title else tr("Subagent"),
        translate(RUNNING_PHASES[progress.phase]),
        tr.plural(progress.steps, "%n model call", "%n model calls"),
        tr("{used} of {window} tokens", used=used, window=window),
    )
    return " · ".join(parts)


def _call_row(conversation: Conversation, running: RunningCall, now_ms: int) -> JobRow:
    call = running.call
    target = running_target(call, conversation.session.transcript)
    target = ellipsize(" ".join(target.split()), _MAX_CHARS)
    title = call_title(call.name, target, call_verb(call.name, "running"))
    words = f"{title} · {format_elapsed((now_ms - running.started_at_ms) // 1_000)}"
    effect = tr("Stop this command only. Its output so far is kept.")
    return JobRow(CALL_JOB + call.id, words, running.share, stop_call(conversation, call.id, effect))


def _copy_row(coverage: FileCoverage, pause: Callable[[], object]) -> JobRow:
    share = copied_share(coverage)
    if coverage.is_paused:
        words = tr.plural(
            coverage.pending,
            "Copying files for undo paused · %n file left",
            "Copying files for undo paused · %n files left",
        )
        return JobRow(_FIRST_COPY, words, share, JobAction("resume", pause))
    words = tr.plural(coverage.files, "Copying files for undo · %n file", "Copying files for undo · %n files")
    effect = tr("Until you resume, changes to files that aren't copied yet can't be undone.")
    return JobRow(_FIRST_COPY, words, share, JobAction("pause", pause, effect))
