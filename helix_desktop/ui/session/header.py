"""What the top bar shows of a conversation: a pure translation."""

from __future__ import annotations

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.ui.design.shell_data import GaugeState, TopBarState
from helix_desktop.ui.design.usage_bar import pressure_of
from helix_desktop.words.efforts import with_effort
from helix_desktop.words.failed_turns import turn_failure_reason
from helix_desktop.words.gauge_source import gauge_source_text
from helix_desktop.words.models import model_name
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Session")


def top_bar_state(conversation: Conversation) -> TopBarState:
    """Return title, state, model and size of a conversation."""
    transcript = conversation.session.transcript
    name, demo = _answering_model(conversation)
    ended = conversation.session.failed_end
    return TopBarState(
        conversation.session.id,
        session_title(transcript.title),
        conversation.is_running,
        name if conversation.model_choice.pending else with_effort(name, conversation.effort),
        demo,
        transcript.messages.counts().messages,
        bool(conversation.asks),
        turn_failure_reason((ended.what, ended.why)) if ended is not None else "",
        ended is not None and ended.cause == "budget",
    )


def gauge_state(
    gauge: UsageGauge, policy: ContextPolicy, policy_text: str, is_on_hold: bool = False
) -> GaugeState:
    """Return how full the window is, and where the policy compacts it; `policy_text` names the policy."""
    pressure = pressure_of(gauge) if policy.enabled else "off"
    return GaugeState(
        gauge.used,
        gauge.window,
        not gauge.is_reported,
        gauge_source_text(gauge),
        gauge.handover_threshold / gauge.window if gauge.window else policy.handover_at,
        pressure,
        policy_text,
        is_on_hold and policy.enabled,
    )


def _answering_model(conversation: Conversation) -> tuple[str, bool]:
    """Return the display name of the model that answers in a session, and whether it is the demo.

    A session that waits for the user's choice shows the model that it had; after a change both are named.
    """
    change = conversation.model_choice.pending
    if change is not None:
        return model_name(change.label, demo=False), False
    now, last = conversation.model, conversation.session.transcript.last_model
    name = model_name(now.label, now.demo)
    if now.demo or last in ("", now.label) or last.startswith("demo/"):
        return name, now.demo
    return tr(
        "{previous} → {next} from the next turn", previous=model_name(last, demo=False), next=name
    ), False
