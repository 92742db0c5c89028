// Reads pages, sorts them, writes the site.

import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { tagsOf, takeFields } from "./fields.js";
import { escape, render } from "./markup.js";
import { fill } from "./template.js";

const TEMPLATE = new URL("../templates/page.html", import.meta.url);

/** A page from its text. Throws with the file's name when its fields are wrong. */
export function pageOf(name, text) {
  try {
    const { fields, body } = takeFields(text);
    if (!fields.title) throw new Error("the title is missing");
    return { name: basename(name, ".md"), title: fields.title, date: fields.date ?? "", tags: tagsOf(fields), body };
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

/** Pages, newest first; those of one day by title. */
export function sorted(pages) {
  return [...pages].sort((a, b) => b.date.localeCompare(a.date) || a.title.localeCompare(b.title));
}

/** The index as HTML. */
export function indexOf(pages) {
  const items = pages.map((page) => `  <li><a href="${page.name}.html">${escape(page.title)}</a> ${page.date}</li>`);
  return ["<ul>", ...items, "</ul>"].join("\n");
}

/** Writes the whole site; gives the number of pages. */
export async function mill(from, to) {
  const template = await readFile(TEMPLATE, "utf8");
  const names = (await readdir(from)).filter((name) => name.endsWith(".md"));
  const pages = sorted(await Promise.all(names.map(async (name) => pageOf(name, await readFile(join(from, name), "utf8")))));
  await mkdir(to, { recursive: true });
  for (const page of pages) {
    const values = { title: escape(page.title), date: page.date, tags: page.tags.map(escape).join(", "), body: render(page.body) };
    await writeFile(join(to, `${page.name}.html`), fill(template, values));
  }
  const index = { title: "All pages", date: "", tags: "", body: indexOf(pages) };
  await writeFile(join(to, "index.html"), fill(template, index));
  return pages.length;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [from = "pages", to = "site"] = process.argv.slice(2);
  console.log(`${await mill(from, to)} pages written to ${to}`);
}
