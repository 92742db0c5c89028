"""Shows which model does what, and saves what the user chooses."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.settings import (
    FILLED_ROLES,
    FilledRole,
    Settings,
    unloaded_fast_model,
    with_user_role,
)
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.model_menu import model_labels
from helix_desktop.ui.settings.providers.roles_card import (
    ROLES,
    RolesCard,
    fast_suggestion_text,
    role_reason_text,
)


class RolesPresenter:
    """Binds the card to the settings."""

    def __init__(
        self, card: RolesCard, context: ControllerContext, session_controller: SessionController
    ) -> None:
        self._card, self._services = card, context.services
        self._session_controller = session_controller
        start = context.async_actions.start
        card.model_chosen.connect(lambda role, label: start(self._set_model(role, label), "model of a role"))
        card.background_effort_chosen.connect(
            lambda effort: start(self._set_background_effort(effort), "background effort")
        )
        slow_models = self._services.slow_models
        card.try_again_requested.connect(slow_models.try_again)
        unsubscribe = slow_models.listen(self._show_slow_models)
        card.destroyed.connect(lambda _: unsubscribe())

    def show(self) -> None:
        """Show the choices as they are now."""
        settings = self._services.settings
        self._card.show_roles(
            model_labels(settings), {role: str(getattr(settings, role)) for role, _, _ in ROLES}
        )
        self._card.show_background_effort(settings.background_effort)
        self._card.show_reasons(catalog_reasons(settings, self._services.models.catalog))
        self._show_slow_models()

    def _show_slow_models(self) -> None:
        self._card.show_slow_models(self._services.slow_models.remembered)

    async def _set_model(self, role: str, label: str) -> None:
        await self._services.save_settings(with_user_role(self._services.settings, role, label))
        await self._session_controller.show_model()
        self.show()

    async def _set_background_effort(self, effort: Effort) -> None:
        await self._services.save_settings(
            msgspec.structs.replace(self._services.settings, background_effort=effort)
        )


def catalog_reasons(settings: Settings, catalog: ModelCatalog) -> dict[FilledRole, str]:
    """Return why the catalog chose the model of a role, for the roles that it filled.

    For an open fast role beside a server on this computer, what to do about it.
    """
    reasons: dict[FilledRole, str] = {}
    with suppress(HelixError):
        if (unloaded := unloaded_fast_model(settings, catalog)) is not None:
            reasons["fast"] = fast_suggestion_text(*unloaded)
    for role in FILLED_ROLES:
        if role not in settings.catalog_roles:
            continue
        with suppress(HelixError):  # its provider may have been edited outside
            provider, model = settings.find_model(getattr(settings, role), catalog)
            _, _, name = settings.model.partition("/")
            main = provider.model_info(
                name if settings.model.startswith(f"{provider.name}/") else "", catalog
            )
            reasons[role] = role_reason_text(role, model, main)
    return reasons
