"""What follows a provider that is changed or removed: every label of its models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.errors import HelixError
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.provider_changes import ProviderChanges, updated_label

BOX = Provider(
    name="box",
    base_url="http://127.0.0.1:1/v1",
    models=(ModelEntry(name="small"), ModelEntry(name="large")),
    default_model="small",
)
SHOP = Provider(name="shop", base_url=BOX.base_url, models=(ModelEntry(name="large"),), default_model="large")


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[AppServices]:
    data = DataDir(tmp_path / "data")
    data.ensure()
    services = AppServices(data, {})
    yield services
    await services.close()


async def test_a_renamed_provider_keeps_its_models_where_they_were_used(
    services: AppServices, tmp_path: Path
) -> None:
    changes = ProviderChanges(services)
    (tmp_path / "project").mkdir()
    workspace = services.registry.add(tmp_path / "project")
    await changes.save(BOX, "", "")
    await changes.use(workspace.id, "box/large")
    services.registry.change(workspace.id, summary="box/small")
    await changes.save(SHOP, "box", "")
    assert [provider.name for provider in services.settings.providers] == ["shop"]
    assert services.settings.model == "shop/large"
    record = services.registry.get(workspace.id)
    assert (record.model, record.summary) == ("shop/large", "shop/large"), "small is gone: its default"

    await changes.remove("shop")
    record = services.registry.get(workspace.id)
    assert (record.model, record.summary) == ("", "")
    assert not services.settings.providers


@pytest.mark.parametrize("name", ["box", "demo"])
async def test_a_name_is_given_once(services: AppServices, name: str) -> None:
    changes = ProviderChanges(services)
    await changes.save(BOX, "", "")
    with pytest.raises(HelixError, match=f"The provider {name} already exists"):
        await changes.save(Provider(name=name, base_url=BOX.base_url), "", "")


def test_labels_of_others_stay() -> None:
    assert updated_label("other/small", "box", SHOP) == "other/small"
    assert updated_label("", "", SHOP) == ""
