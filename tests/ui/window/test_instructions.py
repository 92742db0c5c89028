"""The user's own instructions, written in the settings, seen in the inspector, in the real window."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit

from tests.support.model_servers.chat_server import ChatServer, text_reply
from tests.support.window.buttons import find_child, press
from tests.support.window.usage_checks import inspector_rows
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_new_session_lists_what_its_first_message_is_sent_with(
    tmp_path: Path, rig: WindowRig
) -> None:
    """Environment and AGENTS.md are rows and counted before anything was sent, as they are sent then."""
    async with rig.answered_by(
        lambda _: text_reply("Yes."), "project", {"AGENTS.md": "Use tabs.\n" * 300}, window=64_000
    ):

        def listed() -> dict[str, int]:
            shown = {row.name for row in inspector_rows(rig)}
            items = (item for item in rig.conversation.window.items() if item.name in shown)
            return {item.name: item.tokens for item in items if item.kind in ("environment", "instructions")}

        await until(lambda: len(listed()) == 2, "what comes with the first message is listed")
        before, estimate = listed(), rig.conversation.window.measure()[0].estimate
        assert before["AGENTS.md"] > 600
        assert rig.conversation.session.transcript.opening_seq == 0
        assert rig.conversation.window.measure()[1].used == estimate, "the total is what the rows add up to"
        (tmp_path / "project" / "AGENTS.md").write_text("Use tabs.\n" * 400)
        await rig.conversation.plan_opening()
        before, planned = listed(), rig.conversation.window.measure()
        assert planned[1].used == planned[0].estimate > estimate
        estimate = planned[0].estimate
        await rig.run_turn("Hello")
        assert listed() == before
        entries = rig.conversation.window.measure()[0].entry_tokens
        assert rig.conversation.window.measure()[0].estimate - sum(entries) == estimate


async def test_what_the_settings_hold_is_sent_and_listed(rig: WindowRig) -> None:
    """For all workspaces and for this one, in this order; each a row of the request."""
    async with rig.answered_by(lambda _: text_reply("Yes."), "project") as server:
        await rig.wiring.settings.show("instructions")
        page = rig.settings.instructions
        for name, words in (("personal", "Be brief."), ("workspace", "Test with make.")):
            field = find_child(page, QPlainTextEdit, f"instructions:{name}")
            QTest.keyClicks(field, words)
            press(page, f"save:{name}")
        await until(lambda: not (page.personal.has_changes or page.workspace.has_changes), "saved")
        await rig.run_turn("Hello")
        system = str(server.bodies[-1]["messages"][0]["content"])
        assert system.index("Be brief.") < system.index("Test with make.")

        assert [row.name for row in inspector_rows(rig) if row.kind == "instructions"] == [
            "For all workspaces", "For this workspace",
        ]  # fmt: skip


def _skill(name: str, description: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


async def test_skills_are_listed_in_the_panel_the_settings_and_the_composer(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason where one can't be used; started by its name, its file goes along."""
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(tmp_path / "home"))
    skills = {
        ".agents/skills/pdf/SKILL.md": _skill("pdf", "Reads PDFs"),
        ".agents/skills/undo/SKILL.md": _skill("undo", "Undoes it"),
        ".claude/skills/pdf/SKILL.md": _skill("pdf", "Reads other PDFs"),
        ".claude/skills/wrong/SKILL.md": _skill("right", "Has another name"),
    }
    async with ChatServer(lambda _: text_reply("Yes.")) as server, open_window(qapp, tmp_path) as rig:
        for path, text in skills.items():
            file = tmp_path / "project" / path
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        await rig.open_folder("project")
        await rig.use_server(server)
        await until(
            lambda: "Skills" in [row.name for row in inspector_rows(rig)],
            "the list of skills is a row of the next request",
        )
        await rig.wiring.settings.show("instructions")
        words = [label.text() for label in rig.settings.instructions.skills.findChildren(QLabel)]
        wrong, why, hidden, not_used, pdf, reads, undo, undoes = filter(None, words[-12:])
        assert (wrong, hidden, pdf, undo) == (
            ".claude/skills/wrong/SKILL.md",
            ".claude/skills/pdf/SKILL.md",
            "pdf",
            "undo",
        )
        assert why.startswith("Its name is right, that of its folder wrong.")
        assert not_used == "Not used: .agents/skills/pdf/SKILL.md comes first"
        assert reads == "Reads PDFs · .agents/skills/pdf/SKILL.md"
        assert undoes == "Undoes it · /undo is a built-in command · .agents/skills/undo/SKILL.md"
        await rig.run_turn("Hello")
        assert "- pdf: Reads PDFs" in str(server.bodies[-1]["messages"][0]["content"])
        rig.composer.set_text("/pdf a.pdf")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(lambda: len(server.bodies) > 1 and not rig.conversation.is_running, "the turn")
        sent = str(server.bodies[-1]["messages"][-1]["content"])
        assert sent.startswith("Use the skill pdf: follow @.agents/skills/pdf/SKILL.md.\n\na.pdf")
        assert sent.endswith("Do it.\n")
