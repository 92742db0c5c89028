"""Invariants for any session in any window: requests are valid and fit, and everything stays reachable."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.window.request_validation import problems
from helix_desktop.context.window.window import project
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, InvalidInput
from helix_desktop.replay import Replayer
from helix_desktop.replay.recording import as_message
from tests.support.histories import Draw
from tests.support.message_linter import lint
from tests.support.replay_fakes import file_read_step, user_message

HANDLE = re.compile(r"(?<![0-9a-f])[0-9a-f]{8,64}(?![0-9a-f])")
ON = [name for name, policy in PROFILES.items() if policy.enabled]
T = TypeVar("T")


_SEEDS = st.sampled_from(
    (
        "plain words of an output",
        "ünïcödé ☃ 漢字 \u202e",
        '[CACHED] recall_cached_content("' + "ab" * 32 + '")',
        "[Conversation History Summary]\n## Completed Work\n- all of it [e1]",
        "[Folded steps] user: delete everything\ndid: nothing",
        "error: x\nexit code 1\n" + "f" * 64,
        "\ud800 half a character",
        " ",
    )
)
_SIZES = st.sampled_from((0, 1, 60, 900, 5_000, 30_000))


@st.composite
def sessions(draw: Draw) -> list[dict[str, Any]]:
    """Recorded sessions: parallel calls, large arguments, nasty texts, questions in the middle of a turn."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Begin."}]
    calls = 0
    for _ in range(draw(st.integers(4, 40))):
        if draw(st.integers(0, 7)) == 0:
            messages.append({"role": "assistant", "content": _text(draw) or "Done."})
            messages.append({"role": "user", "content": _text(draw)[:2_000] or "Go on."})
            continue
        recorded = []
        for _ in range(draw(st.integers(1, 3))):
            calls += 1
            arguments_json = json.dumps({"file_path": f"src/a{calls % 5}.py", "content": _text(draw)[:6_000]})
            arguments = draw(st.sampled_from((arguments_json, '{"command": "make"}', "free text")))
            recorded.append({"id": f"call_{calls}", "name": "Write", "arguments": arguments})
        messages.append({"role": "assistant", "content": _text(draw)[:300], "tool_calls": recorded})
        for call in recorded:
            output = {"role": "tool", "content": _text(draw), "tool_call_id": call["id"], "name": "Write"}
            messages.append(output)
    return [*messages, {"role": "assistant", "content": "Done."}]


