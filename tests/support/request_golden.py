"""Make the golden requests: small sessions as they are stored, with the messages that each window sends.

Run as a script with the path of a folder. What is there changes only where requests are meant to change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_fields
from helix_desktop.context.rewrites import planner
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import RecordedEvent, TurnEnded, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ToolCall
from tests.support import rewriting
from tests.support.maker import Maker
from tests.support.picturing import answer_bytes, pictured

NOTED = (
    UserSpoke,
    TurnEnded,
    SweepMade,
    FoldMade,
    FormChosen,
    ObservationsPlaced,
    HandoverMade,
    Pinned,
    Unpinned,
    Undone,
    Redone,
)
"""Events behind which a request is noted: the window was rewritten, or a turn begins or ends."""
PLAIN = msgspec.structs.replace(
    PROFILES["balanced"],
    least_saving=1,
    protect_steps=2,
    protect_tokens=0,
    protect_argument_steps=2,
    fold_after_steps=0,
    observe_at=0.0,
    observe_place_at=0.0,
    user_text_tokens=60,
    ledger_tokens=80,
)
FOLDING = msgspec.structs.replace(
    PLAIN, fold_after_steps=2, fold_least=20, observe_at=0.05, observe_place_at=0.5, reflect_at=0.05
)


def output(name: str, lines: int = 3) -> str:
    """Return what a tool says."""
    return "".join(f"{name}, line {number} of the output\n" for number in range(1, lines + 1))


def turn(maker: Maker, wish: str, steps: int = 2, lines: int = 3) -> None:
    """Play a turn: the person's words, some steps, and the agent's last words."""
    maker.user(wish)
    for number in range(steps):
        maker.step(f"{wish} Step {number + 1}.", 1)
        maker.answer(0, output(f"{wish} {number + 1}", lines))
    maker.step(f"{wish} Done.", 0)


def sweeps(maker: Maker) -> None:
    """Sweep outputs and arguments, pin, choose forms, undo and redo."""
    maker.user("Where is the parser?", "an earlier output")
    body = json.dumps({"path": "src/a.py", "content": output("a long file", 16)})
    maker.step("I write it.", [maker.call(0, body, "write_file")])
    maker.answer(0, "Wrote it.")
    maker.step("It is written.", 0)
    turn(maker, "Mend the parser.", 2, lines=8)
    maker.sweep(planner.sweep_all(maker.transcript, maker.policy), SweepReason.MANUAL)
    sweep = maker.transcript.last_seq
    rewriting.pin(maker, 1)
    rewriting.choose_form(maker, 2, "preview")
    turn(maker, "Ünïcödé ☃ 漢字, please.", 0)
    maker.record(Undone(sweep))
    rewriting.choose_form(maker, 3, "compact")
    maker.record(Redone(sweep))
    rewriting.unpin(maker, 0)
    turn(maker, "Thanks.", 0)


def folds(maker: Maker) -> None:
    """Fold steps beside a pinned output, undo and redo a note, then cut as panic does."""
    for wish, steps in (("Read the tests.", 3), ("Mend the parser.", 1), ("Run them all.", 0)):
        turn(maker, wish, steps)
    rewriting.pin(maker, 1)
    rewriting.fold(maker)
    maker.undo(-1)
    turn(maker, "Look again.", 0)
    maker.redo(-1)
    rewriting.truncate(maker)


def observations(maker: Maker) -> None:
    """Place observations, undo and redo that."""
    for wish, steps in (("Read the tests.", 2), ("Mend the parser.", 2), ("Run them all.", 0)):
        turn(maker, wish, steps, lines=5)
    rewriting.observe(maker)
    rewriting.place(maker)
    maker.undo(0)
    turn(maker, "Look again.", 0)
    maker.redo(0)


def handovers(maker: Maker) -> None:
    """Hand over twice, with words that waited or steered, and a turn cut off and retried."""
    turn(maker, "Read the tests.", 1)
    turn(maker, "Mend the parser.", 1)
    maker.hand_over(0)
    maker.user("Go on.")
    maker.step("I look.", 2)
    maker.answer(1, "No such file.", ok=False)
    maker.answer(0, "")
    maker.steer("Only in src.")
    maker.step("So be it.", 1)
    maker.user("And then the docs.")
    maker.end("stopped")
    maker.retry()
    maker.step("I went on.", 0)
    maker.hand_over(0)
    maker.undo(1)
    turn(maker, "Was that all?", 0)


def pictures(maker: Maker) -> None:
    """Show images of the person and of a tool, and bytes that are no text."""
    maker.user("What is wrong here?", image=pictured(maker, 200, 100))
    maker.step("I look.", [ToolCall("call_a", "read_file", '{"path": "shot.png"}')])
    shot = pictured(maker, 64, 64)
    answer_bytes(maker, 0, maker.contents[shot.digest], shot)
    maker.step("And at the rest.", [ToolCall("call_b", "read_file", '{"path": "core"}')])
    answer_bytes(maker, 0, b"\x7fELF\0\0\xff\xfe data" * 9)
    maker.step("The button is cut off.", 0)
    maker.user("And now?", image=pictured(maker, 32, 32))
    rewriting.sweep_images(maker, newest=False)
    maker.step("It is cut off no more.", 0)
    maker.undo(0)


SESSIONS: dict[str, tuple[ContextPolicy, Callable[[Maker], None]]] = {
    "v1-sweeps": (PLAIN, sweeps),
    "v1-folds": (FOLDING, folds),
    "v1-observations": (FOLDING, observations),
    "v1-handovers": (PLAIN, handovers),
    "v1-images": (PLAIN, pictures),
}


def session(policy: ContextPolicy, play: Callable[[Maker], None]) -> dict[str, Any]:
    """Play a session; a message that several of its requests send is written once."""
    maker = Maker(policy)
    play(maker)
    messages: dict[str, int] = {}
    requests: dict[str, list[int]] = {}
    transcript = Transcript()
    for recorded in maker.log:
        transcript.apply(recorded)
        if isinstance(recorded.event, NOTED):
            window = project(transcript, policy, maker.frame)
            texts = [msgspec.json.encode(message).decode() for message in window.request.messages]
            requests[str(recorded.seq)] = [messages.setdefault(text, len(messages)) for text in texts]
    return {
        "policy": policy_fields(policy),
        "frame": msgspec.to_builtins(maker.frame),
        "log": [stored(recorded) for recorded in maker.log],
        "messages": list(messages),
        "requests": requests,
    }


def stored(recorded: RecordedEvent) -> dict[str, Any]:
    """Return an event as it is stored, without the fields that have their defaults."""
    row: dict[str, Any] = msgspec.to_builtins(recorded)
    usual = {
        field.name: [] if field.default == () else field.default
        for field in msgspec.structs.fields(recorded.event)
        if field.default is not msgspec.NODEFAULT
    }
    row["event"] = {
        name: value
        for name, value in row["event"].items()
        if name not in usual or json.dumps(value) != json.dumps(usual[name])
    }
    return row


def file_text(document: dict[str, Any]) -> str:
    """Return the text of a file: an event, a message or a request a line."""
    parts = []
    for name, part in document.items():
        if name in ("log", "messages"):
            lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in part)
            parts.append(f'"{name}": [\n{lines}\n]')
        elif name == "requests":
            lines = ",\n".join(f'"{seq}": {json.dumps(numbers)}' for seq, numbers in part.items())
            parts.append(f'"{name}": {{\n{lines}\n}}')
        else:
            parts.append(f'"{name}": {json.dumps(part, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Write the files into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (policy, play) in SESSIONS.items():
        (folder / f"{name}.json").write_text(file_text(session(policy, play)), encoding="utf-8")


if __name__ == "__main__":
    main()
