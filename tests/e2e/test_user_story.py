"""A user's way through the real window by mouse and keyboard, from a folder to all of it found again."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from helix_desktop.context.summaries.sections import TITLES
from tests.support.atspi import headless_session
from tests.support.forked_command import run_forked
from tests.support.model_servers.chat_server import ChatServer, Reply, Script, StreamedReply, Text, text_reply
from tests.support.part_files import part_files, read_part

if TYPE_CHECKING:  # D-Bus accessibility exists on Linux only
    from tests.support.atspi.desktop_user import DesktopUser

MISSING = headless_session.missing_requirements(*headless_session.USER_PROGRAMS)
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"nobody can use the window without {MISSING}"),
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
]


_START_S = 60.0


@contextmanager
def serve_in_thread(script: Script) -> Iterator[ChatServer]:
    started: SimpleQueue[tuple[ChatServer, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def serve() -> None:
        async with ChatServer(script) as server:
            over = asyncio.Event()
            started.put((server, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    server, loop, over = started.get(timeout=_START_S)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(_START_S)


FILES = part_files(12, 200)
THREE_LINES = "line of part 2 with some words\n" * 3
READ = [f"{name} was read from the first line to the last; each line holds some words" for name in FILES]
SUMMARY = "\n".join(
    [*(f"## {title}\n- Words about {title}. [e4]" for title in TITLES), *(f"- {line}" for line in READ * 2)]
)
SETTINGS = """\
model = "box/small"
[[providers]]
name = "box"
base_url = "{url}"
default_model = "small"
[[providers.models]]
name = "small"
window = 64000
reserve = 1000
"""
"""With a window of which all files fill more than 30 %, and what is left less than observations need."""


def answer(request: dict[str, Any]) -> Reply:
    """Read all files, three at a time; then report at length, so that there is something to compact."""
    last = str(request["messages"][-1]["content"])
    if last.startswith("[Write a handover]"):
        return text_reply(SUMMARY)
    done = sum(message["role"] == "assistant" for message in request["messages"])
    parts = range(3 * done, min(3 * done + 3, len(FILES)))
    if parts:
        reads = [read_part(part) for part in parts]
        return StreamedReply(Text(f"Reading from part {parts[0]} on."), *reads)
    points = 412 if "report" in last else 0
    lines = (f"- Point {n}: part {n % 7} holds lines with some words, and no more." for n in range(points))
    return text_reply("\n".join(["All of it is read.", "", *lines]))


@pytest.fixture
def user(tmp_path: Path) -> Iterator[DesktopUser]:
    from tests.support.atspi.desktop_user import desktop

    # pytest's own folders have names that are too long for sockets.
    with (
        tempfile.TemporaryDirectory(prefix="user-", ignore_cleanup_errors=True) as place,
        desktop(Path(place), reports=tmp_path) as user,
    ):
        yield user


def command(user: DesktopUser, *words: str) -> Any:
    line = (*words, "--workspace", str(user.home / "project"), "--json")
    code, output, errors = run_forked(line, user.folder, user.environ, b"", headless_session.TIMEOUT_S)
    assert code == 0, errors
    return json.loads(output)


def rewrites(user: DesktopUser) -> list[dict[str, Any]]:
    """Return what changed the context: a title did not, nor a summary to compact with later."""
    events = (row["event"] for row in command(user, "timeline")[0]["events"])
    return [event for event in events if event["kind"] not in {"session-renamed", "handover-discarded"}]


def session_facts(user: DesktopUser) -> str:
    """Return what is said of the session on screen after its title; empty where no title is seen."""
    titles = [node for node in user.nodes if node.last_id == "session_title"]
    return user.eyes.description(titles[0]).replace("\xa0", " ") if titles else ""


def send(user: DesktopUser, message: str, messages: int) -> None:
    user.click("text", "Message")
    user.type(message)
    user.keys("Return")
    facts = f"Ready · small · {messages} messages"
    user.until(lambda: session_facts(user).startswith(facts), facts)


def open_folder(user: DesktopUser) -> None:
    user.keys("ctrl+o")
    user.see("text", "Directory:", inside="Open folder")
    user.type("project")
    user.keys("Return")
    user.click("push button", "Trust folder", inside="Trust this folder?")
    user.see_no("dialog")


def see_outputs_become_markers(user: DesktopUser) -> None:
    """Let the agent read everything: its first outputs leave the context, and their bytes are stored."""
    send(user, "Read all parts", messages=6)
    send(user, "Good", messages=8)
    user.see("list item", "Divider: Context: ")
    user.see("list item", " · 9 cached", inside="In the next request")
    stored = {entry["target"]: entry for entry in command(user, "cache", "list")}
    assert set(stored) == {*FILES}
    (sweep,) = rewrites(user)
    assert (sweep["kind"], len(sweep["masked"])) == ("sweep-made", 9)


def recall_three_lines(user: DesktopUser) -> None:
    """Of an output read first: it stands last, and may be below what the list shows."""
    user.keys("ctrl+2")
    user.see("cell", ".txt")
    user.keys("End")
    user.click("cell", "part2.txt")
    user.click("text", "Content", inside="Preview of part2.txt")
    user.keys("ctrl+Home", "Down", "shift+Down", "shift+Down", "shift+End")
    user.click("push button", "Recall lines 2–4")
    user.see("push button", "Attachment: part2.txt, lines 2-4")
    send(user, "Look at these lines again", messages=10)


def compact(user: DesktopUser) -> None:
    send(user, "Fine", messages=12)
    send(user, "Now the report", messages=14)
    user.keys("ctrl+shift+k")
    user.click("push button", "Have the model write it", inside="Compact conversation")
    assert "Words about Technical Details. [e4]" in user.text_of("text", "Technical Details")
    assert len(rewrites(user)) == 1, "nothing is changed before it is confirmed"
    user.click("push button", "Compact", inside="Compact conversation")
    user.see_no("dialog")


def edit_compare_and_put_back(user: DesktopUser) -> None:
    """Write a section anew, compare it with the original, and put back what it dropped."""
    user.keys("ctrl+3")
    user.click("push button", "Edit Handover summary of turns 1–4")
    user.click("text", "Technical Details", inside="Handover summaries")
    user.keys("ctrl+a")
    user.type("- All new! [e4]")
    user.click("push button", "Save changes", inside="Handover summaries")
    user.see("label", "Dropped (1)", inside="Handover summaries")
    user.click("push button", "Put back: Words about Technical Details.")
    user.see_no("label", "Dropped (1)")
    user.click("push button", "Save changes", inside="Handover summaries")
    user.see("label", "Handover summary of turns 1–4, edited (2)", inside="Handover summaries")
    user.click("push button", "Close", inside="Handover summaries")
    user.see_no("dialog")
    texts = handover_texts(user)
    assert texts == [
        ["Words about Technical Details."],
        ["All new!"],
        ["All new!", "Words about Technical Details."],
    ]


def handover_texts(user: DesktopUser) -> list[list[str]]:
    """Return what each recorded handover says under Technical Details."""
    events = [row["event"] for row in command(user, "timeline")[0]["events"]]
    return [
        [bullet["text"] for bullet in event["sections"][1]["bullets"]]
        for event in events
        if event["kind"] == "handover-made"
    ]


def undo(user: DesktopUser) -> None:
    user.keys("ctrl+1", "ctrl+alt+z")
    user.see("push button", "Redo")
    assert command(user, "timeline")[0]["events"][-1]["event"]["kind"] == "undone"


def change_the_policy(user: DesktopUser) -> None:
    """Find the policy among the commands, see this session under another one, and apply it."""
    user.keys("ctrl+shift+p")
    user.see("text", "Search sessions, messages, outputs and commands")
    user.type("change policy")
    user.keys("Return")
    user.click("slider", "Context policy, from keep more to send less")
    user.keys("End")
    user.see("label", "Nothing leaves the context")
    user.see("label", "Preview. Nothing changes until you apply it.")
    user.click("push button", "What it would do to this session")
    user.see("chart", "Policy in use: at most")
    user.click("push button", "Apply to workspace")
    user.see("label", "In use: Spend least, in the whole workspace.")
    user.keys("Escape")
    user.see_no("dialog")


def exclude_a_row(user: DesktopUser) -> None:
    user.click("list item", "Now the report", inside="In the next request")
    user.keys("Down", "x")
    user.click("push button", "Leave out", inside="out of the requests?")
    user.see("list item", "Left out", inside="In the next request")
    user.keys("Left")
    user.see("list item", "Now the report · 2 parts", inside="In the next request")


def test_a_user_finds_everything_as_it_was(user: DesktopUser) -> None:
    """From an empty window by way of every instrument to a restart."""
    project = user.home / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text)
    with serve_in_thread(answer) as server:
        (user.folder / "data").mkdir()
        (user.folder / "data/settings.toml").write_text(SETTINGS.format(url=server.base_url))
        user.start_app()
        steps = (
            open_folder, see_outputs_become_markers, recall_three_lines, compact, edit_compare_and_put_back,
            undo, change_the_policy, exclude_a_row, restart,
        )  # fmt: skip
        for step in steps:
            with user.step(step.__name__.replace("_", " ")):
                step(user)
        sent = [str(body["messages"][-1]["content"]) for body in server.bodies]
        recalled = next(words for words in sent if "Look at these lines again" in words)
        assert THREE_LINES.strip() in recalled


def restart(user: DesktopUser) -> None:
    """End the app in the middle of a message, start it again, and compare everything."""
    user.click("text", "Message")
    user.type("What I was about to say")
    user.until(lambda: "What I was about to say" in what_is_visible(user), "the draft")
    before = what_is_there(user)
    user.close_app()
    user.start_app()
    user.until(lambda: what_is_visible(user) == before["visible"], "everything as it was")
    assert what_is_there(user) == before


def what_is_there(user: DesktopUser) -> dict[str, Any]:
    stored = {words: command(user, *words.split()) for words in ("sessions", "timeline", "cache list")}
    return {"visible": what_is_visible(user), **stored}


def what_is_visible(user: DesktopUser) -> list[str]:
    """Return the names of what matters on screen: chat, next request, gauge, sessions; and the draft."""
    rows = [node.name for node in user.nodes if node.role == "list item"]
    gauges = [node.name for node in user.nodes if node.name.startswith("Context: ")]
    draft = user.find("text", "Message")
    return [*rows, *gauges, user.eyes.text(draft) if draft else ""]
