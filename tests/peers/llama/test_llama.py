"""Complete turns against a real llama.cpp: its template, its prompt cache, its limits, its call parsing."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from helix_desktop.agent.ports import Model
from helix_desktop.agent.session import ResponseDelta, Update
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import FoldMade, HandoverTrigger, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_list import list_models
from tests.support.model_servers.connect import connect_model
from tests.support.peer_processes import PEERS, PeerServer, run_peer
from tests.support.peer_rig import PeerRig, peer_rig, small_model_info

pytestmark = [pytest.mark.needs_peer(module="xllamacpp"), pytest.mark.needs_peer(module="gguf")]

HERE = Path(__file__).parent
KEY = "sk-of-this-machine"
CALLS = [
    {"name": "read_file", "arguments": {"path": "readme.txt"}},
    {"name": "list_directory", "arguments": {"path": "."}},
]
REPLY_TEXT = "The readme says: héllo 😀, and that is all there is to say."
# Tokens of the server's window; those of this model are bytes, mostly.
ROOMY = 32_768
TIGHT = 14_336
TINY = 2_048


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model file: 2 MB, built for the run."""
    path = tmp_path_factory.mktemp("model") / "made-by-hand.gguf"
    command = [str(PEERS.python), str(HERE / "make_model.py"), str(path), json.dumps(CALLS), REPLY_TEXT]
    subprocess.run(command, check=True, capture_output=True)
    return path


@contextmanager
def llama(model_file: Path, folder: Path, context: int) -> Iterator[PeerServer]:
    serve = [str(PEERS.python), str(HERE / "serve.py"), str(model_file), str(context), KEY]
    with run_peer(serve, folder / "llama.log") as running:
        yield running


@pytest.fixture(scope="module")
def server(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerServer]:
    with llama(model_file, tmp_path_factory.mktemp("llama"), ROOMY) as running:
        yield running


@asynccontextmanager
async def at_work(
    server: PeerServer, folder: Path, key: str = KEY, window: int = ROOMY
) -> AsyncIterator[PeerRig]:
    """A rig over a folder with one file. `window` is what we believe the server's to be."""

    def make(http: HttpClient) -> Model:
        return connect_model(
            "openai-chat", small_model_info("made-by-hand", window), f"{server.address}/v1", key, http=http
        )

    async with peer_rig(folder, make) as rig:
        (rig.root / "readme.txt").write_text("héllo 😀\n", encoding="utf-8")
        yield rig


async def test_a_turn_with_two_calls_ends_with_an_answer(server: PeerServer, tmp_path: Path) -> None:
    """llama.cpp parses two calls from the model's text; their outputs are sent back; it answers."""
    async with at_work(server, tmp_path) as rig:
        assert await rig.run_turn("What does the readme say?") == TurnEnded("done")
        calling, answering = rig.events(AssistantSpoke)
        assert [(call.name, json.loads(call.arguments)) for call in calling.calls] == [
            (call["name"], call["arguments"]) for call in CALLS
        ]
        read, listed = sorted((event.text for event in rig.events(ToolAnswered)), key=len)
        assert (read, "readme.txt" in listed) == ("héllo 😀\n", True)
        assert (answering.text, answering.stop) == (REPLY_TEXT, "end")
        assert (
            "".join(update.text for update in rig.updates if isinstance(update, ResponseDelta)) == REPLY_TEXT
        )
        await rig.assert_consistent()


async def test_a_repeated_prefix_is_read_from_its_cache(server: PeerServer, tmp_path: Path) -> None:
    """Between two rewrites a request starts with the previous one's bytes: the server need not read them."""
    async with at_work(server, tmp_path) as rig:
        for _ in range(3):
            assert await rig.run_turn("What does the readme say?") == TurnEnded("done")
        assert not rig.events(SweepMade)
        assert not rig.events(FoldMade)
        used = [event.usage for event in rig.events(AssistantSpoke)]
        for earlier, later in pairwise(used):
            assert 0.95 * earlier.input < later.cached < later.input
        await rig.assert_consistent()


async def test_its_token_count_is_adopted(server: PeerServer, tmp_path: Path) -> None:
    """Its tokens are bytes, ours are words: after one answer the gauge counts like the server."""
    async with at_work(server, tmp_path) as rig:
        await rig.run_turn("What does the readme say?")
        used = rig.events(AssistantSpoke)[-1].usage
        assert rig.model.requests
        assert rig.conversation.session.ratios[rig.model.info.label] > 2
        assert rig.conversation.window.measure()[1].used == pytest.approx(used.input + used.output, rel=0.1)


async def test_a_window_smaller_than_we_believe(model_file: Path, tmp_path: Path) -> None:
    """It refuses a long request; space is freed without a model call, and the same turn is answered."""
    with llama(model_file, tmp_path, TIGHT) as server:
        async with at_work(server, tmp_path, window=200_000) as rig:
            (rig.root / "readme.txt").write_text("a line of the file\n" * 90, encoding="utf-8")
            for number in range(5):
                assert await rig.run_turn(f"What does the readme say, number {number}?") == TurnEnded("done")
            await rig.assert_consistent()
            assert max(event.usage.input for event in rig.events(AssistantSpoke)) < TIGHT
            rewrites = [*rig.events(SweepMade), *rig.events(HandoverMade)]
            assert rewrites
            assert {event.trigger for event in rewrites if isinstance(event, HandoverMade)} <= {
                HandoverTrigger.OVERFLOW
            }
        log = (tmp_path / "llama.log").read_text(encoding="utf-8", errors="replace")
        assert "exceeds the available context size" in log


async def test_a_window_that_is_too_small_for_anything(model_file: Path, tmp_path: Path) -> None:
    """Not even the tools fit: the turn ends with the server's own figures, and advice."""
    with llama(model_file, tmp_path, TINY) as server:
        async with at_work(server, tmp_path) as rig:
            ended = await rig.run_turn("What does the readme say?")
            assert ended.how == "failed"
            assert "context size" in f"{ended.what} {ended.why}"
            assert ended.fix
            await rig.assert_consistent()


async def test_a_wrong_key_is_reported(server: PeerServer, tmp_path: Path) -> None:
    """Once, and the message does not contain the key."""
    async with at_work(server, tmp_path, key="sk-wrong") as rig:
        ended = await rig.run_turn("Hello?")
        assert ended.how == "failed"
        assert "key" in f"{ended.what} {ended.fix}"
        assert "sk-wrong" not in f"{ended}"
        assert rig.response_resets() == []


async def test_a_stopped_turn_leaves_the_server_free(server: PeerServer, tmp_path: Path) -> None:
    """Stopped at the first piece; the server's only seat is free for the next turn."""
    async with at_work(server, tmp_path) as rig:
        came = asyncio.Event()

        def on_update(_: str, update: Update) -> None:
            if isinstance(update, ResponseDelta):
                came.set()

        unsubscribe = rig.workspace.on(Update, on_update)
        await rig.conversation.send("What does the readme say?")
        await came.wait()
        await rig.conversation.stop()
        unsubscribe()
        assert rig.events(TurnEnded) == [TurnEnded("stopped")]
        assert REPLY_TEXT.startswith(rig.events(AssistantSpoke)[-1].text)
        assert await rig.run_turn("And now?") == TurnEnded("done")
        await rig.assert_consistent()


async def test_its_models_can_be_listed(server: PeerServer) -> None:
    """As Settings does it."""
    http = HttpClient()
    try:
        assert [
            Path(name).name
            for name in await list_models(Endpoint("local", f"{server.address}/v1", KEY, http))
        ] == ["made-by-hand.gguf"]
    finally:
        await http.aclose()
