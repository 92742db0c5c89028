"""Real local HTTP servers that answer like Ollama, LM Studio, llama.cpp and vLLM, as their manuals say.

async with run_server(OLLAMA) as server:
    local_server = await identify(http, server.root_url)
    assert "GET /api/tags" in server.request_lines
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Reply = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]
Routes = Mapping[str, Reply]
"""`GET /path` or `POST /path`, and what is answered: an object, or made from the one that was sent."""


@dataclass
class RunningServer:
    """A running server: its address and its requests in order, with the headers."""

    port: int
    request_lines: list[str] = field(default_factory=list)
    request_heads: list[str] = field(default_factory=list)

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def run_server(routes: Routes) -> AsyncIterator[RunningServer]:
    """Run a server for the block; unknown paths are 404."""
    state = RunningServer(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the client has gone
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = int(head.lower().partition("content-length:")[2].partition("\r\n")[0] or 0)
            line = " ".join(head.split()[:2])
            state.request_lines.append(line)
            state.request_heads.append(head)
            writer.write(_reply(routes.get(line), await reader.readexactly(size)))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        state.port = server.sockets[0].getsockname()[1]
        yield state


def _reply(route: Reply | None, body: bytes) -> bytes:
    status, body_value = ("200 OK", route) if route is not None else ("404 Not Found", {"error": "not found"})
    if callable(body_value):
        body_value = body_value(json.loads(body))
    text = json.dumps(body_value).encode()
    header = f"content-type: application/json\r\ncontent-length: {len(text)}\r\nconnection: close"
    return f"HTTP/1.1 {status}\r\n{header}\r\n\r\n".encode() + text


def _ollama_show(request: Mapping[str, Any]) -> Mapping[str, Any]:
    models = {
        "qwen3:8b": {
            "parameters": 'stop    "<|im_end|>"\ntemperature                    0.6',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
            "capabilities": ["completion", "tools", "thinking"],
        },
        "sized:latest": {
            "parameters": "num_ctx                        16384",
            "model_info": {"llama.context_length": 131_072},
            "capabilities": ["completion", "vision"],
        },
        "idle:latest": {
            "model_info": {"gemma4.context_length": 131_072},
            "capabilities": ["completion", "tools"],
        },
        "nomic-embed-text:latest": {
            "model_info": {"nomic-bert.context_length": 2_048},
            "capabilities": ["embedding"],
        },
    }
    return models[request["model"]]


_OLLAMA_MODELS = ("qwen3:8b", "sized:latest", "idle:latest", "nomic-embed-text:latest")
OLLAMA: Routes = {
    "GET /api/version": {"version": "0.40.12"},
    "GET /api/tags": {"models": [{"name": name, "model": name, "size": 1} for name in _OLLAMA_MODELS]},
    "GET /api/ps": {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "context_length": 32_768}]},
    "POST /api/show": _ollama_show,
    "GET /v1/models": {
        "object": "list",
        "data": [{"id": name, "owned_by": "library"} for name in _OLLAMA_MODELS],
    },
}

LM_STUDIO: Routes = {
    "GET /api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen/qwen3-coder-30b",
                "object": "model",
                "type": "llm",
                "state": "loaded",
                "max_context_length": 262_144,
                "loaded_context_length": 65_536,
                "capabilities": ["tool_use"],
            },
            {
                "id": "qwen2-vl-7b-instruct",
                "object": "model",
                "type": "vlm",
                "state": "not-loaded",
                "max_context_length": 32_768,
            },
            {
                "id": "text-embedding-nomic",
                "object": "model",
                "type": "embeddings",
                "state": "not-loaded",
                "max_context_length": 2_048,
            },
        ],
    },
    "GET /v1/models": {"object": "list", "data": [{"id": "qwen/qwen3-coder-30b", "object": "model"}]},
}

LLAMA_CPP: Routes = {
    "GET /props": {
        "default_generation_settings": {"n_ctx": 16_384},
        "total_slots": 4,
        "modalities": {"vision": True, "audio": False},
        "chat_template_caps": {"supports_tool_calls": True},
        "build_info": "b8681",
    },
    "GET /v1/models": {
        "object": "list",
        "data": [{"id": "qwen3.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 262_144}}],
    },
}

VLLM: Routes = {
    "GET /version": {"version": "0.15.0"},
    "GET /v1/models": {
        "object": "list",
        "data": [{"id": "openai/gpt-oss-120b", "owned_by": "vllm", "max_model_len": 65_536}],
    },
}

GATEWAY: Routes = {"GET /v1/models": {"object": "list", "data": [{"id": "house-model", "owned_by": "us"}]}}

WEB_APP: Routes = {"GET /": {"hello": "world"}}
