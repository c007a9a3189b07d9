// The picture for those who can't see it, or want the figures: its steps and its documents as tables.

import { TONE } from "./story.js";
import { count, element, score, shorten } from "./text.js";

const MOST_ROWS = 200;

const header = (...names) =>
  element("thead", {}, element("tr", {}, ...names.map((name, i) => element("th", { scope: "col", class: i ? "" : "words-cell" }, name))));

export const showSteps = (table, story) => {
  const rows = story.steps.map((step, i) =>
    element("tr", {},
      element("td", {}, String(i + 1)),
      element("td", {}, step.threshold === null ? "–" : score(step.threshold)),
      element("td", {}, count(story.cells(step))),
      element("td", {}, count(step.scored)),
      element("td", { class: "words-cell" }, step.words)));
  const head = element("thead", {}, element("tr", {}, ...["step", "threshold τ", "cells revealed", "rescored"].map((name) => element("th", { scope: "col" }, name)), element("th", { scope: "col", class: "words-cell" }, "what happens")));
  table.replaceChildren(element("caption", {}, "Steps of the search"), head, element("tbody", {}, ...rows));
};

export const showDocuments = (table, story) => {
  const { trace } = story, last = story.at(story.steps.length - 1);
  const rows = [...story.order.slice(0, MOST_ROWS)].map((place) => {
    const dropped = trace.dropped[place], tone = last.tone[place];
    const end = story.hitRank.has(place) ? `hit ${story.hitRank.get(place) + 1}`
      : story.scoreOf.has(place) ? "rescored"
      : dropped < 0 ? "left behind by tier 0"
      : dropped > 0 ? (trace.policy === "Bandit" ? `dropped in round ${dropped}` : "dropped after the scan")
      : "not looked at again";
    const known = tone === TONE.hidden || dropped < 0 ? ["–", "–"]
      : story.scoreOf.has(place) ? [score(story.scoreOf.get(place)), score(story.scoreOf.get(place))]
      : [score(last.lower[place]), score(last.upper[place])];
    return element("tr", {},
      element("th", { scope: "row" }, shorten(trace.ids[place], 80)),
      element("td", { class: "words-cell" }, end),
      element("td", {}, known[0]),
      element("td", {}, known[1]),
      element("td", {}, String(trace.revealed[place])));
  });
  const many = story.documents > MOST_ROWS ? `, the first ${MOST_ROWS} of ${count(story.documents)}` : "";
  table.replaceChildren(
    element("caption", {}, `${story.unit === "passage" ? "Passages" : "Documents"} in the order of the picture${many}`),
    header(story.unit, "in the end", "at least", "at most", "tokens revealed"),
    element("tbody", {}, ...rows));
};
