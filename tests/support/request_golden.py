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
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields
from helix_desktop.context.rewrites import sweep_plans
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import ToolCall
from tests.support import session_rewrites
from tests.support.session_images import add_image, answer_call_with_bytes
from tests.support.session_simulator import SessionSimulator

REQUEST_EVENTS = (
    UserSpoke, TurnEnded, SweepMade, FoldMade, FormChosen, ObservationsPlaced, HandoverMade, Pinned,
    Unpinned, Undone, Redone,
)  # fmt: skip
"""Events behind which a request is noted: the window was rewritten, or a turn begins or ends."""
SWEEPS_ONLY = msgspec.structs.replace(
    PROFILES["balanced"], least_saving=1, protect_steps=2, protect_tokens=0, protect_argument_steps=2,
    fold_after_steps=0, observe_at=0.0, observe_place_at=0.0, user_text_tokens=60, ledger_tokens=80,
)  # fmt: skip
FOLDING = msgspec.structs.replace(
    SWEEPS_ONLY, fold_after_steps=2, fold_least=20, observe_at=0.05, observe_place_at=0.5, reflect_at=0.05
)


def tool_output(name: str, lines: int = 3) -> str:
    return "".join(f"{name}, line {number} of the output\n" for number in range(1, lines + 1))


def play_turn(simulator: SessionSimulator, user_text: str, steps: int = 2, lines: int = 3) -> None:
    """Play a turn: the user's message, some steps, and the agent's last answer."""
    simulator.send_message(user_text)
    for number in range(steps):
        simulator.step(f"{user_text} Step {number + 1}.", 1)
        simulator.answer_call(0, tool_output(f"{user_text} {number + 1}", lines))
    simulator.step(f"{user_text} Done.", 0)


def sweeps(simulator: SessionSimulator) -> None:
    """Sweep outputs and arguments, pin, choose forms, undo and redo."""
    simulator.send_message("Where is the parser?", "an earlier output")
    body = json.dumps({"path": "src/a.py", "content": tool_output("a long file", 16)})
    simulator.step("I write it.", [simulator.tool_call(0, body, "write_file")])
    simulator.answer_call(0, "Wrote it.")
    simulator.step("It is written.", 0)
    play_turn(simulator, "Mend the parser.", 2, lines=8)
    simulator.record_sweep(sweep_plans.sweep_now(simulator.transcript, simulator.policy), SweepReason.MANUAL)
    sweep = simulator.transcript.last_seq
    session_rewrites.pin(simulator, 1)
    session_rewrites.choose_form(simulator, 2, "preview")
    play_turn(simulator, "Ünïcödé ☃ 漢字, please.", 0)
    simulator.record(Undone(sweep))
    session_rewrites.choose_form(simulator, 3, "compact")
    simulator.record(Redone(sweep))
    session_rewrites.unpin(simulator, 0)
    play_turn(simulator, "Thanks.", 0)


def folds(simulator: SessionSimulator) -> None:
    """Fold steps next to a pinned output, undo and redo a note, then cut as the panic level does."""
    for prompt, steps in (("Read the tests.", 3), ("Mend the parser.", 1), ("Run them all.", 0)):
        play_turn(simulator, prompt, steps)
    session_rewrites.pin(simulator, 1)
    session_rewrites.fold_all(simulator)
    simulator.undo(-1)
    play_turn(simulator, "Look again.", 0)
    simulator.redo(-1)
    session_rewrites.truncate(simulator)


def observations(simulator: SessionSimulator) -> None:
    """Place observations, undo and redo that."""
    for prompt, steps in (("Read the tests.", 2), ("Mend the parser.", 2), ("Run them all.", 0)):
        play_turn(simulator, prompt, steps, lines=5)
    session_rewrites.prepare_observations(simulator)
    session_rewrites.place_observations(simulator)
    simulator.undo(0)
    play_turn(simulator, "Look again.", 0)
    simulator.redo(0)


