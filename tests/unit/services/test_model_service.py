"""Which key is sent where: a stored key only to the address it was stored for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from helix_desktop.config.secrets import SecretStore
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.domain.errors import AuthenticationFailed, InvalidInput
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.services.model_service import ModelService
from helix_desktop.services.provider_check import CheckStep
from tests.support.memory_keychain import MemoryKeychain
from tests.support.model_servers.chat_server import ChatServer, api_error, replies_in_order, text_reply
from tests.support.model_servers.dialects import DIALECTS, DialectCase


async def sent(environ: dict[str, str], own_address: Callable[[str], str]) -> str:
    """Return the authorization that a server gets when a run names it for `shop`, which has a stored key."""
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        settings = Settings(providers=(Provider(name="shop", base_url=own_address(server.base_url)),))
        secrets = SecretStore(environ, find_keychain=MemoryKeychain)
        models = ModelService(lambda: settings, secrets)
        try:
            await secrets.set("shop", "kept-key")
            model = await models.adhoc("shop/small", server.base_url, 0)
            async for _ in model.stream(ModelRequest((Message("user", "Hello"),))):
                pass
        finally:
            await models.close()
            secrets.close()
        return server.requests[-1].headers.get("authorization", "")


async def test_a_stored_key_is_sent_to_its_own_address() -> None:
    assert await sent({}, lambda url: url + "/") == "Bearer kept-key"


@pytest.mark.parametrize("own", ["https://shop.example/v1", "https://127.0.0.1/v1"])
async def test_a_stored_key_is_sent_nowhere_else(own: str) -> None:
    assert await sent({}, lambda _: own) == ""
    assert await sent({"HELIX_SHOP_KEY": "given"}, lambda _: own) == "Bearer given"


async def sent_to_typed_address(environ: dict[str, str], label: str, *saved: Provider) -> str:
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        secrets = SecretStore(environ, find_keychain=MemoryKeychain)
        models = ModelService(lambda: Settings(providers=saved), secrets)
        try:
            model = await models.adhoc(label, server.base_url, 0)
            async for _ in model.stream(ModelRequest((Message("user", "Hello"),))):
                pass
        finally:
            await models.close()
            secrets.close()
        return server.requests[-1].headers.get("authorization", "")


async def test_openai_api_key_counts_for_an_unknown_provider_at_a_typed_address() -> None:
    environment = {"OPENAI_API_KEY": "usual", "HELIX_LAB_KEY": "own"}
    assert await sent_to_typed_address({"OPENAI_API_KEY": "usual"}, "lab/small") == "Bearer usual"
    assert await sent_to_typed_address(environment, "lab/small") == "Bearer own"


async def test_openai_api_key_is_never_sent_for_a_known_or_saved_provider() -> None:
    environ = {"OPENAI_API_KEY": "usual"}
    saved = Provider(name="lab", base_url="https://lab.example/v1")
    assert await sent_to_typed_address(environ, "groq/small") == ""
    assert await sent_to_typed_address(environ, "lab/small", saved) == ""
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        provider = Provider(name="lab", base_url=server.base_url)
        secrets = SecretStore(environ, find_keychain=MemoryKeychain)
        models = ModelService(lambda: Settings(providers=(provider,)), secrets)
        try:
            async for _ in (await models.by_label("lab/small")).stream(
                ModelRequest((Message("user", "Hello"),))
            ):
                pass
        finally:
            await models.close()
            secrets.close()
        assert "authorization" not in server.requests[-1].headers


async def test_the_command_line_names_the_variables_of_a_provider_without_setup() -> None:
    secrets = SecretStore({}, find_keychain=MemoryKeychain)
    models = ModelService(Settings, secrets)
    try:
        with pytest.raises(InvalidInput, match="HELIX_MY_LAB_KEY or OPENAI_API_KEY"):
            await models.adhoc("my-lab/small", "", 0)
        with pytest.raises(InvalidInput, match="set GROQ_API_KEY"):
            await models.adhoc("groq/small", "", 0)
    finally:
        await models.close()
        secrets.close()


@pytest.mark.parametrize(("own_port", "carried"), [(True, "Bearer kept-key"), (False, "")])
async def test_checking_an_unsaved_address_sends_no_stored_key(own_port: bool, carried: str) -> None:
    """The provider page checks the typed address; a key stored for the saved one must not go to another."""
    async with ChatServer(replies_in_order(text_reply("ready"))) as server:
        saved = server.base_url if own_port else "https://shop.example/v1"
        settings = Settings(providers=(Provider(name="shop", base_url=saved),))
        secrets = SecretStore({}, find_keychain=MemoryKeychain)
        models = ModelService(lambda: settings, secrets)
        try:
            await secrets.set("shop", "kept-key")
            typed = Provider(name="shop", base_url=server.base_url)
            await models.test(typed, "small", "", lambda _: None)
        finally:
            await models.close()
            secrets.close()
        assert server.requests[-1].headers.get("authorization", "") == carried


async def test_a_refused_key_is_not_sent_to_the_page_that_shows_the_refusal() -> None:
    steps: list[CheckStep] = []
    async with ChatServer(lambda _: api_error(401, "invalid key")) as server:
        provider = Provider(name="shop", base_url=server.base_url)
        secrets = SecretStore({}, find_keychain=MemoryKeychain)
        models = ModelService(lambda: Settings(providers=(provider,)), secrets)
        try:
            await models.test(provider, "small", "wrong", steps.extend)
            model = await models.by_label("shop/small")
            with pytest.raises(AuthenticationFailed) as refusal:
                async for _ in model.stream(ModelRequest((Message("user", "Hello"),))):
                    pass
        finally:
            await models.close()
            secrets.close()
    assert "Enter a valid key, or set HELIX_SHOP_KEY." in {step.fix for step in steps}
    assert refusal.value.fix == "Enter the key in Settings → Providers, or set HELIX_SHOP_KEY."


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_provider_is_called_in_its_dialect(dialect: DialectCase) -> None:
    async with ChatServer(
        replies_in_order(text_reply("ready")), models=("b", "a"), wire_format=dialect.wire_format
    ) as server:
        provider = Provider(name="shop", base_url=server.base_url, dialect=dialect.name)
        secrets = SecretStore({}, find_keychain=MemoryKeychain)
        models = ModelService(lambda: Settings(providers=(provider,)), secrets)
        try:
            assert list(await models.list_models(provider, "key")) == ["a", "b"]
            updates: list[tuple[CheckStep, ...]] = []
            await models.test(provider, "small", "key", updates.append)
            assert [step.state for step in updates[-1]][:4] == ["ok"] * 4
            model = await models.by_label("shop/large")
            assert model.info.label == "shop/large"
        finally:
            await models.close()
            secrets.close()
        assert [body["model"] for body in server.bodies] == ["small", "small"]
