"""What filters leave of a session: every kind of entry that its log names, and its handovers."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import MessageQueued
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.store import EntryFilter
from helix_desktop.ui.cache.rows import DIGEST_BYTES, SAME_STATES, STATE_LABELS, CacheFilter
from helix_desktop.ui.cache.source import WorkspaceCacheSource
from helix_desktop.words.translation import translate
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, thinking_script

WORDS = "background"  # in every handover


def source_of(rig: AgentRig) -> WorkspaceCacheSource:
    """Return the source of the conversation on screen."""
    return WorkspaceCacheSource(rig.workspace, lambda: rig.conversation)


THIS_SESSION = CacheFilter(session_only=True)


async def listed(rig: AgentRig, cache_filter: CacheFilter = THIS_SESSION) -> set[str]:
    ids = await source_of(rig).ids(cache_filter)
    return {ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)}


async def found_handovers(rig: AgentRig, cache_filter: CacheFilter) -> set[str]:
    found = await source_of(rig).search(cache_filter)
    return {link.session_id for link in found.handovers}


async def begin_with_handover(rig: AgentRig) -> str:
    await rig.begin()
    for _ in range(2):
        await rig.conversation.run("Think.")
    rig.conversation.handovers.start()
    await rig.wait_until_idle()
    return str(rig.events(HandoverMade)[-1].index)


async def test_handovers_of_other_sessions_are_left_out_and_those_of_a_branch_are_its_own() -> None:
    rig = AgentRig(ScriptedModel(thinking_script(40)), PROFILES["classic"])
    first_index = await begin_with_handover(rig)
    first = rig.conversation.session.id
    second_index = await begin_with_handover(rig)
    second = rig.conversation.session.id
    everywhere = CacheFilter(WORDS)
    assert await found_handovers(rig, everywhere) == {first, second}
    of_first = CacheFilter(WORDS, entry_filter=EntryFilter(session=first))
    assert await found_handovers(rig, of_first) == {first}
    here = CacheFilter(WORDS, session_only=True)
    assert await found_handovers(rig, here) == {second}
    assert second_index in await listed(rig)
    assert first_index not in await listed(rig)

    rig.switch_to(await rig.workspace.branches.open(first))
    assert await found_handovers(rig, here) == {first}, "its log begins with it"
    assert first_index in await listed(rig)
    await rig.begin()
    assert await found_handovers(rig, here) == set()
    assert await listed(rig) == set()


async def test_the_list_of_what_was_compacted_is_listed_as_compacted() -> None:
    rig = AgentRig(ScriptedModel(thinking_script(40)), PROFILES["classic"])
    index = await begin_with_handover(rig)
    (row,) = await source_of(rig).rows([index])
    assert translate(STATE_LABELS[row.state]) == "Compacted"
    assert index in await listed(rig, CacheFilter(state="handed_over"))
    for state in SAME_STATES:
        if state != "handed_over":
            assert index not in await listed(rig, CacheFilter(state=state))


async def test_what_waits_in_a_message_belongs_to_its_session() -> None:
    """It stands in no window yet."""
    rig = AgentRig(ScriptedModel(thinking_script(1)))
    await rig.begin()
    attachment = await rig.workspace.contents.attach_paste(rig.conversation.session.id, "tide\n" * 50)
    await rig.conversation.session.record(MessageQueued("Read it.", (attachment,)))
    assert await listed(rig) == {digest_of(("tide\n" * 50).encode())}
