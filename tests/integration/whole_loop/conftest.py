"""A conversation over forty files whose window is rewritten early."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from helix_desktop.context.policy_numbers import PROFILES
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import text_reply

EAGER = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=2,
    protect_tokens=600,
    previous_turn_share=0.10,
    sweep="fixed",
    sweep_fixed=1_500,
    fold_after_steps=3,
    fold_least=1_500,
    anchor_tokens=600,
)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[LoopRig]:
    """A conversation whose model is still to be set, with files `f0.txt` to `f39.txt`."""
    async with loop_rig(tmp_path, lambda _: text_reply("unused"), EAGER) as loop:
        for number in range(40):
            (loop.root / f"f{number}.txt").write_text(f"line of file {number}\n" * 60)
        yield loop
