"""Tells the agent of a session about its workspace: once at the start, and what comes or changes later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set

import msgspec

from helix_desktop.agent.ports import InstructionSource
from helix_desktop.agent.session import Session
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.session import InstructionsAdded, OpeningGiven, StandingKind, StandingText

_DEADLINE_S = 4.0  # a disk that does not answer holds up no turn
_MAX_FOLDERS = 40  # that the answers of one step name
_ROOM = 5  # instructions take at most a fifth of the window
_WITH_OWN_SHARE: tuple[StandingKind, ...] = ("environment", "skills")  # short by what makes them
log = logging.getLogger(__name__)


class SessionInstructions:
    """The environment and instructions of one session; without a source there are none."""

    def __init__(self, session: Session, source: InstructionSource | None) -> None:
        self._session = session
        self._source = source

    async def before_message(self) -> list[OpeningGiven | InstructionsAdded]:
        """Return the events to record before the user's next message; never raises.

        With the first one comes what is told once, with later ones what changed since. A session of an older
        version, which was told nothing at its start, is told only what the command line names.
        """
        transcript = self._session.transcript
        if self._source is None:
            return []
        is_older = not transcript.opening_seq and transcript.messages.turns > 0
        window_size = self._session.managed_window
        try:
            async with asyncio.timeout(_DEADLINE_S):
                if not transcript.opening_seq and not is_older:
                    return [OpeningGiven(await self._counted(await self._source.opening(window_size)))]
                changes = await self._source.changes(transcript.standing_texts, window_size)
                changes = tuple(change for change in changes if not is_older or change[0].kind == "run")
        except (HelixError, OSError) as error:  # TimeoutError is one
            log.warning("the instructions could not be read: %s", error)
            # They come as news with a later message: only the environment is lost.
            return [OpeningGiven(())] if not transcript.opening_seq and not is_older else []
        texts = await self._counted(
            [text for text, _ in changes], frozenset(text.key for text, is_change in changes if is_change)
        )
        return [InstructionsAdded(text, changed) for text, (_, changed) in zip(texts, changes, strict=True)]

    async def plan_opening(self) -> bool:
        """Let the next request show what the first message is sent with; return True if that changed.

        Never raises; what can't be read now is not shown.
        """
        transcript = self._session.transcript
        if self._source is None or transcript.opening_seq or transcript.messages.turns:
            return False
        try:
            async with asyncio.timeout(_DEADLINE_S):
                texts = await self._source.opening(self._session.managed_window)
        except (HelixError, OSError) as error:
            log.info("what the first message is sent with could not be read: %s", error)
            return False
        return transcript.plan_opening(await self._counted(texts))

    async def record_nested(self, after_seq: int) -> None:
        """Record the instructions in the folders that calls after an event worked in; never raises."""
        transcript = self._session.transcript
        if self._source is None or not transcript.opening_seq:
            return
        answers = (item.event for item in transcript.messages.between(after_seq, transcript.last_seq))
        paths = (file.path for answer in answers if isinstance(answer, ToolAnswered) for file in answer.files)
        folders = tuple(dict.fromkeys(path.rpartition("/")[0] for path in paths if "/" in path))
        if not folders:
            return
        try:
            async with asyncio.timeout(_DEADLINE_S):
                found = await self._source.in_folders(
                    folders[:_MAX_FOLDERS], transcript.standing_texts, self._session.managed_window
                )
        except (HelixError, OSError) as error:
            log.warning("the instructions of a folder could not be read: %s", error)
            return
        texts = await self._counted(found)
        await self._session.record(*(InstructionsAdded(text) for text in texts))

    async def _counted(
        self, texts: Sequence[StandingText], changed: Set[tuple[str, str]] = frozenset()
    ) -> tuple[StandingText, ...]:
        """Return the texts with their tokens; those that there is no room for are only named.

        Of those that `changed`, by their keys, the former text stands in the requests already.
        """
        counts = await self._session.counter.count([text.text for text in texts])
        transcript = self._session.transcript
        added = {
            entry.event.text.key: entry.event.text.tokens for entry in transcript.window.added_instructions
        }
        sent = transcript.opening_tokens if transcript.opening_seq else 0
        room = self._session.managed_window // _ROOM - sent - sum(added.values())
        counted: list[StandingText] = []
        for text, tokens in zip(texts, counts, strict=True):
            counted_text = msgspec.structs.replace(text, tokens=tokens)
            if tokens > room and text.kind not in _WITH_OWN_SHARE:
                counted_text = await self._named_only(text, text.key in changed)
            room -= counted_text.tokens
            counted.append(counted_text)
        return tuple(counted)

    async def _named_only(self, text: StandingText, has_changed: bool) -> StandingText:
        name = text.path or f"the user's text for {text.kind}"
        what = "have changed, and the new text is not sent" if has_changed else "are not sent"
        words = f"[Instructions in {name} {what}: there is no room for more. Read the file if it matters.]"
        tokens = await self._session.count_tokens(words)
        return msgspec.structs.replace(text, text=words, tokens=tokens, problem="no_room")
