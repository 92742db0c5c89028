"""A workspace whose store has the format of another version."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.domain.errors import StoreFormatUnknown
from helix_desktop.services.app_services import AppServices


async def test_a_store_of_another_schema_is_refused_by_the_workspace_s_name(
    services: AppServices, tmp_path: Path
) -> None:
    """When it is opened, and when it is borrowed to be searched or exported."""
    (tmp_path / "tide").mkdir()
    record = services.registry.add(tmp_path / "tide", trusted=True)
    async with services.borrow_store(record.id):
        pass
    file = services.registry.store_folder(record.id) / "format"
    file.write_text(file.read_text().replace('"schema":1', '"schema":7'))
    with pytest.raises(StoreFormatUnknown, match="tide was written by another version") as opened:
        await services.open_workspace(record.id)
    with pytest.raises(StoreFormatUnknown, match="tide was written by another version"):
        async with services.borrow_store(record.id):
            pass
    assert "has schema 7 of 20" in str(opened.value.why)
    assert '"schema":7' in file.read_text()
