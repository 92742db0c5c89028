"""Replays the session on screen: under the policies that the page compares, and ahead of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded, RequestChanged, TurnChanged
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields
from helix_desktop.context.window.provider_cache import reports_cache
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.replay.policy.policy_replay import ReplayableEvents, is_user_rewrite
from helix_desktop.replay.policy.session_replays import STORED_FROM, SessionReplays
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.policy.form import FILE_FIELDS, SLIDER_FIELDS
from helix_desktop.ui.settings.policy.replay_card import (
    PolicyComparison,
    ReplayCard,
    ReplayState,
    field_effect_text,
)
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Policy")
_log = logging.getLogger(__name__)

EDITED = "edited"
IN_USE = "in_use"
WORKSPACE = "workspace"
_MIN_REQUESTS = 2
QUIET_MS = 3_000
"""Since the last event of a session, or since it is on screen."""


class PolicyPreview:
    """Fills the replay and the fields' effects on the policy page while it is in sight."""

    def __init__(
        self,
        card: ReplayCard,
        places: Sequence[QWidget],
        show_effects: Callable[[Mapping[str, str]], object],
        session: Session,
        replays: SessionReplays,
    ) -> None:
        """`places` show what is computed: nothing is while none of them is in sight."""
        self._card = card
        self._places = places
        self._show_effects = show_effects
        self._session = session
        self._replays = replays
        self._conversation: Conversation | None = None
        self._workspace_folder = Path()
        self._policies: dict[str, ContextPolicy] = {}
        self._compared = (EDITED, IN_USE)
        self._is_compared = False  # True once the user chose what is compared
        self._comparison = PolicyComparison()
        self._task: asyncio.Task[None] | None = None
        for combo in (card.policy, card.reference):
            combo.activated.connect(lambda _: self._compare())
        card.retry.clicked.connect(self.update)

    def show(self, workspace: OpenWorkspace, edited: ContextPolicy, in_use: ContextPolicy) -> None:
        conversation = self._session.find_conversation()
        workspace_policy = workspace.policy
        self._workspace_folder = self._session.app.registry.data_folder(workspace.id)
        if conversation is not self._conversation:
            self._conversation = conversation
            self._is_compared = False
        policies = {EDITED: edited, IN_USE: in_use}
        if workspace_policy != in_use:
            policies[WORKSPACE] = workspace_policy
        policies |= {name: PROFILES[name] for name in reversed(tuple(PROFILES))}
        is_other = policies != self._policies
        self._policies = policies
        policy, reference = (key if key in policies else IN_USE for key in self._compared)
        if not self._is_compared:
            policy = EDITED
            reference = WORKSPACE if edited == in_use != workspace_policy else IN_USE
        self._compared = policy, reference
        is_open = conversation is not None and self._replays.is_open(conversation)
        if is_other or not is_open or self._task is None:
            self.update()

    def update(self) -> None:
        """Compute what is missing of the replays that the page compares; what was begun before ends."""
        self.stop()
        conversation = self._conversation
        if conversation is None or conversation.session.transcript.messages.steps < _MIN_REQUESTS:
            self._show(
                "empty", tr("After two requests, you can see here what a policy does to this session.")
            )
        elif any(place.isVisible() for place in self._places):
            self._task = self._session.actions.start(self._compute(conversation), "replay of a policy")

    def leave(self) -> None:
        """End what is being computed as the page goes out of sight; what replays may end, too."""
        self.stop()
        if self._conversation is not None:  # nothing else was replayed
            self._session.actions.start(self._replays.stay_ready(is_on=False), "leave replays")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _compare(self) -> None:
        self._compared = str(self._card.policy.currentData()), str(self._card.reference.currentData())
        self._is_compared = True
        self.update()

    async def _compute(self, conversation: Conversation) -> None:
        compared = [self._policies[key] for key in self._compared]
        replays = self._replays
        self._show_pending_effects()
        try:
            if not replays.is_open(conversation):
                self._show("busy")
                await replays.open(conversation, self._workspace_folder)
            for policy in compared:  # what there is of pictures, and the first ones else
                await replays.add_first_picture(policy)
                self._show("ready" if all(map(replays.is_exact, compared)) else "busy")
            for policy in compared:
                async for _ in replays.replay(policy):
                    self._show("busy")
            self._show("ready")
            await replays.load()
            await replays.stay_ready(is_on=True)
            effects = self._show_pending_effects()
            edited = self._policies[EDITED]
            for field in effects:
                effects[field] = field_effect_text(await replays.effect(edited, field))
                self._show_effects(effects)
            await replays.complete(self._policies.values())
            await replays.store()
        except HelixError as error:
            replays.forget()
            if self._comparison.state == "ready":  # what was read from disk stays true
                _log.warning("This session can't be replayed: %s", error)
            else:
                self._show("failed", " ".join(filter(None, (translate(error.what), translate(error.why)))))
        except Exception:
            replays.forget()
            self._show("failed", tr("This session can't be replayed. See the log for details."))
            raise

    def _show_pending_effects(self) -> dict[str, str]:
        """Show an ellipsis at each field that differs from its profile; return these texts by field."""
        edited = self._policies[EDITED]
        effects = {name: "…" for name in policy_fields(edited) if name not in FILE_FIELDS | SLIDER_FIELDS}
        self._show_effects(effects)
        return effects

    def _show(self, state: ReplayState, message: str = "") -> None:
        policy, reference = self._compared
        mine = self._policies.get(policy)
        other = self._policies.get(reference)
        shown = self._conversation
        pictures = self._replays.pictures
        log = shown.session.log if shown is not None else ()
        model = shown.window.frame.info.label if shown is not None else ""
        answers = [recorded.event for recorded in log if isinstance(recorded.event, AssistantSpoke)]
        replayed = {recorded.seq for recorded in ReplayableEvents().take(log)}
        self._comparison = PolicyComparison(
            {key: self._name_of(key) for key in self._policies},
            policy,
            reference,
            pictures.get(mine) if mine is not None else None,
            pictures.get(other) if other is not None else None,
            state,
            message,
            is_one=mine == other,
            reports_cache=shown is None or reports_cache(shown.session.transcript),
            model=model,
            other_models=any(answer.model != model for answer in answers),
            is_reported=any(answer.usage is not None for answer in answers),
            has_user_rewrites=any(is_user_rewrite(it.event) and it.seq not in replayed for it in log),
            always=shown.window.frame.fixed_tokens if shown is not None else 0,
        )
        self._card.show_comparison(self._comparison)

    def _name_of(self, key: str) -> str:
        is_applied = self._policies[EDITED] == self._policies[IN_USE]
        own = {
            EDITED: tr("Policy on this page") if is_applied else tr("Preview"),
            IN_USE: tr("Policy in use"),
            WORKSPACE: tr("Workspace policy"),
        }
        return own.get(key) or profile_name(key)


