"""Sessions as a tree: each branch below the session whose log it begins with."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.domain.store.entries import SessionSummary


class TreeRow(msgspec.Struct, frozen=True):
    """A session in a list, and how many of its ancestors are listed above it."""

    depth: int
    summary: SessionSummary


def session_tree(summaries: Sequence[SessionSummary]) -> list[TreeRow]:
    """Return the sessions that are no subagents', each before its branches, of them the newest first.

    A branch whose parent is not among them stands at the top; a tree is as new as the newest in it.
    """
    listed = {summary.id: summary for summary in summaries if not summary.parent}
    newest: dict[str, int] = {}
    children: dict[str, list[SessionSummary]] = {}
    for summary in listed.values():
        lineage = _lineage(summary, listed)
        children.setdefault(lineage[1] if len(lineage) > 1 else "", []).append(summary)
        for session in lineage:
            newest[session] = max(newest.get(session, 0), summary.updated)
    rows: list[TreeRow] = []
    waiting = [("", 0)]
    while waiting:
        session, depth = waiting.pop()
        if session:
            rows.append(TreeRow(depth - 1, listed[session]))
        branches = sorted(children.get(session, ()), key=lambda branch: (newest[branch.id], branch.id))
        waiting += [(branch.id, depth + 1) for branch in branches]
    return rows


def _lineage(summary: SessionSummary, listed: dict[str, SessionSummary]) -> list[str]:
    """Return a session and its listed ancestors, itself first; alone if it were among its own ancestors."""
    lineage = [summary.id]
    while (session := listed[lineage[-1]].branch_of) in listed:
        if session in lineage:
            return lineage[:1]
        lineage.append(session)
    return lineage
