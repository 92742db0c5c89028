"""The guided demo: the real window, offscreen, driven through a sample project, with numbers."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeAlias
from weakref import WeakSet

import msgspec
from PySide6.QtCore import QTimer
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Store
from helix_desktop.app.crash_log import close_window_logs, open_window_logs
from helix_desktop.app.qt_loop import QtLoop
from helix_desktop.app.run import shut_down, wire_app
from helix_desktop.app.window_context import WindowContext, create_window_context
from helix_desktop.app.window_frame import build_frame, set_application_identity
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.window.window import Window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import ObservationsPlaced
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS
from helix_desktop.domain.translatable_text import TextContext, folder_reason
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.services.samples import SAMPLES, add_sample
from helix_desktop.system.files import non_folder_in
from helix_desktop.ui.design.style.stylesheet import ThemeMode, new_application
from helix_desktop.ui.kit.intents import OpenOutput, Redo, ShowEvent, Undo
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.rewrite_controller import CONTEXT_CHANGE
from helix_desktop.words.numbers import format_size
from helix_desktop.words.times import format_duration, format_exact_duration
from helix_desktop.words.translation import Translator
from helix_desktop.workspaces.registry import WorkspaceRecord
from helix_desktop.workspaces.saved_rules import SavedRules

text = TextContext("Demo")
tr = Translator("Demo")

_BOTH_MODES: tuple[ThemeMode, ...] = ("dark", "light")
_TIMEOUT_S = 15.0  # for what the window is about to show
_POLL_S = 0.03
_SETTLE_S = 0.5  # at most: a turn that asks and a dialog that waits never end by themselves
_SOON_MS = 350  # in which what was changed is highlighted, counted or filtered
_SLICE_MS = 60  # of the timers that go on until their work is done; those of clocks and spinners are longer


class PictureOptions(NamedTuple):
    """The window's size in pixels (None as it is at first), the modes, and the density of the screen."""

    size: tuple[int, int] | None = None
    modes: tuple[ThemeMode, ...] = _BOTH_MODES
    scale: int = 1


class ScreenshotWriter:
    """Saves screenshots into one folder; between them the window paints nothing, because nobody sees it."""

    def __init__(self, window_context: WindowContext, folder: Path, options: PictureOptions) -> None:
        self._window_context = window_context
        self.folder = folder
        self.options = options
        self.saved: list[Path] = []
        self._lasting: WeakSet[asyncio.Task[object]] = WeakSet()
        window_context.window.setUpdatesEnabled(False)

    async def capture(
        self, name: str, modes: tuple[ThemeMode, ...] = _BOTH_MODES, widget: QWidget | None = None
    ) -> None:
        """Save a screenshot of the window, or of `widget`, in each mode that is wanted. Raises HelixError."""
        appearance = self._window_context.appearance
        modes_in_use = tuple(mode for mode in modes if mode in self.options.modes)
        # The mode in force first: the other one has to restyle the whole window.
        for mode in sorted(modes_in_use, key=lambda mode: mode != appearance.mode):
            if appearance.mode != mode:
                appearance.set_mode(mode)
            self._paint(widget)
            await self.settle()
            path = self.folder / f"{name}-{mode}.png"
            if not self._paint(widget).save(str(path)):
                path.unlink(missing_ok=True)  # a picture that was cut off
                raise HelixError(
                    text("{path} can't be written.", path=path),
                    fix=text("Free up disk space, or choose another folder."),
                )
            self.saved.append(path)

    async def settle(self) -> None:
        """Wait for what is drawn a moment later: highlighted code, table pages, coalesced numbers."""
        for _ in range(round(_SETTLE_S / _POLL_S)):
            await asyncio.sleep(_POLL_S)
            if not (asyncio.all_tasks() - {*self._lasting, asyncio.current_task()} or _is_timer_due()):
                break
        self._lasting = WeakSet(asyncio.all_tasks())

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait as `wait_until` does, for what the window asks for when it is painted: rows of Outputs."""
        until = time.monotonic() + _TIMEOUT_S
        while True:
            self._paint()
            if is_true() or time.monotonic() > until:
                return
            await self.settle()

    def _paint(self, widget: QWidget | None = None) -> QPixmap:
        window = self._window_context.window
        window.setUpdatesEnabled(True)
        try:
            return (widget or window).grab()
        finally:
            window.setUpdatesEnabled(False)


async def wait_until(is_true: Callable[[], bool], timeout_s: float = _TIMEOUT_S) -> None:
    """Wait until `is_true` returns True, but not for ever: a picture of less is better than none."""
    for _ in range(round(timeout_s / _POLL_S)):
        if is_true():
            return
        await asyncio.sleep(_POLL_S)


def _is_timer_due() -> bool:
    timers = [timer for window in QApplication.topLevelWidgets() for timer in window.findChildren(QTimer)]
    return any(
        timer.remainingTime() <= _SOON_MS if timer.isSingleShot() else timer.interval() <= _SLICE_MS
        for timer in timers
        if timer.isActive()
    )


def is_page_read(controllers: ControlledWindow, page: str) -> bool:
    """Return whether a page shows what it reads: its rows, the selected file's diff, the timeline."""
    views = controllers.window.pages
    match page:
        case "outputs":
            return _are_rows_read(views.outputs.get())
        case "changes":
            return views.changes.get().detail.has_diff
        case "timeline":
            return not views.timeline.get().is_reading
    return True


