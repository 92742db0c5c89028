"""An imported session and an own one with and without Helix; the figures are those of the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QFileDialog

from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.rewrite import SweepMade, Undone
from helix_desktop.main import main
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import Undo
from helix_desktop.ui.survival.page import Survival, SurvivalPage
from tests.support.part_files import part_files, reads_all
from tests.support.window.buttons import find_child, press
from tests.support.window.window_rig import WindowRig, until
from tests.ui.window.test_import_export import open_dialog, use_home, write

pytestmark = pytest.mark.qt_loop
CLAUDE = "21a2e002-8b63-45db-8e0d-1978fe0600aa"


def _claude(steps: int) -> list[dict[str, Any]]:
    """A session of Claude Code that was compacted twice: commands, and what the user asked for."""
    records: list[dict[str, Any]] = []

    def add(role: str, content: object, **more: object) -> None:
        number = len(records) + 1
        message = {"role": role, "content": content, "model": "claude-opus-4-5", "id": f"m{number}"}
        records.append({
            "type": role, "uuid": str(number), "parentUuid": str(number - 1) if number > 1 else None,
            "sessionId": CLAUDE, "cwd": "/home/ann/shop", "version": "2.1.5",
            "timestamp": "2026-02-12T07:51:13Z", "message": message, **more,
        })  # fmt: skip

    add("user", "Never change src/legacy.py. Find what is slow.")
    for number in range(steps):
        command = f"grep -n handler_{number} src/part_{number}.py"
        add(
            "assistant",
            [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}],
        )
        lines = "\n".join(f"{line}: handler_{number} waits for row {line}" for line in range(120))
        add("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": lines}])
        if number in (steps // 2, steps - 2):
            add("system", "", subtype="compact_boundary", compactMetadata={"preTokens": 155_528})
            add("user", f"The agent read src/part_{number}.py.", isCompactSummary=True)
    add("assistant", [{"type": "text", "text": "Part 7 is slow."}])
    return records


async def _import(rig: WindowRig, home: Path) -> SurvivalPage:
    """Import the only session, and go from the notice to what survives."""
    use_home(rig, home)
    dialog = await open_dialog(rig)
    press(dialog, "search_computer")
    await until(lambda: len(dialog.list.items()) == 1, "the session")
    press(dialog, "check_all")
    press(dialog, "import")
    await until(lambda: "1 session imported." in rig.banner_text(), "the notice")
    press(rig.window.notices, "show_survival")
    page = rig.window.pages.survives.get()
    await until(page.report.isVisible, "the report")
    return page


async def _replayed(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert await asyncio.to_thread(main, ["replay", str(path), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    return dict(file)


def _counts(file: dict[str, Any], moment: int) -> list[list[str]]:
    compared = [*(one["facts"] for one in file["compactions"]), file["at_end"]][moment]
    fields = ("total", "in_summary", "in_context", "one_call")
    return [[str(kind[field]) for field in fields] for kind in compared]


def _table(page: SurvivalPage) -> list[list[str]]:
    rows = map(page.report.facts.topLevelItem, range(page.report.facts.topLevelItemCount()))
    return [[row.text(column) for column in range(1, 5)] for row in rows if row is not None]


async def test_an_imported_session_shows_what_the_command_line_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    home = tmp_path / "home"
    path = write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", _claude(60))
    await rig.open_folder("shop")
    page = await _import(rig, home)
    file = await _replayed(path, capsys)
    (survival,) = page._results.values()
    figures = survival.figures
    assert list(figures.managed_sizes) == file["managed_sizes"]
    assert list(figures.unmanaged_sizes) == file["unmanaged_sizes"]
    assert figures.managed.billed == file["managed"]["billed"]
    assert figures.managed.billed * survival.price / 1_000_000 == pytest.approx(file["cost"])
    assert page.report.stats[1][1].text() == f"≈ ${file['cost']:.2f}"

    moments = find_child(page, QComboBox, "survival_moments")
    assert [moments.itemText(at) for at in range(moments.count())] == [
        "Compaction 1", "Compaction 2", "End of session",
    ]  # fmt: skip
    for moment in range(3):
        moments.setCurrentIndex(moment)
        moments.activated.emit(moment)
        assert _table(page) == _counts(file, moment)
    total = sum(kind["total"] for kind in file["at_end"])
    assert f"Of {total} details that later steps may need, " in page.report.sentence.text()
    assert "Claude Code compacted before request" in page.report.chart.accessibleName()

    page.report.chart.compaction_clicked.emit(0)
    assert page.report.sentence.text().startswith("Compaction 1: Claude Code’s summary names ")
    rules = page.report.facts.topLevelItem(0)
    assert rules is not None
    rules.setExpanded(True)
    items = [rules.child(at) for at in range(rules.childCount())]
    assert any(item and "Never change src/legacy.py" in item.text(0) for item in items)

    place = tmp_path / "survives.png"
    monkeypatch.setattr(QFileDialog, "selectedFiles", lambda _: [str(place)])
    press(page, "save_picture")
    (await rig.dialog(QFileDialog)).accept()
    await until(lambda: "survives.png saved." in rig.banner_text(), "the picture")
    image = QImage(str(place))
    assert image.width() == 2 * 1_080
    assert image.height() > 2 * 500
    assert image.pixelColor(2, 2).name() == current_theme().canvas

    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert rig.window.page() == "chat"
    assert rig.window.last_page() == "chat"


def _in_window(survival: Survival, window: int) -> Survival:
    return replace(survival, figures=replace(survival.figures, window=window))


async def test_an_own_session_counts_what_its_model_reported(rig: WindowRig) -> None:
    """From the first request on; undo by the user, which no replay has, is said."""
    await rig.open_folder("project", part_files())
    async with reads_all() as server:
        await rig.use_server(server, window=24_000)
        await rig.run_turn("Read everything")
        log = rig.conversation.session.log
        answers = [it.event for it in log if isinstance(it.event, AssistantSpoke)]
        rig.window.commands.show_survival.trigger()
        page = rig.window.pages.survives.get()
        await until(page.report.isVisible, "the report")
        (survival,) = page._results.values()
        sizes = survival.figures.managed_sizes
        sent = [answer.usage.input for answer in answers if answer.usage is not None]
        assert list(sizes) == sent
        assert sizes[0] == pytest.approx(survival.always, rel=0.05)
        assert list(survival.figures.unmanaged_sizes) == sorted(survival.figures.unmanaged_sizes)
        assert "with system prompt and tools" in page.report.notes.text()
        assert "changed yourself" not in page.report.notes.text()
        assert "It reports fewer than Helix counts" in replace(survival, always=9_000).notes
        assert "requests above 9k would fail" in _in_window(survival, 9_000).notes

        sweep = next(it.seq for it in log if isinstance(it.event, SweepMade))
        rig.perform(Undo((sweep,)))
        await until(lambda: any(isinstance(it.event, Undone) for it in log), "the undo")
        rig.window.commands.show_chat.trigger()
        await rig.run_turn("And now?")
        rig.window.commands.show_survival.trigger()
        await until(lambda: "changed yourself" in page.report.notes.text(), "that the undo isn't replayed")
