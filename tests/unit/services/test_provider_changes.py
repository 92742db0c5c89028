"""What follows a provider that is changed or removed: every label of its models."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.domain.errors import ContextWindowExceeded, HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import Message, ModelRequest, Usage
from helix_desktop.domain.model_spec import ModelSpec
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.provider_changes import ProviderChanges, updated_label
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import ChatServer, api_error

BOX = Provider(
    name="box",
    base_url="http://127.0.0.1:1/v1",
    models=(ModelEntry(name="small"), ModelEntry(name="large")),
    default_model="small",
)
SHOP = Provider(name="shop", base_url=BOX.base_url, models=(ModelEntry(name="large"),), default_model="large")


async def test_a_renamed_provider_keeps_its_models_where_they_were_used(
    services: AppServices, tmp_path: Path
) -> None:
    changes = ProviderChanges(services)
    (tmp_path / "project").mkdir()
    workspace = services.registry.add(tmp_path / "project")
    await changes.save(BOX, "", "")
    await changes.use(workspace.id, "box/large")
    assert services.settings.model == "box/large", "else new workspaces would start with the demo"
    await changes.use(workspace.id, "box/small")
    assert services.settings.model == "box/large", "other workspaces keep theirs"
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


async def test_a_new_workspace_begins_with_what_is_known_of_its_model(
    services: AppServices, tmp_path: Path
) -> None:
    """How its provider counts belongs to the model; a workspace opened before has learned it."""
    changes, folders = ProviderChanges(services), [tmp_path / "one", tmp_path / "two"]
    await changes.save(BOX, "", "")
    await changes.use("", "box/small")
    for folder in folders:
        folder.mkdir()
    one, two = [await services.open_workspace(services.registry.add(folder).id) for folder in folders]
    usage = Usage(1_300, 5)
    reported = AssistantSpoke("Done.", "box/small", 2, usage=usage, estimate=1_000)
    await (await one.create_session("One")).session.record(UserSpoke("Go.", 2), reported)
    conversation = await two.create_session("Two")
    assert conversation.window.measure()[1].ratio == 1.3


@pytest.mark.parametrize("name", ["box", "demo"])
async def test_a_name_is_given_once(services: AppServices, name: str) -> None:
    changes = ProviderChanges(services)
    await changes.save(BOX, "", "")
    with pytest.raises(HelixError, match=f"The provider {name} already exists"):
        await changes.save(Provider(name=name, base_url=BOX.base_url), "", "")


def test_labels_of_others_stay() -> None:
    assert updated_label("other/small", "box", SHOP) == "other/small"
    assert updated_label("", "", SHOP) == ""


async def test_secret_headers_go_with_their_provider_and_never_to_the_disk(
    services: AppServices, tmp_path: Path
) -> None:
    changes, secrets = ProviderChanges(services), services.secrets
    async with ChatServer(lambda _: api_error(400, "x-gateway: s3cret-1 is wrong")) as server:
        gated = Provider(
            name="box",
            base_url=server.base_url,
            models=(ModelEntry(name="small", secret_headers=("X-Own",)),),
            headers={"X-Title": "Helix"},
            secret_headers=("X-Gateway",),
            body={"provider": {"order": ["a"]}},
        )
        await changes.save(gated, "", "", {"X-Gateway": "s3cret-1"})
        await secrets.set_secret_header("box", "small", "X-Own", "s3cret-2")  # as older versions did
        renamed = msgspec.structs.replace(gated, name="shop")
        await changes.save(renamed, "box", "")
        model = await services.models.by_label("shop/small")
        with pytest.raises(HelixError) as refused:
            await final_response(model, ModelRequest((Message("user", "Hello"),)))
        assert server.requests[-1].headers["x-gateway"] == "s3cret-1"
        assert server.requests[-1].headers["x-own"] == "s3cret-2"
        moved = msgspec.structs.replace(renamed, base_url="http://127.0.0.1:9/v1")
        with pytest.raises(HelixError, match=r"X-Gateway of shop has no value.*HELIX_SHOP_X_GATEWAY_KEY"):
            await services.models.list_models(moved)
        assert "s3cret" not in str(refused.value) + repr(model.info) + repr(services.settings)
    assert await secrets.secret_header("box", "", "X-Gateway") == ""
    reloaded = SettingsFile(services.data_dir.settings_file).load()[0]
    assert reloaded.provider("shop") == renamed
    await changes.save(msgspec.structs.replace(renamed, secret_headers=()), "shop", "")
    assert await secrets.secret_header("shop", "", "X-Gateway") == ""
    assert await secrets.secret_header("shop", "small", "X-Own") == "s3cret-2"
    await changes.remove("shop")
    assert await secrets.secret_header("shop", "small", "X-Own") == ""
    files = [path for path in services.data_dir.root.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"s3cret" in path.read_bytes()]


async def test_a_learned_window_is_stored_until_it_is_reset(services: AppServices) -> None:
    """The next start knows it, and after a reset its server's figures count again."""
    changes = ProviderChanges(services)
    refusal = api_error(400, "prompt of 9000 tokens is over n_ctx (8192)")
    async with ChatServer(lambda _: refusal) as server:
        entry = ModelEntry(name="small", reported=ModelSpec(window=32_768))
        box = msgspec.structs.replace(BOX, base_url=server.base_url, models=(entry,))
        await changes.save(box, "", "")
        model = await services.models.by_label("box/small")
        with pytest.raises(ContextWindowExceeded):
            await final_response(model, ModelRequest((Message("user", "Hello"),)))
        assert model.info.window == 8_192
        stored = SettingsFile(services.data_dir.settings_file).load()[0].provider("box")
        assert stored is not None
        learned = stored.entry("small").learned
        assert learned is not None
        assert learned.tokens == 8_192
        assert "n_ctx (8192)" in learned.message
        assert (await services.models.by_label("box/small")).info.window == 8_192
        await changes.save(box, "box", "")  # as it was: reset
        assert (await services.models.by_label("box/small")).info.window == 32_768
