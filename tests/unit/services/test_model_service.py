"""Which key is sent where, by which dialect and with which effort; what follows a change of a provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.model_roles import CallBill, complete
from helix_desktop.agent.ports import Model
from helix_desktop.config.secrets import ApiKey, KeySource, SecretStore
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.errors import AuthenticationFailed, ContextWindowExceeded, HelixError, InvalidInput
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.messages import CacheHints, Message, ModelInfo, ModelRequest, Usage
from helix_desktop.domain.model_spec import LearnedWindow, ModelSpec
from helix_desktop.services.app_services import AppServices, KeyStatus
from helix_desktop.services.model_service import ModelService
from helix_desktop.services.provider_changes import ProviderChanges, updated_label
from helix_desktop.services.provider_check import CheckStep
from helix_desktop.workspaces.registry import WorkspaceRecord
from tests.support.memory_keychain import MemoryKeychain
from tests.support.model_contract import final_response
from tests.support.model_servers import chat_server
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, replies_in_order
from tests.support.model_servers.dialects import DIALECTS, DialectCase
from tests.support.scripted_model import ScriptedModel, WordCounter, text_reply

HELLO = ModelRequest((Message("user", "Hello"),))
USUAL = {"OPENAI_API_KEY": "usual"}


@asynccontextmanager
async def model_service(
    *providers: Provider, environ: Mapping[str, str] | None = None, kept_key: str = ""
) -> AsyncIterator[ModelService]:
    """Return the service with these providers saved; a kept key is that of `shop`."""
    secrets = SecretStore(environ or {}, find_keychain=MemoryKeychain)
    models = ModelService(lambda: Settings(providers=providers), secrets)
    try:
        if kept_key:
            await secrets.set("shop", kept_key)
        yield models
    finally:
        await models.close()
        secrets.close()


def ready_server() -> ChatServer:
    return ChatServer(replies_in_order(chat_server.text_reply("ready")))


async def key_sent_by(model: Model, server: ChatServer) -> str:
    """Return the authorization that a server gets with a request."""
    await final_response(model, HELLO)
    return server.requests[-1].headers.get("authorization", "")


async def key_sent_to_typed_address(
    label: str, environ: Mapping[str, str], *saved: Provider, kept_key: str = ""
) -> str:
    """Return what a server gets when a run names its address."""
    async with ready_server() as server, model_service(*saved, environ=environ, kept_key=kept_key) as models:
        return await key_sent_by(await models.adhoc(label, server.base_url, 0), server)


@pytest.mark.parametrize("own", [lambda url: url + "/", lambda _: "https://shop.example/v1"])
async def test_a_stored_key_is_sent_to_its_own_address_only(own: Callable[[str], str]) -> None:
    async with ready_server() as server:
        shop = Provider(name="shop", base_url=own(server.base_url))
        async with model_service(shop, kept_key="kept-key") as models:
            sent = await key_sent_by(await models.adhoc("shop/small", server.base_url, 0), server)
            assert sent == ("Bearer kept-key" if shop.base_url.startswith(server.base_url) else "")
            await models.test(msgspec.structs.replace(shop, base_url=server.base_url), "small", _ignore)
            assert server.requests[-1].headers.get("authorization", "") == sent, "as the provider page checks"


def _ignore(_: tuple[CheckStep, ...]) -> None: ...


async def test_a_key_of_the_environment_is_sent_to_a_typed_address() -> None:
    shop = Provider(name="shop", base_url="https://127.0.0.1/v1")
    given = {"HELIX_SHOP_KEY": "given"}
    assert await key_sent_to_typed_address("shop/small", given, shop, kept_key="kept-key") == "Bearer given"
    assert await key_sent_to_typed_address("lab/small", USUAL) == "Bearer usual"
    assert await key_sent_to_typed_address("lab/small", {**USUAL, "HELIX_LAB_KEY": "own"}) == "Bearer own"


async def test_openai_api_key_is_never_sent_for_a_known_or_saved_provider() -> None:
    saved = Provider(name="lab", base_url="https://lab.example/v1")
    assert await key_sent_to_typed_address("groq/small", USUAL) == ""
    assert await key_sent_to_typed_address("lab/small", USUAL, saved) == ""
    async with ready_server() as server:
        saved = Provider(name="lab", base_url=server.base_url)
        async with model_service(saved, environ=USUAL) as models:
            assert await key_sent_by(await models.by_label("lab/small"), server) == ""


async def test_the_command_line_names_the_variables_of_a_provider_without_setup() -> None:
    async with model_service() as models:
        with pytest.raises(InvalidInput, match="HELIX_MY_LAB_KEY or OPENAI_API_KEY"):
            await models.adhoc("my-lab/small", "", 0)
        with pytest.raises(InvalidInput, match="set GROQ_API_KEY"):
            await models.adhoc("groq/small", "", 0)


async def test_a_refused_key_is_not_sent_to_the_page_that_shows_the_refusal() -> None:
    steps: list[CheckStep] = []
    async with ChatServer(lambda _: api_error(401, "invalid key")) as server:
        provider = Provider(name="shop", base_url=server.base_url)
        async with model_service(provider, kept_key="wrong") as models:
            await models.test(provider, "small", steps.extend)
            with pytest.raises(AuthenticationFailed) as refusal:
                await final_response(await models.by_label("shop/small"), HELLO)
    assert "Enter a valid key, or set HELIX_SHOP_KEY." in {step.fix for step in steps}
    assert refusal.value.fix == "Enter the key in Settings → Providers, or set HELIX_SHOP_KEY."


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_provider_is_called_in_its_dialect(dialect: DialectCase) -> None:
    script = replies_in_order(chat_server.text_reply("ready"))
    async with ChatServer(script, models=("b", "a"), wire_format=dialect.wire_format) as server:
        provider = Provider(name="shop", base_url=server.base_url, dialect=dialect.name)
        async with model_service(provider) as models:
            assert list(await models.list_models(provider)) == ["a", "b"]
            updates: list[tuple[CheckStep, ...]] = []
            await models.test(provider, "small", updates.append)
            assert [step.state for step in updates[-1]][:4] == ["ok"] * 4
            assert (await models.by_label("shop/large")).info.label == "shop/large"
        assert [body["model"] for body in server.bodies] == ["small", "small"]


async def test_the_narrower_effort_counts_and_background_work_has_its_own() -> None:
    models_of_lab = (ModelEntry(name="large", effort="high"), ModelEntry(name="quick", effort="minimal"))
    lab = Provider(name="lab", base_url="http://127.0.0.1:9/v1", models=models_of_lab)
    settings = Settings(providers=(lab,), model="lab/large", fast="lab/quick")

    async def efforts(workspace: Effort, background: Effort = "") -> list[tuple[Effort, Effort]]:
        """Return what the main and the fast model send: in a session, and for summaries."""
        secrets = SecretStore({})
        models = ModelService(
            lambda: msgspec.structs.replace(settings, background_effort=background), secrets
        )
        try:
            roles = await models.roles(WorkspaceRecord(id="w", path="/w", name="w", effort=workspace))
            assert roles.fast is not None
            return [(model.info.effort, model.info.background_effort) for model in (roles.main, roles.fast)]
        finally:
            await models.close()
            secrets.close()

    assert await efforts("") == [("high", ""), ("minimal", "minimal")]
    assert await efforts("low") == [("low", ""), ("minimal", "minimal")]
    assert await efforts("default") == [("default", ""), ("minimal", "minimal")]
    assert await efforts("max", "low") == [("max", "low"), ("minimal", "low")]


@pytest.mark.parametrize(("background", "sent"), [("", ""), ("low", "low"), ("max", "high")])
async def test_a_summary_asks_for_the_background_effort(background: Effort, sent: str) -> None:
    info = ModelInfo("lab", "large", efforts=("low", "high"), effort="high", background_effort=background)
    model = ScriptedModel(lambda _: text_reply("Short."), info)
    await complete(model, ModelRequest((Message("user", "Extract."),)), CallBill(WordCounter()))
    forked = ModelRequest((Message("user", "Which form?"),), cache=CacheHints("key"), effort="high")
    await complete(model, forked, CallBill(WordCounter()))
    assert [request.effort for request in model.requests] == [sent, "high"]


NO_KEYCHAIN = "this system has no keychain"
IN_SERVICE = "Will be kept in Secret Service."
FOR_THIS_RUN = f"Will be kept until Helix Desktop closes: {NO_KEYCHAIN}."


@pytest.mark.parametrize(
    ("key", "keychain", "place", "text"),
    [
        (ApiKey("k", "keychain", "Secret Service"), "Secret Service", "keychain", "Kept in Secret Service."),
        (ApiKey("k", "environment", "E_KEY"), "", "environment", "From the environment variable E_KEY."),
        (ApiKey("k", "run"), "", "run", f"Kept until Helix Desktop closes: {NO_KEYCHAIN}."),
        (ApiKey(), "Secret Service", "none", IN_SERVICE),
        (ApiKey(), "", "none", FOR_THIS_RUN),
    ],
)
def test_a_key_s_place_is_described_with_its_reason(
    key: ApiKey, keychain: str, place: KeySource, text: str
) -> None:
    assert KeyStatus.from_key(key, keychain, "" if keychain else NO_KEYCHAIN) == KeyStatus(place, text)


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
    await changes.add(BOX)
    await changes.use(workspace.id, "box/large")
    assert services.settings.model == "box/large", "else new workspaces would start with the demo"
    await changes.use(workspace.id, "box/small")
    assert services.settings.model == "box/large", "other workspaces keep theirs"
    await changes.use(workspace.id, "box/large")
    services.registry.change(workspace.id, summary="box/small")
    await changes.change("box", lambda _: SHOP)
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
    changes = ProviderChanges(services)
    folders = [tmp_path / "one", tmp_path / "two"]
    await changes.add(BOX)
    await changes.use("", "box/small")
    for folder in folders:
        folder.mkdir()
    one, two = [await services.open_workspace(services.registry.add(folder).id) for folder in folders]
    usage = Usage(1_300, 5)
    reported = AssistantSpoke("Done.", "box/small", 2, usage=usage, estimate=1_000)
    await (await one.create_session("One")).session.record(UserSpoke("Go.", 2), reported)
    conversation = await two.create_session("Two")
    assert conversation.window.measure()[1].ratio == 1.3


@pytest.mark.parametrize("name", ["other", "demo"])
async def test_a_name_is_given_once(services: AppServices, name: str) -> None:
    changes = ProviderChanges(services)
    await changes.add(BOX)
    assert (await changes.add(msgspec.structs.replace(BOX, name="other"))).name == "other"
    with pytest.raises(HelixError, match=f"The provider {name} already exists"):
        await changes.change("box", lambda box: msgspec.structs.replace(box, name=name))
    again = await changes.add(msgspec.structs.replace(BOX, name=name))
    assert again.name == f"{name}-2"


async def test_a_change_is_made_to_what_is_stored_by_then(services: AppServices) -> None:
    """What the provider has learned meanwhile stays."""
    changes = ProviderChanges(services)
    await changes.add(BOX)
    learned = msgspec.structs.replace(BOX.entry("large"), learned=LearnedWindow(9_000, "too long"))
    await services.save_settings(services.settings.with_provider(BOX.with_entry(learned)))
    changed = await changes.change(
        "box", lambda box: box.with_entry(msgspec.structs.replace(box.entry("small"), window=9_000))
    )
    assert changed is not None
    assert changed.entry("large") == learned
    assert services.settings.provider("box") == changed
    assert await changes.change("gone", lambda provider: provider) is None


async def test_a_removed_provider_comes_back_with_all_that_named_it(
    services: AppServices, tmp_path: Path
) -> None:
    changes = ProviderChanges(services)
    (tmp_path / "project").mkdir()
    workspace = services.registry.add(tmp_path / "project")
    gated = msgspec.structs.replace(BOX, secret_headers=("X-Gateway",))
    await changes.add(gated, "sesame")
    await changes.add(SHOP)
    await services.secrets.set_secret_header("box", "", "X-Gateway", "s3cret")
    await changes.use(workspace.id, "box/large")
    await services.save_settings(msgspec.structs.replace(services.settings, summary="box/small"))
    services.registry.change(workspace.id, fast="box/small", long="shop/large")
    before = services.settings
    snapshot = await changes.snapshot("box")
    assert snapshot is not None

    await changes.remove("box")
    assert [provider.name for provider in services.settings.providers] == ["shop"]
    assert (services.settings.model, services.settings.summary) == ("", "")
    assert (await services.secrets.get("box")).value == ""
    record = services.registry.get(workspace.id)
    assert (record.model, record.fast, record.long) == ("", "", "shop/large")

    await changes.restore(snapshot)
    assert services.settings == before
    record = services.registry.get(workspace.id)
    assert (record.model, record.fast, record.long) == ("box/large", "box/small", "shop/large")
    assert (await services.secrets.get("box")).value == "sesame"
    assert await services.secrets.secret_header("box", "", "X-Gateway") == "s3cret"


async def test_a_renamed_provider_keeps_its_key(services: AppServices) -> None:
    changes = ProviderChanges(services)
    await changes.add(BOX, "sesame")
    await changes.change("box", lambda box: msgspec.structs.replace(box, name="shop"))
    assert (await services.secrets.get("shop")).value == "sesame"
    assert (await services.secrets.get("box")).value == ""
    assert services.settings.run_keys == ("shop",)


async def test_the_last_model_that_goes_leaves_the_default_to_others(services: AppServices) -> None:
    changes = ProviderChanges(services)
    await changes.add(SHOP)
    assert await changes.use_first("shop") == "shop/large"
    bare = msgspec.structs.replace(SHOP, models=(), default_model="")
    await changes.change("shop", lambda _: bare)
    assert services.settings.model == ""
    assert await changes.use_first("shop") == "", "it has no model"


async def test_a_vendor_s_model_is_the_default_once_it_has_its_key(services: AppServices) -> None:
    changes = ProviderChanges(services)
    vendor = next(vendor for vendor in services.models.catalog.vendors if vendor.key)
    models = tuple(ModelEntry(name=name) for name in vendor.begin)
    provider = Provider(name="vendor", base_url=vendor.base_url, dialect=vendor.dialect, models=models)
    await changes.add(provider)
    assert await changes.use_first("vendor") == ""
    await services.save_key("vendor", "sesame")
    assert await changes.use_first("vendor") == f"vendor/{vendor.begin[0]}"
    assert services.settings.model == f"vendor/{vendor.begin[0]}"
    await changes.add(SHOP)
    assert await changes.use_first("shop") == "", "another one is the default"


def test_labels_of_others_stay() -> None:
    assert updated_label("other/small", "box", SHOP) == "other/small"
    assert updated_label("", "", SHOP) == ""


async def test_secret_headers_go_with_their_provider_and_never_to_the_disk(
    services: AppServices, tmp_path: Path
) -> None:
    changes = ProviderChanges(services)
    secrets = services.secrets
    async with ChatServer(lambda _: api_error(400, "x-gateway: s3cret-1 is wrong")) as server:
        gated = Provider(
            name="box",
            base_url=server.base_url,
            models=(ModelEntry(name="small", secret_headers=("X-Own",)),),
            headers={"X-Title": "Helix"},
            secret_headers=("X-Gateway",),
            body={"provider": {"order": ["a"]}},
        )
        await changes.add(gated)
        await secrets.set_secret_header("box", "", "X-Gateway", "s3cret-1")
        await secrets.set_secret_header("box", "small", "X-Own", "s3cret-2")  # as older versions did
        renamed = msgspec.structs.replace(gated, name="shop")
        await changes.change("box", lambda _: renamed)
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
    await changes.change("shop", lambda _: msgspec.structs.replace(renamed, secret_headers=()))
    assert await secrets.secret_header("shop", "", "X-Gateway") == ""
    assert await secrets.secret_header("shop", "small", "X-Own") == "s3cret-2"
    await changes.remove("shop")
    assert await secrets.secret_header("shop", "small", "X-Own") == ""
    files = [path for path in services.data_dir.root.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"s3cret" in path.read_bytes()]


async def test_a_refused_part_is_stored_until_it_is_reset(services: AppServices) -> None:
    """The next start sends requests without it, and after a reset the server is asked again."""
    changes = ProviderChanges(services)

    def script(body: dict[str, Any]) -> Reply:
        if "stream_options" in body:
            return api_error(400, "this field is not accepted")
        return chat_server.text_reply("Fine.")

    async with ChatServer(script) as server:
        box = msgspec.structs.replace(BOX, base_url=server.base_url, models=(ModelEntry(name="small"),))
        await changes.add(box)
        for _ in range(4):
            model = await services.models.by_label("box/small")
            await final_response(model, ModelRequest((Message("user", "Hello"),)))

        stored = SettingsFile(services.data_dir.settings_file).load()[0].provider("box")
        assert stored is not None
        assert stored.entry("small").refused == {"usage": "this field is not accepted"}
        later = ModelService(lambda: services.settings, services.secrets)
        model = await later.by_label("box/small")
        sent = len(server.bodies)
        await final_response(model, ModelRequest((Message("user", "Hello"),)))
        assert ["stream_options" in body for body in server.bodies[sent:]] == [False]
        await later.close()

        await changes.change("box", lambda _: box)  # as it was: reset
        model = await services.models.by_label("box/small")
        sent = len(server.bodies)
        await final_response(model, ModelRequest((Message("user", "Hello"),)))
        assert "stream_options" in server.bodies[sent]


async def test_a_learned_window_is_stored_until_it_is_reset(services: AppServices) -> None:
    """The next start knows it, and after a reset its server's figures count again."""
    changes = ProviderChanges(services)
    refusal = api_error(400, "prompt of 9000 tokens is over n_ctx (8192)")
    async with ChatServer(lambda _: refusal) as server:
        entry = ModelEntry(name="small", reported=ModelSpec(window=32_768))
        box = msgspec.structs.replace(BOX, base_url=server.base_url, models=(entry,))
        await changes.add(box)
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
        await changes.change("box", lambda _: box)  # as it was: reset
        assert (await services.models.by_label("box/small")).info.window == 32_768
