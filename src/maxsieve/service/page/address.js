// The knobs are in the address, so that a picture can be shared. Values that equal the defaults are left out.

import { POLICIES } from "./policies.js";

// Small steps show more of the bandit, and few collections are calibrated for 0.99.
const OWN_DEFAULTS = { block: 1, overlap: 0.95 };
const SMALLEST = 1e-6; // how near a number comes to a limit that it may not reach
const parameters = Object.values(POLICIES).flatMap((policy) => policy.parameters);

// The limits of a number, as a form has them: both are allowed.
export const limits = ({ type, least, most, open }) => type === "int"
  ? [least ?? 0, Math.min(most ?? 4096, Number.MAX_SAFE_INTEGER)]
  : [(least ?? 0) + SMALLEST, (most ?? 1) - (open ? SMALLEST : 0)];

export const DEFAULTS = {
  q: "", collection: "", policy: Object.keys(POLICIES)[0], k: 10,
  ...Object.fromEntries(parameters.map(({ name, default: value }) => [name, OWN_DEFAULTS[name] ?? value])),
};
const numbers = parameters.filter(({ type }) => type !== "str");
const BOUNDS = { k: [1, 1000], ...Object.fromEntries(numbers.map((parameter) => [parameter.name, limits(parameter)])) };
const WHOLE = ["k", ...numbers.filter(({ type }) => type === "int").map(({ name }) => name)];
const CHOICES = {
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
    } else wanted[name] = value;
  }
  const step = Number(said.get("step"));
  return { wanted, step: said.has("step") && Number.isInteger(step) && step >= 0 ? step : null };
};

export const write = (wanted, step = null) => {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) {
    if (wanted[name] !== value) said.set(name, wanted[name]);
  }
  if (step !== null) said.set("step", step);
  const text = said.toString();
  return text ? `?${text}` : window.location.pathname;
};