def _are_rows_read(outputs: OutputsPage) -> bool:
    model = outputs.model
    table = outputs.table
    bottom = table.rowAt(table.viewport().height() - 1)
    rows = range(max(0, table.rowAt(0)), bottom + 1 if bottom >= 0 else model.rowCount())
    return model.rowCount() > 0 and all(map(model.is_loaded, rows))


async def show_timeline(controllers: ControlledWindow, screenshots: ScreenshotWriter) -> None:
    """Show the timeline, and wait until it has read what happened last."""
    controllers.window.show_page("timeline")
    await screenshots.settle()
    await wait_until(lambda: is_page_read(controllers, "timeline"))


MIN_CALLS = 80
MIN_FOLDS = 2


class DemoCheck(msgspec.Struct, frozen=True):
    name: str
    passed: bool
    text: str


async def check_session(store: Store, conversation: Conversation) -> list[DemoCheck]:
    """Check a session whose script was played to its end."""
    transcript = conversation.session.transcript
    outputs = outputs_in(transcript.messages.items)
    recalled = [output for output in outputs if output.recalled and output.ok]
    return [
        _check_calls(len(outputs), transcript.messages.turns),
        *_check_rewrites(transcript),
        await _check_totals(store),
        await _check_outputs(store, outputs),
        await _check_arguments(store, transcript),
        DemoCheck(
            tr("recalled by the agent"), bool(recalled), tr.plural(len(recalled), "%n time", "%n times")
        ),
        _check_window(conversation),
    ]


def outputs_in(items: list[LogItem]) -> list[ToolAnswered]:
    return [item.event for item in items if isinstance(item.event, ToolAnswered)]


def _check_calls(calls: int, turns: int) -> DemoCheck:
    parts = (tr.plural(calls, "%n call", "%n calls"), tr.plural(turns, "%n turn", "%n turns"))
    return DemoCheck(tr("tool calls"), calls >= MIN_CALLS, " · ".join(parts))


def _check_rewrites(transcript: Transcript) -> list[DemoCheck]:
    return [
        _check_cached(transcript),
        _check_noted(transcript),
        _check_observations(transcript),
        _check_checkpoints(transcript),
        _check_summarized(transcript),
    ]


