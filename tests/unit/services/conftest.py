"""The services of an app with an empty data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_desktop.config.paths import DataDir
from helix_desktop.services.app_services import AppServices


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[AppServices]:
    """Return the services, without any key."""
    data = DataDir(tmp_path / "data")
    data.ensure()
    services = AppServices(data, {})
    yield services
    await services.close()
