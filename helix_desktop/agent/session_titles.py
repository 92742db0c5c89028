"""Titles of sessions: one short request after the first answer."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable
from contextlib import suppress

from helix_desktop.agent.model_roles import CallBill, complete
from helix_desktop.agent.session import Session
from helix_desktop.agent.trust import IsTrusted
from helix_desktop.context.window.side_question_text import TITLE_OPENING
from helix_desktop.domain.cost import Spending, unused_calls
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import SessionRenamed
from helix_desktop.domain.messages import Message, ModelRequest
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.unicode_safety import is_hidden, repair_surrogates

_log = logging.getLogger(__name__)

_MAX_TITLE = 60  # characters
_MAX_READ = 2_000  # characters of the message, and of the answer
_LABEL = re.compile(r"(?:title|session title)\s*:\s*", re.IGNORECASE)
_QUOTES = "\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb`*_# "


class SessionTitles:
    """Asks for a title of one session when its first turn that is done ends, and its first message names it.

    Nothing waits for it. What the user types meanwhile stays; a failure is only logged, and not repeated.
    The demo model has a title where it follows a script, and costs nothing.
    """

    def __init__(self, session: Session, is_trusted: IsTrusted, is_enabled: Callable[[], bool]) -> None:
        self._session, self._is_trusted, self._is_enabled = session, is_trusted, is_enabled
        session.on(TurnEnded, self._on_turn_ended)

    def _on_turn_ended(self, ended: TurnEnded) -> None:
        if ended.how == "done" and self._is_due():
            self._session.scope.start(self._run(), f"title {self._session.id}")

    def _is_due(self) -> bool:
        transcript = self._session.transcript
        if transcript.titled_by != "message" or transcript.parent:
            return False
        ends = sum(
            isinstance(recorded.event, TurnEnded) and recorded.event.how == "done"
            for recorded in self._session.log
        )
        return ends == 1 and self._is_enabled() and self._is_trusted()

    async def _run(self) -> None:
        try:
            await self._title()
        except HelixError as error:
            _log.info("session %s has no title of a model: %s", self._session.id, error)

    async def _title(self) -> None:
        session = self._session
        model = session.roles.fast or session.roles.main
        request, bill = self._request(), CallBill(session.counter)
        try:
            title = clean_title(await complete(model, request, bill))
        except (asyncio.CancelledError, HelixError):
            if not model.info.demo:
                with suppress(StoreError):  # it is recorded with the next change
                    await session.unused.record(bill.spent)
            raise
        try:
            await session.record_decided(lambda: self._events(title, bill.model, bill.spent))
        except StoreError:
            with suppress(StoreError):
                await session.unused.record(bill.spent)
            raise

    def _events(self, title: str, model: str, spent: Spending) -> list[Event]:
        """Return the title, or what the call took where the user has typed one meanwhile, or none came."""
        if not title or self._session.transcript.titled_by != "message":
            return [unused_calls(spent)] if spent.tokens else []
        return [
            SessionRenamed(
                title,
                "model",
                model,
                self._session.prompt_versions["title"],
                spent=spent.tokens,
                cost=spent.cost,
                estimated=spent.estimated,
                unpriced=spent.unpriced,
            )
        ]

    def _request(self) -> ModelRequest:
        log = [recorded.event for recorded in self._session.log]
        message = next((event.text for event in log if isinstance(event, UserSpoke)), "")
        answer = next(
            (event.text for event in reversed(log) if isinstance(event, AssistantSpoke) and event.text), ""
        )
        code = secrets.token_hex(4)  # the texts can't close what they stand between
        parts = (
            part
            for name, text in (("message", message), ("answer", answer))
            for part in (f"<{name} {code}>", text[:_MAX_READ], f"</{name} {code}>")
        )
        system = Message("system", self._session.prompts["title"])
        return ModelRequest((system, Message("user", "\n".join((TITLE_OPENING, *parts)))))


def clean_title(answer: str) -> str:
    """Return a model's answer as a title: its first line without marks and hidden characters, cut at a word.

    Empty if no letter or digit is left.
    """
    for line in repair_surrogates(answer).splitlines():
        shown = "".join(
            " " if char.isspace() else char for char in line if not is_hidden(char) or char == "\t"
        )
        text = " ".join(_LABEL.sub("", plain_line(shown), count=1).strip(_QUOTES).split()).removesuffix(".")
        if not any(char.isalnum() for char in text):
            continue
        if len(text) <= _MAX_TITLE:
            return text
        cut = text[:_MAX_TITLE]
        return (cut[: cut.rindex(" ")] if " " in cut else cut[:-1]) + "…"
    return ""