def _check_cached(transcript: Transcript) -> DemoCheck:
    sweeps = list(transcript.rewrites.sweeps.values())
    swept = [
        item for sweep in sweeps for seq in sweep.swept if (item := transcript.messages.item(seq)) is not None
    ]
    replies = [item.event for item in swept if isinstance(item.event, AssistantSpoke)]
    calls = sum(len(reply.short) for reply in replies)
    parts = (
        tr.plural(len(sweeps), "%n time", "%n times"),
        tr.plural(len(swept) - len(replies), "%n output", "%n outputs"),
        tr.plural(calls, "%n call", "%n calls"),
        _saved_text(sum(sweep.saved for sweep in sweeps)),
    )
    return DemoCheck(tr("cached"), bool(sweeps), " · ".join(parts))


def _check_noted(transcript: Transcript) -> DemoCheck:
    folds = list(transcript.rewrites.folds.values())
    parts = (
        tr.plural(len(folds), "%n time", "%n times"),
        tr.plural(sum(fold.steps for fold in folds), "%n step", "%n steps"),
        _saved_text(sum(fold.saved for fold in folds)),
    )
    return DemoCheck(tr("compacted without a model"), len(folds) >= MIN_FOLDS, " · ".join(parts))


def _check_observations(transcript: Transcript) -> DemoCheck:
    observed = transcript.rewrites.observations.values()
    placed = transcript.rewrites.of_kind(ObservationsPlaced).values()
    parts = (
        tr.plural(len(observed), "written %n time", "written %n times"),
        tr.plural(sum(len(event.observations) for event in observed), "%n sentence", "%n sentences"),
        tr.plural(len(placed), "used %n time", "used %n times"),
        _saved_text(sum(event.saved for event in placed)),
    )
    return DemoCheck(tr("compacted by a model"), bool(placed), " · ".join(parts))


def _check_checkpoints(transcript: Transcript) -> DemoCheck:
    checkpoints = transcript.checkpoints.values()
    parts = (
        tr.plural(len(checkpoints), "%n time", "%n times"),
        *(tr("after {tokens} tokens", tokens=checkpoint.history) for checkpoint in checkpoints),
    )
    return DemoCheck(tr("prepared handover summaries"), bool(checkpoints), " · ".join(parts))


def _check_summarized(transcript: Transcript) -> DemoCheck:
    """Check the handovers: one at least comes by itself, at the share of the window that the policy says."""
    handovers = list(transcript.rewrites.handovers.values())
    automatic = sum(handover.trigger.is_by_policy for handover in handovers)
    changes = [
        tr("{before} → {after} tokens", before=handover.before, after=handover.after)
        for handover in handovers
    ]
    times = tr.plural(len(handovers), "%n time", "%n times")
    parts = (times, tr("{count} automatic", count=automatic), *changes)
    return DemoCheck(tr("handover summaries"), automatic > 0, " · ".join(parts))


def _saved_text(tokens: int) -> str:
    return tr("{tokens} tokens saved", tokens=tokens)


async def _check_totals(store: Store) -> DemoCheck:
    totals = await store.totals()
    parts = (
        tr.plural(totals.entries, "%n entry", "%n entries"),
        format_size(totals.size),
        tr("{size} on disk", size=format_size(totals.stored_size)),
    )
    return DemoCheck(tr("cache"), totals.entries > 0, " · ".join(parts))


def _check_window(conversation: Conversation) -> DemoCheck:
    items = conversation.session.transcript.messages.items
    unmanaged = sum(item.tokens for item in items)
    used = conversation.window.measure()[1].used
    peak = max(item.event.estimate for item in items if isinstance(item.event, AssistantSpoke))
    parts = (
        tr("{tokens} tokens without Helix", tokens=unmanaged),
        tr("{tokens} in the largest request", tokens=peak),
        tr("{tokens} now", tokens=used),
    )
    return DemoCheck(tr("context"), peak < conversation.model.window, " · ".join(parts))