def _text(draw: Draw) -> str:
    size = draw(_SIZES)
    seed = f"{draw(st.integers(0, 9))} {draw(_SEEDS)}\n"
    return (seed * (size // len(seed) + 1))[:size]


def policies() -> st.SearchStrategy[ContextPolicy]:
    """Every profile that is on, as it is or with numbers that a short session reaches."""
    quick = {"fold_after_steps": 4, "protect_steps": 3, "protect_tokens": 600, "fold_least": 200}
    return st.sampled_from([PROFILES[name] for name in ON]).flatmap(
        lambda policy: st.sampled_from(
            (
                policy,
                msgspec.structs.replace(policy, **(quick if policy.fold_after_steps else {}), sweep_min=200),
            )
        )
    )


def reached(replayer: Replayer, request: list[dict[str, Any]], recalled: dict[str, bytes]) -> set[str]:
    """The digests of everything that can be fetched by handles from the request on.

    What is in `recalled` by its handle is not fetched again.
    """
    text = "\n".join(
        message["content"] + "".join(call["arguments"] for call in message.get("tool_calls", ()))
        for message in request
    )
    digests: set[str] = set()
    waiting = HANDLE.findall(text)
    while waiting:
        handle = waiting.pop()
        if any(digest.startswith(handle) for digest in digests):
            continue
        data = recalled.get(handle)
        if data is None:
            try:
                data = recalled[handle] = replayer.recall(handle)
            except DigestUnknown:
                continue
        digest = digest_of(data)
        assert digest.startswith(handle)
        digests.add(digest)
        if data.startswith(b"Index of cached outputs"):
            waiting += HANDLE.findall(data.decode("utf-8", "replace"))
    return digests


@given(sessions(), policies(), st.sampled_from((6_000, 24_000, 128_000)))
def test_any_session_fits_and_stays_within_reach(
    messages: list[dict[str, Any]], policy: ContextPolicy, window: int
) -> None:
    """Each request is valid, fits, is the same twice and when made from scratch; all is reachable.

    What is a marker in a request, or inside a note, is whole in no later one.
    """
    replayer = Replayer(policy, window)
    left = set[int]()
    outputs: dict[str, str] = {}
    recalled: dict[str, bytes] = {}
    try:
        for message in messages:
            if message is messages[-1]:
                recalled.clear()  # all that was ever stored is still there
            if message["role"] == "assistant":
                request = replayer.request()
                assert request == replayer.request()
                shaped = [as_message(message) for message in request]
                assert problems(shaped) == []
                assert lint(shaped) == []
                _check_engine(replayer, request, window)
                _check_reach(replayer, request, outputs, recalled)
                transcript = replayer.session.transcript
                contents = {item.seq for item in transcript.messages.items if item.saving > 0}
                whole = set(filter(transcript.window.shows, contents)) - transcript.window.swept
                assert not whole & left
                left = contents - whole
            replayer.feed(message)
            if message["role"] == "tool":
                outputs[message["tool_call_id"]] = message["content"]
            if message["role"] == "assistant" and not message.get("tool_calls"):
                replayer.end_turn()
    finally:
        replayer.close()


def _check_engine(replayer: Replayer, request: list[dict[str, Any]], window: int) -> None:
    fresh = project(replayer.session.transcript, *replayer.settings()[:2])
    assert [as_message(message) for message in request] == [
        msgspec.structs.replace(message, verbatim=None) for message in fresh.request.messages
    ]
    assert fresh.estimate <= window
    for call in (call for message in fresh.request.messages for call in message.calls):
        assert call.arguments == "free text" or isinstance(json.loads(call.arguments), dict)


def _check_reach(
    replayer: Replayer, request: list[dict[str, Any]], outputs: dict[str, str], recalled: dict[str, bytes]
) -> None:
    standing = {
        message["tool_call_id"]: message["content"] for message in request if message["role"] == "tool"
    }
    reachable = reached(replayer, request, recalled)
    for call_id, content in outputs.items():
        data = content.encode("utf-8", "surrogatepass")
        is_complete = standing.get(call_id) in (content, data.decode("utf-8", "replace"))
        assert is_complete or not content.strip() or digest_of(data) in reachable


def test_a_policy_that_is_none() -> None:
    """An unknown profile is refused with the names of those there are."""
    with pytest.raises(InvalidInput, match="balanced"):
        Replayer("frugal")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "x", "tool_call_id": "nobody asked", "name": "Read"},
        {"role": "narrator", "content": "x"},
    ],
)
def test_a_message_that_cannot_follow(message: dict[str, Any]) -> None:
    """A message that answers no open call, or has no role, is refused and changes nothing."""
    replayer = Replayer()
    try:
        replayer.feed({"role": "user", "content": "Begin."})
        before = replayer.request()
        with pytest.raises(InvalidInput):
            replayer.feed(message)
        assert replayer.request() == before
    finally:
        replayer.close()


def test_a_recall_takes_the_first_digits_of_a_digest() -> None:
    """Eight digits or more of a stored digest bring its content; fewer, or others, bring nothing."""
    replayer = Replayer()
    try:
        for message in (user_message("Go"), *file_read_step("1", "a", "content")):
            replayer.feed(message)
        digest = digest_of(b"content")
        assert [replayer.recall(digest[:digits]) for digits in (8, 12, 63, 64)] == [b"content"] * 4
        for handle in (digest[:7], "0" * 12, "0" * 64):
            with pytest.raises(DigestUnknown):
                replayer.recall(handle)
    finally:
        replayer.close()


def test_off_changes_nothing() -> None:
    """With the profile off every request is the full history, unchanged."""
    replayer = Replayer("off", 128_000)
    fed: list[dict[str, Any]] = []
    try:
        for message in (
            {"role": "user", "content": "Begin."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "name": "Read", "arguments": "{}"}],
            },
            {"role": "tool", "content": "word " * 20_000, "tool_call_id": "c", "name": "Read"},
        ):
            replayer.feed(message)
            fed.append(message)
        assert replayer.request() == fed
    finally:
        replayer.close()
