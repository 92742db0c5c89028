"""Requests checked by others: mistral-common for their order, the official SDKs' types for their shape.

Their packages are heavy and never in our environment: an oracle runs in the interpreter that has them, which
is build/peers/python, or what HELIX_PEERS_PYTHON names. Without one, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from helix_desktop.domain.messages import CacheHints, Message, ModelInfo, ModelRequest
from helix_desktop.providers.anthropic import encode_request
from helix_desktop.providers.dialect import CacheFields
from helix_desktop.providers.openai_chat import RequestVariant
from helix_desktop.providers.openai_chat import request_body as chat_body
from helix_desktop.providers.openai_responses import request_body as responses_body
from tests.support.histories import SessionSimulator, histories
from tests.support.verbatim_messages import sampled_requests

ROOT = Path(__file__).resolve().parents[3]
JUDGE = Path(__file__).with_name("oracle.py")
PACKAGES = ("anthropic", "mistral_common", "openai")
INFO = ModelInfo("here", "m", output=1_000)
COMPATIBLE = frozenset({"reasoning_content", "extra_content"})
"""Fields of Chat Completions that compatible servers have and OpenAI's own types do not know."""

_USER = {"role": "user", "content": "x"}


def _call(call_id: str, name: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def _answer(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


generated = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class OracleProcess:
    """The oracle process; `problems` is empty for a valid request."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def problems(self, rule: str, body: Any) -> list[str]:
        """Return the problems of a body by this rule."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"rule": rule, "body": body}) + "\n")
        self._process.stdin.flush()
        problems: list[str] = json.loads(self._process.stdout.readline())
        return problems


@pytest.fixture(scope="module")
def judge() -> Iterator[OracleProcess]:
    peers_python = os.environ.get("HELIX_PEERS_PYTHON")
    python = Path(peers_python) if peers_python else ROOT / "build" / "peers" / "python" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"there is no {python}: `make test-peers` installs what judges requests")
    code = f"import importlib.util as u; print(*(n for n in {PACKAGES!r} if u.find_spec(n) is None))"
    lacking = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout
    if lacking.strip():
        pytest.skip(f"{python} has no {lacking.strip()}: `make test-peers` installs it where it can be")
    command = [str(python), str(JUDGE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield OracleProcess(process)
        assert process.stdin is not None
        process.stdin.close()


@generated
@given(histories())
def test_the_shape_of_chat_completions(judge: OracleProcess, simulator: SessionSimulator) -> None:
    for request in sampled_requests(simulator, "openai-chat", INFO):
        body = _without(json.loads(chat_body(INFO, request)), COMPATIBLE)
        assert judge.problems("openai-chat", body) == []


@generated
@given(histories())
def test_the_shape_of_responses(judge: OracleProcess, simulator: SessionSimulator) -> None:
    for request in sampled_requests(simulator, "openai-responses", INFO):
        assert judge.problems("openai-responses", json.loads(responses_body(INFO, request))) == []


@generated
@given(histories())
def test_the_shape_of_messages(judge: OracleProcess, simulator: SessionSimulator) -> None:
    for request in sampled_requests(simulator, "anthropic", INFO):
        body = json.loads(encode_request(INFO, request, max_output_tokens=1_000).body)
        assert judge.problems("anthropic", body) == []


def test_the_shape_of_what_is_asked_of_caches(judge: OracleProcess) -> None:
    """Keys, retention and breakpoints, of models whose writes are free and of those that they cost."""
    hints = CacheHints("5e55104", (2,), keep_long=True)
    messages = (Message("system", "You help."), Message("user", "[Folded steps]"), Message("user", "Go on."))
    request = ModelRequest(messages, cache=hints)
    body = encode_request(INFO, request, max_output_tokens=1_000, keep_long=True).body
    assert judge.problems("anthropic", json.loads(body)) == []
    for info in (INFO, msgspec.structs.replace(INFO, price_in=2.0, price_cache_write=2.5)):
        cache = CacheFields(info, hints, set())
        assert judge.problems("openai-chat", json.loads(chat_body(info, request, cache=cache))) == []
        assert (
            judge.problems("openai-responses", json.loads(responses_body(info, request, cache=cache))) == []
        )


@generated
@given(histories())
def test_the_order_of_chat_completions(judge: OracleProcess, simulator: SessionSimulator) -> None:
    """In the form that Mistral's own server requires, with its ids of nine characters."""
    for request in sampled_requests(simulator, "openai-chat", INFO):
        body = json.loads(
            chat_body(INFO, request, RequestVariant(uses_short_ids=True, sends_server_fields=False))
        )
        assert judge.problems("order", {**body, "nine_signs": True}) == []


@generated
@given(histories())
def test_the_order_of_the_other_dialects(judge: OracleProcess, simulator: SessionSimulator) -> None:
    """Their requests converted to Chat Completions: the rules for calls and answers are the same."""
    for request in sampled_requests(simulator, "anthropic", INFO):
        body = json.loads(encode_request(INFO, request, max_output_tokens=1_000).body)
        assert judge.problems("order", {"messages": _from_anthropic(body["messages"])}) == []
    for request in sampled_requests(simulator, "openai-responses", INFO):
        body = json.loads(responses_body(INFO, request))
        assert judge.problems("order", {"messages": _from_responses(body["input"])}) == []


@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("order", {"messages": [_USER, {"role": "assistant", "tool_calls": [_call("c", "f")]}, _USER]}),
        ("order", {"messages": [_USER, _answer("c")]}),
        ("openai-chat", {"model": "m", "stream": True, "messages": [{"role": "user"}]}),
        ("openai-responses", {"model": "m", "stream": True, "input": [{"type": "function_call"}]}),
        ("anthropic", {"model": "m", "stream": True, "messages": [_USER]}),
        ("anthropic", {"model": "m", "stream": True, "max_tokens": 1, "messages": [_USER], "new": 1}),
    ],
)
def test_the_oracle_refuses_invalid_requests(judge: OracleProcess, rule: str, body: Any) -> None:
    assert judge.problems(rule, body)


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


def _from_anthropic(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sides: list[dict[str, Any]] = []
    for message in messages:
        calls = [
            _call(block["id"], block["name"]) for block in message["content"] if block["type"] == "tool_use"
        ]
        words = [block for block in message["content"] if block["type"] in ("text", "image")]
        sides += [
            _answer(block["tool_use_id"]) for block in message["content"] if block["type"] == "tool_result"
        ]
        if message["role"] == "assistant":
            sides.append(
                {"role": "assistant", "content": "x" if words else None, "tool_calls": calls or None}
            )
        elif words:
            sides.append(_USER)
    return sides


def _from_responses(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            messages.append(_answer(item["call_id"]))
        elif kind == "function_call" and messages[-1]["role"] == "assistant":
            messages[-1]["tool_calls"] = [
                *(messages[-1].get("tool_calls") or ()),
                _call(item["call_id"], item["name"]),
            ]
        elif kind == "function_call":
            call = _call(item["call_id"], item["name"])
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "message":
            messages.append({"role": item["role"], "content": "x"})
    return messages
