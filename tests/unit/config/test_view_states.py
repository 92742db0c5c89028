"""Where the user was in each session, over a restart."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.config.view_states import VIEWS_FILE, ViewState, ViewStates


def test_the_last_sessions_are_stored_and_a_damaged_file_loses_only_the_positions(tmp_path: Path) -> None:
    place = tmp_path / VIEWS_FILE
    states = ViewStates(place)
    for number in range(400):
        states.put(f"s{number}", ViewState(row="e3", offset=4.5, card=number))
    states.save()
    again = ViewStates(place)
    assert again.get("s399") == ViewState(row="e3", offset=4.5, card=399)
    assert again.get("s0") == ViewState()
    place.write_bytes(b"{")
    assert ViewStates(place).get("s399") == ViewState()
