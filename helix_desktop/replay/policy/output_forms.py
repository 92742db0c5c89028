"""The form in which outputs would enter the window under a policy: a large one as a preview."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.agent.intake.intake import Intake
from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.digest import CACHE_TOOLS
from helix_desktop.domain.events.conversation import ToolAnswered


def omitted_tokens(output: ToolAnswered) -> int:
    """Return the tokens that an output would have more in full; 0 where no policy shortened it."""
    is_short = output.form != "full" and output.chosen != "user"
    return max(0, output.full_tokens - output.tokens) if is_short else 0


def may_be_shortened(output: ToolAnswered) -> bool:
    """Return True if an output came in full because the policy in force let it: nobody chose that form."""
    is_in_full = output.form == "full" and output.chosen == "rule" and bool(output.digest)
    return is_in_full and not (output.recalled or output.images or output.name in CACHE_TOOLS)


class OutputForms:
    """Gives outputs the form that a policy would have given them; previews are made once for all policies."""

    def __init__(self, counter: TokenCounter) -> None:
        self._intake = Intake(counter)
        self._previews: dict[tuple[str, int, int], ToolAnswered] = {}

    async def under(self, policy: ContextPolicy, output: ToolAnswered, window_size: int) -> ToolAnswered:
        """Return an output as it would come.

        What came in a short form and would not, has all its tokens, but only the names of the short form:
        the log has no others. For the same reason a preview may become shorter, but not longer.
        """
        more, may_shorten = omitted_tokens(output), may_be_shortened(output)
        if not more and not may_shorten:
            return output
        if not ContextPolicy.is_large(policy, output.full_tokens or output.tokens, window_size):
            return replace(output, tokens=output.tokens + more, form="full") if more else output
        is_longer = output.form == "preview" and output.tokens > policy.preview_tokens and not output.images
        return await self._preview(output, policy.preview_tokens) if may_shorten or is_longer else output

    async def _preview(self, output: ToolAnswered, max_tokens: int) -> ToolAnswered:
        key = output.call_id, output.tokens, max_tokens
        preview = self._previews.get(key)
        if preview is None:
            text, tokens = await self._intake.preview(output.text, output, max_tokens)
            preview = replace(
                output,
                text=text,
                tokens=tokens,
                whole=False,
                form="preview",
                full_tokens=output.full_tokens or output.tokens,
            )
            self._previews[key] = preview
        return preview
