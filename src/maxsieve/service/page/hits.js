// The hits, with the words that matched; and the words of the query, each of which can show its matches.

import { appendText, codePoints, element, harmless, score } from "./text.js";

// Maps a similarity to one of five shades. Unrelated unit vectors already have about 0.2.
const shade = (similarity) => Math.min(5, Math.max(1, Math.ceil((similarity - 0.15) * 6)));

export class Hits {
  constructor(list, bar, news) {
    this.list = list;
    this.bar = bar;
    this.news = news;
  }

  show(answer) {
    this.answer = answer;
    this.pinned = null;
    this.list.classList.remove("picking");
    this.bar.replaceChildren(...answer.query.words.map((word, i) => this.#chip(word, i)));
    this.list.replaceChildren(...answer.hits.map((hit) => this.#hit(hit)));
    for (const text of this.list.querySelectorAll(".hit-text")) this.#fold(text);
  }

  #chip(word, i) {
    const chip = element("button", { type: "button", "aria-pressed": "false" }, harmless(word.word));
    chip.addEventListener("pointerenter", () => this.#pick(i));
    chip.addEventListener("pointerleave", () => this.#pick(this.pinned));
    chip.addEventListener("focus", () => this.#pick(i));
    chip.addEventListener("blur", () => this.#pick(this.pinned));
    chip.addEventListener("click", () => {
      this.pinned = this.pinned === i ? null : i;
      this.#pick(this.pinned);
      for (const [j, other] of [...this.bar.children].entries()) other.setAttribute("aria-pressed", String(j === this.pinned));
      this.news.textContent = this.pinned === null ? "All matches are shown." : this.#inWords(word);
    });
    return chip;
  }

  #matches(hit, word) {
    return (hit.matches ?? []).filter((one) => one.query_start >= word.start && one.query_start < word.end);
  }

  #inWords(word) {
    const said = this.answer.hits.slice(0, 10).map((hit) => {
      const found = this.#matches(hit, word).map((one) => `${harmless(one.word)}, ${one.similarity.toFixed(2)}`);
      return `${harmless(hit.id)}: ${found.join("; ") || "nothing"}`;
    });
    return `“${harmless(word.word)}” is answered in ${said.join(". In ")}.`;
  }

  // Highlights the matches of a word, and names them under each hit; null for all words.
  #pick(i) {
    const word = i === null ? null : this.answer.query.words[i];
    this.list.classList.toggle("picking", word !== null);
    [...this.bar.children].forEach((chip, j) => chip.classList.toggle("lit", j === i));
    [...this.list.children].forEach((row, rank) => {
      const found = word ? this.#matches(this.answer.hits[rank], word) : [];
      const starts = new Set(found.map((one) => one.start));
      for (const mark of row.querySelectorAll("mark")) mark.classList.toggle("lit", starts.has(Number(mark.dataset.start)));
      row.querySelector(".answers").textContent = found
        .map((one) => `${harmless(one.query_word)} → ${harmless(one.word)} ${one.similarity.toFixed(2)}${one.end > one.start ? "" : " (in its heading)"}`)
        .join("   ");
    });
  }

  #hit(hit) {
    const title = hit.metadata && typeof hit.metadata === "object" && typeof hit.metadata.title === "string" ? hit.metadata.title : "";
    const named = harmless(title || hit.id);
    const head = element("div", { class: "hit-head" },
      element("span", { class: "rank" }, String(hit.rank)),
      element("h3", { dir: "auto" }, named),
      element("span", { class: "answers" }),
      element("span", { class: "score" }, element("span", { class: "hidden-text" }, "score "), score(hit.score)));
    const where = [];
    if (title && harmless(hit.id) !== named) where.push(harmless(hit.id));
    if (hit.passage) {
      where.push(`passage ${hit.passage.number + 1} of ${hit.passage.of}`);
      if (hit.passage.page !== null && hit.passage.page !== undefined) where.push(`page ${hit.passage.page}`);
      if (hit.passage.heading) where.push(harmless(hit.passage.heading));
    }
    const text = element("p", { class: "hit-text", dir: "auto" });
    this.#fill(text, hit);
    const row = element("li", {}, head);
    if (where.length) row.append(element("p", { class: "hit-where" }, where.join(" · ")));
    row.append(text);
    return row;
  }

  #fill(node, hit) {
    const points = codePoints(hit.text);
    const strongest = new Map();
    for (const one of hit.matches ?? []) {
      if (one.end <= one.start || one.end > points.length) continue;
      const known = strongest.get(one.start);
      if (!known || one.similarity > known.similarity) strongest.set(one.start, one);
    }
    let done = 0;
    for (const one of [...strongest.values()].sort((a, b) => a.start - b.start)) {
      if (one.start < done) continue;
      appendText(node, points.slice(done, one.start));
      const mark = element("mark", { class: `s${shade(one.similarity)}`, data: { start: String(one.start) } });
      mark.title = `answers “${harmless(one.query_word)}”, similarity ${one.similarity.toFixed(2)}`;
      appendText(mark, points.slice(one.start, one.end));
      node.append(mark);
      done = one.end;
    }
    appendText(node, points.slice(done));
  }

  // Long texts are folded at first, if more than a line or two would be hidden.
  #fold(text) {
    text.classList.add("folded");
    if (text.scrollHeight <= text.clientHeight + 50) {
      text.classList.remove("folded");
      return;
    }
    const button = element("button", { type: "button", class: "fold", "aria-expanded": "false" }, "Show all");
    button.addEventListener("click", () => {
      const folded = text.classList.toggle("folded");
      button.textContent = folded ? "Show all" : "Show less";
      button.setAttribute("aria-expanded", String(!folded));
    });
    text.after(button);
  }
}
