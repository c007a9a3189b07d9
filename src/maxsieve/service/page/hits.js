// The results: where each was found, and the part of its text that matches; and the words of the query, each of which
// can show its matches.

import { marksOf, matchesOf, nameOf, onPicture, placeOf, readable } from "./found.js";
import { PagePicture } from "./page_picture.js";
import { appendMarked, appendText, codePoints, element, harmless, plural, score } from "./text.js";

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

// Fills a bar with the words of a query. `pick` is called with the word that is pointed at, focused or pinned, or null;
// `pinned` when that changes by a click.
export const showWords = (bar, words, pick, pinned) => {
  let kept = null;
  const show = (word) => {
    pick(word);
    [...bar.children].forEach((chip, i) => {
      chip.classList.toggle("lit", words[i] === word);
      chip.setAttribute("aria-pressed", String(words[i] === kept));
    });
  };
  bar.replaceChildren(...words.map((word) => {
    const chip = element("button", { type: "button", "aria-pressed": "false" }, harmless(word.word));
    for (const event of ["pointerenter", "focus"]) chip.addEventListener(event, () => show(word));
    for (const event of ["pointerleave", "blur"]) chip.addEventListener(event, () => show(kept));
    chip.addEventListener("click", () => {
      kept = kept === word ? null : word;
      show(kept);
      pinned(kept);
    });
    return chip;
  }));
};

export class Hits {
  // `link` gives the address of a document, `read` opens it, `key` returns the key of the service.
  constructor(list, bar, news, link, read, key) {
    Object.assign(this, { list, bar, news, link, read, key });
  }

  show(answer) {
    this.answer = answer;
    this.pictures = new Map();
    this.list.classList.remove("picking");
    this.list.start = answer.hits[0]?.rank ?? 1;
    showWords(this.bar, answer.hits.length ? answer.query.words : [], (word) => this.#pick(word), (word) => {
      this.news.textContent = word ? this.#inWords(word) : "All matches are shown.";
    });
    this.list.replaceChildren(...answer.hits.map((hit) => this.#hit(hit)));
  }

  #inWords(word) {
    const said = this.answer.hits.slice(0, 10).map((hit) => {
      const found = matchesOf(hit, word).map((one) => `${harmless(one.word)}, ${one.similarity.toFixed(2)}`);
      return `${nameOf(hit.id, hit.metadata)}: ${found.join("; ") || "nothing"}`;
    });
    return `“${harmless(word.word)}” is answered in ${said.join(". In ")}.`;
  }

  // Highlights the matches of a word, and names them beside each hit; null for all words.
  #pick(word) {
    this.list.classList.toggle("picking", word !== null);
    [...this.list.children].forEach((row, rank) => {
      const hit = this.answer.hits[rank], found = word ? matchesOf(hit, word) : [];
      [...row.querySelectorAll(".snippet")].forEach((node, number) => {
        const passage = number ? hit.passages[number] : hit;
        const starts = new Set(word ? matchesOf(passage, word).map((one) => one.start) : []);
        for (const mark of node.querySelectorAll(".word")) mark.classList.toggle("lit", starts.has(Number(mark.dataset.start)));
      });
      this.pictures.get(hit)?.light(word, found);
      row.querySelector(".answers").textContent = found
        .filter((one) => one.word)
        .map((one) => `${harmless(one.query_word)} → ${harmless(one.word)} ${one.similarity.toFixed(2)}${one.end > one.start ? "" : " (in its heading)"}`)
        .join("   ");
    });
  }

  #hit(hit) {
    const name = nameOf(hit.id, hit.metadata), own = readable(hit.id);
    const row = element("li", {},
      element("div", { class: "hit-head" },
        element("h3", { dir: "auto" }, this.#link(hit, title(hit, name))),
        element("span", { class: "score" }, element("span", { class: "hidden-text" }, "score "), score(hit.score))));
    const where = [...(own === name ? [] : [own]), ...placeOf(hit)];
    if (where.length) row.append(element("p", { class: "where", dir: "auto" }, where.join(" · ")));
    if (hit.picture) {
      this.pictures.set(hit, new PagePicture(hit.picture, onPicture(hit), name, this.key(), true));
      row.append(this.#link(hit, [this.pictures.get(hit).node]));
    }
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
