// How an answer was found: the sieve step by step, and what it cost.

import { showCost } from "./cost.js";
import { showLegend } from "./legend.js";
import { Picture } from "./picture.js";
import { Player } from "./player.js";
import { tell } from "./story.js";
import { showDocuments, showSteps } from "./tables.js";
import { count, plural } from "./text.js";

const at = (id) => document.getElementById(id);

export class How {
  // `moved` is called when a person moves to a step; null for the last one. `compare` returns the exhaustive answer.
  constructor(news, moved, compare) {
    Object.assign(this, { news, moved, compare, story: null, answer: null, tablesOf: null });
    this.picture = new Picture(at("picture"), at("tip"));
    this.player = new Player(
      { slider: at("at"), button: at("play"), shape: at("play-shape"), text: at("play-text"), count: at("count") },
      (moment) => this.#draw(moment),
      (moment) => {
        news.textContent = this.story.steps[moment].words;
        moved(moment);
      },
    );
    at("tables").addEventListener("toggle", () => this.#fillTables());
    at("compare").addEventListener("click", () => this.#compare());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw(this.player.at));
    new ResizeObserver(() => this.#draw(this.player.at)).observe(at("picture"));
  }

  get open() {
    return !at("how").hidden;
  }

  toggle(open) {
    at("how").hidden = !open;
    at("how-button").setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("with-how", open);
    if (!open) this.player.pause();
  }

  pause() {
    this.player.pause();
  }

  // `why` says why there is no picture, if there is none.
  show(wanted, answer, step, why = "") {
    Object.assign(this, { wanted, answer, tablesOf: null, story: answer.trace ? tell(answer) : null });
    at("sieve").hidden = !this.story;
    at("scope").textContent = this.story ? scopeWords(this.story, wanted) : why;
    showCost(at("cost"), at("same"), answer, null);
    at("compare").hidden = wanted.policy === "exhaustive" || Boolean(wanted.hybrid);
    at("compare").disabled = false;
    if (!this.story) return;
    this.picture.show(this.story);
    showLegend(at("legend"), this.story);
    this.#fillTables();
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches, last = this.story.steps.length - 1;
    this.player.load(this.story.steps, step ?? (calm ? last : 0));
    if (step === null && !calm && last > 0) this.player.play();
  }

  #draw(moment) {
    if (!this.story || !this.open) return;
    const step = this.story.steps[Math.round(moment)];
    this.picture.draw(moment);
    if (at("caption").textContent !== step.words) at("caption").textContent = step.words;
    at("cells-note").textContent = cellsWords(this.story, step);
  }

  #fillTables() {
    if (!at("tables").open || !this.story || this.tablesOf === this.story) return;
    this.tablesOf = this.story;
    showSteps(at("steps"), this.story);
    showDocuments(at("documents"), this.story);
  }

  async #compare() {
    const { answer } = this;
    at("compare").disabled = true;
    const other = await this.compare();
    if (this.answer !== answer) return;
    at("compare").disabled = Boolean(other);
    if (!other) return;
    showCost(at("cost"), at("same"), answer, other);
    this.news.textContent = at("same").textContent;
  }
}

const cellsWords = (story, step) => {
  const { trace } = story, all = trace.documents * trace.token_order.length, cells = story.cells(step);
  const scored = step.scored === trace.rescored.length ? story.rescored : step.scored;
  const share = (part) => `${((100 * part) / Math.max(1, all)).toFixed(1)} %`;
  const exact = scored * trace.token_order.length;
  const proxies = trace.rounds.length ? `${count(cells)} of ${count(all)} cells (${share(cells)}) were revealed as proxies; ` : "";
  return `A cell is one query token against one ${story.unit}. Up to here, ${proxies}${count(exact)} (${share(exact)}) were scored exactly, those of ${plural(scored, story.unit)}.`;
};

const scopeWords = (story, wanted) => {
  const { trace } = story, asked = wanted.k * wanted.page;
  const rows = `Each row is a ${story.unit}, the hits on top; rows get lower further down, so that ${trace.sampled ? "many" : `all ${count(trace.documents)}`} fit.`;
  const sampled = trace.sampled ? ` Of ${count(trace.documents)}, ${count(trace.shown)} are shown: the hits, what was rescored, and a sample.` : "";
  const passages = wanted.by === "document" && trace.k > asked ? ` Long documents are kept as passages, so the engine looks for the best ${count(trace.k)} to have ${plural(asked, "document")} among them.` : "";
  return rows + sampled + passages;
};
