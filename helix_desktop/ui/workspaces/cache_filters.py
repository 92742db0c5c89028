"""The saved filters of the cache browser: named, renamed and deleted, stored with their workspace."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import QObject

from helix_desktop.domain.store import MAX_NAME_CHARS, SavedFilter, with_filter
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.cache.saved_filters import restored_options
from helix_desktop.ui.design.dialogs import get_text
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.translation import Translator, translate

tr = Translator("Cache")

_CHANGED, _UNDO = "saved_filters", "undo"


class CacheFilterController(QObject):
    """Binds the filter bar to the record of the workspace on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._bar = context.window, context.views.cache.filter_bar
        self._registry, self._active_workspace = context.services.registry, context.active_workspace
        self._session_controller = session_controller
        self._previous: tuple[str, tuple[SavedFilter, ...]] | None = None
        start = context.async_actions.start
        session_controller.session_changed.connect(self._show)
        self._bar.save_requested.connect(lambda: start(self._save(), "save filter"))
        self._bar.rename_requested.connect(lambda name: start(self._rename(name), "rename filter"))
        self._bar.delete_requested.connect(lambda name: start(self._delete(name), "delete filter"))
        context.window.banners.action_clicked.connect(self._on_banner_action)

    def _filters(self, workspace_id: str) -> tuple[SavedFilter, ...]:
        return self._registry.get(workspace_id).cache_filters

    def _show(self) -> None:
        workspace = self._session_controller.workspace
        self._bar.show_saved(self._filters(workspace.id) if workspace is not None else ())

    async def _save(self) -> None:
        """Ask for a name, and save the current filter. Raises HelixError."""
        workspace_id, current = self._active_workspace.require().id, self._bar.saved_filter
        name = await get_text(self._window, tr("Save filter"), _proposed_name(current), tr("Save"))
        if not name:
            return
        previous, name = self._filters(workspace_id), name[:MAX_NAME_CHARS]
        filters = with_filter(previous, replace(current, name=name))
        self._store(workspace_id, filters)
        if len(filters) == len(previous):
            self._offer_undo(workspace_id, previous, tr("Filter “{name}” replaced.", name=name))

    async def _rename(self, name: str) -> None:
        """Ask for another name. Raises HelixError."""
        workspace_id = self._active_workspace.require().id
        typed = await get_text(self._window, tr("Rename filter"), name, tr("Rename"))
        previous = self._filters(workspace_id)
        renamed = next((saved for saved in previous if saved.name == name), None)
        if not typed or renamed is None:
            return
        place = previous.index(renamed)
        others = (*previous[:place], *previous[place + 1 :])
        free = tuple(saved for saved in others if saved.name.casefold() != typed.casefold())
        place = min(place, len(free))
        fresh = replace(renamed, name=typed[:MAX_NAME_CHARS])
        self._store(workspace_id, (*free[:place], fresh, *free[place:]))
        if len(free) < len(others):
            self._offer_undo(workspace_id, previous, tr("Filter “{name}” replaced.", name=fresh.name))

    async def _delete(self, name: str) -> None:
        """Delete a saved filter, and offer to take that back. Raises HelixError."""
        workspace_id = self._active_workspace.require().id
        previous = self._filters(workspace_id)
        self._store(workspace_id, tuple(saved for saved in previous if saved.name != name))
        self._offer_undo(workspace_id, previous, tr("Filter “{name}” deleted.", name=name))

    def _store(self, workspace_id: str, filters: tuple[SavedFilter, ...]) -> None:
        self._registry.change(workspace_id, cache_filters=filters)
        self._window.banners.remove(_CHANGED)
        self._show()

    def _offer_undo(self, workspace_id: str, previous: tuple[SavedFilter, ...], what: str) -> None:
        self._previous = workspace_id, previous
        undo = BannerAction(_UNDO, tr("Undo"))
        self._window.banners.show_banner(
            Banner(_CHANGED, "info", what, actions=(undo,), workspace_id=workspace_id)
        )

    def _on_banner_action(self, banner_id: str, action: str) -> None:
        if (banner_id, action) == (_CHANGED, _UNDO) and self._previous is not None:
            (workspace_id, filters), self._previous = self._previous, None
            self._store(workspace_id, filters)


def _proposed_name(current: SavedFilter) -> str:
    """Return a name to start from: the words, else the first condition as its chip has it."""
    names = (translate(option.name) for option in restored_options(current.conditions, wall_clock_ms()))
    return (current.text or next(names, ""))[:MAX_NAME_CHARS]
