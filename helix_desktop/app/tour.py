"""The tour: what the guided demo does and what it checks, step by step, through the window."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.room import Room
from helix_desktop.app.album import Album
from helix_desktop.app.front import Front
from helix_desktop.app.running import Opened
from helix_desktop.app.samples import SAMPLES, add_sample
from helix_desktop.app.sights import Sights
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.digest import digest_of, size_text
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import AssistantSpoke, ToolAnswered
from helix_desktop.context.event_rewrite import FoldMade
from helix_desktop.context.event_summary import ObservationsPlaced
from helix_desktop.context.layout import Item
from helix_desktop.context.rewrite_kind import Trigger
from helix_desktop.context.transcript import Transcript
from helix_desktop.context.window import Window
from helix_desktop.providers.demo_script import read_scripts
from helix_desktop.workspaces.saved_rules import SavedRules

_LONGEST_TURN_S = 120
_TICK_S = 0.03
_ASKED_IN = 2  # the task of the script in which an edit has to be approved for the picture
_READING_S = 1.0  # a person reads an answer before they write again
LEAST_CALLS, LEAST_FOLDS, LEAST_HANDOVERS = 80, 2, 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was promised, and what was found."""

    name: str
    good: bool
    text: str


class Tour:
    """Drives the window through two sample workspaces."""

    def __init__(
        self, front: Front, opened: Opened, album: Album, projects: Path, every_screen: bool
    ) -> None:
        self._front, self._opened, self._album = front, opened, album
        self._desk, self._shell = opened.desk, opened.shell
        self._projects, self._every = projects, every_screen
        self._findings: list[Finding] = []

    async def run(self) -> list[Finding]:
        """The whole tour. Raises HelixError when the window does not answer."""
        if self._every:
            await self._shell.begin()
            await self._album.take("welcome")
        records = [add_sample(self._desk.registry, self._projects, name) for name in SAMPLES]
        await self._shell.open_workspace(records[0].id)
        if self._every:
            await self._album.take("no-session")
        room = await self._desk.room(records[0].id)
        await self._shell.new_session()
        conversation = self._conversation()
        await self._work_through(conversation, SAMPLES[0])
        await self._judge(room, conversation)
        await self._undo_and_redo(conversation)
        await self._picture_screens(conversation)
        await self._other_workspace(records[1].id, room, conversation)
        if self._every:
            await Sights(self._front, self._opened, self._album).take_all(records[1].path)
        return self._findings

    def _note(self, name: str, good: bool, text: str) -> None:
        self._findings.append(Finding(name, good, text))

    def _conversation(self) -> Conversation:
        conversation = self._shell.work.conversation
        if conversation is None:
            raise HelixError(
                "The window shows no session.", fix="This is a fault of Helix Desktop: report it."
            )
        return conversation

    async def _work_through(self, conversation: Conversation, name: str) -> None:
        script = next(one for one in read_scripts(resources_dir() / "demo") if one.name == name)
        for number, ask in enumerate(script.asks):
            await asyncio.sleep(_READING_S)
            if self._every and number == _ASKED_IN:
                self._let_ask()
            await self._say(ask)
            await conversation.settle()
            if number == 0:
                await self._album.take("chat-first-turn", ("dark",))

    def _let_ask(self) -> None:
        """Have the demo model ask once more, for a picture of a question about a file."""
        SavedRules(self._desk.registry, self._shell.active).set_demo_calls("once")

    async def _say(self, text: str) -> None:
        """Type and send as a person does, and wait for the end of the turn."""
        composer = self._shell.work.composing.composer
        composer.set_text(text)
        composer.editor.entered.emit()
        conversation = self._conversation()
        turns = conversation.session.transcript.turns
        began = time.monotonic()
        while conversation.running or conversation.session.transcript.turns == turns:
            if conversation.asks:
                await self._album.take("approval")
                conversation.decide(conversation.asks[0].call_id, "once")  # what the sample asks once for
            if time.monotonic() - began > _LONGEST_TURN_S:
                raise HelixError(
                    "A turn of the demo did not end.", text, "See the log in the data directory."
                )
            await asyncio.sleep(_TICK_S)

    async def _judge(self, room: Room, conversation: Conversation) -> None:
        known = conversation.session.transcript
        answers = answers_in(known.items)
        self._note("tool calls", len(answers) >= LEAST_CALLS, f"{len(answers)} in {known.turns} turns")
        self._judge_rewrites(known)
        totals = await room.store.totals()
        sizes = f"{size_text(totals.size)}, {size_text(totals.stored_size)} on disk"
        self._note("outputs cached", totals.entries > 0, f"{totals.entries} entries, {sizes}")
        await self._judge_bytes(room, answers)
        await self._judge_arguments(room, known)
        recalled = [one for one in answers if one.recalled and one.ok]
        self._note("recalled by the agent", bool(recalled), f"{len(recalled)} times, by markers and indexes")
        unmanaged = sum(item.tokens for item in known.items)
        now = conversation.measure()[1].used
        peak = max(item.event.estimate for item in known.items if isinstance(item.event, AssistantSpoke))
        text = f"{unmanaged:,} unmanaged, largest request {peak:,}, now {now:,} tokens"
        self._note("window", peak < conversation.model.window, text)

    def _judge_rewrites(self, known: Transcript) -> None:
        """What was done to the window, each mechanism by itself."""
        sweeps = list(known.rewrites.sweeps.values())
        masked = [item for one in sweeps for seq in one.masked if (item := known.item(seq)) is not None]
        steps = sum(isinstance(item.event, AssistantSpoke) for item in masked)
        saved = sum(one.saved for one in sweeps)
        noun = "step" if steps == 1 else "steps"
        what = f"{len(masked) - steps} outputs and the arguments of {steps} {noun} became markers"
        self._note("sweeps", bool(sweeps), f"{len(sweeps)}: {what}, {saved:,} tokens saved")
        folds = list(known.rewrites.folds.values())
        folded, freed = sum(one.steps for one in folds), sum(one.saved for one in folds)
        text = f"{len(folds)}: {folded} steps became notes, {freed:,} tokens saved"
        self._note("folds", len(folds) >= LEAST_FOLDS, text)
        observed, placed = known.rewrites.observed.values(), known.rewrites.of(ObservationsPlaced).values()
        facts, gone = sum(len(one.observations) for one in observed), sum(one.saved for one in placed)
        text = (
            f"{len(observed)} prepared with {facts} facts, {len(placed)} put in place, {gone:,} tokens saved"
        )
        self._note("observations", bool(placed), text)
        made = [one for one in known.rewrites.handovers.values() if one.trigger is Trigger.THRESHOLD]
        changes = ", ".join(f"{one.before:,} -> {one.after:,}" for one in made)
        text = f"{len(made)} at the threshold: {changes} tokens"
        self._note("handovers", len(made) >= LEAST_HANDOVERS, text)

    async def _judge_bytes(self, room: Room, answers: list[ToolAnswered]) -> None:
        """Read every output back and compare it: by its digest, and with the log where it is whole there."""
        good = compared = 0
        size = 0
        stored = [one for one in answers if one.digest]
        for answer in stored:
            data = await room.store.get(answer.digest)
            same = digest_of(data) == answer.digest
            if answer.whole:
                compared += 1
                same = same and data.decode("utf-8", "replace") == answer.text
            good += same
            size += len(data)
        text = (
            f"{good} of {len(stored)} read back by SHA-256, {compared} compared with the log, {size:,} bytes"
        )
        self._note("byte for byte", good == len(stored), text)

    async def _judge_arguments(self, room: Room, known: Transcript) -> None:
        """Read every large argument back and look for it in the call that it was taken from."""
        good = of = 0
        for item in known.items:
            if not isinstance(item.event, AssistantSpoke):
                continue
            given = {call.id: call.arguments for call in item.event.calls}
            for short in item.event.short:
                values = json.loads(given[short.call_id]).values()
                for digest in short.digests:
                    of += 1
                    good += (await room.store.get(digest)).decode("utf-8", "replace") in values
        self._note("arguments byte for byte", good == of > 0, f"{good} of {of} are those of their calls")

    async def _undo_and_redo(self, conversation: Conversation) -> None:
        """Undo the last rewrite of each kind and redo it; the window must be what it was before each."""
        rewrites = conversation.session.transcript.rewrites
        kinds = {"handover": rewrites.held_handovers, "sweep": rewrites.sweeps}
        for name, made in kinds.items():
            if not made:
                self._note(f"{name} undone and redone", False, "there is none")
                continue
            await self._undo_one(conversation, name, max(made))
        await self._undo_the_fold(conversation)

    async def _undo_one(self, conversation: Conversation, name: str, seq: int) -> None:
        before = conversation.measure()[0]
        self._shell.rewriting.undo(seq)
        undone = await self._changed(conversation, before)
        if name == "handover":
            self._front.window.show_page("timeline")
            await self._album.take("timeline-undone", ("dark",))
        self._shell.rewriting.redo(seq)
        redone = await self._changed(conversation, undone)
        text = f"{before.estimate:,} -> {undone.estimate:,} -> {redone.estimate:,} tokens"
        good = undone.estimate > before.estimate and redone == before
        self._note(f"{name} undone and redone", good, text)

    async def _undo_the_fold(self, conversation: Conversation) -> None:
        """Folds stand inside a handover, or inside observations: with those undone they come back."""
        known = conversation.session.transcript
        lifted: list[int] = []
        for over in (known.rewrites.held_handovers, known.rewrites.of(ObservationsPlaced)):
            if over and not self._folds(conversation):
                before = conversation.measure()[0]
                lifted.append(max(over))
                self._shell.rewriting.undo(lifted[-1])
                await self._changed(conversation, before)
        if folds := self._folds(conversation):
            await self._undo_one(conversation, "fold", max(folds))
        else:
            self._note("fold undone and redone", False, "none is in force")
        for seq in reversed(lifted):
            before = conversation.measure()[0]
            self._shell.rewriting.redo(seq)
            await self._changed(conversation, before)

    @staticmethod
    def _folds(conversation: Conversation) -> list[int]:
        """The folds that stand in the window."""
        covers = conversation.session.transcript.covers
        return [one.seq for one in covers if isinstance(one.event, FoldMade)]

    async def _changed(self, conversation: Conversation, former: Window) -> Window:
        for _ in range(200):
            window = conversation.measure()[0]
            if window != former:
                return window
            await asyncio.sleep(_TICK_S)
        raise HelixError("The window did not change.", fix="This is a fault of Helix Desktop: report it.")

    async def _picture_screens(self, conversation: Conversation) -> None:
        window, history, known = self._front.window, self._shell.history, conversation.session.transcript
        window.show_page("chat")
        await self._album.take("chat")
        first = min(known.rewrites.made)
        spoken = [i.seq for i in known.items if isinstance(i.event, AssistantSpoke) and i.seq < first]
        history.show_event(spoken[-2])
        await self._album.take("chat-tools")
        largest = max(
            answers_in([one for one in known.live() if isinstance(one, Item)]), key=lambda one: one.size
        )
        history.show_digest(largest.digest)
        await self._album.take("cache")
        window.show_page("timeline")
        await self._album.take("timeline")
        history.show_event(max(known.rewrites.folds))
        for _ in range(200):
            if not self._shell.work.revealing:
                break
            await asyncio.sleep(_TICK_S)
        await self._album.take("timeline-folds")
        window.show_page("chat")

    async def _other_workspace(self, other: str, first: Room, conversation: Conversation) -> None:
        """Switch, work there, and ask its cache for what the first one holds."""
        began = time.monotonic()
        await self._shell.open_workspace(other)
        switched = (time.monotonic() - began) * 1000
        room = await self._desk.room(other)
        await self._shell.new_session()
        await self._say("What is in this folder?")
        await self._album.take("second-workspace")
        own = {one.digest for one in answers_in(self._conversation().session.transcript.items)}
        made = {one.digest for one in answers_in(conversation.session.transcript.items)}
        theirs = {digest for digest in made if digest} - own
        answered = [digest for digest in theirs if await room.store.find(digest)]
        text = (
            f"{len(answered)} of the first one's {len(theirs)} hashes answered; opened in {switched:.0f} ms"
        )
        self._note("other workspace", not answered and first is not room, text)


def answers_in(items: list[Item]) -> list[ToolAnswered]:
    """The outputs among some messages, in order."""
    return [item.event for item in items if isinstance(item.event, ToolAnswered)]
