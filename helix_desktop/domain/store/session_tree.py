"""Sessions as a tree: each branch below the session whose log it begins with, pinned trees first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from helix_desktop.domain.store.entries import SessionSummary


class TreeRow(msgspec.Struct, frozen=True):
    """A session in a list, and how many of its ancestors are listed above it."""

    depth: int
    summary: SessionSummary


def session_tree(summaries: Sequence[SessionSummary]) -> list[TreeRow]:
    """Return the sessions that are no subagents', each before its branches, of them the newest first.

    A branch whose parent is not among them, or is listed elsewhere (`ListPlace.is_below`), stands at the top.
    A tree is as new as the newest in it; pinned ones come first, archived ones last.
    """
    listed = {summary.id: summary for summary in summaries if not summary.parent}
    parents = _listed_parents(listed)
    newest = {session_id: listed[session_id].updated for session_id in parents}
    for session_id, parent in reversed(parents.items()):
        if parent:
            newest[parent] = max(newest[parent], newest[session_id])
    branches: dict[str, list[str]] = {}
    for session_id, parent in sorted(
        parents.items(), key=lambda pair: (-listed[pair[0]].place.rank, newest[pair[0]], pair[0])
    ):
        branches.setdefault(parent, []).append(session_id)
    rows: list[TreeRow] = []
    waiting = [(session_id, 0) for session_id in branches.get("", ())]
    while waiting:
        session_id, depth = waiting.pop()
        rows.append(TreeRow(depth, listed[session_id]))
        waiting += [(branch, depth + 1) for branch in branches.get(session_id, ())]
    return rows


def related_branches(summaries: Sequence[SessionSummary], session_id: str) -> list[SessionSummary]:
    """Return the sessions that share a beginning with one, directly or through others; not itself."""
    related, size = {session_id}, 0
    while len(related) > size:
        size = len(related)
        for summary in summaries:
            if summary.branch_of and (summary.id in related or summary.branch_of in related):
                related |= {summary.id, summary.branch_of}
    return [summary for summary in summaries if summary.id in related and summary.id != session_id]


def _listed_parents(listed: Mapping[str, SessionSummary]) -> dict[str, str]:
    """Return the listed parent of each session, empty for none, with parents before their branches.

    One of those that would be each other's ancestors has none.
    """
    children: dict[str, list[str]] = {}
    for summary in listed.values():
        parent = listed.get(summary.branch_of)
        is_below = parent is not None and summary.place.is_below(parent.place)
        children.setdefault(summary.branch_of if is_below else "", []).append(summary.id)
    parents: dict[str, str] = {}
    for root in (*children.get("", ()), *listed):
        waiting = [] if root in parents else [root]
        parents.setdefault(root, "")
        while waiting:
            session_id = waiting.pop()
            found = [child for child in children.get(session_id, ()) if child not in parents]
            parents |= dict.fromkeys(found, session_id)
            waiting += found
    return parents
