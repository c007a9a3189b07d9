// The page: the form, the address, and what is shown of an answer.

import * as address from "./address.js";
import { drawCells } from "./cells.js";
import { showCost } from "./cost.js";
import { Hits } from "./hits.js";
import { showCellsLegend, showLegend } from "./legend.js";
import { Picture } from "./picture.js";
import { Player } from "./player.js";
import { POLICIES } from "./policies.js";
import { collections, search, toRequest } from "./service.js";
import { tell } from "./story.js";
import { showDocuments, showSteps } from "./tables.js";
import { count, element, harmless, milliseconds, plural } from "./text.js";

const at = (id) => document.getElementById(id);
const form = at("ask"), news = at("news");

const shown = { wanted: null, answer: null, other: null, story: null };
let under = null; // the current request
let submitted = 0; // how often the form was sent
let here = null; // the query of the address that is shown
let tablesOf = null; // the story whose tables are made

const picture = new Picture(at("picture"), at("tip"));
const hits = new Hits(at("hits"), at("words"), news);
const player = new Player(
  { slider: at("at"), button: at("play"), shape: at("play-shape"), text: at("play-text"), count: at("count") },
  (moment) => draw(moment),
  (moment, byHand) => {
    history.replaceState(null, "", address.write(shown.wanted, moment === shown.story.steps.length - 1 ? null : moment));
    here = window.location.search;
    if (byHand) news.textContent = shown.story.steps[moment].words;
  },
);

const draw = (moment) => {
  const { story } = shown;
  if (!story) return;
  const step = story.steps[Math.round(moment)];
  picture.draw(moment);
  drawCells(at("cells"), story, step);
  if (at("caption").textContent !== step.words) at("caption").textContent = step.words;
  at("cells-note").textContent = cellsWords(story, step);
};

const cellsWords = (story, step) => {
  const { trace } = story, all = trace.documents * trace.token_order.length, cells = story.cells(step);
  const scored = step.scored === trace.rescored.length ? story.rescored : step.scored;
  const share = (part) => `${((100 * part) / Math.max(1, all)).toFixed(1)} %`;
  const proxies = trace.rounds.length ? `${count(cells)} of ${count(all)} cells (${share(cells)}) were revealed as proxies; ` : "";
  const exact = scored * trace.token_order.length;
  return `A cell is one query token against one ${story.unit}. Up to here, ${proxies}${count(exact)} (${share(exact)}) were scored exactly, those of ${plural(scored, story.unit)}.`;
};

const complain = (problem) => {
  at("problem").textContent = harmless(problem.message);
  at("problem").hidden = false;
  if (problem.status === 401) {
    at("key-knob").hidden = false;
    at("key").focus();
  }
};

// The current values of the form, with numbers as numbers.
const readForm = () => {
  const fields = form.elements, wanted = { ...address.DEFAULTS };
  for (const name of Object.keys(wanted)) {
    const { value } = fields[name];
    if (wanted[name] === null) wanted[name] = value.trim() === "" ? null : Number(value);
    else wanted[name] = typeof wanted[name] === "number" ? Number(value) : value;
  }
  wanted.q = wanted.q.trim();
  return wanted;
};

const fillForm = (wanted) => {
  for (const [name, value] of Object.entries(wanted)) {
    if (name !== "collection" || value) form.elements[name].value = String(value ?? "");
  }
  showKnobs();
};

// A choice of policies, and a field for each of their parameters.
const makeKnobs = () => {
  for (const [name, { label, guarantee, parameters }] of Object.entries(POLICIES)) {
    form.elements.policy.append(new Option(guarantee === "exact" ? `${label} (exact)` : label, name));
    for (const parameter of parameters) at("key-knob").before(makeKnob(name, parameter));
  }
};

const makeKnob = (policy, parameter) => {
  const { name, type, help, choices } = parameter;
  const [min, max] = address.limits(parameter);
  const field = type === "str"
    ? element("select", { name, title: help }, ...choices.map((value) => new Option(value)))
    : element("input", { name, title: help, type: "number", min: `${min}`, max: `${max}`, step: type === "int" ? "1" : "any", required: parameter.default !== null });
  return element("label", { class: type === "str" ? "knob" : "knob narrow", data: { for: policy } }, `${name} `, field);
};

// Only the knobs of the policy are enabled. The others are disabled, so that they can't be invalid.
const showKnobs = () => {
  for (const knob of form.querySelectorAll("[data-for]")) {
    knob.hidden = knob.dataset.for !== form.elements.policy.value;
    for (const field of knob.querySelectorAll("input, select")) field.disabled = knob.hidden;
  }
};

const run = async (wanted, step) => {
  under?.abort();
  const mine = (under = new AbortController());
  at("problem").hidden = true;
  news.textContent = "Searching.";
  player.pause();
  try {
    const answer = await search(wanted.collection, at("key").value, toRequest(wanted), mine.signal);
    if (mine !== under) return;
    show(wanted, answer, step);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    news.textContent = "";
    complain(problem);
  }
};

