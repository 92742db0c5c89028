"""Takes PySide's hook off the import statement when it is imported, as the app does at its start."""

from __future__ import annotations

from helix_desktop.app.plain_startup_error import remove_import_hook

remove_import_hook()
