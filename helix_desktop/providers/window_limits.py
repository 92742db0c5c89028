"""What the answers and errors of one model have shown of its context window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from helix_desktop.domain.errors import ContextWindowExceeded
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import LearnedWindow

_RESERVE_SHARE = 4  # of a window, the most that is kept free for the answer


async def _forget(_: LearnedWindow) -> None:
    """Keep what was learned for this run only."""


class WindowLimits:
    """The window of one model at one address, shared by all that call it.

    `learned` is what an error said; None: nothing. `answered` are the tokens of the largest input that the
    model has answered: a smaller window can't be true. `save` stores what is learned.
    """

    def __init__(
        self, learned: LearnedWindow | None = None, save: Callable[[LearnedWindow], Awaitable[None]] = _forget
    ) -> None:
        self.learned, self.answered, self._save = learned, 0, save

    def fit(self, info: ModelInfo) -> ModelInfo:
        """Return a model with the window that was learned, where that is smaller."""
        if self.learned is None or self.learned.tokens >= info.window:
            return info
        tokens = self.learned.tokens
        return msgspec.structs.replace(
            info, window=tokens, reserve=min(info.reserve, tokens // _RESERVE_SHARE)
        )

    async def learn(self, error: ContextWindowExceeded, info: ModelInfo, answered: int) -> None:
        """Take the window that an error says, and note in the error what was believed until then.

        Never one above the window in use, nor below an input that the model has answered.
        """
        window = self.fit(info).window
        if error.is_rate or not error.window_size:
            return
        if error.window_size < max(self.answered, answered):
            error.window_size = error.request_tokens = 0  # it speaks of something else
            return
        if error.window_size >= window:
            return
        self.learned = LearnedWindow(error.window_size, error.why)
        error.believed = window
        await self._save(self.learned)