const show = (wanted, answer, step) => {
  const story = tell(answer);
  Object.assign(shown, { wanted, answer, story, other: null });
  tablesOf = null;
  at("welcome").hidden = true;
  at("answer").hidden = false;
  document.title = `${shorten(wanted.q)} – maxsieve`;
  showVerdict(answer, story);
  hits.show(answer);
  picture.show(story);
  at("scope").textContent = scopeWords(story);
  showLegend(at("legend"), story);
  showCellsLegend(at("cells-legend"), story);
  showCost(at("cost"), at("same"), answer, null);
  at("compare").hidden = answer.trace.policy === "Exhaustive";
  at("compare").disabled = false;
  fillTables();
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const last = story.steps.length - 1;
  player.load(story.steps, step ?? (calm ? last : 0));
  news.textContent = `${plural(answer.hits.length, "hit")}. ${answer.report.sentence}. ${story.steps[last].words}`;
  if (step === null && !calm && last > 0) player.play();
};

const shorten = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

const showVerdict = (answer, story) => {
  const { report, timing_ms: times } = answer;
  const engine = Object.entries(times).filter(([name]) => name.startsWith("search.")).reduce((sum, [, ms]) => sum + ms, 0);
  at("verdict").replaceChildren(
    element("strong", {}, harmless(report.sentence)),
    ` · ${plural(report.rescored, story.unit)} of ${count(story.trace.documents)} rescored · ${milliseconds(engine)} ms, and ${milliseconds(times.encode ?? 0)} ms to encode the query · kernel ${report.isa}`);
};

const scopeWords = (story) => {
  const { trace } = story;
  const rows = `Each row is a ${story.unit}, the hits on top; rows get lower further down, so that ${trace.sampled ? "many" : `all ${count(trace.documents)}`} fit.`;
  const sampled = trace.sampled ? ` Of ${count(trace.documents)}, ${count(trace.shown)} are shown: the hits, what was rescored, and a sample.` : "";
  const passages = trace.k > shown.wanted.k ? ` Long documents are kept as passages, so the engine looks for the best ${count(trace.k)} to have ${plural(shown.wanted.k, "document")} among them.` : "";
  return rows + sampled + passages;
};

const fillTables = () => {
  if (!at("tables").open || tablesOf === shown.story || !shown.story) return;
  tablesOf = shown.story;
  showSteps(at("steps"), shown.story);
  showDocuments(at("documents"), shown.story);
};

const compare = async () => {
  const { answer, wanted } = shown;
  at("compare").disabled = true;
  try {
    const other = await search(wanted.collection, at("key").value, toRequest(wanted, "exhaustive"));
    if (shown.answer !== answer) return;
    shown.other = other;
    showCost(at("cost"), at("same"), answer, other);
    news.textContent = at("same").textContent;
  } catch (problem) {
    complain(problem);
    at("compare").disabled = false;
  }
};

// Asks the service for its collections, when it may.
const listCollections = async (chosen) => {
  const found = await collections(at("key").value);
  const list = at("collection");
  list.replaceChildren(...found.map((one) => element("option", { value: one.name }, `${harmless(one.name)} (${count(one.documents)})`)));
  if (found.some((one) => one.name === chosen)) list.value = chosen;
  if (!found.length) throw new Error("This service has no collection to search. Start it with one: maxsieve serve COLLECTION.");
};

const open = async () => {
  here = window.location.search;
  const { wanted, step } = address.read(here);
  fillForm(wanted);
  try {
    if (!at("collection").options.length) await listCollections(wanted.collection);
    at("key-knob").hidden = true;
  } catch (problem) {
    complain(problem);
    return;
  }
  if (wanted.collection) at("collection").value = wanted.collection;
  if (!at("collection").value) {
    complain(new Error(`There is no collection “${wanted.collection}” here.`));
    at("collection").selectedIndex = 0;
    return;
  }
  if (wanted.q.trim()) await run(readForm(), step);
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const mine = ++submitted;
  let problem = null;
  if (!at("collection").options.length) await listCollections("").catch((found) => (problem = found));
  if (mine !== submitted) return; // a later answer counts, in whichever order they come
  if (problem) return complain(problem);
  at("key-knob").hidden = true;
  const wanted = readForm();
  if (!wanted.q) {
    complain(new Error("There is nothing to search for: type a query."));
    at("q").focus();
    return;
  }
  history.pushState(null, "", address.write(wanted));
  here = window.location.search;
  await run(wanted, null);
});
form.addEventListener("change", (event) => {
  if (event.target.id === "policy") showKnobs();
  if (event.target.id !== "q" && event.target.id !== "key" && shown.answer && form.checkValidity()) form.requestSubmit();
});
at("compare").addEventListener("click", compare);
at("tables").addEventListener("toggle", fillTables);
// A link within the page changes the address, too, but sends no request.
window.addEventListener("popstate", () => window.location.search !== here && open());
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(player.at));
new ResizeObserver(() => draw(player.at)).observe(at("picture"));

makeKnobs();
open();
