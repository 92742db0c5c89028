"""A first line that was cut ends with an ellipsis, in the cache as elsewhere."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store import Commit, Content, ContentKind
from helix_desktop.domain.text_format import FIRST_LINE_CAP, ellipsize
from helix_desktop.ui.cache.source import WorkspaceCacheSource
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, thinking_script


async def first_line(rig: AgentRig, digest: str) -> str:
    """Return the first line that the table shows of a content."""
    source = WorkspaceCacheSource(rig.workspace, lambda: rig.conversation)
    (row,) = await source.rows([digest])
    return row.first_line


async def test_the_line_of_an_index_ends_with_an_ellipsis() -> None:
    """As it is stored now, and as it was stored earlier."""
    rig = AgentRig(ScriptedModel(thinking_script(9)), PROFILES["classic"])
    await rig.begin()
    for _ in range(2):
        await rig.conversation.run("Think.")
    rig.conversation.handovers.start()
    await rig.wait_until_idle()
    (handover,) = rig.events(HandoverMade)
    assert await first_line(rig, handover.index) == ellipsize(HEAD, FIRST_LINE_CAP)
    kinds: tuple[tuple[str, ContentKind, str], ...] = (
        (HEAD[:FIRST_LINE_CAP], "index", HEAD[:FIRST_LINE_CAP] + "…"),
        ("x" * FIRST_LINE_CAP, "output", "x" * FIRST_LINE_CAP),
    )
    for line, kind, expected in kinds:
        data = kind.encode()
        old = digest_of(data)
        await rig.store.commit(
            Commit(rig.conversation.session.id, (), [Content(old, data, "t", "", line, 1, kind)])
        )
        assert await first_line(rig, old) == expected


def test_a_cut_line_respects_its_limit() -> None:
    """A line that fits stays unchanged."""
    assert ellipsize("words", 5) == "words"
    assert ellipsize("words!", 5) == "word…"
