"""A preview's tokens, counted as in the app."""

from __future__ import annotations

import base64
import random

import msgspec
import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ToolResult
from helix_desktop.replay.token_counters import MessageTokenCounter

CHANCE = random.Random(11)
TEXTS = {
    "code": "\n".join(
        f"    value_{n} = compute(items[{n}], depth={n % 7})  # step {n}" for n in range(3_000)
    ),
    "base64": base64.b64encode(CHANCE.randbytes(90_000)).decode(),
    "numbers": " ".join(str(CHANCE.randrange(10**9)) for _ in range(20_000)),
    "Chinese": "潮位在港口的测量站被记录下来。\n" * 4_000,
    "emoji": "🌊⚓🛟🧭" * 12_000,
    "rare signs": "".join(chr(0x12000 + CHANCE.randrange(900)) for _ in range(30_000)),
    "errors": "\n".join(f"error: file_{n}.c:{n}: cannot open «{n}»" for n in range(5_000)),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("max_tokens", [300, 600, 2_000])
async def test_a_preview_respects_the_policy_s_token_limit(name: str, max_tokens: int) -> None:
    """However dense the text; and it uses its budget."""
    counter = MessageTokenCounter.bundled()
    intake = Intake(counter)
    result = ToolResult(TEXTS[name].encode(), ok=False, exit_code=3, target="make")
    intake_result = await intake.from_tool_result(ToolCall("c", "run_command", "{}"), result)
    policy = msgspec.structs.replace(PROFILES["balanced"], preview_tokens=max_tokens)
    answer = await intake.as_preview(intake_result, policy)
    assert max_tokens * 0.4 <= answer.tokens <= max_tokens
    assert [answer.tokens, answer.full_tokens] == await counter.count([answer.text, TEXTS[name]])
    assert answer.text.endswith(f"{bare_marker(answer.digest)} the whole output")
    assert "exit code 3" in answer.text