class ReplayPreparation(QObject):
    """Replays the session on screen under the policy in use and all profiles, and stores what comes out."""

    def __init__(self, session: Session, replays: SessionReplays) -> None:
        super().__init__(session)
        self._session = session
        self._registry = session.app.registry
        self._replays = replays
        self._task: asyncio.Task[None] | None = None
        self._is_page_visible = False
        self.quiet_timer = QTimer(self, singleShot=True, interval=QUIET_MS)
        self.quiet_timer.timeout.connect(self._start)
        session.changed.connect(self._restart_timer)
        session.on(EventRecorded | RequestChanged | TurnChanged, lambda _: self._restart_timer())

    def set_page_visible(self, is_visible: bool) -> None:
        """Leave the replays to the policy page while it is in sight."""
        self._is_page_visible = is_visible
        self._restart_timer()

    def stop(self) -> None:
        """Stop until the next event; what was replayed so far is kept."""
        self.quiet_timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _restart_timer(self) -> None:
        self.stop()
        if self._long_conversation is not None:
            self.quiet_timer.start()

    @property
    def _long_conversation(self) -> Conversation | None:
        conversation = self._session.find_conversation()
        if self._is_page_visible or conversation is None or len(conversation.session.log) < STORED_FROM:
            return None
        return conversation

    def _start(self) -> None:
        conversation = self._long_conversation
        if conversation is not None:
            workspace = self._session.workspace
            self._task = self._session.actions.start(
                self._replay(workspace, conversation), "replay a session ahead"
            )

    async def _replay(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        try:
            await self._replays.open(conversation, self._registry.data_folder(workspace.id))
            in_use = conversation.session.transcript.session_policy or workspace.policy
            await self._replays.complete((in_use, workspace.policy, *PROFILES.values()))
            if not conversation.is_running:  # else its next event comes soon
                await self._replays.store()
        except HelixError as error:
            self._replays.forget()
            _log.warning("the session can't be replayed ahead: %s", error)
