"""What the lists of the window show."""

from __future__ import annotations

from PySide6.QtWidgets import QTableView

from helix_desktop.ui.window.picker import Picker
from helix_desktop.ui.window.workspace_badges import WorkspaceRow


def cell_texts(table: QTableView) -> list[list[str]]:
    """Return all cells of a table as they are read, row by row."""
    model = table.model()
    columns = range(model.columnCount())
    return [[str(model.index(row, column).data()) for column in columns] for row in range(model.rowCount())]


def workspaces_in(picker: Picker) -> list[WorkspaceRow]:
    """Return the workspaces that match the picker's search, in order."""
    return [line.value for line in picker.list_view.rows if isinstance(line.value, WorkspaceRow)]
