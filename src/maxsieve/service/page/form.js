// The form: what to search and how, and what of that this collection can do.

import * as address from "./address.js";
import { POLICIES } from "./policies.js";
import { collections } from "./service.js";
import { count, element, harmless } from "./text.js";

const at = (id) => document.getElementById(id);
export const form = at("ask");
let known = []; // facts about the collections

export const keyOf = () => at("key").value;

// The current values of the form, with numbers as numbers.
export const readForm = () => {
  const fields = form.elements, wanted = { ...address.DEFAULTS };
  for (const name of Object.keys(wanted)) {
    const { value } = fields[name];
    if (wanted[name] === null) wanted[name] = value.trim() === "" ? null : Number(value);
    else wanted[name] = typeof wanted[name] === "number" ? Number(value) : value;
  }
  wanted.q = wanted.q.trim();
  return wanted;
};

export const fillForm = (wanted) => {
  const sizes = [...new Set([...address.PER_PAGE, wanted.k])].sort((a, b) => a - b);
  form.elements.k.replaceChildren(...sizes.map((size) => new Option(size)));
  for (const [name, value] of Object.entries(wanted)) {
    if (name !== "collection" || value) form.elements[name].value = String(value ?? "");
  }
  offer(wanted.policy);
};

// A field for each parameter of a policy.
export const makeKnobs = () => {
  for (const [policy, { parameters }] of Object.entries(POLICIES)) {
    at("policy-knobs").append(...parameters.map((parameter) => makeKnob(policy, parameter)));
  }
};

const makeKnob = (policy, parameter) => {
  const { name, type, help, choices } = parameter;
  const [min, max] = address.limits(parameter);
  const field = type === "str"
    ? element("select", { name, title: help, form: "ask" }, ...choices.map((value) => new Option(value)))
    : element("input", { name, title: help, form: "ask", type: "number", min: `${min}`, max: `${max}`, step: type === "int" ? "1" : "any", required: parameter.default !== null });
  return element("label", { class: "knob", data: { for: policy } }, `${name} `, field);
};

export const facts = () => known.find((one) => one.name === form.elements.collection.value);

// Offers what this collection can do now. Knobs of other policies are disabled, so that they can't be invalid.
export const offer = (chosen = form.elements.policy.value) => {
  const own = facts(), fields = form.elements;
  const can = Object.entries(POLICIES).filter(([name]) => name !== "calibrated" || own?.calibration || !own);
  fields.policy.replaceChildren(...can.map(([name, { label, guarantee }]) => new Option(guarantee === "exact" ? `${label} (exact)` : label, name)));
  fields.policy.value = can.some(([name]) => name === chosen) ? chosen : can[0][0];
  at("collection-knob").hidden = known.length < 2;
  at("hybrid-knob").hidden = Boolean(own?.shards);
  if (own?.shards) fields.hybrid.value = "";
  for (const knob of document.querySelectorAll("[data-for]")) {
    knob.hidden = knob.dataset.for !== fields.policy.value;
    for (const field of knob.querySelectorAll("input, select")) field.disabled = knob.hidden;
  }
  // n queries can promise an overlap of n / (n + 1) at most
  if (own?.calibration) {
    const most = Math.floor((1e4 * own.calibration.queries) / (own.calibration.queries + 1)) / 1e4;
    fields.overlap.max = String(most);
    if (Number(fields.overlap.value) > most) fields.overlap.value = String(most);
  }
};

// Asks the service for its collections, when it may.
export const listCollections = async (chosen) => {
  known = await collections(keyOf());
  const list = at("collection");
  list.replaceChildren(...known.map((one) => element("option", { value: one.name }, `${harmless(one.name)} (${count(one.documents)})`)));
  if (known.some((one) => one.name === chosen)) list.value = chosen;
  if (!known.length) throw new Error("This service has no collection to search. Start it with one: maxsieve serve COLLECTION.");
  offer();
};