async def _check_outputs(store: Store, outputs: list[ToolAnswered]) -> DemoCheck:
    """Read every output back; compare it by digest, and with the log if that has it whole."""
    verified = compared = 0
    size = 0
    stored = [output for output in outputs if output.digest]
    for output in stored:
        data = await store.get(output.digest)
        is_same = digest_of(data) == output.digest
        if output.whole:
            compared += 1
            is_same = is_same and data.decode("utf-8", "replace") == output.text
        verified += is_same
        size += len(data)
    parts = (
        tr("{verified} of {stored} read back by SHA-256", verified=verified, stored=len(stored)),
        tr("{compared} compared with the log", compared=compared),
        tr("{size} bytes", size=size),
    )
    return DemoCheck(tr("outputs byte for byte"), verified == len(stored), " · ".join(parts))


async def _check_arguments(store: Store, transcript: Transcript) -> DemoCheck:
    """Read every large argument back and look for it in the call that it was taken from."""
    matching = total = 0
    for item in transcript.messages.items:
        if not isinstance(item.event, AssistantSpoke):
            continue
        arguments = {call.id: call.arguments for call in item.event.calls}
        for short in item.event.short:
            values = json.loads(arguments[short.call_id]).values()
            for digest in short.digests:
                total += 1
                matching += (await store.get(digest)).decode("utf-8", "replace") in values
    return DemoCheck(
        tr("arguments byte for byte"),
        matching == total > 0,
        tr("{matching} of {total} match their calls", matching=matching, total=total),
    )


_REPORT_IT = text("This is a bug. Report it.")

RewriteKind: TypeAlias = Literal["handover", "sweep", "fold"]
Moment: TypeAlias = Literal["start", "no-session", "first-pages", "checked"]

_TURN_TIMEOUT_S = 120


