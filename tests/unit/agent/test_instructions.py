"""Telling a session of its workspace, when what is told cannot be read, or is too much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from helix_desktop.domain.events.session import InstructionsAdded, OpeningGiven, StandingText
from tests.support.agent_rig import AgentRig
from tests.support.scripted_model import ScriptedModel, text_reply

RULES = StandingText("project", "Use tabs.", path="AGENTS.md")
Key = tuple[str, str]


class Source:
    """Instructions that cannot be read at first; later there are two, of which one is very long."""

    def __init__(self) -> None:
        self.long = StandingText("project", "word " * 100_000, path="src/AGENTS.md")
        self.is_readable = False

    async def opening(self, window_size: int) -> tuple[StandingText, ...]:
        """Fail, as a disk does that is gone."""
        raise OSError("the disk is gone")

    async def changes(
        self, in_force: Mapping[Key, StandingText], window_size: int
    ) -> tuple[tuple[StandingText, bool], ...]:
        if not self.is_readable:
            raise TimeoutError
        return tuple((text, False) for text in (RULES, self.long) if text.key not in in_force)

    async def in_folders(
        self, folders: Iterable[str], in_force: Mapping[Key, StandingText], window_size: int
    ) -> tuple[StandingText, ...]:
        return ()


async def test_a_message_goes_without_instructions_that_cannot_be_read_and_they_come_later() -> None:
    """Each once; one that would take more than a fifth of the window is only named."""
    source = Source()

    class Rig(AgentRig):
        instructions = source

    rig = Rig(ScriptedModel(lambda _: text_reply("Done.")))
    conversation = await rig.begin()
    for _ in range(2):
        await conversation.run("Go on.")
    assert rig.events(OpeningGiven) == [OpeningGiven(())]
    assert rig.events(InstructionsAdded) == []
    source.is_readable = True
    for _ in range(2):
        await conversation.run("Go on.")
    rules, long = [event.text for event in rig.events(InstructionsAdded)]
    assert (rules.text, rules.problem) == ("Use tabs.", "")
    assert (long.problem, long.tokens < 100) == ("no_room", True)
    assert "src/AGENTS.md" in long.text
