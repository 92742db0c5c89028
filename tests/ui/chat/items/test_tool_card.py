"""Tool cards: where an output is, in which form, and the available actions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.context.intake.output_forms import preview_output
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.ui.chat.actions import CopyCode, ReadContent
from helix_desktop.ui.chat.items.item import RowItem, SearchLine
from helix_desktop.ui.chat.items.tool_card import call_facts, unusual_words
from helix_desktop.ui.chat.rows.row_texts import RUNNING_PHASES, accessible_name, figures_text, result_text
from helix_desktop.ui.chat.rows.row_types import (
    HEAD_LINES,
    AssistantRow,
    Badge,
    HeadAndTail,
    OriginalOutput,
    ToolRow,
)
from helix_desktop.ui.chat.viewport.interactions import menu_groups
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.kit.boxes import Text
from helix_desktop.ui.kit.intents import Intent, OpenOutput, Pin, Recall, SendAll
from helix_desktop.ui.rows.row_widget import RowWidget
from tests.support.intents import intents_of, take_intents
from tests.support.tables import for_each
from tests.support.window.buttons import trigger
from tests.support.window.chat_geometry import numbered_lines, row_key, tool_row, with_answer

DIGEST = "9f3a1c" + "0" * 58
ARGUMENT = "77aa" * 16
CARD = tool_row(
    "t", "run_command", "pytest -q", "ok", numbered_lines(900), size=9_000, tokens=2_400, digest=DIGEST,
    badge="in_window",
)  # fmt: skip
SENT = "head line\ntail line"
PREVIEW = with_answer(CARD, form="preview", tokens=590, text=SENT)
COMPACT = with_answer(PREVIEW, form="compact", asked="the failing tests", chosen="agent")
_LINES = "".join(f"{number}: {'ERROR: no' if number == 300 else 'a plain'} line\n" for number in range(600))
_LOG = preview_output(_LINES, DIGEST, 400)
_SOURCE = preview_output("def walk():\n    return 1\n" * 900, DIGEST, 400, is_source=True)
_HITS = "".join(f"  {number}: words\n" for number in range(1, 900))
_MATCHES = preview_output(f"899 matching lines in 1 file:\na.py\n{_HITS}", DIGEST, 400)
ACCENT = QColor(LIGHT.accent)
ORIGINAL = OriginalOutput(HeadAndTail("first of all", "last of all", 900), 12_400)


def laid_out_card(view: ChatView) -> RowItem:
    return view.chat_viewport.item(0)


def widget(view: ChatView) -> RowWidget:
    return view.chat_viewport.widget_pool.visible[row_key("t")]


def press(view: ChatView, area: str) -> None:
    assert laid_out_card(view).hit_area(area) is not None, area
    widget(view).trigger(area)


def words(view: ChatView) -> str:
    return "\n".join(text.text() for text in laid_out_card(view).texts)


def menus(view: ChatView) -> list[QMenu]:
    return [menu for menu in view.findChildren(QMenu) if menu.isVisible()]


def triggered_actions(view: ChatView, menu: QMenu, name: str) -> list[Intent]:
    signals: list[Intent] = []
    take_intents(view, signals.append)
    trigger(menu, name)
    menu.close()
    return signals


def test_an_open_card_shows_the_whole_command_and_copies_it(view: ChatView) -> None:
    """Also before its output is there, and with the folder and the network that the call asks for."""
    command = "make\u3000all 2>&1 | tee build.log\n" + "echo done; " * 30
    arguments = {"command": command, "folder": "src", "network": True}
    running = tool_row("t", "run_command", state="running", arguments=arguments)
    view.chat_viewport.model.reset([running])
    press(view, "open:card")
    assert words(view) == command.replace("\u3000", "\\u3000"), "it looks like a plain space"
    copy = laid_out_card(view).hit_area_for(CopyCode)
    assert copy is not None
    assert copy.label.endswith("Command · in src · with network")
    widget(view).trigger(copy.name)
    assert QGuiApplication.clipboard().text() == command


@pytest.mark.parametrize(
    ("badge", "word"),
    [
        ("cached", "Cached"),
        ("folded", "Compacted"),
        ("truncated", "Compacted"),
        ("observed", "Compacted"),
        ("handed_over", "Compacted"),
        ("pinned", "Pinned"),
    ],
)
def test_an_open_card_states_where_its_output_is(view: ChatView, badge: Badge, word: str) -> None:
    view.chat_viewport.model.reset([with_answer(replace(CARD, badge=badge), text=SENT)])
    press(view, "open:card")
    sentence, output = words(view).split("\n", 1)
    assert sentence.endswith(".")
    assert output == SENT
    assert widget(view).accessibleName().endswith(f" and {word}")


def test_a_card_shows_the_shortest_command(view: ChatView) -> None:
    pictures = []
    for command in ("ls", "w"):
        view.chat_viewport.model.reset([tool_row("t", "run_command", command, "ok")])
        pictures.append(widget(view).grab().toImage())
    assert pictures[0] != pictures[1]


def test_a_card_says_that_its_file_has_changed(qtbot: QtBot, view: ChatView) -> None:
    """With a word, which opens the output as it was, in the open card and to screen readers."""
    view.chat_viewport.model.reset([replace(CARD, changed_since=212, is_outdated=True)])
    assert "Edited since" in widget(view).accessibleName()
    assert intents_of(view, lambda: press(view, "outdated")) == [OpenOutput(DIGEST)]
    area = laid_out_card(view).hit_area("outdated")
    assert area is not None
    assert area.tip.startswith("The file has changed since.")
    press(view, "open:card")
    assert words(view).startswith("The file has changed since. This is what it was then.")


def test_a_complete_output_in_the_window_needs_no_cache(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([with_answer(CARD, text=SENT)])
    assert intents_of(view, lambda: press(view, "open:card")) == []
    assert words(view) == SENT


def test_a_partial_card_requests_its_original_once(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([PREVIEW])
    assert intents_of(view, lambda: press(view, "open:card")) == [ReadContent(row_key("t"))]
    view.chat_viewport.model.replace(row_key("t"), replace(PREVIEW, original=ORIGINAL))
    assert [line for line in words(view).split("\n") if line.endswith(("line", "all"))] == [
        "head line",
        "tail line",
        "first of all",
        "last of all",
    ]
    press(view, "open:card")
    assert intents_of(view, lambda: press(view, "open:card")) == []


def test_a_card_that_find_opens_requests_its_original_too(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([PREVIEW])
    assert intents_of(view, lambda: view.find_text("tail line")) == [ReadContent(row_key("t"))]


def test_all_lines_are_requested_where_they_fit(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([CARD])
    press(view, "open:card")
    assert intents_of(view, lambda: press(view, "whole:card")) == [ReadContent(row_key("t"), in_full=True)]
    every = "\n".join(f"line {n}" for n in range(900))
    view.chat_viewport.model.replace(
        row_key("t"), replace(CARD, original=OriginalOutput(HeadAndTail(every, "", 900), 2_400))
    )
    assert words(view) == every
    assert laid_out_card(view).hit_area("whole:card") is None
    assert laid_out_card(view).hit_area("cache:open") is not None


def test_a_huge_original_is_left_to_the_cache_browser(view: ChatView) -> None:
    view.chat_viewport.model.reset([with_answer(CARD, size=40_000_000)])
    press(view, "open:card")
    assert laid_out_card(view).hit_area("whole:card") is None
    assert laid_out_card(view).hit_area("cache:open") is not None


def test_an_unreadable_original_is_reported_and_the_card_stays(view: ChatView) -> None:
    problem = OriginalOutput(problem="It is damaged.")
    view.chat_viewport.model.reset([replace(with_answer(CARD, text=SENT), original=problem)])
    press(view, "open:card")
    assert words(view) == SENT
    view.chat_viewport.model.replace(row_key("t"), replace(PREVIEW, original=problem))
    assert "head line" in words(view)
    assert laid_out_card(view).hit_area("cache:open") is not None


def test_the_tip_of_a_missing_extract_says_why_and_what_was_spent(view: ChatView) -> None:
    row = with_answer(
        PREVIEW,
        asked="failures.",
        chosen="timeout",
        intake_note="Not in time.",
        intake_tokens=24_000,
    )
    view.chat_viewport.model.reset([row])
    tips = {laid_out_card(view).tip_at(x, y) for x in range(0, 700, 6) for y in range(10, 70, 10)}
    assert "The agent asked for: “failures”. Not in time. Cost of choosing: 24k tokens · 0 ms." in tips


def test_the_card_names_who_chose_a_form_and_the_prompt(view: ChatView) -> None:
    view.chat_viewport.model.reset([replace(COMPACT, original=ORIGINAL)])
    press(view, "open:card")
    assert "The agent asked for: “the failing tests”." in words(view)
    assert "Large output: only the part that the agent asked for" in widget(view).accessibleName()
    view.chat_viewport.model.replace(
        row_key("t"), replace(with_answer(COMPACT, chosen="user"), original=ORIGINAL)
    )
    assert "You asked for: “the failing tests”." in words(view)
    view.chat_viewport.model.replace(row_key("t"), replace(PREVIEW, original=ORIGINAL))
    assert "Over the size limit: only a part was sent." in words(view)
    row = with_answer(
        COMPACT,
        intake_note="The extract was too long.",
        intake_tokens=1_200,
        intake_cached=900,  # the provider's discount is in the panel's breakdown alone
        intake_ms=800,
        intake_model="fast",
    )
    view.chat_viewport.model.replace(row_key("t"), replace(row, original=ORIGINAL))
    assert "The extract was too long." in words(view)
    assert "Cost of choosing: 1.2k tokens · 800 ms · fast." in words(view)


def test_an_output_that_left_comes_back_from_its_opened_card(view: ChatView) -> None:
    cached = with_answer(replace(CARD, badge="cached"), tokens=6_200 - FRAMING_TOKENS)
    view.chat_viewport.model.reset([cached])
    press(view, "open:card")
    area = laid_out_card(view).hit_area("send_all")
    assert area is not None
    assert (area.label, area.action) == ("Undo caching · 6.2k tokens", SendAll(7))
    view.chat_viewport.model.replace(row_key("t"), replace(cached, badge="in_window"))
    assert laid_out_card(view).hit_area("send_all") is None
    assert laid_out_card(view).hit_area("recall") is None
    view.chat_viewport.model.replace(row_key("t"), replace(cached, badge="handed_over"))
    area = laid_out_card(view).hit_area("recall")
    assert area is not None, "what was compacted comes into the message"
    assert (area.label, area.action) == ("Recall into your message", Recall(cached.digest))


def test_the_button_counts_all_lines_and_the_bar_says_which_it_counts(view: ChatView) -> None:
    """How the command ended is a line of the output, as the cache counts, and none that it printed."""
    output = "exit code 0 in 12 ms\n" + "\n".join(["a"] * (HEAD_LINES - 2) + [""] + ["z"] * 40)
    row = with_answer(CARD, text=output)
    view.chat_viewport.model.reset([row])
    press(view, "open:card")
    area = laid_out_card(view).hit_area("whole:card")
    assert area is not None
    count = HEAD_LINES - 2 + 1 + 40
    assert (area.label, figures_text(row).split(" \N{MIDDLE DOT} ")[0]) == (
        f"Show all {count + 1} lines",
        f"{count} lines printed",
    )


@for_each(
    ("row", "names"),
    [
        (with_answer(CARD, size=900), "pin cache_now | recall cache"),
        (CARD, "pin cache_now | recall cache"),
        (replace(PREVIEW, badge="pinned"), "unpin | send_all | recall cache"),
        (
            replace(CARD, badge="cached"),
            "pin | send_all | recall cache | timeline",
        ),
        (replace(CARD, badge="folded"), "pin | recall cache | timeline"),
        (
            with_answer(replace(CARD, badge="", argument_digests=(ARGUMENT,)), digest=""),
            f"argument:{ARGUMENT}",
        ),
        (
            replace(CARD, badge="observed", argument_digests=(ARGUMENT, DIGEST)),
            f"pin | recall cache argument:{ARGUMENT} argument:{DIGEST} | timeline",
        ),
        (tool_row("t", "delegate", "", "failed", "", subagent="child"), "subagent"),
        (tool_row("t", "bash", "ls", "denied"), ""),
    ],
)
def test_the_menu_offers_the_available_actions(row: ToolRow, names: str) -> None:
    groups = ([entry.name for entry in group] for group in menu_groups(row))
    assert " | ".join(" ".join(group) for group in groups) == names


def test_the_menu_opens_with_keys_and_with_a_right_click(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([CARD])
    view.setFocus()
    places = []
    QTest.keyClick(view, Qt.Key.Key_Tab)
    while widget(view).focused_area and widget(view).focused_area != "menu:card":
        places.append(widget(view).focused_area)
        QTest.keyClick(widget(view), Qt.Key.Key_Tab)
    assert places == ["open:card"]
    QTest.keyClick(widget(view), Qt.Key.Key_Return)
    assert len(menus(view)) == 1
    assert triggered_actions(view, menus(view)[0], "pin") == [Pin(7)]

    at = laid_out_card(view).hit_areas[0].rect.center().toPoint()
    point = widget(view).mapTo(view.viewport(), at)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, view.viewport().mapToGlobal(point))
    view.contextMenuEvent(event)
    assert triggered_actions(view, menus(view)[0], "recall")[-1] == Recall(DIGEST)


@pytest.mark.parametrize("target", ["", "a.py", "python3 -m unittest", "a/path/that/is/long/" * 9])
@pytest.mark.parametrize("width", [320, 640, 720, 1_200])
def test_a_call_is_one_line_at_any_width(view: ChatView, target: str, width: int) -> None:
    """The target has the room behind its verb; what is unusual stands behind it, and nothing overlaps."""
    view.chat_viewport.model.reset(
        [tool_row("t", "run_command", target, text="1", digest=DIGEST, badge="cached", is_outdated=True)]
    )
    card = laid_out_card(view)
    card.layout(width)
    assert card.height == card.style.px(40)
    verb = card.search_text(-2)
    line = card.search_text(-1)
    assert isinstance(verb, SearchLine)
    assert isinstance(line, SearchLine)
    assert verb.rect.right() <= line.rect.left()
    words = [area.rect for area in card.hit_areas if area.name in ("cache", "changed")]
    assert words
    assert all(line.rect.right() <= rect.left() + 3 for rect in words)
    assert all(rect.right() <= width for rect in words)
    if line.rect.width() < line.width() - 1:
        assert words[-1].right() > width * 0.8, "no room is left"


_FAILED = "2 failed, 9 passed in 0.31s"
TESTS = tool_row("t", "run_command", text="", arguments={"command": "npm test"}, exit_code=0)


@for_each(
    ("row", "words"),
    [
        (CARD, []),
        (replace(CARD, badge="handed_over"), ["Compacted"]),
        (replace(CARD, badge="cached"), ["Cached"]),
        (replace(CARD, badge="excluded"), ["Left out"]),
        (replace(CARD, arguments_cached=True), ["Cached"]),
        (replace(CARD, changed_since=9), []),
        (replace(CARD, changed_since=9, is_outdated=True), ["Edited since"]),
        (PREVIEW, ["Large output: only first and last lines"]),
        (
            with_answer(PREVIEW, tokens=700, full_tokens=6_400 - FRAMING_TOKENS),
            ["Large output: only first and last lines", "700 of 6.4k tokens in context"],
        ),
        (
            with_answer(
                PREVIEW, tokens=700, full_tokens=6_400 - FRAMING_TOKENS, intake_slow_model="box/main"
            ),
            ["Large output: only first and last lines", "700 of 6.4k tokens in context"],
        ),
        (
            with_answer(PREVIEW, tokens=700, full_tokens=6_400 - FRAMING_TOKENS, asked="failures"),
            ["Large output: only first and last lines", "700 of 6.4k tokens in context"],
        ),
        (
            with_answer(PREVIEW, text=_LOG, tokens=700, full_tokens=6_400 - FRAMING_TOKENS),
            ["Large output: only first, last and error lines", "700 of 6.4k tokens in context"],
        ),
        (with_answer(PREVIEW, text=_SOURCE), ["Large output: only first and last lines and definitions"]),
        (
            with_answer(PREVIEW, text=_MATCHES, tokens=700, full_tokens=6_400 - FRAMING_TOKENS),
            ["Large output: only first matches", "700 of 6.4k tokens in context"],
        ),
        (
            with_answer(COMPACT, tokens=700, full_tokens=6_400 - FRAMING_TOKENS),
            ["Large output: only the part that the agent asked for", "700 of 6.4k tokens in context"],
        ),
        (replace(PREVIEW, badge="cached"), ["Cached", "Large output: only first and last lines"]),
        (
            with_answer(replace(PREVIEW, badge="folded"), tokens=700, full_tokens=6_400),
            ["Compacted", "Large output: only first and last lines"],
        ),
        (replace(PREVIEW, removed_at_ms=1), ["removed as a secret"]),
        (with_answer(CARD, whole=False), []),
        (with_answer(replace(CARD, state="failed"), exit_code=2), ["Exit code 2"]),
        (
            with_answer(replace(CARD, state="failed", badge=""), text="No such file."),
            ["Failed: No such file"],
        ),
        (replace(CARD, state="denied", badge=""), ["Denied"]),
        (
            with_answer(TESTS, text="Tests:       1 failed, 3 passed, 4 total\nTime:        1.2 s"),
            ["1 failed"],
        ),
        (with_answer(replace(TESTS, state="failed"), exit_code=1, text=_FAILED), ["2 failed"]),
        (with_answer(TESTS, text="9 passed in 0.31s"), []),
        (tool_row("t", "read_file", text=_FAILED), []),
    ],
)
def test_a_line_says_only_what_is_unusual(row: ToolRow, words: list[str]) -> None:
    assert [word.text for word in unusual_words(row)] == words


def _ran(command: str) -> ToolRow:
    return tool_row("t", "run_command", command, text=_PASSED, arguments={"command": command}, exit_code=0)


_PASSED = "exit code 0:\ncollected 58 items\n\n\x1b[32m===== 58 passed in 0.40s =====\x1b[0m\n\n"


@for_each(
    ("row", "result"),
    [
        (with_answer(TESTS, text=_PASSED), "58 passed in 0.40s"),
        (with_answer(TESTS, text="Mon  12.00 EUR\nTotal     30.00 EUR\n"), "Total 30.00 EUR"),
        (with_answer(TESTS, text="exit code 0\n(no output)\n"), ""),
        (
            with_answer(TESTS, text="Built.\n[names: a b]\n[CACHED] recall_cached_content(…)", whole=False),
            "Built.",
        ),
        (with_answer(TESTS, text="Tests:       1 failed, 3 passed, 4 total"), ""),
        (with_answer(replace(TESTS, state="failed"), exit_code=1, text="It broke."), ""),
        (tool_row("t", "run_command", text=_PASSED, arguments={"command": "cat app.py"}, exit_code=0), ""),
        (tool_row("t", "read_file", text=_PASSED), ""),
        (_ran("PYTHONPATH=src python3 -m pytest -q 2>&1 | tail -5"), "58 passed in 0.40s"),
        (_ran("make && pytest -q"), "58 passed in 0.40s"),
        (_ran("pytest -q; git diff --stat"), ""),
        (_ran("pytest -q\ngit diff --stat"), ""),
    ],
)
def test_a_command_has_its_last_line_as_its_result(row: ToolRow, result: str) -> None:
    """Where that is not said to have failed, and of none that only reads: that would be a line of a file.

    Nor of one that runs whatever came of the one before: its line would stand for all.
    """
    assert result_text(row) == result
    assert (result in accessible_name(row)) or not result


@pytest.mark.parametrize(("width", "command"), [(900, "make"), (900, "make " * 60), (240, "make " * 60)])
def test_the_result_leaves_the_line_of_its_call_readable(view: ChatView, width: int, command: str) -> None:
    """It is cut, or left out, before the command is; the opened card shows it in the output."""
    row = tool_row("t", "run_command", command, text=_PASSED, arguments={"command": command}, exit_code=0)
    view.chat_viewport.model.reset([row])
    card = laid_out_card(view)
    card.layout(width)
    (shown,) = [part for part in card.parts if isinstance(part, Text) and "58 passed" in part.words]
    (target,) = [part for part in card.parts if isinstance(part, SearchLine) and part.is_code]
    assert (shown.rect.width() > 90) == (width == 900)
    assert target.rect.width() >= min(target.width(), 90)
    press(view, "open:card")
    parts = laid_out_card(view).parts
    assert not [part for part in parts if isinstance(part, Text) and "58 passed" in part.words]


def test_an_output_that_left_says_how_much_of_it_was_in_context() -> None:
    row = with_answer(replace(PREVIEW, badge="folded"), tokens=700, full_tokens=6_400 - FRAMING_TOKENS)
    assert call_facts(row).endswith("700 of 6.4k tokens while in context \N{MIDDLE DOT} Compacted")
    assert call_facts(replace(row, badge="in_window")).endswith("700 of 6.4k tokens in context")


def test_time_tokens_and_state_are_on_hover_and_in_the_open_card(view: ChatView) -> None:
    row = with_answer(CARD, duration_ms=12_000)
    view.chat_viewport.model.reset([row])
    area = laid_out_card(view).hit_area("open:card")
    assert area is not None
    assert area.tip.startswith("done · 900 lines · 12 s · 2.4k tokens · In context")


def test_calls_in_a_row_share_a_block(view: ChatView) -> None:
    rows = [replace(CARD, key=row_key(name)) for name in ("t", "u", "v")]
    view.chat_viewport.model.reset([*rows, AssistantRow(row_key("a"), "So it is.")])
    places = [view.chat_viewport.placed_row(at) for at in range(3)]
    assert [view.chat_viewport.item_cache.gap(at) for at in (1, 2)] == [0, 0]
    assert view.chat_viewport.item_cache.gap(3) > 0
    assert [view.chat_viewport.item(at).context.joins for at in range(3)] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert None not in places


def test_the_word_of_a_state_stands_once_in_a_run_of_rows(view: ChatView) -> None:
    """The rows below show its dot; how it is named for who hears or points at it stays."""
    badges: tuple[Badge, ...] = ("folded", "observed", "cached", "in_window", "cached")
    rows = [
        replace(CARD, key=row_key(name), badge=badge) for name, badge in zip("tuvwx", badges, strict=True)
    ]
    view.chat_viewport.model.reset(rows)

    def width(at: int) -> float:
        area = view.chat_viewport.item(at).hit_area("cache")
        return area.rect.width() if area else 0

    dot = width(1)
    assert 0 < dot < 20
    assert [width(at) > dot for at in range(5)] == [True, False, True, False, True]
    areas = [view.chat_viewport.item(at).hit_area("cache") for at in range(2)]
    assert [area and area.label for area in areas] == ["Open output: Compacted"] * 2
    assert areas[1] is not None
    assert areas[1].tip.startswith("Compacted\nIn a shorter form.")
    assert "Compacted" in view.chat_viewport.item(1).accessible_name
    view.chat_viewport.model.replace(row_key("t"), replace(rows[0], badge="in_window"))
    assert width(1) > dot


def test_what_a_subagent_does_ends_before_the_buttons_of_its_card(view: ChatView) -> None:
    """Whatever the width: how full its context is, is left out where it has no room."""
    started = SubagentStarted("t", "child", "Read the logs")
    card = tool_row("t", "delegate", state="running", started=started)
    statuses = [
        None,
        *(SubagentProgress("child", phase, 29_000, 32_000, 4) for phase in RUNNING_PHASES),
    ]
    showing_gauge = set()
    for width in range(340, 700, 20):
        view.resize(width, 300)
        buttons = []
        for status in statuses:
            view.chat_viewport.model.reset([replace(card, progress=status)])
            picture = view.viewport().grab().toImage()
            viewport = view.chat_viewport
            area = laid_out_card(view).hit_area("stop:card")
            placed = viewport.placed_row(0)
            assert placed is not None
            assert area is not None
            top = placed.y + viewport.item_cache.gap(0)
            rect = area.rect.translated(viewport.left, top).toRect()
            buttons.append(picture.copy(rect))
            middle = range(rect.x())
            showing_gauge.add(any(picture.pixelColor(x, rect.center().y()) == ACCENT for x in middle))
        assert all(picture == buttons[0] for picture in buttons), width
    assert showing_gauge == {True, False}, "both were tried"


def test_lines_of_an_output_are_wrapped_between_words(view: ChatView) -> None:
    output = "a word that is long enough " * 12
    view.chat_viewport.model.reset([with_answer(CARD, text=output, digest="")])
    press(view, "open:card")
    (text,) = laid_out_card(view).texts
    block = text.document.firstBlock()
    lines = [block.layout().lineAt(at) for at in range(block.layout().lineCount())]
    assert len(lines) > 1
    for line in lines[1:]:
        assert block.text()[line.textStart() - 1] == " "
        assert line.x() > lines[0].x()