class DemoTour:
    """Drives the window through two sample workspaces."""

    asks_again_before: ClassVar[int | None] = None
    """The message of the script, counted from 0, from which on a call has to be approved once more."""

    def __init__(
        self,
        window_context: WindowContext,
        controllers: ControlledWindow,
        screenshots: ScreenshotWriter,
        projects: Path,
    ) -> None:
        self._window_context = window_context
        self._controllers = controllers
        self._screenshots = screenshots
        self._services = controllers.services
        self._workspace_controller = controllers.workspace_controller
        self._projects = projects
        self._samples: list[WorkspaceRecord] = []
        self._checks: list[DemoCheck] = []

    async def run(self) -> list[DemoCheck]:
        """Run the whole tour. Raises HelixError if the window does not respond."""
        await self.pause("start")
        records = self._samples
        records += [add_sample(self._services.registry, self._projects, name) for name in SAMPLES]
        await self._workspace_controller.open_workspace(records[0].id)
        await self.pause("no-session")
        workspace = await self._services.open_workspace(records[0].id)
        await self._workspace_controller.new_session()
        conversation = self._conversation()
        await self._play_script(conversation, SAMPLES[0])
        self._checks += await check_session(workspace.store, conversation)
        await self._undo_and_redo(conversation)
        await self._capture_screens(conversation)
        await self._other_workspace(records[1].id, workspace, conversation)
        await self.pause("checked")
        return self._checks

    async def pause(self, moment: Moment) -> None:
        """Do nothing: a longer tour captures more screens at these moments."""

    def _add_check(self, name: str, passed: bool, text: str) -> None:
        self._checks.append(DemoCheck(name, passed, text))

    def _conversation(self) -> Conversation:
        return self._controllers.session.conversation

    async def _play_script(self, conversation: Conversation, name: str) -> None:
        script = next(
            candidate for candidate in read_scripts(resources_dir() / "demo") if candidate.name == name
        )
        for number, message in enumerate(script.user_messages):
            if number == self.asks_again_before:
                self._require_approval()
            await self._send(message)
            await conversation.checkpoints.wait()
            await conversation.wait_for_background_work()
            if number == 0:
                await self._screenshots.capture("chat-first-turn", ("dark",))

    def _require_approval(self) -> None:
        """Make the demo model ask once more, for a screenshot of an approval request for an edit."""
        SavedRules(self._services.registry, self._controllers.session.workspace_id).set_demo_calls("once")

    async def _send(self, message: str) -> None:
        """Type and send as a user does, and wait for the end of the turn."""
        composer = self._controllers.composer.widget
        composer.set_text(message)
        composer.editor.submitted.emit()
        conversation = self._conversation()
        turns = conversation.session.transcript.messages.turns
        started_at = time.monotonic()
        while conversation.is_running or conversation.session.transcript.messages.turns == turns:
            if conversation.asks:
                await self._screenshots.capture("approval")
                conversation.decide(conversation.asks[0].call_id, ALLOW_DEMO_CALLS)
            if time.monotonic() - started_at > _TURN_TIMEOUT_S:
                raise HelixError(
                    text("A turn of the demo didn't end."),
                    text("The message was: {message}", message=message),
                    text("See the log in the data directory."),
                )
            await asyncio.sleep(_POLL_S)

    async def _undo_and_redo(self, conversation: Conversation) -> None:
        """Undo the last rewrite of each kind and redo it; the window must be what it was before each."""
        handovers = conversation.session.transcript.rewrites.active_handovers
        if handovers:
            await self._undo_and_redo_one(conversation, "handover", max(handovers))
        else:
            self._add_check(_undo_name("handover"), False, tr("nothing to undo"))
        await self._undo_below_summaries(conversation, "sweep", self._sweeps_in_sight)
        await self._undo_below_summaries(conversation, "fold", self._folds)
        await self._screenshots.settle()
        self._window_context.window.notices.end(CONTEXT_CHANGE)

    async def _undo_and_redo_one(self, conversation: Conversation, name: RewriteKind, seq: int) -> None:
        before = conversation.window.measure()[0]
        self._window_context.window.perform(Undo((seq,)))
        undone = await self._changed(conversation, before)
        if name == "handover":
            await show_timeline(self._controllers, self._screenshots)
            await self._screenshots.capture("timeline-undone", ("dark",))
        self._window_context.window.perform(Redo((seq,)))
        redone = await self._changed(conversation, undone)
        change = tr(
            "{before} → {undone} → {redone} tokens",
            before=before.estimate,
            undone=undone.estimate,
            redone=redone.estimate,
        )
        is_restored = undone.estimate > before.estimate and redone == before
        self._add_check(_undo_name(name), is_restored, change)

    async def _undo_below_summaries(
        self, conversation: Conversation, name: RewriteKind, in_sight: Callable[[Conversation], list[int]]
    ) -> None:
        """Undo the newest rewrite of a kind and redo it; summaries that cover all are undone first."""
        rewrites = conversation.session.transcript.rewrites
        undone: list[int] = []
        for seq in sorted((*rewrites.active_handovers, *rewrites.placed_observations), reverse=True):
            if not in_sight(conversation):
                before = conversation.window.measure()[0]
                undone.append(seq)
                self._window_context.window.perform(Undo((seq,)))
                await self._changed(conversation, before)
        if found := in_sight(conversation):
            await self._undo_and_redo_one(conversation, name, max(found))
        else:
            self._add_check(_undo_name(name), False, tr("nothing to undo"))
        for seq in reversed(undone):
            before = conversation.window.measure()[0]
            self._window_context.window.perform(Redo((seq,)))
            await self._changed(conversation, before)

    @staticmethod
    def _sweeps_in_sight(conversation: Conversation) -> list[int]:
        """Return the sweeps of which a marker stands in the window: a summary may cover all of another's."""
        transcript = conversation.session.transcript
        raw = {entry.seq for entry in transcript.window.entries() if isinstance(entry, LogItem)}
        sweeps = transcript.rewrites.sweeps.items()
        return [seq for seq, sweep in sweeps if transcript.can_undo(seq) and not raw.isdisjoint(sweep.swept)]

    @staticmethod
    def _folds(conversation: Conversation) -> list[int]:
        covers = conversation.session.transcript.window.covers
        return [item.seq for item in covers if isinstance(item.event, FoldMade)]

    async def _changed(self, conversation: Conversation, previous: Window) -> Window:
        for _ in range(200):
            window = conversation.window.measure()[0]
            if window != previous:
                return window
            await asyncio.sleep(_POLL_S)
        raise HelixError(text("The context didn't change."), fix=_REPORT_IT)

    async def _capture_screens(self, conversation: Conversation) -> None:
        window = self._window_context.window
        transcript = conversation.session.transcript
        window.show_page("chat")
        await self._screenshots.capture("chat")
        first_rewrite = min(transcript.rewrites.by_seq)
        answer_seqs = [
            item.seq
            for item in transcript.messages.items
            if isinstance(item.event, AssistantSpoke) and item.seq < first_rewrite
        ]
        window.perform(ShowEvent(answer_seqs[-2]))
        await self._screenshots.capture("chat-tools")
        largest = max(
            outputs_in([entry for entry in transcript.window.entries() if isinstance(entry, LogItem)]),
            key=lambda entry: entry.size,
        )
        window.perform(OpenOutput(largest.digest))
        table = self._controllers.window.pages.outputs.get().table
        await self._screenshots.wait_until(
            lambda: table.current_digest() == largest.digest and is_page_read(self._controllers, "outputs")
        )
        await self._screenshots.capture("cache")
        await show_timeline(self._controllers, self._screenshots)
        await self._screenshots.capture("timeline")
        cards = {
            "timeline-checkpoint": transcript.checkpoints,
            "timeline-handover": transcript.rewrites.handovers,
            "timeline-folds": transcript.rewrites.folds,
        }
        for name, seqs in cards.items():
            if seqs:
                window.perform(ShowEvent(max(seqs)))
                await self._screenshots.wait_until(
                    lambda: not self._controllers.window.pages.timeline.get().is_revealing
                )
                await self._screenshots.capture(name)
        await self.pause("first-pages")
        window.show_page("chat")

    async def _other_workspace(
        self, other_id: str, first_workspace: OpenWorkspace, conversation: Conversation
    ) -> None:
        """Switch to another workspace, work there, and look in its cache for contents of the first one."""
        started_at = time.monotonic()
        await self._workspace_controller.open_workspace(other_id)
        switch_ms = (time.monotonic() - started_at) * 1000
        other_workspace = await self._services.open_workspace(other_id)
        await self._workspace_controller.new_session()
        await self._send("What is in this folder?")
        await self._screenshots.capture("second-workspace")
        own_digests = {
            answer.digest for answer in outputs_in(self._conversation().session.transcript.messages.items)
        }
        first_digests = {
            answer.digest for answer in outputs_in(conversation.session.transcript.messages.items)
        }
        foreign_digests = {digest for digest in first_digests if digest} - own_digests
        leaked = [digest for digest in foreign_digests if await other_workspace.store.find(digest)]
        parts = (
            tr(
                "{found} of {digests} digests of the first workspace found",
                found=len(leaked),
                digests=len(foreign_digests),
            ),
            tr("opened in {duration}", duration=format_duration(round(switch_ms))),
        )
        is_isolated = not leaked and first_workspace is not other_workspace
        self._add_check(tr("other workspace"), is_isolated, " · ".join(parts))


