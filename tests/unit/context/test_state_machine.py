"""A session by any hand, one thing after another: the invariants hold after each."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import Projector, project
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.events.summary import HandoverFailed
from tests.support import rewriting
from tests.support.histories import NASTY, Maker, policies
from tests.support.linter import lint, lint_alternating, lint_items
from tests.support.reach import lost

NUMBERS = st.integers(0, 9)
WORDS = st.sampled_from(NASTY)
BODY = "    return 'a line of a file'  # \\u00e9\n"


class Working(RuleBasedStateMachine):
    """One session at work: its maker, and a projector that has been there from the beginning."""

    @initialize(policy=policies())
    def begin(self, policy: ContextPolicy) -> None:
        """The person says the first words."""
        self.maker, self.projector = Maker(policy), Projector()
        self.maker.user("Begin.")

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.maker.transcript.turn_open

    @rule(text=WORDS, attached=st.sampled_from(("", "", "something recalled\n" * 9)))
    def speak(self, text: str, attached: str) -> None:
        """The person speaks, or has words wait."""
        self.maker.user(text, attached)

    @precondition(lambda self: self.busy)
    @rule(text=WORDS)
    def steer(self, text: str) -> None:
        """The person steers the turn that runs."""
        self.maker.steer(text)

    @precondition(lambda self: self.busy)
    @rule(text=WORDS, calls=st.integers(0, 4))
    def step(self, text: str, calls: int) -> None:
        """The model answers."""
        self.maker.step(text, calls)

    @precondition(lambda self: self.busy)
    @rule(lines=st.sampled_from((8, 40, 400)), nested=st.booleans())
    def write(self, lines: int, nested: bool) -> None:
        """The model writes a file."""
        body = BODY * lines
        given = {"path": "a.py", "edits": [{"new": body}]} if nested else {"path": "b.py", "content": body}
        call = self.maker.call(0, msgspec.json.encode(given).decode(), "write_file")
        self.maker.step("I write it.", [call])
        self.maker.answer(0, "Wrote it.")

    @rule(
        which=NUMBERS,
        words=WORDS,
        times=st.sampled_from((0, 1, 30, 300)),
        form=st.sampled_from(get_args(Form)),
    )
    def answer(self, which: int, words: str, times: int, form: Form) -> None:
        """A tool answers."""
        self.maker.answer(which, f"{words}\n" * times, which > 1, form)

    @rule(times=st.integers(2, 5), size=st.sampled_from((40, 900)))
    def work(self, times: int, size: int) -> None:
        """Some steps as they usually are."""
        if not self.busy:
            self.maker.user("Go on.")
        for number in range(times):
            self.maker.step(f"Thought {number}.", 1)
            self.maker.answer(0, f"{number} {self.maker.calls_made} line\n" * (size // 8))

    @rule(which=NUMBERS)
    def recall(self, which: int) -> None:
        """The agent asks for something it had."""
        found = rewriting.outputs(self.maker)
        if found:
            self.maker.recall(getattr(found[which % len(found)].event, "digest", ""))

    @rule(how=st.sampled_from(("stopped", "failed")), words=WORDS)
    def cut_off(self, how: str, words: str) -> None:
        """The turn ends before it is done."""
        self.maker.end("stopped" if how == "stopped" else "failed", words)

    @rule()
    def retry(self) -> None:
        """The person retries a turn that was cut off."""
        self.maker.retry()

    @rule()
    def crash(self) -> None:
        """The app ends in the middle, and comes back to what was stored."""
        self.maker.reload()
        self.maker.end("interrupted")


class Session(Working):
    """The same session rewritten, by the program and by the person; and what holds after each step."""

    @rule(idle=st.booleans())
    def tidy(self, idle: bool) -> None:
        """The agent looks after the window, maybe after a long pause."""
        self.maker.now += rewriting.IDLE_S * 1_000 if idle else 0
        self.maker.tidy()

    @rule(newest=st.integers(0, 2))
    def sweep(self, newest: int) -> None:
        """The person sweeps."""
        rewriting.sweep_all(self.maker, newest)

    @rule()
    def fold(self) -> None:
        """What can be folded or condensed is."""
        rewriting.fold(self.maker)

    @rule()
    def truncate(self) -> None:
        """Nothing else fits."""
        rewriting.truncate(self.maker)

    @rule(at_once=st.booleans())
    def observe(self, at_once: bool) -> None:
        """Observations are made, maybe put in place."""
        rewriting.observe(self.maker)
        if at_once:
            rewriting.place(self.maker)

    @rule(keep=st.sampled_from((0, 100, 600)))
    def hand_over(self, keep: int) -> None:
        """Older messages become a summary."""
        if self.maker.hand_over(keep) is None:
            self.maker.record(HandoverFailed("No handover was made."))

    @rule(which=NUMBERS, on=st.booleans())
    def pin(self, which: int, on: bool) -> None:
        """The person pins, or takes a pin off."""
        rewriting.pin(self.maker, which) if on else rewriting.unpin(self.maker, which)

    @rule(which=NUMBERS, form=st.sampled_from(get_args(Form)))
    def choose_form(self, which: int, form: Form) -> None:
        """The person wants to see more of an output, or less."""
        rewriting.choose_form(self.maker, which, form)

    @rule(which=NUMBERS)
    def undo(self, which: int) -> None:
        """The person takes any rewrite back."""
        self.maker.undo(which)

    @rule(which=NUMBERS)
    def redo(self, which: int) -> None:
        """The person lets any of them hold again."""
        self.maker.redo(which)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every byte can be read back from the window."""
        assert lost(self.maker) == []

    @invariant()
    def the_window_is_pure(self) -> None:
        """A projector that saw everything shows what a new one shows."""
        known = self.maker.transcript
        kept = self.projector.project(known, self.maker.policy, self.maker.frame)
        assert kept == project(known, self.maker.policy, self.maker.frame)

    @invariant()
    def the_next_request_is_valid(self) -> None:
        """With the open calls closed and the person's words behind them, every server would take it."""
        messages = self.maker.window().request.messages
        if self.maker.transcript.open_calls or messages[-1].role == "assistant":
            return
        assert (lint(messages), lint_alternating(messages), lint_items(messages)) == ([], [], [])

    @invariant()
    def markers_are_markers(self) -> None:
        """What is pinned is none, and each stands for something stored."""
        known = self.maker.transcript
        assert not known.masked & known.rewrites.pinned


# Fewer examples than a property has, for each is a whole session.
Session.TestCase.settings = settings(
    max_examples=max(10, settings().max_examples // 2), stateful_step_count=25
)
TestSession = Session.TestCase
