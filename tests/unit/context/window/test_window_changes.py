"""What changed between two requests: nothing is counted twice, and nothing is left out."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.window.past_windows import PastWindows
from helix_desktop.context.window.window import project
from helix_desktop.context.window.window_breakdown import break_down_window, compare_windows
from tests.support.histories import SessionSimulator, histories
from tests.support.rewrite_histories import histories_with_rewrites


@given(histories() | histories_with_rewrites(), st.data())
def test_then_and_all_changes_add_up_to_now(simulator: SessionSimulator, data: st.DataObject) -> None:
    window = project(simulator.transcript, simulator.policy, simulator.frame)
    now = break_down_window(window, simulator.transcript, simulator.frame)
    steps = read_steps(simulator.log)
    assert compare_windows(now, now).tokens == 0
    assert not any(change.has_other_form for change in compare_windows(now, now).items)
    if not steps:
        return
    seq = data.draw(st.sampled_from(steps)).seq
    before = PastWindows(simulator.log).window_at(seq, simulator.policy, simulator.frame).items()
    changes = compare_windows(before, now)
    assert tuple(change.item for change in changes.items) == now
    matched = [change.before for change in changes.items if change.before is not None]
    assert Counter(map(repr, (*matched, *(gone.item for gone in changes.gone)))) == Counter(map(repr, before))
    new = sum(change.item.tokens for change in changes.items if change.before is None)
    other = sum(change.tokens for change in changes.items if change.before is not None)
    total = sum(item.tokens for item in before) + new - changes.gone_tokens + other
    assert total == sum(item.tokens for item in now) == window.estimate
    assert changes.tokens == new + other - changes.gone_tokens
    replaced = {item.state for item in now if item.upto} | {None}
    assert {gone.into for gone in changes.gone} <= replaced