def _undo_name(kind: RewriteKind) -> str:
    match kind:
        case "handover":
            return tr("compaction undone and redone")
        case "sweep":
            return tr("caching undone and redone")
        case "fold":
            return tr("summary undone and redone")


_OWN_NAMES = ("data", "projects")  # what a former run left in the folder; pictures are overwritten
# Says that they are a former run's: the user may have folders of these names.
_MARKER_FILE = ".helix-desktop-demo"

_FILE = "screen.json"
_LARGE_PX = (1920, 1200)


def use_offscreen_platform(folder: Path, size: tuple[int, int] | None = None, scale: int = 1) -> None:
    """Have Qt draw without a display, on a screen as large as a window of `size`; before QApplication.

    Qt's own such screen has 800 x 800 pixels, and every dialog stays within its screen. The size and `scale`
    (1 or 2) are in pixels; Qt reads them from a file that is written to `folder`.
    """
    width, height = size or _LARGE_PX
    screen = {"name": "offscreen", "x": 0, "y": 0, "width": width * scale, "height": height * scale}
    path = folder / _FILE
    path.write_text(json.dumps({"screens": [screen | {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}]}))
    platform = "offscreen"
    if ":" not in str(path):  # which would end the argument: Qt separates a plugin's arguments by colons
        platform += f":configfile={path}"
    os.environ["QT_QPA_PLATFORM"] = platform


