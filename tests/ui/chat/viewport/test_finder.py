"""Finding words in a conversation: every hit once, counted, in any direction."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    DividerRow,
    UserRow,
)
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.rows.list_view import TextPosition
from tests.support.window.chat_geometry import questions_and_answers, row_key, tool_row


def _current(view: ChatView) -> tuple[TextPosition, int]:
    """Return where the current hit is, and how long."""
    assert view.finder.current is not None
    return view.finder.current


def _find(qtbot: QtBot, view: ChatView, words: str, direction: int = 1) -> tuple[int | None, int]:
    """The position of the next hit and the number of all, once all are counted."""
    with qtbot.waitSignal(view.finder.finished):
        view.find_text(words, direction)
    qtbot.waitUntil(lambda: view.finder.counter.is_done)
    return view.finder.position, view.finder.counter.total


def test_find_counts_every_hit_once_and_numbers_the_current_one(qtbot: QtBot, view: ChatView) -> None:
    """Also those inside folds and markup; invisible markup is no hit."""
    rows = questions_and_answers(40)
    rows[10] = tool_row("t", "needle", "needle.py", "ok", "a needle here, a needle there")
    rows[30] = AssistantRow(
        row_key("n"), "Nee**dle**, `needle` and [words](https://needle.example).", reasoning="a needle"
    )
    rows[50] = UserRow(row_key("m"), "needleneedle")
    view.chat_viewport.model.reset(rows)
    view.jump_to(row_key("u0"))
    hits = [_find(qtbot, view, "Needle") for _ in range(10)]
    assert hits == [(place, 9) for place in (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)]
    assert view.chat_viewport.item_cache.is_open(row_key("t"), "card")
    assert _find(qtbot, view, "needle", -1) == (9, 9)
    view.chat_viewport.model.append(AssistantRow(row_key("late"), "One more needle."))
    qtbot.waitUntil(lambda: view.finder.counter.total == 10)
    assert _find(qtbot, view, "not there at all") == (None, 0)


def test_hits_in_100_000_messages_are_counted_without_holding_up_the_window(
    qtbot: QtBot, view: ChatView
) -> None:
    """Other work comes between its slices."""
    view.chat_viewport.model.reset(questions_and_answers(50_000))
    view.find_text("question 4", -1)
    counts: list[int] = []
    view.finder.counter.changed.connect(lambda: counts.append(view.finder.counter.total))
    qtbot.waitUntil(lambda: view.finder.counter.is_done)
    assert len(counts) > 3
    assert (view.finder.position, counts[-1]) == (11_111, 11_111)


def test_hits_behind_emoji_are_counted_and_marked_as_others(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("e"), "😀" * 8 + " 😀a needle 😀a needle")])
    for number, start in ((1, 17), (2, 28)):
        assert _find(qtbot, view, "😀a needle") == (number, 2)
        spot, length = _current(view)
        assert (spot.position, length) == (start, len("ssa needle"))


def test_a_capital_that_has_two_small_letters_moves_no_hit(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset([AssistantRow(row_key("i"), "İİ İzmir and a needle")])
    for words, start in (("needle", 15), ("izmir", 3), ("İZMİR", 3)):
        assert _find(qtbot, view, words) == (1, 1)
        assert (_current(view)[0].position, _current(view)[1]) == (start, len(words))


def test_what_dividers_say_is_found(qtbot: QtBot, view: ChatView) -> None:
    """On the line itself, with what was undone, and in the details that are hidden at first."""
    divider = DividerRow(
        row_key("d"), "context", "Context: 104k → 31k", details=("by small",), is_undone=True
    )
    view.chat_viewport.model.reset([*questions_and_answers(3), divider])
    assert _find(qtbot, view, "104k") == (1, 1)
    assert _current(view)[0].row == 6
    assert not view.chat_viewport.item_cache.is_open(divider.key, "details")
    assert _find(qtbot, view, "undone") == (1, 1)
    assert _find(qtbot, view, "by small") == (1, 1)
    assert view.chat_viewport.item_cache.is_open(divider.key, "details")


def test_a_command_is_found_and_its_card_opens(qtbot: QtBot, view: ChatView) -> None:
    arguments = {"command": "for i in 1 2; do echo tick $i; done > out.txt"}
    call = tool_row("c", "run_command", state="ok", text="tack 1", arguments=arguments)
    view.chat_viewport.model.reset([*questions_and_answers(3), call])
    assert _find(qtbot, view, "tick") == (1, 1)
    assert view.chat_viewport.item_cache.is_open(call.key, "card")
    assert _find(qtbot, view, "out.txt") == (1, 1)


def test_what_only_the_bar_of_a_card_says_is_found_there(qtbot: QtBot, view: ChatView) -> None:
    """The card stays closed, and so does one whose bar cuts it."""
    target = "src/" + "folder/" * 40 + "needle.py"
    calls = [
        tool_row(f"r{n}", "read_file", path, "ok", "text") for n, path in enumerate(("src/Needle.py", target))
    ]
    view.chat_viewport.model.reset([*questions_and_answers(3), *calls])
    for row, start in ((6, 4), (7, len(target) - len("needle.py"))):
        assert _find(qtbot, view, "needle.py") == (row - 5, 2)
        spot, length = _current(view)
        assert (spot.row, spot.position, length) == (row, start, 9)
        assert view.finder.matches(view.chat_viewport.item(row)) == {spot.text: [(start, start + 9)]}
    assert _find(qtbot, view, "READ")[1] == 2
    assert not any(view.chat_viewport.item_cache.is_open(call.key, "card") for call in calls)


def test_the_task_of_a_subagent_is_found_and_what_was_opened_closes_again(
    qtbot: QtBot, view: ChatView
) -> None:
    """All but the card of the current hit, where the user reads."""
    calls = [tool_row(f"c{n}", "delegate", "Count errors", "ok", "31", subagent="s") for n in range(3)]
    waiting = tool_row("w", "delegate", "Count errors", "running")
    view.chat_viewport.model.reset([*questions_and_answers(3), *calls, waiting])
    view.chat_viewport.item_cache.toggle(calls[0].key, "card")
    for _ in calls:
        assert _find(qtbot, view, "count err")[1] == 4, "what can't be opened shows it in its bar"
    is_open = view.chat_viewport.item_cache.is_open
    assert all(is_open(call.key, "card") for call in calls)
    current = _current(view)[0].row
    view.find_text("")
    assert [is_open(call.key, "card") for call in calls] == [
        at == 0 or view.chat_viewport.model.index_of(call.key) == current for at, call in enumerate(calls)
    ]


def test_marked_words_are_counted_and_nothing_moves(qtbot: QtBot, view: ChatView) -> None:
    view.chat_viewport.model.reset(questions_and_answers(40))
    view.chat_viewport.show_row(20)
    view.mark_text("QUESTION")
    qtbot.waitUntil(lambda: view.finder.counter.is_done)
    assert view.finder.counter.total > 0
    assert view.finder.current is None
    assert view.chat_viewport.placed_row(20) is not None
