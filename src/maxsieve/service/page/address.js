// What is shown is in the address, so that it can be shared. Values that equal the defaults are left out.

import { POLICIES } from "./policies.js";

// Small steps show more of the bandit, and few collections are calibrated for 0.99.
const OWN_DEFAULTS = { block: 1, overlap: 0.95 };
const SMALLEST = 1e-6; // how near a number comes to a limit that it may not reach
const parameters = Object.values(POLICIES).flatMap((policy) => policy.parameters);
const MOST_PASSAGES = 1000; // of all pages of results together, as the service limits them
export const PER_DOCUMENT = 3; // passages of each document

export const mostHits = (wanted) => (wanted.by === "passage" ? MOST_PASSAGES : Math.floor(MOST_PASSAGES / PER_DOCUMENT));

// The limits of a number, as a form has them: both are allowed.
export const limits = ({ type, least, most, open }) => type === "int"
  ? [least ?? 0, Math.min(most ?? 4096, Number.MAX_SAFE_INTEGER)]
  : [(least ?? 0) + SMALLEST, (most ?? 1) - (open ? SMALLEST : 0)];

export const PER_PAGE = [5, 10, 20, 50, 100];

export const DEFAULTS = {
  q: "", collection: "", by: "document", hybrid: "", where: "", k: 10, page: 1, document: "", policy: Object.keys(POLICIES)[0],
  ...Object.fromEntries(parameters.map(({ name, default: value }) => [name, OWN_DEFAULTS[name] ?? value])),
};
const numbers = parameters.filter(({ type }) => type !== "str");
const BOUNDS = { k: [1, 100], page: [1, MOST_PASSAGES], ...Object.fromEntries(numbers.map((parameter) => [parameter.name, limits(parameter)])) };
const WHOLE = ["k", "page", ...numbers.filter(({ type }) => type === "int").map(({ name }) => name)];
const CHOICES = {
  by: ["document", "passage"],
  hybrid: ["", "rrf"],
  policy: Object.keys(POLICIES),
  ...Object.fromEntries(parameters.filter(({ type }) => type === "str").map(({ name, choices }) => [name, choices])),
};

// The values in the address. A value that is not valid is ignored.
export const read = (address) => {
  const said = new URLSearchParams(address);
  const wanted = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    if (!said.has(name)) continue;
    const value = said.get(name);
    if (name in CHOICES) {
      if (CHOICES[name].includes(value)) wanted[name] = value;
    } else if (name in BOUNDS) {
      const number = value.trim() === "" ? NaN : Number(value);
      const [least, most] = BOUNDS[name];
      if (number >= least && number <= most && (!WHOLE.includes(name) || Number.isInteger(number))) wanted[name] = number;
    } else if (name !== "where" || isObject(value)) wanted[name] = value;
  }
  wanted.page = Math.min(wanted.page, Math.floor(mostHits(wanted) / wanted.k));
  const step = Number(said.get("step"));
  return { wanted, step: said.has("step") && Number.isInteger(step) && step >= 0 ? step : null };
};

const isObject = (text) => {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    return false;
  }
};

// `step` is the step of the sieve that is shown; null if the sieve is not.
export const write = (wanted, step = null) => {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) {
    if (wanted[name] !== value) said.set(name, wanted[name]);
  }
  if (step !== null) said.set("step", step);
  const text = said.toString();
  return text ? `?${text}` : window.location.pathname;
};
