"""What the user recalls from the cache into a message: what it costs."""

from __future__ import annotations

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.ui.cache.source import WorkspaceCacheSource
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


async def test_an_output_has_the_tokens_in_a_message_that_the_cache_shows() -> None:
    rig = await rig_with_output()
    recalled = await rig.workspace.contents.attach(digest_of(OUTPUT))
    (row,) = await WorkspaceCacheSource(rig.workspace, lambda: rig.conversation).rows([digest_of(OUTPUT)])
    assert recalled.tokens == row.tokens
