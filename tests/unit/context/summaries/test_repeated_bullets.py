"""A handover without a model says each fact once: its sentences quote what stands below them."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.handover import render_handover
from helix_desktop.context.summaries.handover_fallback import extractive_handover, without_repeats
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade
from tests.support.session_simulator import SessionSimulator
from tests.unit.context.summaries.test_artifact_ledger import answer

REQUEST = "Please mend the parser, and never touch docs/."


def handover_of(simulator: SessionSimulator) -> HandoverMade:
    """Return the handover without a model of a session."""
    items = simulator.transcript.messages.items
    sections, ledger = extractive_handover(items, None), build_ledger(items).text(600)
    return HandoverMade(
        items[-1].seq, 0, sections, ledger, "", 0, 0, 0, 0, 2, NO_MODEL, HandoverTrigger.OVERFLOW
    )


def failed_session() -> SessionSimulator:
    """Return a session with a request, a file written and a test that failed."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message(REQUEST)
    simulator.record(answer("write_file", "src/parser.py"))
    simulator.record(answer("run_command", "pytest -q tests", "exit code 1\nE assert 3 == 4", 1))
    return simulator


def test_a_request_and_a_failure_stand_once() -> None:
    """The request in the user's words, the failure in the ledger; each section says where."""
    handover = handover_of(failed_session())
    texts = [f"e2 user: {REQUEST}"]
    before = render_handover(handover, texts)
    text = render_handover(without_repeats(handover, [REQUEST]), texts)
    assert before.count(REQUEST) == 4
    assert before.count("assert 3 == 4") == before.count("src/parser.py") == 2
    assert text.count(REQUEST) == text.count("assert 3 == 4") == text.count("src/parser.py") == 1
    assert "- Last request, not answered yet: quoted below [e2]" in text
    assert "- In the ledger below [e4]" in text
    assert "(unsupported)" not in text


def test_what_stands_nowhere_else_stays() -> None:
    """A message that does not go along, and words that the ledger has no room for."""
    handover = handover_of(failed_session())
    assert without_repeats(msgspec.structs.replace(handover, ledger=""), []).sections == handover.sections


@pytest.mark.parametrize("changed", [{"edited": True}, {"model": "local/m"}])
def test_what_the_user_or_a_model_wrote_stays(changed: dict[str, object]) -> None:
    """Their sentences say what the words mean."""
    handover = msgspec.structs.replace(handover_of(failed_session()), **changed)
    assert without_repeats(handover, [REQUEST]) == handover
