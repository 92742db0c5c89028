"""Changes of the model on their way to the screen."""

from __future__ import annotations

from helix_desktop.ui.chat.viewport.view import ChatView
from tests.support.window.chat_geometry import row_key, row_widget, tool_row


def test_rows_that_change_together_are_laid_out_once_and_stay_in_place(view: ChatView) -> None:
    """Undoing a handover changes thousands, of which few are in sight."""
    model = view.chat_viewport.model
    model.reset(tool_row(f"t{number}", "bash", "ls", "running") for number in range(400))
    view.jump_to(row_key("t200"))
    place = view.chat_viewport.placed_row(200)
    layouts: list[None] = []
    view.chat_viewport.layout_changed.connect(lambda: layouts.append(None))
    model.put_all(tool_row(f"t{number}", "bash", "ls", "ok") for number in range(400))
    assert len(layouts) == 1
    assert view.chat_viewport.placed_row(200) == place
    assert row_widget(view, "t200").accessibleName().endswith("done")
