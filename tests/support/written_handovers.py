"""One handover in many forms: as models write it that do not keep to the headings they are given."""

from __future__ import annotations

import json
from collections.abc import Sequence

from helix_desktop.context.summaries.sections import TITLES

GERMAN = ("Hintergrund", "Technik", "Erledigt", "Probleme", "Offen", "Wünsche")
GREEK = ("Ιστορικό", "Τεχνικά", "Έγινε", "Προβλήματα", "Εκκρεμεί", "Προτιμήσεις")
OTHER_NAMES = ("Background", "Technical Notes", "Done", "Known Issues", "Next steps", "Preferences")


def written(facts: Sequence[str], heading: str, titles: Sequence[str] = TITLES, between: str = "\n") -> str:
    """Return a handover with a fact below each heading; {title}, {upper}, {n} and {rule} are filled in."""
    parts = []
    for number, (title, fact) in enumerate(zip(titles, facts, strict=True), 1):
        line = heading.format(title=title, upper=title.upper(), n=number, rule="-" * len(title))
        parts.append(f"{line}\n- {fact}")
    return between.join(parts)


def paired(facts: Sequence[str], line: str) -> str:
    """Return a handover with a title and its fact on each line."""
    pairs = zip(TITLES, facts, strict=True)
    return "\n".join(line.format(title=title, fact=fact) for title, fact in pairs)


def fields_of(facts: Sequence[str]) -> dict[str, list[str]]:
    return {title: [fact] for title, fact in zip(TITLES, facts, strict=True)}


def tagged(facts: Sequence[str]) -> str:
    pairs = zip(TITLES, facts, strict=True)
    return "\n".join(f"<{title}>\n- {fact}\n</{title}>" for title, fact in pairs)


def with_sources_apart(facts: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """Return fields whose facts have their entries in a list beside the text."""
    fields: dict[str, list[dict[str, object]]] = {}
    for title, fact in zip(TITLES, facts, strict=True):
        text, _, cited = fact.rpartition(" [")
        fields[title] = [{"text": text, "sources": cited.removesuffix("]").split(", ")}]
    return fields


def written_forms(facts: Sequence[str]) -> dict[str, str]:
    """Return the handover of six facts, each with its entries at its end, by the name of its form."""
    plain = written(facts, "## {title}")
    fields = fields_of(facts)
    return {
        "hash signs": plain,
        "deeper": written(facts, "#### {title}", between="\n\n"),
        "bold": written(facts, "**{title}**"),
        "bold with a colon": written(facts, "**{title}:**"),
        "bold with a number": written(facts, "**{n}. {title}**"),
        "bold in a list": written(facts, "- **{title}**").replace("\n- ", "\n  - ").replace("  - **", "- **"),
        "underscores": written(facts, "__{title}__"),
        "underlined": written(facts, "{title}\n{rule}", between="\n\n"),
        "underlined twice": written(facts, "{title}\n======", between="\n\n"),
        "numbered": written(facts, "{n}. {title}"),
        "numbered with a bracket": written(facts, "{n}) {upper}"),
        "a colon": written(facts, "{title}:"),
        "capitals": written(facts, "{upper}"),
        "in brackets": written(facts, "[{title}]"),
        "HTML": written(facts, "<h2>{title}</h2>"),
        "tags": tagged(facts),
        "German": written(facts, "## {title}", GERMAN),
        "Greek below a title": "# Παράδοση\n\n" + written(facts, "## {title}", GREEK),
        "German in bold": written(facts, "**{title}**", GERMAN),
        "German with numbers": written(facts, "{n}. {title}", GERMAN),
        "German underlined": written(facts, "{title}\n{rule}", GERMAN, "\n\n"),
        "German with a colon": written(facts, "{title}:", GERMAN),
        "half translated": written(facts, "## {title}", (*TITLES[:3], *GERMAN[3:])),
        "other names": written(facts, "## {title}", OTHER_NAMES),
        "a fence": f"```markdown\n{plain}\n```",
        "a preface": f"Here is the handover:\n\n{plain}\n\nLet me know what else you need!",
        "on one line": paired(facts, "**{title}:** {fact}"),
        "a list of titles": paired(facts, "- {title}: {fact}"),
        "a table": "| Section | Facts |\n|---|---|\n" + paired(facts, "| {title} | {fact} |"),
        "paragraphs": plain.replace("\n- ", "\n\n"),
        "star bullets": plain.replace("\n- ", "\n* "),
        "JSON": json.dumps(fields),
        "JSON in a fence": f"Sure!\n```json\n{json.dumps(fields, indent=2)}\n```",
        "JSON with texts": json.dumps({title: f"- {texts[0]}" for title, texts in fields.items()}),
        "JSON with other keys": json.dumps({t.lower().replace(" ", "_"): f for t, f in fields.items()}),
        "JSON with German keys": json.dumps(dict(zip(GERMAN, fields.values(), strict=True))),
        "JSON around Markdown": json.dumps({"summary": plain}),
        "JSON with sources apart": json.dumps({"handover": with_sources_apart(facts)}),
        "JSON as a list": json.dumps([{"title": t, "bullets": texts} for t, texts in fields.items()]),
        "JSON with line breaks": json.dumps({"summary": plain}).replace("\\n", "\n"),
    }
