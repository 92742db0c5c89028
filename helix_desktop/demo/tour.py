"""The tour: what the guided demo does and what it checks, step by step, through the window."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.window_context import WindowContext
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.window.window import Window
from helix_desktop.demo.screenshots import (
    ScreenshotWriter,
    is_page_read,
    show_timeline,
)
from helix_desktop.demo.session_checks import DemoCheck, check_session, outputs_in
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.tools import ALLOW_DEMO_CALLS
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.services.sample_workspaces import SAMPLES, add_sample
from helix_desktop.ui.workspaces.window_controllers import WindowControllers
from helix_desktop.words.times import format_duration
from helix_desktop.words.translation import Translator
from helix_desktop.workspaces.registry import WorkspaceRecord
from helix_desktop.workspaces.saved_rules import SavedRules

tr = Translator("Demo")
text = TextContext("Demo")

_REPORT_IT = text("This is a bug. Report it.")

RewriteKind: TypeAlias = Literal["handover", "sweep", "fold"]
Moment: TypeAlias = Literal["start", "no-session", "first-pages", "checked"]

_TURN_TIMEOUT_S = 120
_POLL_S = 0.03


class DemoTour:
    """Drives the window through two sample workspaces."""

    asks_again_before: ClassVar[int | None] = None
    """The message of the script, counted from 0, from which on a call has to be approved once more."""

    def __init__(
        self,
        window_context: WindowContext,
        controllers: WindowControllers,
        screenshots: ScreenshotWriter,
        projects: Path,
    ) -> None:
        self._window_context, self._controllers, self._screenshots = window_context, controllers, screenshots
        self._services, self._workspace_controller = controllers.services, controllers.workspace_controller
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
        conversation = self._controllers.session_controller.conversation
        if conversation is None:
            raise HelixError(text("The window doesn't show a session."), fix=_REPORT_IT)
        return conversation

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
        SavedRules(self._services.registry, self._controllers.active_workspace.id).set_demo_calls("once")

    async def _send(self, message: str) -> None:
        """Type and send as a user does, and wait for the end of the turn."""
        composer = self._controllers.session_controller.composer.widget
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

    async def _undo_and_redo_one(self, conversation: Conversation, name: RewriteKind, seq: int) -> None:
        before = conversation.window.measure()[0]
        self._controllers.rewrites.undo(seq)
        undone = await self._changed(conversation, before)
        if name == "handover":
            await show_timeline(self._window_context.window, self._controllers)
            await self._screenshots.capture("timeline-undone", ("dark",))
        self._controllers.rewrites.redo(seq)
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
                self._controllers.rewrites.undo(seq)
                await self._changed(conversation, before)
        if found := in_sight(conversation):
            await self._undo_and_redo_one(conversation, name, max(found))
        else:
            self._add_check(_undo_name(name), False, tr("nothing to undo"))
        for seq in reversed(undone):
            before = conversation.window.measure()[0]
            self._controllers.rewrites.redo(seq)
            await self._changed(conversation, before)

    @staticmethod
    def _sweeps_in_sight(conversation: Conversation) -> list[int]:
        """Return the sweeps of which a marker stands in the window: a summary may cover all of another's."""
        transcript = conversation.session.transcript
        raw = {entry.seq for entry in transcript.window.entries() if isinstance(entry, LogItem)}
        sweeps = transcript.rewrites.sweeps.items()
        return [seq for seq, sweep in sweeps if transcript.can_undo(seq) and not raw.isdisjoint(sweep.masked)]

    @staticmethod
    def _folds(conversation: Conversation) -> list[int]:
        """Return the folds that are active in the window."""
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
        window, navigation, transcript = (
            self._window_context.window,
            self._controllers.navigation,
            conversation.session.transcript,
        )
        window.show_page("chat")
        await self._screenshots.capture("chat")
        first_rewrite = min(transcript.rewrites.by_seq)
        answer_seqs = [
            item.seq
            for item in transcript.messages.items
            if isinstance(item.event, AssistantSpoke) and item.seq < first_rewrite
        ]
        navigation.show_event(answer_seqs[-2])
        await self._screenshots.capture("chat-tools")
        largest = max(
            outputs_in([entry for entry in transcript.window.entries() if isinstance(entry, LogItem)]),
            key=lambda entry: entry.size,
        )
        navigation.show_cache_entry(largest.digest)
        table = self._controllers.session_controller.views.cache.table
        await self._screenshots.wait_until(
            lambda: table.current_digest() == largest.digest and is_page_read(self._controllers, "cache")
        )
        await self._screenshots.capture("cache")
        await show_timeline(window, self._controllers)
        await self._screenshots.capture("timeline")
        cards = {
            "timeline-checkpoint": transcript.checkpoints,
            "timeline-handover": transcript.rewrites.handovers,
            "timeline-folds": transcript.rewrites.folds,
        }
        for name, seqs in cards.items():
            if seqs:
                navigation.show_event(max(seqs))
                await self._screenshots.wait_until(
                    lambda: not self._controllers.session_controller.timeline.is_revealing
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
            return tr("note undone and redone")