def handovers(simulator: SessionSimulator) -> None:
    """Hand over twice, with queued and steering messages, and an interrupted and retried turn."""
    play_turn(simulator, "Read the tests.", 1)
    play_turn(simulator, "Mend the parser.", 1)
    simulator.hand_over(0)
    simulator.send_message("Go on.")
    simulator.step("I look.", 2)
    simulator.answer_call(1, "No such file.", ok=False)
    simulator.answer_call(0, "")
    simulator.steer("Only in src.")
    simulator.step("So be it.", 1)
    simulator.send_message("And then the docs.")
    simulator.end_turn("stopped")
    simulator.retry()
    simulator.step("I went on.", 0)
    simulator.hand_over(0)
    simulator.undo(1)
    play_turn(simulator, "Was that all?", 0)


def images(simulator: SessionSimulator) -> None:
    """Add images of the user and of a tool, and bytes that are no text."""
    simulator.send_message("What is wrong here?", image=add_image(simulator, 200, 100))
    simulator.step("I look.", [ToolCall("call_a", "read_file", '{"path": "shot.png"}')])
    shot = add_image(simulator, 64, 64)
    answer_call_with_bytes(simulator, 0, simulator.contents[shot.digest], shot)
    simulator.step("And at the rest.", [ToolCall("call_b", "read_file", '{"path": "core"}')])
    answer_call_with_bytes(simulator, 0, b"\x7fELF\0\0\xff\xfe data" * 9)
    simulator.step("The button is cut off.", 0)
    simulator.send_message("And now?", image=add_image(simulator, 32, 32))
    session_rewrites.sweep_images(simulator, newest=False)
    simulator.step("It is cut off no more.", 0)
    simulator.undo(0)


SESSIONS: dict[str, tuple[ContextPolicy, Callable[[SessionSimulator], None]]] = {
    "v1-sweeps": (SWEEPS_ONLY, sweeps),
    "v1-folds": (FOLDING, folds),
    "v1-observations": (FOLDING, observations),
    "v1-handovers": (SWEEPS_ONLY, handovers),
    "v1-images": (SWEEPS_ONLY, images),
}


def record_session(policy: ContextPolicy, play: Callable[[SessionSimulator], None]) -> dict[str, Any]:
    """Play a session; a message that several of its requests send is written once."""
    simulator = SessionSimulator(policy)
    play(simulator)
    messages: dict[str, int] = {}
    requests: dict[str, list[int]] = {}
    transcript = Transcript()
    for recorded in simulator.log:
        transcript.apply(recorded)
        if isinstance(recorded.event, REQUEST_EVENTS):
            window = project(transcript, policy, simulator.frame)
            texts = [msgspec.json.encode(message).decode() for message in window.request.messages]
            requests[str(recorded.seq)] = [messages.setdefault(text, len(messages)) for text in texts]
    return {
        "policy": policy_fields(policy),
        "frame": msgspec.to_builtins(simulator.frame),
        "log": [stored_event(recorded) for recorded in simulator.log],
        "messages": list(messages),
        "requests": requests,
    }


def stored_event(recorded: RecordedEvent) -> dict[str, Any]:
    """Return an event as it is stored, without the fields that have their defaults."""
    row: dict[str, Any] = msgspec.to_builtins(recorded)
    values = {
        field.name: [] if field.default == () else field.default
        for field in msgspec.structs.fields(recorded.event)
        if field.default is not msgspec.NODEFAULT
    }
    row["event"] = {
        name: value
        for name, value in row["event"].items()
        if name not in values or json.dumps(value) != json.dumps(values[name])
    }
    return row


def file_text(document: dict[str, Any]) -> str:
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
    """Write the files into the given folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (policy, play) in SESSIONS.items():
        (folder / f"{name}.json").write_text(file_text(record_session(policy, play)), encoding="utf-8")


if __name__ == "__main__":
    main()
