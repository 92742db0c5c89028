"""The effort of one request, and what a server refused of it."""

from __future__ import annotations

import re

from helix_desktop.domain.effort import SentEffort
from helix_desktop.domain.messages import EffortRefusal
from helix_desktop.providers.error_classification import extract_error_text


class RequestEffort:
    """The level that one request asks for; `refusals` holds what the server said against levels, for all.

    `level` is empty where nothing is sent.
    """

    def __init__(self, level: SentEffort, refusals: dict[str, str]) -> None:
        self._requested, self._refusals = level, refusals
        self.level: SentEffort = "" if level in refusals else level

    @property
    def refusal(self) -> EffortRefusal | None:
        """What the server said against the level; None if it did not refuse it."""
        reason = self._refusals.get(self._requested)
        return EffortRefusal(self._requested, reason) if reason is not None else None

    def leave_out(self) -> None:
        """Leave the level out of this request alone."""
        self.level = ""

    def learn(self, error_text: str, field_pattern: re.Pattern[str]) -> bool:
        """Leave the level out from now on if an error names its field; return True if it does.

        `field_pattern` finds the field in a text in lower case.
        """
        if not self.level or field_pattern.search(error_text.lower()) is None:
            return False
        self._refusals[self.level] = str(extract_error_text(error_text))
        self.level = ""
        return True
