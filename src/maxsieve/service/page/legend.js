// The meaning of each mark, in plain words; only of marks that are in the picture.

import { element } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

const swatch = (...shapes) => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 32 18");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, properties] of shapes) {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(properties)) shape.setAttribute(key, value);
    svg.append(shape);
  }
  return svg;
};

const bar = (fill) => swatch(["rect", { x: 2, y: 6, width: 28, height: 6, class: fill }]);
const dot = (fill) => swatch(["circle", { cx: 16, cy: 9, r: 4.5, class: fill }]);
const line = () => swatch(["line", { x1: 16, y1: 0, x2: 16, y2: 18, class: "stroke-tau" }]);
const ring = () => swatch(["rect", { x: 4, y: 4, width: 24, height: 10, class: "stroke-next" }], ["rect", { x: 8, y: 7, width: 16, height: 4, class: "fill-leaving" }]);

export const showLegend = (list, story) => {
  const { trace } = story, unit = story.unit, rounds = trace.rounds.length > 0;
  const items = [];
  if (trace.tier0) items.push([dot("fill-blue"), "a proxy of tier 0; what is yellow is left behind, at the edge"]);
  if (rounds) {
    const width = trace.policy === "Bandit" ? "where its score lies, as far as the revealed tokens tell (at first, beyond the edges)" : "where its score lies: its proxy, and how far that can be wrong";
    items.push([bar("fill-soft"), `a ${unit}: ${width}`]);
    items.push([bar("fill-leaving"), "drops out: even its upper end is below τ"]);
    items.push([bar("fill-gone"), "dropped before"]);
  }
  items.push([dot("fill-scored"), "rescored: its exact score"]);
  items.push([dot("fill-hit"), "a hit"]);
  items.push([line(), `τ: what the ${trace.k === 1 ? "best" : `best ${trace.k}`} are known to reach`]);
  if (trace.unseen) items.push([ring(), "the first one that need not be looked at"]);
  list.replaceChildren(...items.map(([mark, words]) => element("li", {}, mark, element("span", {}, words))));
};
