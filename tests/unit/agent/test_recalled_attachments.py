"""What the user recalls from the cache into a message: which lines it is, and what it costs."""

from __future__ import annotations

import pytest

from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.text_format import utc_minute
from helix_desktop.ui.outputs.source import CacheSource
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, thinking_script

OUTPUT = b"one\x0cpage\n\nthree words here\n"


async def rig_with_output() -> AgentRig:
    """Store an output of three lines."""
    rig = AgentRig(ScriptedModel(thinking_script(1)))
    await rig.begin()
    tokens = await rig.workspace.contents.count_tokens(OUTPUT.decode())
    content = Content(digest_of(OUTPUT), OUTPUT, "search_text", "words in .", "one", tokens)
    await rig.store.commit(Commit(rig.conversation.session.id, (), [content]))
    return rig


@pytest.mark.parametrize(
    ("first", "last", "text", "label"),
    [
        (1, 1, "one\x0cpage", "lines 1-1"),
        (2, 2, "", "lines 2-2"),
        (2, 9, "\nthree words here", "lines 2-3"),
        (3, 0, "three words here", "lines 3-3"),
        (0, 2, "one\x0cpage\n", "lines 1-2"),
    ],
)
async def test_lines_are_those_that_the_agent_recalls_and_the_end_is_the_last_one(
    first: int, last: int, text: str, label: str
) -> None:
    rig = await rig_with_output()
    recalled = await rig.workspace.contents.attach(digest_of(OUTPUT), first, last)
    assert (recalled.text, recalled.lines) == (text, 3)
    assert recalled.label == f"search_text words in ., {label}"
    entry = await rig.store.entry(recalled.digest)
    heading = f"[Recalled from the cache: {recalled.label}, stored {utc_minute(entry.created)} UTC]"
    assert attachment_text(recalled) == f"{heading}\n{text}", "the file may have changed since"


@pytest.mark.parametrize(
    ("first", "last", "text"), [(101, 101, "101:two"), (1, 100, "Lines 100-101 of 9 of a.py:\n100:one")]
)
async def test_lines_of_a_part_of_a_file_are_those_of_the_file(first: int, last: int, text: str) -> None:
    rig = AgentRig(ScriptedModel(thinking_script(1)))
    await rig.begin()
    part = b"Lines 100-101 of 9 of a.py:\n100:one\n101:two\n"
    content = Content(digest_of(part), part, "read_file", "a.py:100-101", "", 9)
    await rig.store.commit(Commit(rig.conversation.session.id, (), [content]))
    assert (await rig.workspace.contents.attach(digest_of(part), first, last)).text == text


async def test_an_output_has_the_tokens_in_a_message_that_the_cache_shows() -> None:
    rig = await rig_with_output()
    recalled = await rig.workspace.contents.attach(digest_of(OUTPUT))
    (row,) = await CacheSource(rig.workspace, lambda: rig.conversation).rows([digest_of(OUTPUT)])
    assert recalled.tokens == row.tokens
