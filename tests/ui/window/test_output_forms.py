"""The forms of large outputs in the real window: chosen by the agent, displayed, changed by the user."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog

from helix_desktop.context.intake.output_forms import FORMS_OPENING as QUESTION
from helix_desktop.domain.events.conversation import OutputHeld, ToolAnswered
from helix_desktop.domain.events.rewrite import FormChosen
from helix_desktop.ui.chat.actions import ReadContent
from helix_desktop.ui.chat.items.tool_card import form_choice_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.design.dialogs import TextInputDialog
from helix_desktop.ui.outputs.source import CacheSource
from helix_desktop.ui.timeline.cards import FormCard, ManualActionCard
from helix_desktop.ui.timeline.cards_from_events import build_cards
from helix_desktop.words.numbers import format_tokens
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    Wait,
    text_reply,
)
from tests.support.window.buttons import press
from tests.support.window.chat_geometry import press_action
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop

FILES = {"long.txt": "".join(f"line {n} of a long file\n" for n in range(600))}
ROUNDING = 2  # tokens, which the inspector adds to its largest row
LARGE = {"intake_above": 500, "preview_tokens": 120, "protect_steps": 50, "protect_tokens": 100_000}


class Reader:
    """A model that reads one file, and chooses its form on request; `usage` is what it reports."""

    def __init__(self, choice: str = "1: preview", usage: TokenCounts | None = None) -> None:
        self.choice, self.usage, self.go = choice, usage, asyncio.Event()
        self.go.set()
        self.prompts: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Answer a request by its last message."""
        last = str(request["messages"][-1]["content"])
        if last.startswith(QUESTION):
            return StreamedReply(Wait(self.go), Text(self.choice))
        if last.startswith("[Extract]"):
            self.prompts.append(last)
            return text_reply("The gist of it.")
        if request["messages"][-1]["role"] == "user":
            call = Call("read_file", '{"path": "long.txt"}', id=f"c{len(request['messages'])}")
            return StreamedReply(call, usage=self.usage)
        return StreamedReply(Text("Read."), usage=self.usage)


async def _read(rig: WindowRig, server: ChatServer, **policy: object) -> None:
    await rig.begin("project", FILES, server, **(LARGE | policy))
    await rig.run_turn("Read it")


def card(rig: WindowRig) -> ToolRow:
    """The card of the newest reading."""
    return [row for row in rig.rows(ToolRow) if row.call.name == "read_file"][-1]


async def test_the_form_of_an_output_is_chosen_displayed_changed_and_refused(rig: WindowRig) -> None:
    """By the agent while it runs, then by the user; each step has a workspace of its own."""
    await _check_the_choice_of_the_agent(rig)
    await _check_choices_of_the_user(rig)
    await _check_a_refusal(rig)


async def _check_the_choice_of_the_agent(rig: WindowRig) -> None:
    """The choice of the agent is displayed while it runs and stays on the card."""
    reader = Reader("1: compact: the number of lines")
    reader.go.clear()
    async with ChatServer(reader) as server:
        await rig.begin("choice", FILES, server, **LARGE)
        rig.type_message("Read it")
        await until(lambda: rig.events(OutputHeld) and card(rig).answer.size, "the output held")
        await until(lambda: "intake" in rig.window.jobs.job_ids(), "the job")
        assert card(rig).digest
        assert card(rig).state == "ok"  # it runs no longer: nothing is left to stop
        await rig.wiring.chat.load()
        assert (card(rig).state, card(rig).answer_seq) == ("ok", 0)
        reader.go.set()
        await rig.wait_for_turn_end()
        row = card(rig)
        assert (row.form, row.chosen_by) == ("compact", "agent")
        assert row.shown.asked == "the number of lines"
        assert "Cost: " in form_choice_text(row)
        assert "The gist of it." in row.shown.text
        assert "intake" not in rig.window.jobs.job_ids()


