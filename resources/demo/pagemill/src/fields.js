// Takes the fields off the top of a text.

const FENCE = "---";

/** Splits a text into its fields and its body. Throws when a field line has no colon. */
export function takeFields(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines[0].trim() !== FENCE) return { fields: {}, body: text };
  const end = lines.indexOf(FENCE, 1);
  if (end < 0) throw new Error("the fields are not closed by ---");
  const fields = {};
  for (const [number, line] of lines.slice(1, end).entries()) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    if (colon < 0) throw new Error(`line ${number + 2}: a field needs a colon`);
    fields[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return { fields, body: lines.slice(end + 1).join("\n") };
}

/** The tags of a page, without blanks and doubles. */
export function tagsOf(fields) {
  return [...new Set((fields.tags ?? "").split(",").map((tag) => tag.trim()).filter(Boolean))];
}
