"""Where a content stands in the window, as the cache page says it."""

from __future__ import annotations

import pytest

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.image import identify_image
from helix_desktop.ui.cache.source import content_states
from tests.support.image_bytes import png
from tests.support.session_simulator import SessionSimulator


@pytest.mark.parametrize(("words", "state"), [(20, "in_window"), (500, "in_part")])
def test_a_preview_of_which_some_lines_were_recalled_is_in_context_in_part(words: int, state: str) -> None:
    """A recall of its beginning shows all of a short output, and of a long one that: the rest is saved."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * words
    simulator.answer_call(0, output, form="preview")
    digest = digest_of(output.encode())
    simulator.recall(digest)
    found, saved = content_states(simulator.transcript)[digest]
    assert (found, saved > 0) == (state, state == "in_part")


def test_a_preview_saves_what_its_output_has_more_tokens_in_the_chat() -> None:
    """Both are messages: what frames one is no saving."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Read it.")
    simulator.step("Reading.", 1)
    output = "some words\n" * 500
    simulator.answer_call(0, output, form="preview")
    answer = simulator.transcript.messages.items[-1].event
    assert isinstance(answer, ToolAnswered)
    _, saved = content_states(simulator.transcript)[digest_of(output.encode())]
    assert saved == answer.full_tokens - answer.tokens > 0


def test_the_index_of_a_note_is_of_its_session() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    note = FoldMade(0, simulator.transcript.last_seq, "A note.", 3, "d" * 64, 1, steps=1, saved=5)
    simulator.record(note)
    assert content_states(simulator.transcript)[note.index] == ("index", 0)


def test_an_image_is_a_marker_to_a_model_that_sees_none() -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    image = identify_image(png(32, 20), "d" * 64, "lamp.png")
    assert image is not None
    simulator.send_message("What is this?", image=image)
    assert content_states(simulator.transcript)[image.digest] == ("in_window", 0)
    assert content_states(simulator.transcript, sees_images=False)[image.digest] == ("cached", 0)
