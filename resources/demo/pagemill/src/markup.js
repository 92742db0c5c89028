// Turns a text into HTML: headings, paragraphs, lists, emphasis, code. Everything else is escaped.

const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text that is safe inside HTML. */
export function escape(text) {
  return text.replace(/[&<>"]/g, (sign) => SIGNS[sign]);
}

/** A line's emphasis and code. */
function inline(text) {
  return escape(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
    .replace(/\*([^*]+)\*/g, "<em>$1</em>");
}

/** The HTML of a text; blocks are parted by empty lines. */
export function render(text) {
  return text
    .split(/\n\s*\n/)
    .map((block) => block.trim())
    .filter(Boolean)
    .map(renderBlock)
    .join("\n");
}

function renderBlock(block) {
  const heading = /^(#{1,3}) (.+)$/.exec(block);
  if (heading) return `<h${heading[1].length}>${inline(heading[2])}</h${heading[1].length}>`;
  const lines = block.split("\n");
  if (lines.every((line) => line.startsWith("- "))) return list("ul", lines, 2);
  if (lines.every((line) => /^\d+\. /.test(line))) return list("ol", lines.map((line) => line.replace(/^\d+\. /, "")), 0);
  return `<p>${inline(lines.join(" "))}</p>`;
}

function list(kind, lines, cut) {
  const items = lines.map((line) => `  <li>${inline(line.slice(cut))}</li>`);
  return [`<${kind}>`, ...items, `</${kind}>`].join("\n");
}
