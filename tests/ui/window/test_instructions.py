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


def _skill(name: str, description: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


async def test_instructions_and_skills_are_sent_and_listed(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the settings hold and what the folder has; a skill is started by its name, its file goes along."""
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
        await until(lambda: "Skills" in _standing_texts(rig), "a row before anything was sent")
        await rig.wiring.settings.show("instructions")
        page = rig.settings.instructions
        words = [label.text() for label in page.skills.findChildren(QLabel)]
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
        for name, typed in (("personal", "Be brief."), ("workspace", "Test with make.")):
            QTest.keyClicks(find_child(page, QPlainTextEdit, f"instructions:{name}"), typed)
            press(page, f"save:{name}")
        await until(lambda: not (page.personal.has_changes or page.workspace.has_changes), "saved")
        await rig.run_turn("Hello")
        system = str(server.bodies[-1]["messages"][0]["content"])
        assert system.index("Be brief.") < system.index("Test with make.")
        assert "- pdf: Reads PDFs" in system
        assert _standing_texts(rig) == ["Skills", "For all workspaces", "For this workspace"]
        rig.composer.set_text("/pdf a.pdf")
        QTest.keyClick(rig.composer.editor, Qt.Key.Key_Return)
        await until(lambda: len(server.bodies) > 1 and not rig.conversation.is_running, "the turn")
        sent = str(server.bodies[-1]["messages"][-1]["content"])
        assert sent.startswith("Use the skill pdf: follow @.agents/skills/pdf/SKILL.md.\n\na.pdf")
        assert sent.endswith("Do it.\n")


def _standing_texts(rig: WindowRig) -> list[str]:
    return [row.name for row in inspector_rows(rig) if row.kind == "instructions"]
