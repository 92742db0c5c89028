"""The scrubber over 10,000 events: what a step costs, and how long until the exact window is there."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.window.past_windows import PastWindows
from helix_desktop.context.window.window import PromptFrame, project
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.timeline.usage_chart import UsageChart, usage_points
from helix_desktop.ui.window.inspector import past_inspector_state

EVENTS = 10_000
_NOTED_AFTER, _UNCOVERED = 800, 240  # events that stand in the window before a note, and behind it
_STEPS = 40  # taken over the log, in an order that jumps


def events() -> Iterator[Event]:
    """A session of turns with two steps; a note takes the place of old ones, so that the window stays one."""
    yield SessionStarted("A long session")
    seq, noted = 1, 0
    while seq < EVENTS - 5:
        call = ToolCall(f"c{seq}", "read_file", f'{{"path": "src/part_{seq % 90}.py"}}')
        text = f"{seq} def tide(level): return level > 4.0\n" * 30
        digest, answer = f"{seq:064x}", "It says when the tide is high."
        yield UserSpoke(f"Look at part {seq}, please.", 8)
        yield AssistantSpoke("I read it.", "demo/offline", 12, calls=(call,), window=200_000)
        yield ToolAnswered(call.id, "read_file", text, digest, len(text), 300, 45, "src/part.py", "def")
        yield AssistantSpoke(answer, "demo/offline", 14, estimate=9_000, window=200_000)
        seq += 4
        if seq - noted > _NOTED_AFTER:
            noted = seq - _UNCOVERED
            yield FoldMade(0, noted, "What was done before.", 900, f"{noted:064x}", 9, noted // 4, 60_000)
            seq += 1


def main() -> list[tuple[str, float, str]]:
    """Milliseconds; the ratio is to one projection of the newest window, which every request costs."""
    app = QApplication([])
    log = [RecordedEvent(seq, seq * 1_000, event) for seq, event in enumerate(events(), 1)]
    policy, frame = PROFILES["balanced"], PromptFrame(ModelInfo("demo", "offline", 200_000), "system")
    transcript = Transcript(log)
    started = time.perf_counter()
    project(transcript, policy, frame)
    projected = time.perf_counter() - started
    past, steps = PastWindows(log), read_steps(log)
    started = time.perf_counter()
    past.prepare()
    prepared = time.perf_counter() - started
    chart, inspector = UsageChart(), Inspector()
    for widget in (chart, inspector):
        widget.resize(760 if widget is chart else 320, 800)
        widget.show()
    chart.set_points(usage_points(log, policy), 200_000, 0.85)
    chart.scrubber.set_steps(steps)
    windows, shows, moves = [], [], []
    for number in range(_STEPS):
        step = steps[number * 1_709 % len(steps)]
        started = time.perf_counter()
        window = past.window_at(step.seq, policy, frame)
        state = past_inspector_state(window, step, policy)
        windows.append(time.perf_counter() - started)
        started = time.perf_counter()
        inspector.set_state(state)
        app.processEvents()
        shows.append(time.perf_counter() - started)
        started = time.perf_counter()
        QTest.keyClick(chart.scrubber, Qt.Key.Key_Left)
        app.processEvents()
        moves.append(time.perf_counter() - started)
    exact, show_time, moved = map(statistics.median, (windows, shows, moves))
    return [
        (f"scrubber: read {len(log):,} events once", prepared * 1000, "ms, in a thread"),
        ("scrubber: exact window of a step anywhere", exact * 1000, "ms, in a thread; limit 100"),
        ("scrubber: slowest of them", max(windows) * 1000, "ms, in a thread"),
        ("scrubber: that over a projection of the newest window", exact / projected, "times"),
        ("scrubber per step: the inspector shows it", show_time * 1000, "ms in the window; limit 16"),
        (
            "scrubber per step: the handle moves, the chart is drawn",
            moved * 1000,
            "ms in the window; limit 16",
        ),
    ]
