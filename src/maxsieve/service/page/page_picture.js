// The picture of a page, with what matches the query drawn on it: boxes around words, or a smooth map over patches.
//
// A canvas shows it, not an <img>: requests may need a key, and the Content-Security-Policy allows no blobs.

import { pictureOf } from "./service.js";
import { element, plural } from "./text.js";

const COLOUR = "255 106 0"; // orange is seen on white paper and on dark slides
const STRONGEST = 0.62, CONTRAST = 1.6; // as in `TextHit.picture`
const STRIP = 0.42; // the height of a strip of a page, for its width
const loading = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    loading.unobserve(target);
    target.dispatchEvent(new Event("seen"));
  }
}, { rootMargin: "200px" });

export class PagePicture {
  // `matches` are those to show at first. A page of words may be shown as a strip: the part with most of them.
  constructor(picture, matches, name, key, strip) {
    Object.assign(this, { picture, matches: matches.filter((match) => match.box), lit: null, image: null });
    const { width, height, kind } = picture, tall = strip && kind === "words" ? Math.min(height, Math.round(STRIP * width)) : height;
    this.node = element("canvas", { class: "page-picture", role: "img", width, height: tall, "aria-label": `Picture of ${name}, with ${plural(this.matches.length, "place")} that match` });
    this.node.addEventListener("seen", () => this.#load(key));
    loading.observe(this.node);
  }

  // Shows only a word of the query and its matches; null for all.
  light(word, matches) {
    this.word = word;
    this.lit = word && matches;
    this.#draw();
  }

  // The mean of the maps of the shown words, as smooth as the browser enlarges it.
  #drawMap(pen) {
    const { width, height, grids, maps } = this.picture;
    const own = maps.filter(({ query_start: start }) => !this.word || (start >= this.word.start && start < this.word.end));
    const heat = new Float64Array(grids.reduce((sum, grid) => sum + grid.rows * grid.columns, 0));
    for (const { values, tokens } of own) Array.from(atob(values), (one, i) => (heat[i] += tokens * one.charCodeAt(0)));
    const highest = Math.max(...heat) || 1;
    let first = 0;
    for (const { rows, columns, box: [left, top, right, bottom] } of grids) {
      const small = new OffscreenCanvas(columns, rows), dots = new ImageData(columns, rows);
      for (let i = 0; i < rows * columns; i++) dots.data.set([...COLOUR.split(" "), 255 * STRONGEST * (heat[first + i] / highest) ** CONTRAST], 4 * i);
      small.getContext("2d").putImageData(dots, 0, 0);
      pen.drawImage(small, left * width, top * height, (right - left) * width, (bottom - top) * height);
      first += rows * columns;
    }
  }

  // Where a strip begins, so that it has the most and the best of these places.
  #top(matches) {
    const { height } = this.picture, room = height - this.node.height;
    let best = 0, found = 0;
    for (const { box: [, top] } of room > 0 ? matches : []) {
      const start = Math.min(room, Math.max(0, top * height - this.node.height / 4));
      const inside = matches.filter(({ box }) => box[1] * height >= start && box[3] * height <= start + this.node.height);
      const worth = inside.reduce((sum, one) => sum + one.similarity, 0);
      if (worth > found) [best, found] = [start, worth];
    }
    return Math.round(best);
  }

  async #load(key) {
    try {
      this.image = await createImageBitmap(await pictureOf(this.picture.path, key));
      this.#draw();
    } catch {
      this.node.replaceWith(element("p", { class: "note" }, "The picture of this page could not be loaded."));
    }
  }

  #draw() {
    if (!this.image) return;
    this.node.dataset.drawn = "true";
    const { width, height, kind } = this.picture, pen = this.node.getContext("2d");
    const shown = this.lit?.filter((match) => match.box) ?? this.matches;
    pen.setTransform(1, 0, 0, 1, 0, -this.#top(shown.length ? shown : this.matches));
    pen.drawImage(this.image, 0, 0, width, height);
    if (this.picture.maps?.length) return this.#drawMap(pen);
    for (const { box, similarity } of shown) {
      const [left, top, right, bottom] = box.map((side, i) => side * (i % 2 ? height : width));
      const strength = 0.15 + 0.4 * Math.min(1, Math.max(0, this.lit ? 1 : similarity));
      if (kind === "patches") glow(pen, (left + right) / 2, (top + bottom) / 2, Math.max(right - left, bottom - top), strength);
      else frame(pen, left, top, right - left, bottom - top, strength, Math.max(1.5, width / 500));
    }
  }
}

const frame = (pen, left, top, width, height, strength, line) => {
  pen.fillStyle = `rgb(${COLOUR} / ${strength})`;
  pen.fillRect(left, top, width, height);
  pen.strokeStyle = `rgb(${COLOUR})`;
  pen.lineWidth = line;
  pen.strokeRect(left - line, top - line, width + 2 * line, height + 2 * line);
};

const glow = (pen, x, y, reach, strength) => {
  const light = pen.createRadialGradient(x, y, 0, x, y, reach);
  light.addColorStop(0, `rgb(${COLOUR} / ${Math.min(0.8, 1.4 * strength)})`);
  light.addColorStop(0.5, `rgb(${COLOUR} / ${strength})`);
  light.addColorStop(1, `rgb(${COLOUR} / 0)`);
  pen.fillStyle = light;
  pen.fillRect(x - reach, y - reach, 2 * reach, 2 * reach);
};
