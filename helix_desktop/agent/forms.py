"""Forms: the person shows an output in another form than it stands in the window."""

from __future__ import annotations

from helix_desktop.agent.extractor import Extractor
from helix_desktop.agent.intake import Intake, text_of
from helix_desktop.agent.ports import Clock, Counter, Store
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.agent.update import IntakeMoved
from helix_desktop.agent.upkeep import Upkeep
from helix_desktop.context.errors import FormRefused
from helix_desktop.context.event import ToolAnswered
from helix_desktop.context.event_rewrite import Form, FormChosen
from helix_desktop.context.extraction import Source
from helix_desktop.context.history import FRAMING
from helix_desktop.context.layout import Item, PinnedCopy
from helix_desktop.context.window import output_text


class Forms:
    """Makes another form of an output from its stored bytes, and records that it holds from now on."""

    def __init__(
        self,
        session: Session,
        store: Store,
        upkeep: Upkeep,
        counter: Counter,
        extractor: Extractor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._session, self._store, self._upkeep = session, store, upkeep
        self._counter, self._extractor, self._clock, self._settings = counter, extractor, clock, settings
        self._intake = Intake(counter)

    async def choose(self, seq: int, form: Form, asked: str = "") -> None:
        """Show the output recorded as `seq` in a form; `asked` says what a compact one is to contain.

        Cancelling changes nothing. Raises FormRefused when it cannot be, StoreError when its bytes cannot be
        read, ModelError when no model made the extract.
        """
        item, answer = self._output(seq)
        text = await text_of(await self._store.get(answer.digest), answer.digest)
        chosen = await self._formed(seq, answer, text, form, asked)
        await self._session.record_decided(lambda: self._checked(item, answer, chosen))

    def _output(self, seq: int) -> tuple[Item, ToolAnswered]:
        """The output of that seq as it stands in the window."""
        item = self._session.transcript.item(seq)
        if item is None or not isinstance(item.event, ToolAnswered) or not item.event.digest:
            raise FormRefused("That has no other form.", "Only outputs of tools that were stored have.")
        if item.event.images:
            raise FormRefused("An image has no other form.", "It has no text to shorten.")
        if not any(one in (item, PinnedCopy(item)) for one in self._session.transcript.live()):
            raise FormRefused(
                "That output does not stand in the window.",
                "A summary or a note stands for it.",
                "Undo that, or pin the output first.",
            )
        return item, item.event

    async def _formed(self, seq: int, answer: ToolAnswered, text: str, form: Form, asked: str) -> FormChosen:
        match form:
            case "preview":
                policy, _, _ = self._settings()
                return FormChosen(seq, form, *await self._intake.preview(text, answer, policy.preview_tokens))
            case "full":
                (tokens,) = await self._counter.count([text])
                return FormChosen(seq, form, text, tokens)
        if not asked.strip():
            raise FormRefused("Say what the extract is to contain.", fix="Name what you want to keep of it.")
        self._session.publish(IntakeMoved("extract", (answer.call_id,)))
        try:
            return await self._compact(seq, answer, text, asked.strip())
        finally:
            self._session.publish(IntakeMoved("idle"))

    async def _compact(self, seq: int, answer: ToolAnswered, text: str, asked: str) -> FormChosen:
        began = self._clock()
        (tokens,) = await self._counter.count([text])
        made = await self._extractor.extract(Source.of(answer, text, tokens), asked)
        if made.refused:
            raise FormRefused("The extract was not taken.", made.refused, "Ask for less, or keep a preview.")
        took = max(0, self._clock() - began)
        cost = (made.spent, made.cached, took, made.model, made.fallback, made.cost)
        return FormChosen(seq, "compact", made.text, made.tokens, asked, *cost)

    def _checked(self, item: Item, answer: ToolAnswered, chosen: FormChosen) -> tuple[FormChosen, ...]:
        """What to record, if the output still stands there and its new form fits; nothing if it has it."""
        self._output(item.seq)
        transcript = self._session.transcript
        if output_text(item, answer, transcript) == chosen.text:
            return ()
        _, now = self._upkeep.measure()
        grown = round((chosen.tokens + FRAMING - transcript.shown_tokens(item)) * now.ratio)
        left = min(now.window - now.reserve, now.panic - 1) - now.used
        if grown > max(left, 0):
            raise FormRefused(
                "That form does not fit the window.",
                f"It takes about {grown:,} tokens more, and {max(left, 0):,} are left.",
                "Choose a preview or an extract, or make room first.",
                remedies=("compact",),
            )
        return (chosen,)
