// The page: the form, the address, and what is shown of an answer.

import * as address from "./address.js";
import { Filters } from "./filters.js";
import { facts, fillForm, form, keyOf, listCollections, makeKnobs, offer, readForm } from "./form.js";
import { Hits } from "./hits.js";
import { How } from "./how.js";
import { Reader } from "./reader.js";
import { search, toRequest } from "./service.js";
import { count, element, harmless, milliseconds, plural, shorten } from "./text.js";

const at = (id) => document.getElementById(id);
const news = at("news");

const shown = { wanted: null, answer: null };
let under = null; // the current request
let submitted = 0; // how often the form was sent
let here = null; // the query of the address that is shown

const hits = new Hits(at("hits"), at("words"), news, (id) => address.write({ ...shown.wanted, document: String(id) }), (id, passage) => {
  go({ ...shown.wanted, document: String(id) }, stepNow());
  read(passage);
}, keyOf);
const reader = new Reader(news, () => go({ ...shown.wanted, document: "" }, stepNow()));
const filters = new Filters(at("filters"), (where) => {
  form.elements.where.value = where;
  form.requestSubmit();
});
const how = new How(news, () => replace(shown.wanted, stepNow()), async () => {
  try {
    return await search(shown.wanted.collection, keyOf(), toRequest(shown.wanted, true, "exhaustive"));
  } catch (problem) {
    complain(problem);
    return null;
  }
});

// The step of the sieve that the address names: null if the sieve is not shown.
const stepNow = () => (how.open ? Math.round(how.player.at) : null);

// Changes the address, with a new entry in the history or without.
const go = (wanted, step) => {
  history.pushState(null, "", address.write(wanted, step));
  remember(wanted);
};
const replace = (wanted, step) => {
  history.replaceState(null, "", address.write(wanted, step));
  remember(wanted);
};
const remember = (wanted) => {
  here = window.location.search;
  shown.wanted = wanted;
};

const complain = (problem) => {
  if (problem.name === "AbortError") return;
  news.textContent = "";
  at("problem").textContent = harmless(problem.message);
  at("problem").hidden = false;
  if (problem.status === 401) {
    at("key-knob").hidden = false;
    at("key").focus();
  }
};

// Why this search has no picture; empty if it has one.
const noPicture = (wanted) =>
  facts()?.shards ? "This collection is in shards: the steps of a search happen in several processes, and are not recorded."
    : wanted.hybrid ? "Two searches were fused, one by meaning and one by words (BM25). The sieve is shown for a search by meaning alone."
    : "";

const run = async (wanted, step) => {
  under?.abort();
  const mine = (under = new AbortController());
  at("problem").hidden = true;
  news.textContent = "Searching.";
  document.body.setAttribute("aria-busy", "true");
  how.pause();
  filters.show(wanted.where);
  try {
    const trace = how.open && !noPicture(wanted);
    const answer = await search(wanted.collection, keyOf(), toRequest(wanted, trace), mine.signal);
    if (mine === under) show(wanted, answer, step);
  } catch (problem) {
    if (mine === under) complain(problem);
  } finally {
    if (mine === under) document.body.removeAttribute("aria-busy");
  }
};

const show = (wanted, answer, step) => {
  Object.assign(shown, { wanted, answer });
  at("welcome").hidden = true;
  at("answer").hidden = false;
  document.title = `${shorten(wanted.q, 60)} – maxsieve`;
  const said = showVerdict(wanted, answer);
  hits.show(answer);
  filters.learn(answer.hits);
  filters.show(wanted.where);
  showPager(wanted, answer);
  if (how.open) how.show(wanted, answer, step, noPicture(wanted));
  news.textContent = said;
};

