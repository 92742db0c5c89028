"""`/model ` at the beginning of a message: the models that can answer in the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helix_desktop.agent.conversation import Conversation
from helix_desktop.config.settings import Settings
from helix_desktop.ui.chat.composer.completion import CompletionItem
from helix_desktop.ui.session.model_menu import (
    DEMO_LABEL,
    WORKSPACE_DEFAULT,
    matching_models,
    model_labels,
)
from helix_desktop.words.models import demo_model_name
from helix_desktop.words.translation import Translator

tr = Translator("Slash commands")

_MAX_ROWS = 50


class ModelCompletions:
    """Models by a part of their names, and the word for the workspace's default."""

    trigger = "/model "
    only_at_start = True

    def __init__(
        self, settings: Callable[[], Settings], conversation: Callable[[], Conversation | None]
    ) -> None:
        """`conversation` returns the one on screen."""
        self._settings, self._conversation = settings, conversation

    @property
    def name(self) -> str:
        """What is completed."""
        return tr("Models")

    @property
    def hint(self) -> str:
        """Return nothing: all of them are listed."""
        return ""

    @property
    def empty_text(self) -> str:
        """What is said when nothing matches."""
        return tr("No matching models")

    def takes(self, query: str) -> bool:
        """Take any name."""
        return True

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the models with these words in their names."""
        labels = (*model_labels(self._settings()), DEMO_LABEL, WORKSPACE_DEFAULT)
        return [self._row(label) for label in matching_models(query, labels)[:_MAX_ROWS]]

    def accept(self, completion: CompletionItem) -> None:
        """Do nothing more: the model is chosen when the command is run."""

    def _row(self, label: str) -> CompletionItem:
        conversation = self._conversation()
        if label == WORKSPACE_DEFAULT:
            detail = tr("The workspace's default model")
        elif conversation is not None and conversation.model.label == label:
            detail = tr("In use")
        else:
            detail = demo_model_name() if label == DEMO_LABEL else ""
        return CompletionItem(self.trigger + label, label, detail, "cpu")
