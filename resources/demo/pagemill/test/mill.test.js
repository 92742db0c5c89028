import assert from "node:assert/strict";
import { test } from "node:test";
import { tagsOf, takeFields } from "../src/fields.js";
import { render } from "../src/markup.js";
import { indexOf, pageOf, sorted } from "../src/mill.js";
import { fill } from "../src/template.js";

test("fields are taken off, the body stays", () => {
  const { fields, body } = takeFields("---\ntitle: A: b\ndate: 2025-01-01\n---\nText\n");
  assert.deepEqual(fields, { title: "A: b", date: "2025-01-01" });
  assert.equal(body, "Text\n");
});

test("a field without a colon is named by its line", () => {
  assert.throws(() => takeFields("---\ntitle A\n---\n"), /line 2/);
});

test("tags come once", () => assert.deepEqual(tagsOf({ tags: "a, b, ,a" }), ["a", "b"]));

test("markup knows little and escapes the rest", () => {
  assert.equal(render("# A\n\n- **x**\n- `y`\n\n<b>"), "<h1>A</h1>\n<ul>\n  <li><strong>x</strong></li>\n  <li><code>y</code></li>\n</ul>\n<p>&lt;b&gt;</p>");
});

test("a template's unknown place is an error", () => assert.throws(() => fill("{{x}}", {}), /\{\{x\}\}/));

test("pages are sorted newest first and listed", () => {
  const pages = sorted([pageOf("a.md", "---\ntitle: Old\ndate: 2024-01-01\n---\n"), pageOf("b.md", "---\ntitle: New\ndate: 2025-01-01\n---\n")]);
  assert.match(indexOf(pages), /New<\/a> 2025-01-01[^]*Old/);
});

test("a page without a title names its file", () => assert.throws(() => pageOf("x.md", "text"), /x\.md: the title is missing/));
