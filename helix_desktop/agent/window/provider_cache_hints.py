"""What a session's requests ask of the provider's cache."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.context.window.provider_cache import cache_prices, layer_ends, measured_gaps, prefers_long
from helix_desktop.context.window.window import Window
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.messages import CacheHints, ModelRequest

_KEY_DIGITS = 16


def with_cache_hints(request: ModelRequest, window: Window, runtime: SessionRuntime) -> ModelRequest:
    """Return a request that begins as a window does with what it asks of the provider's cache.

    It asks for the session's effort too: with another one a provider would not find what it has stored.
    """
    transcript, info = runtime.transcript, runtime.frame.info
    next_input = round(window.estimate * runtime.frame.ratio)
    gaps = measured_gaps(transcript, info.label, runtime.clock(), next_input)
    tree = transcript.first_parent or runtime.session.id  # branches begin with what their parent has cached
    hints = CacheHints(
        key=digest_of(tree.encode())[:_KEY_DIGITS],
        ends=layer_ends(window, transcript, runtime.policy),
        keep_long=prefers_long(gaps, cache_prices(info)),
    )
    return msgspec.structs.replace(request, cache=hints, effort=runtime.effort)
