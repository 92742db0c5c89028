"""The chat with 100,000 messages: opening, scrolling, jumping, streaming."""

from __future__ import annotations

import gc
import os
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.chat.rows.row_types import AssistantRow, ChatModel, Row, UserRow
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import DARK, LIGHT, use_theme
from tests.support.window.chat_geometry import row_key, tool_row

MESSAGES = 100_000
FEW = 1_000
_SLICE = "ms CPU, painting included"
_QUIET_ROUNDS = 12
_QUIET_MS = 0.3
TOKENS_PER_FLUSH = 17  # 500 tokens a second at 33 ms
_TEXT = (
    "agent reads cache entry session handover summary model token window budget prompt tool result patch "
    "file test branch commit latency stream error retry queue worker parser index value"
)
_WORDS = tuple(_TEXT.split())
_CODE = '''@dataclass(slots=True)
class CacheEntry:
    """One content-addressed blob."""
    digest: str
    size: int = 0

    async def load(self, store: "Store") -> bytes:
        # read lazily, never on the GUI thread
        if (hit := store.memory.get(self.digest)) is not None:
            return hit
        return await asyncio.to_thread(store.read, self.digest)
'''


def main() -> list[tuple[str, float, str]]:
    """Figures of one run: name, value, unit and meaning."""
    gc.disable()  # as in the window, which collects between events
    app = QApplication.instance() or QApplication([])  # noqa: TID251 - a benchmark makes the application it needs
    fonts.load(resources_dir() / "fonts")
    results: list[tuple[str, float, str]] = []
    model = ChatModel()
    view = ChatView(model, LIGHT)
    view.resize(1000, 800)
    view.show()
    QTest.qWaitForWindowExposed(view)
    try:
        results += _opening(view, model)
        results += _moving(view)
        for kilobytes in (1, 64):
            results += _streaming(view, model, kilobytes)
        results += _long_rows(view, model)
    finally:
        view.close()
        view.deleteLater()
        model.deleteLater()
    del app
    return results


def conversation(count: int) -> list[Row]:
    """Rows of five kinds in turn, about 1 KB an answer."""
    chance = random.Random(7)
    answers = [_answer(chance) for _ in range(400)]
    rows: list[Row] = []
    for number in range(count):
        key = row_key(f"m{number}")
        match number % 5:
            case 0:
                rows.append(UserRow(key, f"#{number}: {_sentence(chance)}"))
            case 1 | 4:
                rows.append(AssistantRow(key, f"*Message {number}.*\n\n{answers[number * 7 % 400]}"))
            case _:
                rows.append(
                    tool_row(f"m{number}", "read_file", f"src/{number}.py", "ok", "\n" * 200, tokens=900)
                )
    return rows


def _sentence(chance: random.Random) -> str:
    words = [chance.choice(_WORDS) for _ in range(chance.randrange(6, 18))]
    words[2] = f"**{words[2]}**"
    words[4] = f"`{words[4]}()`"
    return " ".join(words).capitalize() + "."


def _answer(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randrange(2, 7)):
        roll = chance.random()
        if roll < 0.12:
            parts.append(f"## {_sentence(chance)}")
        elif roll < 0.55:
            parts.append(" ".join(_sentence(chance) for _ in range(chance.randrange(2, 6))))
        elif roll < 0.75:
            parts.append("\n".join(f"- {_sentence(chance)}" for _ in range(chance.randrange(2, 6))))
        elif roll < 0.8:
            parts.append("| a | b |\n|:--|--:|\n" + "| value | 12 |\n" * 4)
        else:
            parts.append(f"```python\n# block {chance.random()}\n{_CODE}```")
    return "\n\n".join(parts)


def _paint(view: ChatView) -> None:
    """Paint all pending updates, as the event loop would next."""
    QCoreApplication.sendPostedEvents(view, QEvent.Type.UpdateRequest.value)


