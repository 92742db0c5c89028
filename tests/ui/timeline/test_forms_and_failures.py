"""Cards of large outputs and of what failed."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.timeline.card_data import GROUPS, card_group
from helix_desktop.ui.timeline.cards import FormView
from helix_desktop.ui.timeline.view import Timeline
from tests.support.galleries.panes_samples import NOW_MS, long_timeline_state
from tests.support.window.buttons import find_button


def test_large_outputs_and_failures_are_counted_and_can_be_acted_on(qtbot: QtBot) -> None:
    """A form that was not chosen in time counts among what failed; a turn that failed can be repeated."""
    pane = Timeline(lambda: NOW_MS)
    qtbot.addWidget(pane)
    pane.set_state(long_timeline_state())
    pane.show()
    cards = long_timeline_state().cards
    groups = {group: [card.seq for card in cards if card_group(card) == group] for group in GROUPS}
    assert groups["forms"] == [454]
    assert {459, 453} <= set(groups["failures"])
    for group in ("forms", "failures"):
        assert find_button(pane, f"timeline-filter-{group}").text().endswith(f" {len(groups[group])}")
    pane.filter_bar.choose("failures")
    late = pane.card_widget(459)
    assert isinstance(late, FormView)
    assert [action.text() for action in late.form_menu().actions()] == ["Send full output", "Send extract…"]
    with qtbot.waitSignal(pane.form_requested) as form:
        late.form_menu().actions()[0].trigger()
    assert form.args == [459, "full", ""]
    with qtbot.waitSignal(pane.retry_requested) as retried:
        find_button(pane, "timeline-try-again-453").click()
    assert retried.args == ["turn"]
