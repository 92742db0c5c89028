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
from tests.support import session_rewrites
from tests.support.histories import NASTY_TEXTS, SessionSimulator, policies
from tests.support.message_linter import lint, lint_alternating, lint_items
from tests.support.reachability import unreachable_content

NUMBERS = st.integers(0, 9)
WORDS = st.sampled_from(NASTY_TEXTS)
BODY = "    return 'a line of a file'  # \\u00e9\n"


class Working(RuleBasedStateMachine):
    """One session at work: its simulator, and a projector that has been there from the beginning."""

    @initialize(policy=policies())
    def begin(self, policy: ContextPolicy) -> None:
        """The person says the first words."""
        self.simulator, self.projector = SessionSimulator(policy), Projector()
        self.simulator.send_message("Begin.")

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.simulator.transcript.turn_open

    @rule(text=WORDS, attached=st.sampled_from(("", "", "something recalled\n" * 9)))
    def speak(self, text: str, attached: str) -> None:
        """The person speaks, or has words wait."""
        self.simulator.send_message(text, attached)

    @precondition(lambda self: self.busy)
    @rule(text=WORDS)
    def steer(self, text: str) -> None:
        """The person steers the turn that runs."""
        self.simulator.steer(text)

    @precondition(lambda self: self.busy)
    @rule(text=WORDS, calls=st.integers(0, 4))
    def step(self, text: str, calls: int) -> None:
        """The model answers."""
        self.simulator.step(text, calls)

    @precondition(lambda self: self.busy)
    @rule(lines=st.sampled_from((8, 40, 400)), nested=st.booleans())
    def write(self, lines: int, nested: bool) -> None:
        """The model writes a file."""
        body = BODY * lines
        given = {"path": "a.py", "edits": [{"new": body}]} if nested else {"path": "b.py", "content": body}
        call = self.simulator.tool_call(0, msgspec.json.encode(given).decode(), "write_file")
        self.simulator.step("I write it.", [call])
        self.simulator.answer_call(0, "Wrote it.")

    @rule(
        which=NUMBERS,
        words=WORDS,
        times=st.sampled_from((0, 1, 30, 300)),
        form=st.sampled_from(get_args(Form)),
    )
    def answer(self, which: int, words: str, times: int, form: Form) -> None:
        """A tool answers."""
        self.simulator.answer_call(which, f"{words}\n" * times, which > 1, form)

    @rule(times=st.integers(2, 5), size=st.sampled_from((40, 900)))
    def work(self, times: int, size: int) -> None:
        """Some steps as they usually are."""
        if not self.busy:
            self.simulator.send_message("Go on.")
        for number in range(times):
            self.simulator.step(f"Thought {number}.", 1)
            self.simulator.answer_call(0, f"{number} {self.simulator.call_count} line\n" * (size // 8))

    @rule(which=NUMBERS)
    def recall(self, which: int) -> None:
        """The agent asks for something it had."""
        found = session_rewrites.cached_outputs(self.simulator)
        if found:
            self.simulator.recall(getattr(found[which % len(found)].event, "digest", ""))

    @rule(how=st.sampled_from(("stopped", "failed")), words=WORDS)
    def cut_off(self, how: str, words: str) -> None:
        """The turn ends before it is done."""
        self.simulator.end_turn("stopped" if how == "stopped" else "failed", words)

    @rule()
    def retry(self) -> None:
        """The person retries a turn that was cut off."""
        self.simulator.retry()

    @rule()
    def crash(self) -> None:
        """The app ends in the middle, and comes back to what was stored."""
        self.simulator.reload()
        self.simulator.end_turn("interrupted")


class Session(Working):
    """The same session rewritten, by the program and by the person; and what holds after each step."""

    @rule(idle=st.booleans())
    def tidy(self, idle: bool) -> None:
        """The agent looks after the window, maybe after a long pause."""
        self.simulator.now_ms += session_rewrites.IDLE_S * 1_000 if idle else 0
        self.simulator.apply_due_rewrites()

    @rule(newest=st.integers(0, 2))
    def sweep(self, newest: int) -> None:
        """The person sweeps."""
        session_rewrites.sweep_all(self.simulator, newest)

    @rule()
    def fold(self) -> None:
        """What can be folded or condensed is."""
        session_rewrites.fold_all(self.simulator)

    @rule()
    def truncate(self) -> None:
        """Nothing else fits."""
        session_rewrites.truncate(self.simulator)

    @rule(at_once=st.booleans())
    def observe(self, at_once: bool) -> None:
        """Observations are made, maybe put in place."""
        session_rewrites.prepare_observations(self.simulator)
        if at_once:
            session_rewrites.place_observations(self.simulator)

    @rule(keep=st.sampled_from((0, 100, 600)))
    def hand_over(self, keep: int) -> None:
        """Older messages become a summary."""
        if self.simulator.hand_over(keep) is None:
            self.simulator.record(HandoverFailed("No handover was made."))

    @rule(which=NUMBERS, on=st.booleans())
    def pin(self, which: int, on: bool) -> None:
        """The person pins, or takes a pin off."""
        session_rewrites.pin(self.simulator, which) if on else session_rewrites.unpin(self.simulator, which)

    @rule(which=NUMBERS, form=st.sampled_from(get_args(Form)))
    def choose_form(self, which: int, form: Form) -> None:
        """The person wants to see more of an output, or less."""
        session_rewrites.choose_form(self.simulator, which, form)

    @rule(which=NUMBERS)
    def undo(self, which: int) -> None:
        """The person takes any rewrite back."""
        self.simulator.undo(which)

    @rule(which=NUMBERS)
    def redo(self, which: int) -> None:
        """The person lets any of them hold again."""
        self.simulator.redo(which)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every byte can be read back from the window."""
        assert unreachable_content(self.simulator) == []

    @invariant()
    def the_window_is_pure(self) -> None:
        """A projector that saw everything shows what a new one shows."""
        known = self.simulator.transcript
        kept = self.projector.project(known, self.simulator.policy, self.simulator.frame)
        assert kept == project(known, self.simulator.policy, self.simulator.frame)

    @invariant()
    def the_next_request_is_valid(self) -> None:
        """With the open calls closed and the person's words behind them, every server would take it."""
        messages = self.simulator.window().request.messages
        if self.simulator.transcript.open_calls or messages[-1].role == "assistant":
            return
        assert (lint(messages), lint_alternating(messages), lint_items(messages)) == ([], [], [])

    @invariant()
    def markers_are_markers(self) -> None:
        """What is pinned is none, and each stands for something stored."""
        known = self.simulator.transcript
        assert not known.masked & known.rewrites.pinned


# Fewer examples than a property has, for each is a whole session.
Session.TestCase.settings = settings(
    max_examples=max(10, settings().max_examples // 2), stateful_step_count=25
)
TestSession = Session.TestCase
