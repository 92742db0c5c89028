"""The handover as it would be now, as a card."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.continued_handover import HandoverPreview, HandoverPreviewWriter
from helix_desktop.context.summaries.handover_revision import to_markdown
from helix_desktop.ui.timeline.card_data import PreviewCard
from helix_desktop.words.summary_coverage import missing_rules_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def build_preview_card(
    writer: HandoverPreviewWriter, transcript: Transcript, policy: ContextPolicy, window_size: int
) -> PreviewCard | None:
    """Return the card; None without messages. Its time grows with the log: call it in a thread."""
    if not transcript.messages.items:
        return None
    preview = writer.write(transcript, policy, window_size)
    return PreviewCard(
        translate(preview.counts.text),
        preview.sections,
        preview.ledger,
        missing=missing_rules_text(preview.coverage),
        markdown=_markdown(preview),
    )


def _markdown(preview: HandoverPreview) -> str:
    """Return the whole handover as a document."""
    parts = [f"# {tr('Handover')}", to_markdown(preview.sections)]
    if preview.ledger:
        parts += [f"## {tr('Files, commands and errors')}", f"```\n{preview.ledger}\n```"]
    return "\n\n".join(part.strip() for part in parts) + "\n"
