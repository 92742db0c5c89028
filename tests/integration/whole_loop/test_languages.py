"""The language of the window changes nothing of what a model reads and of what is stored."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
from texts import pseudo

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import TurnEnded
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.words.translation import current_language
from tests.support.loop_rig import is_summary_request, loop_rig
from tests.support.model_servers.chat_server import Call, Reply, StreamedReply, Text, api_error, text_reply
from tests.support.pseudo_languages import pseudo_language

STEPS = 16
POLICY = msgspec.structs.replace(
    PROFILES["balanced"],
    protect_steps=2,
    protect_tokens=600,
    sweep="fixed",
    sweep_fixed=1_500,
    fold_after_steps=6,
    handover_least_gain=0.0,
)
_CHANGING = re.compile(r'"(?:at|duration_ms|intake_ms|modified_ns|inode)":\d+')


def _script() -> Any:
    numbers = itertools.count()

    def script(request: dict[str, Any]) -> Reply:
        """Return the next step; the one after the last is refused, as by a server without credit."""
        if is_summary_request(request):
            return text_reply("## Goal\nRead the files.")
        number = next(numbers)
        if number == STEPS:
            return text_reply("All read.")
        if number > STEPS:
            return api_error(402, "insufficient credit")
        path = f"f{number}.txt" if number % 4 else f"missing{number}"
        return StreamedReply(Text("Next."), Call("read_file", json.dumps({"path": path})))

    return script


async def _play(folder: Path) -> tuple[list[bytes], list[str]]:
    """Return the bodies of all requests, and the stored events, of a session that ends in an error."""
    async with loop_rig(folder, _script(), POLICY) as rig:
        for number in range(STEPS):
            (rig.root / f"f{number}.txt").write_text(f"line of file {number}\n" * 60)
        assert await rig.conversation.run("Read them all.") == TurnEnded("done")
        assert (await rig.conversation.run("Go on.")).how == "failed"
        assert rig.events(SweepMade)
        place = str(folder).encode()
        key = str(rig.server.requests[0].json["prompt_cache_key"]).encode()
        bodies = [sent.body.replace(place, b"FOLDER").replace(key, b"KEY") for sent in rig.server.requests]
        stored = await rig.store.events(rig.conversation.session.id)
        events = [_CHANGING.sub("", msgspec.json.encode(entry).decode()) for entry in stored]
        return bodies, [event.replace(str(folder), "FOLDER") for event in events]


async def test_one_session_is_the_same_in_each_language(tmp_path: Path) -> None:
    """Requests are equal byte for byte, and so is what the store holds of them, errors included."""
    played = {}
    for code in ("en", pseudo.LONG, pseudo.CHINESE):
        with pseudo_language(code) if code != "en" else nullcontext():
            assert current_language().code == code
            (tmp_path / code).mkdir()
            played[code] = await _play(tmp_path / code)
    bodies, events = played["en"]
    assert len(bodies) > STEPS
    assert any("insufficient credit" in event for event in events)
    for code in (pseudo.LONG, pseudo.CHINESE):
        assert played[code][0] == bodies
        assert played[code][1] == events
