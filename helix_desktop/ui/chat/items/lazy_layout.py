"""What can be built in part, near the viewport, while the rest waits with estimated heights."""

from __future__ import annotations


class LazyLayout:
    """Something that is whole from the start, until a subclass says otherwise; heights in pixels."""

    def build(self, top: float, bottom: float, deadline: float, *, upwards: bool = False) -> bool:
        """Build what lies between two heights, until a time of time.perf_counter; True when all is built."""
        return True

    def build_hit_area(self, top: float, bottom: float, *, forward: bool) -> None:
        """Build the first place to click that lies between two heights, if it is not built yet."""
        return

    def read_ahead(self, deadline: float) -> bool:
        """Prepare, until a time, what will be built later; True when nothing is left."""
        return True

    def scroll_anchor(self, top: float, bottom: float, *, at_end: bool) -> int:
        """Return what must not move in sight while the part between two heights is built."""
        return 0

    def anchor_top(self, anchor: int) -> float:
        """Return the position, in pixels, of the anchor that `scroll_anchor` returned."""
        return 0.0