def demo(args: argparse.Namespace) -> int:
    """Run the tour, save its screenshots, print the checks; return 0 if all passed."""
    return run_tour(args.out.absolute(), PictureOptions(), DemoTour)


def run_tour(out: Path, options: PictureOptions, tour_type: type[DemoTour]) -> int:
    """Run a tour on empty data, and print its checks; return 0 if all passed. Raises InvalidInput."""
    data = _empty_data_dir(out)
    use_offscreen_platform(data.root, options.size, options.scale)
    app = new_application()
    set_application_identity(app)
    started_at = time.monotonic()
    stacks = open_window_logs(data.logs_dir)
    try:
        with asyncio.Runner(loop_factory=lambda: QtLoop(app)) as runner:
            checks, screenshots = runner.run(_drive_window(app, data, out, options, tour_type))
    finally:
        close_window_logs(stacks)
    return _report(checks, screenshots, time.monotonic() - started_at)


def _empty_data_dir(out: Path) -> DataDir:
    """Create an empty data directory under `out`; delete only what a previous run left there.

    Raises InvalidInput, DataDirUnavailable.
    """
    marker = out / _MARKER_FILE
    foreign = [] if os.path.isfile(marker) else [name for name in _OWN_NAMES if os.path.lexists(out / name)]
    if foreign:
        raise InvalidInput(
            text("{path} already exists.", path=out / foreign[0]),
            text("The demo would have to replace it, but didn't create it."),
            text("Choose another folder with {option}.", option="--out"),
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        marker.touch()
        for name in _OWN_NAMES:
            shutil.rmtree(out / name, ignore_errors=True)
    except OSError as error:
        raise InvalidInput(
            text("{path} can't be used.", path=out),
            folder_reason(error, out, non_folder_in(out)),
            text("Choose another folder with {option}.", option="--out"),
        ) from error
    data = DataDir(out / "data")
    data.ensure()
    return data


async def _drive_window(
    app: QApplication, data_dir: DataDir, out: Path, options: PictureOptions, tour_type: type[DemoTour]
) -> tuple[list[DemoCheck], ScreenshotWriter]:
    window_context = create_window_context(
        build_frame(app, WindowStateFile(data_dir.root / WINDOW_STATE_FILE))
    )
    window_context.window.show()
    await asyncio.sleep(0)
    controllers = wire_app(data_dir, window_context, demo_pause_s=0.0)
    screenshots = ScreenshotWriter(window_context, out, options)
    tour = tour_type(window_context, controllers, screenshots, out / "projects")
    try:
        return await tour.run(), screenshots
    finally:
        await shut_down(window_context, controllers)


def _report(checks: list[DemoCheck], screenshots: ScreenshotWriter, duration_s: float) -> int:
    failures = [check for check in checks if not check.passed]
    for check in checks:
        _print_row("ok" if check.passed else "FAIL", check.name, check.text)
    saved = tr("{count} in {folder}", count=len(screenshots.saved), folder=screenshots.folder)
    _print_row("", tr("screenshots"), saved)
    _print_row("", tr("time"), format_exact_duration(round(duration_s * 1000)))
    if failures:
        failed = tr.plural(
            len(failures), "%n of {checks} checks failed", "%n of {checks} checks failed", checks=len(checks)
        )
        sys.stdout.write(f"{failed}\n")
    return 1 if failures else 0


def _print_row(mark: str, name: str, finding: str) -> None:
    sys.stdout.write(f"{mark:<4}  {name:<28} {finding}\n")
