// The knobs are in the address, so that a picture can be shared. Values that equal the defaults are left out.

export const DEFAULTS = {
  q: "", collection: "", policy: "certified", k: 10, alpha: 0.2, delta: 0.01, seed: 0, block: 1, radius: "paper", overlap: 0.95,
};
const BOUNDS = { k: [1, 1000], alpha: [1e-3, 1], delta: [1e-6, 0.999999], seed: [0, Number.MAX_SAFE_INTEGER], block: [1, 4096], overlap: [0.5, 0.999] };
const WHOLE = ["k", "seed", "block"];
const CHOICES = { policy: ["certified", "bandit", "calibrated", "exhaustive"], radius: ["paper", "serfling"] };

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
