// Fills places like {{title}} in a template.

/** The template with every place filled. Throws for a place that no value is given for. */
export function fill(template, values) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => {
    if (!(name in values)) throw new Error(`the template asks for {{${name}}}`);
    return values[name];
  });
}
