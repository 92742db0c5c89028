"""Side questions: from a shortcut, the palette or `/btw` to the answer beside the conversation."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.intents import AskSideQuestion, handles
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.translation import Translator

tr = Translator("Session")


class SideQuestionController(QObject):
    """Binds the command to the conversation on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._async_actions = context.window, context.async_actions
        self._session_controller, self._chat = session_controller, context.views.chat
        context.window.intents.add(self)

    @handles(AskSideQuestion)
    def ask(self, question: str) -> None:
        """Ask what was typed, or let the user write it; the composer is free meanwhile."""
        self._async_actions.start(self._answer(question) if question else self._ask(), "side question")

    async def _ask(self) -> None:
        question = await dialogs.get_text(
            self._window,
            tr("Ask a side question"),
            accept_label=tr("Ask"),
            why=tr("The model answers from the current context. Question and answer stay out of it."),
        )
        if question:
            await self._answer(question)

    async def _answer(self, question: str) -> None:
        conversation = self._session_controller.conversation
        if conversation is not None:
            self._chat.view.follow_end()
            await conversation.side_questions.ask(question)
