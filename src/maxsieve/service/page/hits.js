// The results: where each was found, and the part of its text that matches; and the words of the query, each of which
// can show its matches.

import { appendMarked, appendText, codePoints, element, harmless, plural, score } from "./text.js";

// The name of a document: its title, the name of its file, or its id.
export const nameOf = (id, metadata) => {
  const facts = metadata && typeof metadata === "object" ? metadata : {};
  const named = [facts.title, facts.name].find((one) => typeof one === "string" && one.trim());
  return harmless(named ?? id);
};

// Where the words that matched are: page or line, and the headings above them.
export const placeOf = (found) => {
  const heading = found.heading ?? found.passage?.heading, page = found.page ?? found.passage?.page;
  const parts = [];
  if (page) parts.push(`page ${page}`);
  else if (found.line) parts.push(`line ${found.line}`);
  if (heading) parts.push(harmless(heading).replaceAll(" > ", " › "));
  if (!parts.length && found.passage?.of > 1) parts.push(`passage ${found.passage.number + 1} of ${found.passage.of}`);
  return parts;
};

// The words that matched, in order, with their grades; 0 for those that hardly matter, unless somebody asks for them.
export const marksOf = (found) => {
  const grades = new Map((found.marks ?? []).map((mark) => [mark.start, mark.grade]));
  const best = new Map();
  for (const match of found.matches ?? []) {
    if (match.end <= match.start) continue;
    const known = best.get(match.start);
    if (!known || match.similarity > known.similarity) best.set(match.start, match);
  }
  return [...best.values()].sort((a, b) => a.start - b.start).map((match) => ({
    start: match.start,
    end: match.end,
    grade: grades.get(match.start) ?? 0,
    title: `answers “${harmless(match.query_word)}”, similarity ${match.similarity.toFixed(2)}`,
  }));
};

// How many characters at the beginning of a hit's text are its title; 0 if it does not begin with it.
const titleLength = ({ metadata, text }) => {
  const title = typeof metadata?.title === "string" ? metadata.title.trim() : "";
  return title && text.startsWith(`${title}\n`) ? codePoints(title).length : 0;
};

// The name of a hit. A title in its text has marks, too.
const title = (hit, name) => {
  const length = titleLength(hit), node = element("span");
  if (!length) return [name];
  appendMarked(node, codePoints(hit.text).slice(0, length), marksOf(hit), 0, length);
  return node.childNodes;
};

const snippet = (found) => {
  const points = codePoints(found.text), node = element("p", { class: "snippet", dir: "auto" });
  const { start, end } = found.snippet ?? { start: 0, end: Math.min(points.length, 320) };
  const cut = (from, to) => points.slice(from, to).join("").trim() !== "";
  if (cut(titleLength(found), start)) appendText(node, "… ");
  appendMarked(node, points, marksOf(found), start, end);
  if (cut(end)) appendText(node, " …");
  return node;
};

export class Hits {
  // `link` gives the address of a document, `read` opens it.
  constructor(list, bar, news, link, read) {
    Object.assign(this, { list, bar, news, link, read });
  }

  show(answer) {
    this.answer = answer;
    this.pinned = null;
    this.list.classList.remove("picking");
    this.list.start = answer.hits[0]?.rank ?? 1;
    this.bar.replaceChildren(...(answer.hits.length ? answer.query.words.map((word, i) => this.#chip(word, i)) : []));
    this.list.replaceChildren(...answer.hits.map((hit) => this.#hit(hit)));
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

  #matches(found, word) {
    return (found.matches ?? []).filter((one) => one.query_start >= word.start && one.query_start < word.end);
  }

  #inWords(word) {
    const said = this.answer.hits.slice(0, 10).map((hit) => {
      const found = this.#matches(hit, word).map((one) => `${harmless(one.word)}, ${one.similarity.toFixed(2)}`);
      return `${nameOf(hit.id, hit.metadata)}: ${found.join("; ") || "nothing"}`;
    });
    return `“${harmless(word.word)}” is answered in ${said.join(". In ")}.`;
  }

  // Highlights the matches of a word, and names them beside each hit; null for all words.
  #pick(i) {
    const word = i === null ? null : this.answer.query.words[i];
    this.list.classList.toggle("picking", word !== null);
    [...this.bar.children].forEach((chip, j) => chip.classList.toggle("lit", j === i));
    [...this.list.children].forEach((row, rank) => {
      const hit = this.answer.hits[rank], found = word ? this.#matches(hit, word) : [];
      [...row.querySelectorAll(".snippet")].forEach((node, number) => {
        const passage = number ? hit.passages[number] : hit;
        const starts = new Set(word ? this.#matches(passage, word).map((one) => one.start) : []);
        for (const mark of node.querySelectorAll(".word")) mark.classList.toggle("lit", starts.has(Number(mark.dataset.start)));
      });
      row.querySelector(".answers").textContent = found
        .map((one) => `${harmless(one.query_word)} → ${harmless(one.word)} ${one.similarity.toFixed(2)}${one.end > one.start ? "" : " (in its heading)"}`)
        .join("   ");
    });
  }

  #hit(hit) {
    const name = nameOf(hit.id, hit.metadata), own = harmless(hit.id);
    const row = element("li", {},
      element("div", { class: "hit-head" },
        element("h3", { dir: "auto" }, this.#link(hit, title(hit, name))),
        element("span", { class: "score" }, element("span", { class: "hidden-text" }, "score "), score(hit.score))));
    const where = [...(own === name ? [] : [own]), ...placeOf(hit)];
    if (where.length) row.append(element("p", { class: "where", dir: "auto" }, where.join(" · ")));
    row.append(snippet(hit), element("p", { class: "answers" }));
    const more = (hit.passages ?? []).slice(1);
    if (more.length) {
      row.append(element("details", {},
        element("summary", {}, plural(more.length, "more passage")),
        ...more.map((passage) => element("div", { class: "further" },
          element("p", { class: "where", dir: "auto" }, this.#link(hit, [placeOf(passage).join(" · ")], passage)), snippet(passage)))));
    }
    return row;
  }

  #link(hit, words, passage = hit) {
    const link = element("a", { href: this.link(hit.id) }, ...words);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.read(hit.id, passage);
    });
    return link;
  }
}
