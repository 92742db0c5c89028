"""Shows which model does what, and keeps what a person chooses."""

from __future__ import annotations

import msgspec

from helix_desktop.config.settings import Settings
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.settings.roles_card import ROLES, RolesCard
from helix_desktop.ui.shell import Shell


class RolesPresenter:
    """Binds the card to the workspace on screen and to the settings."""

    def __init__(self, shown: RolesCard, shell: Shell, intents: Intents, desk: Desk) -> None:
        self._card, self._shell, self._desk = shown, shell, desk
        start = intents.start
        shown.here_chosen.connect(lambda role, label: start(self._here(role, label), "role here"))
        shown.everywhere_chosen.connect(
            lambda role, label: start(self._everywhere(role, label), "role everywhere")
        )

    def show(self) -> None:
        """Show the choices as they are now."""
        settings = self._desk.settings
        room = self._desk.rooms.get(self._shell.active)
        record = self._desk.registry.get(room.id) if room is not None else None
        here = {role: str(getattr(record, role)) for role, _, _ in ROLES} if record is not None else {}
        everywhere = {role: str(getattr(settings, role)) for role, _, _ in ROLES}
        self._card.show_roles(record.name if record else "", labels(settings), here, everywhere)

    async def _here(self, role: str, label: str) -> None:
        await self._desk.use_model(self._shell.active, label, role)
        await self._shown()

    async def _everywhere(self, role: str, label: str) -> None:
        await self._desk.save_settings(msgspec.structs.replace(self._desk.settings, **{role: label}))
        await self._shown()

    async def _shown(self) -> None:
        await self._shell.work.show_model()
        self.show()


def labels(settings: Settings) -> tuple[str, ...]:
    """The labels of all models that the settings name."""
    return tuple(
        f"{provider.name}/{name}"
        for provider in settings.providers
        for name in dict.fromkeys(
            (
                *([provider.default_model] if provider.default_model else []),
                *(one.name for one in provider.models),
            )
        )
    )