def _ms(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return (time.process_time() - start) * 1000


def _opening(view: ChatView, model: ChatModel) -> list[tuple[str, float, str]]:
    few = conversation(FEW)
    many = conversation(MESSAGES)

    def show(rows: list[Row]) -> None:
        model.reset(rows)
        view.grab()

    show(few)
    few_ms = statistics.median(_ms(lambda: show(few)) for _ in range(5))
    before = _resident_mb()
    many_ms = statistics.median(_ms(lambda: show(many)) for _ in range(5))
    added = _resident_mb() - before
    return [
        ("chat: open 100,000 messages", many_ms, "ms CPU with the first frame"),
        ("chat: open 100,000 against 1,000", many_ms / few_ms, "times"),
        ("chat: memory for 100,000 rows shown", added, "MB beside the rows"),
    ]


def _moving(view: ChatView) -> list[tuple[str, float, str]]:
    def frame(move: Callable[[], object]) -> float:
        def on_painted() -> None:
            move()
            _paint(view)

        return _ms(on_painted)

    chance = random.Random(3)
    view.chat_viewport.show_row(MESSAGES // 2)
    scrolls = [frame(lambda: view.chat_viewport.scroll_by(-60)) for _ in range(600)]
    jumps = [frame(lambda: view.chat_viewport.show_row(chance.randrange(MESSAGES))) for _ in range(100)]
    return [*_percentiles("chat: smooth scroll", scrolls), *_percentiles("chat: jump", jumps)]


def _streaming(view: ChatView, model: ChatModel, kilobytes: int) -> list[tuple[str, float, str]]:
    chance = random.Random(5)
    text = ""
    while len(text) < kilobytes * 1024:
        text += _answer(chance) + "\n\n"
    coming = "\n\n".join(_answer(chance) for _ in range(12))
    model.reset([*conversation(50), AssistantRow(row_key("s"), text, streaming=True)])
    view.chat_viewport.go_to_end()
    view.grab()
    costs = []
    step = TOKENS_PER_FLUSH * 4
    for at in range(0, len(coming), step):
        model.stream(row_key("s"), coming[at : at + step])

        def flush() -> None:
            view.chat_viewport.flush()
            _paint(view)

        costs.append(_ms(flush))
        QTest.qWait(1)
    return _percentiles(f"chat: flush at 500 tokens/s, {kilobytes} KB message", costs)


def _long_rows(view: ChatView, model: ChatModel) -> list[tuple[str, float, str]]:
    """Return the longest single pauses of the window while rows far taller than it first appear."""
    chance = random.Random(5)
    text = ""
    while len(text) < 64 * 1024:
        text += _answer(chance) + "\n\n"
    cases = (
        ("64 KB of Markdown", text),
        ("one line of 3.6M characters", "x" * 3_600_000),
        ("3.6M characters in words", "word " * 720_000),
        ("code of one line of 3.6M characters", f"```\n{'x' * 3_600_000}\n```"),
        ("a word of 200,000 characters", "y" * 200_000),
    )
    _slices(view, lambda: model.reset([AssistantRow(row_key("w"), text)]))  # loads fonts and lexers
    results = []
    for name, words in cases:
        row = AssistantRow(row_key("x"), words)
        slices = [_slices(view, partial(model.reset, [row])) for _ in range(3)]
        results.append(
            (f"chat: {name}, first frame", statistics.median(slice_[0] for slice_ in slices), _SLICE)
        )
        results.append((f"chat: {name}, longest slice", statistics.median(map(max, slices)), _SLICE))
    model.reset([AssistantRow(row_key("x"), text)])
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        use_theme(theme)
        worst = max(_slices(view, view.apply_theme))
        results.append((f"chat: {name} theme over a 64 KB answer, longest slice", worst, _SLICE))
    model.reset(conversation(10_000))
    jumps = [
        max(_slices(view, lambda: view.chat_viewport.show_row(chance.randrange(10_000)))) for _ in range(40)
    ]
    results.append(("chat: jump and what follows, longest slice", max(jumps), _SLICE))
    return results


def _slices(view: ChatView, action: Callable[[], object]) -> list[float]:
    """CPU of an action with its frame, then of each round of the event loop until all is built."""

    def on_painted() -> None:
        action()
        _paint(view)

    costs = [_ms(on_painted)]
    quiet = 0
    while quiet < _QUIET_ROUNDS:
        costs.append(_ms(QCoreApplication.processEvents))  # noqa: TID251 - turns the loop round by round
        quiet = quiet + 1 if costs[-1] < _QUIET_MS else 0
        time.sleep(0.002)
    return costs


def _percentiles(name: str, values: list[float]) -> list[tuple[str, float, str]]:
    values = sorted(values)
    return [
        (f"{name}, p50", values[len(values) // 2], "ms CPU, painting included"),
        (f"{name}, p99", values[min(len(values) - 1, int(len(values) * 0.99))], "ms CPU, painting included"),
    ]


def _resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
