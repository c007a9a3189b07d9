// A whole document, with the places that match the query, one after the other.

import { marksOf, matchesOf, nameOf, onPicture, readable } from "./found.js";
import { showWords } from "./hits.js";
import { PagePicture } from "./page_picture.js";
import { search, wholeDocument } from "./service.js";
import { appendMarked, codePoints, count, element, harmless } from "./text.js";

const PASSAGES = 12; // how many of its best passages are marked
const NEAR = 240; // marks that are nearer to each other than so many characters are one place
const PART = 4000; // characters that are laid out together

const at = (id) => document.getElementById(id);

export class Reader {
  // `closed` is called when a person closes it.
  constructor(news, closed) {
    this.dialog = at("reader");
    this.news = news;
    this.under = null;
    at("next-match").addEventListener("click", () => this.#go(this.place + 1));
    at("previous-match").addEventListener("click", () => this.#go(this.place - 1));
    at("close-reader").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => {
      this.under?.abort();
      if (this.asked !== null) closed();
      this.asked = null;
    });
    this.asked = null;
  }

  // Closes it without telling anybody.
  leave() {
    this.asked = null;
    if (this.dialog.open) this.dialog.close();
  }

  // Opens a document, at a passage if one is named.
  async open(wanted, key, id, passage = null) {
    this.under?.abort();
    const mine = (this.under = new AbortController());
    const found = await wholeDocument(wanted.collection, key, id, mine.signal);
    const request = { query: wanted.q, candidates: [found.id], by: "passage", k: PASSAGES, maps: true };
    const { hits, query } = await search(wanted.collection, key, request, mine.signal);
    if (mine !== this.under) return;
    this.asked = id;
    this.#show(found, hits, passage);
    this.#showPicture(hits, query.words, key);
  }

  // A page is shown as a picture, too, on which each word of the query can be lit.
  #showPicture(hits, words, key) {
    const own = hits[0]?.picture, name = at("reader-title").textContent;
    const picture = own ? new PagePicture(own, hits.flatMap(onPicture), name, key, false) : null;
    const pick = (word) => picture.light(word, word && hits.flatMap((hit) => matchesOf({ matches: onPicture(hit) }, word)));
    showWords(at("reader-words"), picture ? words : [], pick, (word) => {
      this.news.textContent = word ? `Only places that match “${harmless(word.word)}” are shown.` : "All places are shown.";
    });
    if (!picture) return;
    at("reader-text").prepend(picture.node);
    at("reader-text").scrollTop = 0;
  }

  #show(found, hits, passage) {
    const name = nameOf(found.id, found.metadata), own = readable(found.id);
    at("reader-title").textContent = name;
    at("reader-where").textContent = own === name ? "" : own;
    const marks = new Map();
    for (const hit of hits) {
      const start = hit.passage?.start ?? 0;
      for (const mark of marksOf(hit)) {
        if (mark.grade > (marks.get(start + mark.start)?.grade ?? 0)) marks.set(start + mark.start, { ...mark, start: start + mark.start, end: start + mark.end });
      }
    }
    const inOrder = [...marks.values()].sort((a, b) => a.start - b.start);
    const points = codePoints(found.text);
    at("reader-text").replaceChildren(...parts(points, inOrder));
    if (!this.dialog.open) this.dialog.showModal();
    this.places = places(inOrder);
    const best = passage ?? hits[0];
    const first = best ? (best.passage?.start ?? 0) + (best.snippet?.start ?? 0) : 0;
    this.words = new Map([...at("reader-text").querySelectorAll("mark")].map((word) => [Number(word.dataset.start), word]));
    for (const button of [at("next-match"), at("previous-match")]) button.disabled = this.places.length < 2;
    at("match-count").textContent = this.places.length ? "" : "no matches";
    at("reader-text").scrollTop = 0;
    if (this.places.length) this.#go(Math.max(0, this.places.findIndex((place) => place.at(-1) >= first)), true);
    (this.places.length > 1 ? at("next-match") : at("close-reader")).focus();
  }

  #go(place, quiet = false) {
    this.place = (place + this.places.length) % this.places.length;
    for (const word of at("reader-text").querySelectorAll(".lit")) word.classList.remove("lit");
    const here = this.places[this.place].map((start) => this.words.get(start));
    for (const word of here) word.classList.add("lit");
    const calm = quiet || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    here[0].scrollIntoView({ block: "center", behavior: calm ? "instant" : "smooth" });
    const said = `${count(this.place + 1)} of ${count(this.places.length)}`;
    at("match-count").textContent = said;
    this.news.textContent = `Match ${said}: ${here.map((word) => word.textContent).join(" ")}`;
  }
}

// Marks that are near each other are one place: the offsets of their words.
const places = (marks) => {
  const clear = marks.filter((mark) => mark.grade > 1), found = [];
  for (const { start } of clear.length ? clear : marks) {
    if (found.length && start - found.at(-1).at(-1) < NEAR) found.at(-1).push(start);
    else found.push([start]);
  }
  return found;
};

// The text in parts, which end where lines end, so that a browser lays out only those that are seen. A form feed ends a page.
const parts = (points, marks) => {
  const made = [];
  let page = points.includes("\f") ? 1 : 0, mark = 0;
  const numbered = () => made.push(element("p", { class: "page-number" }, `page ${count(page)}`));
  if (page) numbered();
  for (let start = 0; start < points.length; ) {
    let end = start;
    while (end < points.length && points[end] !== "\f" && (points[end] !== "\n" || end - start < PART)) end++;
    const part = element("div", { class: "part" }), own = [];
    for (; mark < marks.length && marks[mark].end <= end; mark++) own.push(marks[mark]);
    appendMarked(part, points, own, start, end);
    made.push(part);
    if (points[end] === "\f" && end + 1 < points.length) {
      page++;
      numbered();
    }
    start = end + 1;
  }
  return made;
};
