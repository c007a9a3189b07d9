// The cost of a search, stage by stage, compared with exhaustive scoring if that was asked for.

import { bytes, element, milliseconds, plural } from "./text.js";

const STAGES = { encode: "encode the query", table: "table of centroids", "tier 0": "tier 0", scan: "scan of int8 codes", sieve: "sieve", rescore: "rescoring" };

// Milliseconds and bytes of each stage.
const costs = (answer) => {
  const stages = new Map([["encode", { ms: answer.timing_ms.encode ?? 0, read: null }]]);
  for (const [name, ms] of Object.entries(answer.timing_ms)) {
    if (name.startsWith("search.")) stages.set(name.slice(7), { ms, read: answer.trace?.bytes_read[name.slice(7)] ?? null });
  }
  return stages;
};

const total = (stages, what) => [...stages.values()].reduce((sum, one) => sum + (one[what] ?? 0), 0);

export const showCost = (table, note, answer, other) => {
  const own = costs(answer), others = other && costs(other), read = Boolean(answer.trace); // a trace counts bytes
  const names = Object.keys(STAGES).filter((name) => own.has(name) || others?.has(name));
  const longest = Math.max(1e-9, ...[own, ...(others ? [others] : [])].flatMap((one) => [...one.values()].map((stage) => stage.ms)));
  const cells = (stages, name) => {
    const stage = stages.get(name);
    if (!stage) return [element("td", {}, "–"), ...(read ? [element("td", {}, "–")] : [])];
    const bar = element("span", { class: "bar" });
    bar.style.setProperty("--share", String(stage.ms / longest));
    return [element("td", {}, milliseconds(stage.ms), bar), ...(read ? [element("td", {}, stage.read === null ? "–" : bytes(stage.read))] : [])];
  };
  const heads = (label) => ["milliseconds", ...(read ? ["bytes read"] : [])].map((what) => element("th", { scope: "col" }, label + what));
  const sums = (stages) => [milliseconds(total(stages, "ms")), ...(read ? [bytes(total(stages, "read"))] : [])].map((sum) => element("td", {}, sum));
  const head = element("tr", {}, element("th", { scope: "col", class: "words-cell" }, "stage"), ...heads(others ? "this search: " : ""));
  if (others) head.append(...heads("exhaustive: "));
  const body = element("tbody");
  for (const name of names) {
    const row = element("tr", {}, element("th", { scope: "row" }, STAGES[name]), ...cells(own, name));
    if (others) row.append(...cells(others, name));
    body.append(row);
  }
  const foot = element("tr", {}, element("th", { scope: "row" }, "all"), ...sums(own));
  if (others) foot.append(...sums(others));
  table.replaceChildren(element("thead", {}, head), body, element("tfoot", {}, foot));
  note.textContent = other
    ? compareWords(answer, other)
    : `${answer.trace ? `Scoring every document would read ${bytes(answer.trace.bytes_of_all)} of vectors. ` : ""}Times are of this machine, at this moment, with the kernel ${answer.report.isa}.`;
};

const compareWords = (answer, other) => {
  const scores = new Map(other.hits.map((hit) => [hit.id, hit.score]));
  const shared = answer.hits.filter((hit) => scores.get(hit.id) === hit.score).length;
  const agreement = shared === other.hits.length && shared === answer.hits.length
    ? `Exhaustive scoring found the same ${plural(shared, "hit")}, with the same scores to the last bit`
    : `Exhaustive scoring shares ${shared} of its ${plural(other.hits.length, "hit")} with this search`;
  return `${agreement}. It scored ${plural(other.report.rescored, "document")}, this search ${other.report.rescored === answer.report.rescored ? "as many" : answer.report.rescored.toLocaleString("en")}.`;
};