async def _check_choices_of_the_user(rig: WindowRig) -> None:
    """The user displays all of it and undoes that; its tokens are those of a model that counts fewer."""
    reader = Reader(usage=TokenCounts(1, 5))
    async with ChatServer(reader) as server:
        await _read(rig, server)
        await _check_leaving_the_dialog(rig, reader)
        before = rig.conversation.window.measure()[0]
        assert card(rig).form == "preview"
        rig.perform(ReadContent(card(rig).key, in_full=True))
        await until(lambda: card(rig).original, "all lines of the original")
        assert (read := card(rig).original) is not None
        assert read.head_and_tail.head == FILES["long.txt"].removesuffix("\n")
        await _check_one_number(rig)
        press_action(rig.chat.view, card(rig), "form:full")
        await until(lambda: card(rig).form == "full", "all of it")
        await _check_one_number(rig)
        await _check_another_model(rig, server)
        assert card(rig).shown_lines.lines == 600
        assert card(rig).chosen_by == "user"
        assert rig.conversation.window.measure()[0].estimate > before.estimate + 3_000
        rig.window.commands.undo_compaction.trigger()
        await until(lambda: card(rig).form == "preview", "the preview again")
        assert rig.conversation.window.measure()[0] == before
        await _check_an_extract(rig, reader)


async def _check_another_model(rig: WindowRig, server: ChatServer) -> None:
    """An output keeps its number when another model answers next, whatever the former one reported."""
    former = card(rig).tokens
    await rig.use_server(server, "other", window=64_000)
    await _check_one_number(rig)
    assert card(rig).tokens == former
    (row,) = await CacheSource(rig.workspace, lambda: rig.conversation).rows([card(rig).digest])
    assert row.tokens == card(rig).tokens
    await rig.use_server(server)


async def _check_one_number(rig: WindowRig) -> None:
    """The output has the same tokens in the chat, the inspector and the timeline."""
    row, transcript = card(rig), rig.conversation.session.transcript

    def inspected() -> int:
        (tokens,) = [item.tokens for item in inspector_rows(rig) if item.seq == row.answer_seq]
        return tokens

    await until(lambda: abs(inspected() - row.tokens) <= ROUNDING, "the inspector's row")
    newest, *_ = (
        found
        for found in build_cards(rig.conversation.session.log, transcript)
        if isinstance(found, FormCard | ManualActionCard)
    )
    if isinstance(newest, FormCard):
        assert newest.after == row.tokens
        rig.perform(ReadContent(row.key))
        await until(lambda: card(rig).original, "the original")
        assert (original := card(rig).original) is not None
        assert newest.before == original.tokens
    else:
        assert newest.text.endswith(f"{format_tokens(row.tokens)} tokens")


async def _check_leaving_the_dialog(rig: WindowRig, reader: Reader) -> None:
    """An extract that was not asked for changes nothing."""
    press_action(rig.chat.view, card(rig), "form:compact")
    dialog = await rig.dialog(TextInputDialog)
    press(dialog, "cancel")
    await until(
        lambda: not [dialog for dialog in rig.window.findChildren(QDialog) if dialog.isVisible()], "closed"
    )
    await rig.wait_for_turn_end()
    assert rig.events(FormChosen) == []
    assert reader.prompts == []


async def _check_an_extract(rig: WindowRig, reader: Reader) -> None:
    """The user asks for one in their own words."""
    press_action(rig.chat.view, card(rig), "form:compact")
    dialog = await rig.dialog(TextInputDialog)
    dialog.field.setText("every tenth line")
    press(dialog, "accept")
    await until(lambda: card(rig).form == "compact", "the extract")
    assert "every tenth line" in reader.prompts[0]
    assert card(rig).shown.asked == "every tenth line"
    assert "The gist of it." in card(rig).shown.text
    assert [event.form for event in rig.events(FormChosen)] == ["full", "compact"]


async def _check_a_refusal(rig: WindowRig) -> None:
    """An unsuitable form is refused on the current page."""
    async with rig.answered_by(
        Reader(), "huge", {"long.txt": "".join(f"line {n} of a long file\n" for n in range(9_000))}
    ):
        await rig.change_policy(**LARGE)
        await rig.run_turn("Read it")
        press_action(rig.chat.view, card(rig), "form:full")
        await until(lambda: "doesn't fit the context window" in rig.banner_text(), "the refusal")
        assert card(rig).form == "preview"
        answer = rig.events(ToolAnswered)[-1]
        assert len(await rig.workspace.store.get(answer.digest)) == answer.size
