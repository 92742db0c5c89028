"""Sessions as random sequences of actions: the invariants hold after each."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.window import Projector, project
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverFailed
from tests.support import session_rewrites
from tests.support.histories import NASTY_TEXTS, SessionSimulator, policies
from tests.support.message_linter import lint, lint_alternating, lint_items
from tests.support.reachability import unreachable_content

NUMBERS = st.integers(0, 9)
TEXTS = st.sampled_from(NASTY_TEXTS)
BODY = "    return 'a line of a file'  # \\u00e9\n"


class SessionMachine(RuleBasedStateMachine):
    """A session in progress: its simulator, and a projector that saw it from the start."""

    @initialize(policy=policies())
    def begin(self, policy: ContextPolicy) -> None:
        """Send the user's first message."""
        self.simulator, self.projector = SessionSimulator(policy), Projector()
        self.simulator.send_message("Begin.")

    @property
    def busy(self) -> bool:
        """Return True while a turn runs."""
        return self.simulator.transcript.turn_open

    @rule(text=TEXTS, attached=st.sampled_from(("", "", "something recalled\n" * 9)))
    def speak(self, text: str, attached: str) -> None:
        """Send or queue a user message."""
        self.simulator.send_message(text, attached)

    @precondition(lambda self: self.busy)
    @rule(text=TEXTS)
    def steer(self, text: str) -> None:
        """Steer the running turn."""
        self.simulator.steer(text)

    @precondition(lambda self: self.busy)
    @rule(text=TEXTS, calls=st.integers(0, 4))
    def step(self, text: str, calls: int) -> None:
        """Let the model answer."""
        self.simulator.step(text, calls)

    @precondition(lambda self: self.busy)
    @rule(lines=st.sampled_from((8, 40, 400)), nested=st.booleans())
    def write(self, lines: int, nested: bool) -> None:
        """Let the model write a file."""
        body = BODY * lines
        arguments = (
            {"path": "a.py", "edits": [{"new": body}]} if nested else {"path": "b.py", "content": body}
        )
        call = self.simulator.tool_call(0, msgspec.json.encode(arguments).decode(), "write_file")
        self.simulator.step("I write it.", [call])
        self.simulator.answer_call(0, "Wrote it.")

    @rule(
        choice=NUMBERS,
        text=TEXTS,
        times=st.sampled_from((0, 1, 30, 300)),
        form=st.sampled_from(get_args(Form)),
    )
    def answer(self, choice: int, text: str, times: int, form: Form) -> None:
        self.simulator.answer_call(choice, f"{text}\n" * times, choice > 1, form)

    @rule(times=st.integers(2, 5), size=st.sampled_from((40, 900)))
    def work(self, times: int, size: int) -> None:
        """Run some ordinary steps."""
        if not self.busy:
            self.simulator.send_message("Go on.")
        for number in range(times):
            self.simulator.step(f"Thought {number}.", 1)
            self.simulator.answer_call(0, f"{number} {self.simulator.call_count} line\n" * (size // 8))

    @rule(choice=NUMBERS)
    def recall(self, choice: int) -> None:
        """Let the agent recall something."""
        outputs = session_rewrites.cached_outputs(self.simulator)
        if outputs:
            self.simulator.recall(getattr(outputs[choice % len(outputs)].event, "digest", ""))

    @rule(ending=st.sampled_from(("stopped", "failed")), text=TEXTS)
    def cut_off(self, ending: str, text: str) -> None:
        """End the turn early."""
        self.simulator.end_turn("stopped" if ending == "stopped" else "failed", text)

    @rule()
    def retry(self) -> None:
        """Retry an interrupted turn."""
        self.simulator.retry()

    @rule()
    def crash(self) -> None:
        """Crash the app, and restore what was stored."""
        self.simulator.reload()
        self.simulator.end_turn("interrupted")


class Session(SessionMachine):
    """The same session with rewrites by the program and the user; checked after each step."""

    @rule(idle=st.booleans())
    def tidy(self, idle: bool) -> None:
        """Let the agent maintain the window, maybe after a long pause."""
        self.simulator.now_ms += session_rewrites.IDLE_S * 1_000 if idle else 0
        self.simulator.apply_due_rewrites()

    @rule(on=st.booleans())
    def hold(self, on: bool) -> None:
        """Hold the window, or let it go."""
        self.simulator.record(HoldSet(on))

    @rule(newest=st.integers(0, 2))
    def sweep(self, newest: int) -> None:
        session_rewrites.sweep_all(self.simulator, newest)

    @rule()
    def fold(self) -> None:
        """Fold or condense what is possible."""
        session_rewrites.fold_all(self.simulator)

    @rule()
    def truncate(self) -> None:
        """Truncate because nothing else fits."""
        session_rewrites.truncate(self.simulator)

    @rule(at_once=st.booleans())
    def observe(self, at_once: bool) -> None:
        """Make observations, maybe place them."""
        session_rewrites.prepare_observations(self.simulator)
        if at_once:
            session_rewrites.place_observations(self.simulator)

    @rule(keep=st.sampled_from((0, 100, 600)))
    def hand_over(self, keep: int) -> None:
        """Summarize older messages."""
        if self.simulator.hand_over(keep) is None:
            self.simulator.record(HandoverFailed("No handover was made."))

    @rule(choice=NUMBERS, on=st.booleans())
    def pin(self, choice: int, on: bool) -> None:
        session_rewrites.pin(self.simulator, choice) if on else session_rewrites.unpin(self.simulator, choice)

    @rule(choice=NUMBERS, form=st.sampled_from(get_args(Form)))
    def choose_form(self, choice: int, form: Form) -> None:
        """Show more of an output, or less."""
        session_rewrites.choose_form(self.simulator, choice, form)

    @rule(choice=NUMBERS)
    def undo(self, choice: int) -> None:
        self.simulator.undo(choice)

    @rule(choice=NUMBERS)
    def redo(self, choice: int) -> None:
        self.simulator.redo(choice)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every byte can be read back from the window."""
        assert unreachable_content(self.simulator) == []

    @invariant()
    def the_window_is_pure(self) -> None:
        """A projector that saw everything matches a new one."""
        transcript = self.simulator.transcript
        incremental = self.projector.project(transcript, self.simulator.policy, self.simulator.frame)
        assert incremental == project(transcript, self.simulator.policy, self.simulator.frame)

    @invariant()
    def the_next_request_is_valid(self) -> None:
        """With the open calls closed and a user message after them, every server would accept it."""
        messages = self.simulator.window().request.messages
        if self.simulator.transcript.open_calls or messages[-1].role == "assistant":
            return
        assert (lint(messages), lint_alternating(messages), lint_items(messages)) == ([], [], [])

    @invariant()
    def markers_are_markers(self) -> None:
        """No pinned output is a marker, and each marker stands for stored content."""
        transcript = self.simulator.transcript
        assert not transcript.window.masked & transcript.rewrites.pinned


# Fewer examples than a property has, because each is an entire session.
Session.TestCase.settings = settings(
    max_examples=max(10, settings().max_examples // 2), stateful_step_count=25
)
TestSession = Session.TestCase