// What was found, and what that guarantees; the same in words for those who hear it.
const showVerdict = (wanted, answer) => {
  const { report, timing_ms: times } = answer, first = answer.hits[0]?.rank, last = answer.hits.at(-1)?.rank;
  const engine = Object.entries(times).filter(([name]) => name.startsWith("search.")).reduce((sum, [, ms]) => sum + ms, 0);
  const found = !answer.hits.length ? nothing(wanted, report) : wanted.page > 1 ? `Results ${count(first)} to ${count(last)}` : plural(answer.hits.length, "result");
  const sure = answer.hits.length ? harmless(report.sentence) : "";
  at("verdict").replaceChildren(element("strong", {}, found), sure && ` · ${sure} · ${milliseconds(engine + (times.encode ?? 0))} ms`);
  return sure ? `${found}. ${sure}.` : `${found}.`;
};

const nothing = (wanted, report) =>
  wanted.page > 1 ? "No more results" : report.documents === 0 && wanted.where ? "No document matches the filter" : report.documents === 0 ? "This collection is empty" : "Nothing was found";

// A page is asked for with all before it, so that the guarantee covers it.
const showPager = (wanted, answer) => {
  const most = Math.min(address.mostHits(wanted), wanted.policy === "calibrated" ? facts()?.calibration?.k ?? 0 : Infinity);
  const step = (name, page) => {
    const link = element("a", { href: address.write({ ...wanted, page }), rel: name === "Next" ? "next" : "prev" }, name);
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      form.elements.page.value = String(page);
      go({ ...wanted, page }, stepNow());
      await run({ ...wanted, page }, null);
      at("hits-title").focus();
      window.scrollTo(0, 0);
    });
    return link;
  };
  const more = answer.hits.length === wanted.k && (wanted.page + 1) * wanted.k <= most;
  at("pager").replaceChildren(
    ...(wanted.page > 1 ? [step("Previous", wanted.page - 1)] : []),
    ...(wanted.page > 1 || more ? [element("span", {}, `Page ${count(wanted.page)}`)] : []),
    ...(more ? [step("Next", wanted.page + 1)] : []));
};

// Opens the document that the address names.
const read = async (passage = null) => {
  try {
    await reader.open(shown.wanted, keyOf(), shown.wanted.document, passage);
  } catch (problem) {
    complain(problem);
    if (problem.name !== "AbortError") replace({ ...shown.wanted, document: "" }, stepNow());
  }
};

const open = async () => {
  const before = here;
  here = window.location.search;
  const { wanted, step } = address.read(here);
  reader.leave();
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
  offer();
  how.toggle(step !== null);
  if (!wanted.q.trim()) return;
  const now = readForm(), same = (one) => JSON.stringify({ ...one, document: "" });
  if (before !== null && shown.answer && same(now) === same(shown.wanted) && how.open === Boolean(shown.answer.trace)) shown.wanted = now;
  else await run(now, step);
  if (now.document && shown.answer) await read();
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const mine = ++submitted;
  let problem = null;
  const { collection } = address.read(window.location.search).wanted;
  if (!at("collection").options.length) await listCollections(collection).catch((found) => (problem = found));
  if (mine !== submitted) return; // a later answer counts, in whichever order they come
  if (problem) return complain(problem);
  at("key-knob").hidden = true;
  form.elements.page.value = "1";
  form.elements.document.value = "";
  const wanted = readForm();
  if (!wanted.q) {
    complain(new Error("There is nothing to search for: type a query."));
    at("q").focus();
    return;
  }
  go(wanted, how.open ? 0 : null);
  await run(wanted, null);
  if (how.open) replace(shown.wanted, stepNow());
});
document.addEventListener("change", (event) => {
  const { name, id, form: own } = event.target;
  if (own !== form) return;
  if (name === "collection") {
    form.elements.where.value = "";
    filters.forget();
  }
  offer();
  if (id !== "q" && id !== "key" && shown.answer && form.checkValidity()) form.requestSubmit();
});
at("how-button").addEventListener("click", async () => {
  how.toggle(!how.open);
  if (how.open) {
    await run(shown.wanted, null);
    at("how-title").focus();
  }
  replace(shown.wanted, stepNow());
});
// A link within the page changes the address, too, but sends no request.
window.addEventListener("popstate", () => window.location.search !== here && open());

makeKnobs();
open();
