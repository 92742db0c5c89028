"""The handover as it would be now, as a card."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.rewrites import planner
from helix_desktop.context.summaries.edited_handover import to_markdown
from helix_desktop.context.summaries.present_handover import PresentHandover, present_handover
from helix_desktop.context.window.usage_gauge import UsageGauge
from helix_desktop.ui.timeline.card_data import Bullet, PresentCard, Section
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")


def build_present_card(
    transcript: Transcript, policy: ContextPolicy, gauge: UsageGauge
) -> PresentCard | None:
    """Return the card; None without messages. Its time grows with the log: call it in a thread."""
    if not transcript.items:
        return None
    present = present_handover(transcript, policy.ledger_tokens)
    plan = planner.handover_now(transcript, policy, gauge)
    return PresentCard(
        present.messages,
        tuple(
            Section(section.title, tuple(Bullet(bullet.text, bullet.sources) for bullet in section.bullets))
            for section in present.sections
        ),
        present.ledger,
        markdown=_markdown(present),
        can_write=plan is not None and planner.is_worthwhile(transcript, policy, gauge, plan.cut),
    )


def _markdown(present: PresentHandover) -> str:
    """Return the whole handover as a document."""
    parts = [f"# {tr('Handover')}", to_markdown(present.sections)]
    if present.ledger:
        parts += [f"## {tr('Files, commands and errors')}", f"```\n{present.ledger}\n```"]
    return "\n\n".join(part.strip() for part in parts) + "\n"
