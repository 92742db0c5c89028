"""500 tools of MCP servers: tokens of a request with all definitions or with names, and what a session costs.

A session of 20 requests looks up tools three times. A found tool either stays in the answer that brought it,
and is called by `call_tool`; or its definition joins the request, after which the provider reads all again
that stands behind it. What it has cached is the beginning that a request shares with the one before.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import mcp_types as types

from helix_desktop.agent.session_services import split_versions
from helix_desktop.agent.subagents import DELEGATE, delegate_spec
from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.domain.cost import call_cost
from helix_desktop.domain.deferred_tools import request_tools, search_tools
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolSpec, Usage
from helix_desktop.mcp.client.exposed_tool import expose_tool
from helix_desktop.providers import anthropic, openai_chat, openai_responses
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import description_of, parse_description, spec_of
from tests.support.mcp.many_tools import PRODUCTS, tools_of
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_tools

REQUESTS = 20
STEP_TOKENS = 1_500
ANSWER_TOKENS = 200
LOOKUPS = {2: "create an issue in forge", 8: "list incidents of monitor", 14: "refund of a payment, billing"}
FOUND = 5  # tools of an answer
MODELS = {
    "https://api.anthropic.com/v1": "claude-sonnet-5-5",
    "https://api.openai.com/v1": "gpt-6-sol",
}

Figure = tuple[str, float, str]
Part = tuple[str, int]
"""What a part of a request is, and its tokens."""


def main() -> list[Figure]:
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
    servers = [
        expose_tool(product, types.Tool.model_validate(tool)).spec
        for product in PRODUCTS
        for tool in tools_of(product)
    ]
    delegate = delegate_spec(*parse_description(description_of(DELEGATE, DESCRIPTIONS_DIR)))
    with tempfile.TemporaryDirectory() as folder:
        own = [*make_tools(Path(folder)).specs, delegate]
    tool_search = [spec_of(tool, DESCRIPTIONS_DIR) for tool in (FindTools, CallTool)]
    whole = (*own, *servers)
    deferred = request_tools((*own, *servers, *tool_search))
    system = split_versions(load_prompts())[0]["system"]
    figures: list[Figure] = []
    for dialect in ("anthropic", "openai chat", "openai responses"):
        for words, tools in (("all definitions", whole), ("names", deferred)):
            sent = _body(dialect, ModelRequest((Message("system", system), Message("user", "Go.")), tools))
            (tokens,) = await counter.count([sent])
            figures.append((f"{dialect}: first request, {len(servers)} tools, {words}", tokens, "tokens"))
    for url, model in MODELS.items():
        known = ModelCatalog.load(resources_dir() / "models.toml").spec_for(url, model)
        assert known is not None
        prices = {name: getattr(known.spec, name) for name in known.spec.__struct_fields__ if "price" in name}
        info = ModelInfo("p", model, **{name: price for name, price in prices.items() if price})
        for words, tools, adds in (
            ("all definitions", whole, False),
            ("names, definitions added", deferred, True),
            ("names, call_tool", deferred, False),
        ):
            cost = await _session_cost(counter, info, tools, servers, adds)
            figures.append((f"{model}: {REQUESTS} requests, 3 lookups, {words}", cost, "US dollars"))
    return figures


def _body(dialect: str, request: ModelRequest) -> str:
    info = ModelInfo("p", "m")
    match dialect:
        case "anthropic":
            body = anthropic.encode_request(info, request, max_output_tokens=4_096).body
        case "openai chat":
            body = openai_chat.request_body(info, request)
        case _:
            body = openai_responses.request_body(info, request)
    return body.decode()


async def _session_cost(
    counter: TiktokenCounter,
    info: ModelInfo,
    tools: Sequence[ToolSpec],
    servers: Sequence[ToolSpec],
    adds: bool,
) -> float:
    """Return the price of a session's requests, in US dollars; `adds`: found definitions join the request."""
    before: list[Part] = []
    definitions = list(tools)
    history = list[Part]()
    cost = 0.0
    for number in range(REQUESTS):
        history.append((f"step {number}", STEP_TOKENS))
        if (query := LOOKUPS.get(number - 1, "")) and len(tools) < len(servers):
            found = search_tools(servers, query)[:FOUND]
            if adds:
                definitions += [spec for spec in found if spec not in definitions]
                history.append((query, 20 * FOUND))  # their names
            else:
                history.append((query, sum(await _tokens(counter, found))))
        counts = await _tokens(counter, definitions)
        request = [*((spec.name, count) for spec, count in zip(definitions, counts, strict=True)), *history]
        total = sum(tokens for _, tokens in request)
        cached = _common(before, request)
        writes = total - cached if info.price_cache_write else 0
        cost += call_cost(info, Usage(total, ANSWER_TOKENS, cached, writes))
        before = request
    return cost


async def _tokens(counter: TiktokenCounter, specs: Sequence[ToolSpec]) -> list[int]:
    return await counter.count([json.dumps([spec.name, spec.description, spec.parameters]) for spec in specs])


def _common(before: Sequence[Part], now: Sequence[Part]) -> int:
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        tokens += new[1]
    return tokens
