"""Local servers are identified by their answers, and report each model's true window."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from helix_desktop.domain.model_spec import LocalServer, ModelSpec
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.model_list import find_servers, identify
from tests.support.model_servers.local_servers import (
    GATEWAY,
    LLAMA_CPP,
    LM_STUDIO,
    OLLAMA,
    VLLM,
    WEB_APP,
    Routes,
    run_server,
)


async def server_of(http: HttpClient, routes: Routes) -> LocalServer:
    async with run_server(routes) as server:
        identified = await identify(http, server.root_url)
        assert identified is not None
        assert identified.base_url == f"{server.root_url}/v1"
        return identified


async def test_ollama_reports_the_loaded_window_then_the_configured_one_then_the_smallest_default(
    http: HttpClient,
) -> None:
    server = await server_of(http, OLLAMA)
    assert server.title == "Ollama"
    windows = {model.name: (model.spec.window, model.is_loaded) for model in server.models}
    assert windows == {
        "qwen3:8b": (32_768, True),
        "sized:latest": (16_384, False),
        "idle:latest": (4_096, False),
    }, "no embedding model, and never the length a model was trained for"
    qwen, sized, idle = server.models
    assert (qwen.spec.tools, qwen.spec.images, qwen.spec.reasoning) == (True, False, True)
    assert (qwen.spec.efforts, idle.spec.efforts) == (("none", "low", "medium", "high"), ())
    assert sized.spec.images
    assert "num_ctx" in sized.source
    assert "131,072" in idle.source


async def test_lm_studio_reports_the_window_of_the_loaded_model(http: HttpClient) -> None:
    server = await server_of(http, LM_STUDIO)
    assert server.title == "LM Studio"
    loaded, idle = server.models
    assert loaded.spec == ModelSpec(window=65_536, tools=True, images=False)
    assert (idle.spec.window, idle.spec.images, idle.is_loaded) == (4_096, True, False)
    assert "32,768" in idle.source


async def test_llama_cpp_reports_the_window_of_one_slot(http: HttpClient) -> None:
    server = await server_of(http, LLAMA_CPP)
    assert server.title == "llama.cpp"
    (model,) = server.models
    assert model.name == "qwen3.gguf"
    assert model.spec == ModelSpec(window=16_384, tools=True, images=True)
    assert "4 slots" in model.source


async def test_vllm_reports_its_longest_request(http: HttpClient) -> None:
    server = await server_of(http, VLLM)
    assert server.title == "vLLM"
    assert [(model.name, model.spec.window) for model in server.models] == [("openai/gpt-oss-120b", 65_536)]


async def test_any_server_that_lists_models_is_offered(http: HttpClient) -> None:
    server = await server_of(http, GATEWAY)
    assert server.title == "Server"
    assert [model.name for model in server.models] == ["house-model"]


async def test_a_server_without_models_is_ignored(http: HttpClient) -> None:
    async with run_server(WEB_APP) as server:
        assert await identify(http, server.root_url) is None


async def test_ports_are_probed_concurrently_without_a_key(http: HttpClient) -> None:
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(run_server(routes))
            for routes in (VLLM, WEB_APP, OLLAMA, LLAMA_CPP)
        ]
        ports = [*(server.port for server in servers), 1]
        local_servers = await find_servers(http, ports)
        assert [server.kind for server in local_servers] == ["vllm", "ollama", "llama.cpp"]
        heads = "".join(head for server in servers for head in server.request_heads).lower()
        assert "authorization" not in heads
        assert "x-api-key" not in heads


async def test_a_silent_port_does_not_delay_the_others() -> None:
    gone = asyncio.Event()

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()
        writer.close()

    async with await asyncio.start_server(stay_silent, "127.0.0.1", 0) as silent, run_server(VLLM) as server:
        ports = (silent.sockets[0].getsockname()[1], server.port)
        kinds: list[str] = []
        for read_s in (0.2, 10.0):  # on a busy machine the other one can take longer too
            if not kinds:
                http = HttpClient(Timeouts(connect_s=60.0, read_s=read_s))
                kinds = [found_server.kind for found_server in await find_servers(http, ports)]
                await http.aclose()
        assert kinds == ["vllm"]
        await gone.wait()


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        ({"data": "none"}, None),
        ({"data": [{"id": 5, "max_context_length": 1, "state": "x"}]}, "lm-studio"),
        ({"data": [None, 3]}, "other"),
        ({}, None),
    ],
)
async def test_nonsense_is_survived(http: HttpClient, listed: dict[str, object], kind: str | None) -> None:
    routes: Routes = {
        "GET /api/v0/models": listed,
        "GET /props": {"default_generation_settings": []},
        "GET /api/version": {"version": 3},
        "GET /v1/models": listed,
    }
    async with run_server(routes) as server:
        identified = await identify(http, server.root_url)
        assert (identified.kind if identified else None) == kind
        assert identified is None or identified.models == ()
