// Filters on metadata: those that are set, and a form for one more. It offers the fields that the hits have.

import { element, harmless, shorten } from "./text.js";

const OPERATORS = { eq: "is", ne: "is not", contains: "contains", gte: "at least", lte: "at most" };
const FOR_KIND = { string: ["eq", "ne", "contains", "gte", "lte"], number: ["eq", "ne", "gte", "lte"], boolean: ["eq", "ne"], list: ["contains"] };

// A filter as a list of conditions that must all hold.
const conditions = (where) => {
  if (!where) return [];
  const parsed = JSON.parse(where);
  if (Object.keys(parsed).length === 1 && Array.isArray(parsed.and)) return parsed.and;
  return Object.entries(parsed).map(([name, value]) => ({ [name]: value }));
};

const together = (parts) => (parts.length > 1 ? JSON.stringify({ and: parts }) : parts.length ? JSON.stringify(parts[0]) : "");

// A field's name as a filter spells it: dots separate keys, and some words have a meaning.
const escaped = (name) => (["and", "or", "not"].includes(name) || name.startsWith("$") ? `\\${name}` : "") || name.replace(/[\\.]/g, "\\$&");

const inWords = (part) => {
  const entries = Object.entries(part ?? {}), [name, test] = entries[0] ?? [];
  if (entries.length !== 1 || Array.isArray(part)) return JSON.stringify(part);
  const field = name.replace(/\\(.)/g, "$1");
  if (test === null || typeof test !== "object") return `${field} is ${test}`;
  const tests = Array.isArray(test) ? [] : Object.entries(test);
  return tests.length === 1 && Object.hasOwn(OPERATORS, tests[0][0]) ? `${field} ${OPERATORS[tests[0][0]]} ${tests[0][1]}` : JSON.stringify(part);
};

const kindOf = (value) => (Array.isArray(value) ? "list" : typeof value);

export class Filters {
  // `change` is called with the new filter, as JSON; empty for none.
  constructor(node, change) {
    this.node = node;
    this.change = change;
    this.known = new Map(); // the name of a field: its kind and some of its values
  }

  // The fields of other collections are forgotten.
  forget() {
    this.known.clear();
  }

  learn(hits) {
    for (const { metadata } of hits) {
      if (!metadata || typeof metadata !== "object" || Array.isArray(metadata)) continue;
      for (const [name, value] of Object.entries(metadata)) {
        const kind = kindOf(value);
        if (!(kind in FOR_KIND) || !name) continue;
        if (!this.known.has(name)) this.known.set(name, { kind, values: new Set() });
        for (const one of kind === "list" ? value : [value]) {
          if (typeof one !== "object" && this.known.get(name).values.size < 100) this.known.get(name).values.add(one);
        }
      }
    }
  }

  show(where) {
    const parts = conditions(where);
    const chips = parts.map((part, i) => {
      const words = shorten(inWords(part), 80);
      const button = element("button", { type: "button", class: "chip", "aria-label": `Remove the filter: ${words}` }, words, element("span", { "aria-hidden": "true" }, " ×"));
      button.addEventListener("click", () => this.change(together(parts.filter((_, j) => j !== i))));
      return button;
    });
    this.node.replaceChildren(...chips, ...(this.known.size ? [this.#form(parts)] : []));
    this.node.hidden = !this.node.children.length;
  }

  #form(parts) {
    const names = [...this.known.keys()].sort();
    const field = element("select", { "aria-label": "Field" }, ...names.map((name) => new Option(shorten(name, 40), name)));
    const test = element("select", { "aria-label": "Comparison" });
    const values = element("datalist", { id: "filter-values" });
    const value = element("input", { "aria-label": "Value", list: "filter-values", required: true });
    const adapt = () => {
      const { kind, values: some } = this.known.get(field.value);
      test.replaceChildren(...FOR_KIND[kind].map((name) => new Option(OPERATORS[name], name)));
      values.replaceChildren(...[...some].sort().map((one) => new Option(harmless(one), String(one))));
      value.value = "";
      value.type = kind === "number" ? "number" : "text";
      value.step = "any";
      if (kind === "boolean") value.pattern = "true|false";
      else value.removeAttribute("pattern");
    };
    field.addEventListener("change", adapt);
    adapt();
    const form = element("form", { class: "filter-form" }, field, test, value, values, element("button", {}, "Add"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const [first] = this.known.get(field.value).values;
      const typed = value.type === "number" ? Number(value.value) : typeof first === "boolean" ? value.value === "true" : typeof first === "number" ? Number(value.value) : value.value;
      const name = escaped(field.value);
      this.change(together([...parts, test.value === "eq" ? { [name]: typed } : { [name]: { [test.value]: typed } }]));
    });
    return element("details", {}, element("summary", {}, "Filter"), form);
  }
}
