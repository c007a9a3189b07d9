// The picture of the sieve: a row for each document, with the interval of its possible scores, and finally its score.
//
// The first rows, where the hits are, are as high as a line of text. Rows below get lower and lower, so that thousands
// fit.

import { colours, fit, font, prepare, ticks } from "./canvas.js";
import { TONE } from "./story.js";
import { score, shorten } from "./text.js";

const FIRST_ROW = 16, MOST_FIRST_ROWS = 12, TOP = 24, BOTTOM = 38, RIGHT = 14;
const BACK_TO_FRONT = [TONE.gone, TONE.open, TONE.leaving, TONE.scored, TONE.next, TONE.hit];

export class Picture {
  constructor(canvas, tip) {
    this.canvas = canvas;
    this.tip = tip;
    this.story = null;
    this.at = 0;
    canvas.addEventListener("pointermove", (event) => this.#point(event));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  show(story) {
    this.story = story;
    this.tip.hidden = true;
  }

  // A step, or a moment between two of them.
  draw(at) {
    if (!this.story) return;
    this.at = at;
    const { story } = this, { pen, width, height } = prepare(this.canvas), colour = colours();
    this.#lay(width, height);
    const before = Math.floor(at), part = at - before;
    const now = story.at(before), then = story.at(Math.min(before + 1, story.steps.length - 1));
    const mix = (a, b) => (part === 0 || Number.isNaN(b) ? a : Number.isNaN(a) ? b : a + (b - a) * part);
    const step = story.steps[Math.round(at)];

    this.#axis(pen, colour, step);
    const fills = [null, colour["blue-soft"], colour.leaving, colour.gone, colour.scored, colour.hit, colour.leaving];
    const marks = [null, colour.blue, colour.leaving, colour.gone, colour.scored, colour.hit, colour.tau];
    const groups = new Map(BACK_TO_FRONT.map((tone) => [tone, []]));
    for (let row = story.documents - 1; row >= 0; row--) {
      const place = story.order[row], tone = part < 0.5 ? now.tone[place] : then.tone[place];
      groups.get(tone)?.push(row);
    }
    for (const [tone, rows] of groups) {
      for (const row of rows) {
        const place = story.order[row];
        const lower = mix(now.lower[place], then.lower[place]), upper = mix(now.upper[place], then.upper[place]);
        const left = this.#across(lower), right = this.#across(upper);
        const top = this.#down(row), tall = this.#down(row + 1) - top;
        // Rows lower than a pixel share one. Half-covered pixels would have a colour that is not in the legend.
        const thick = Math.max(1, Math.min(tall * 0.62, 9)), middle = tall < 2 ? Math.floor(top) + 0.5 : top + tall / 2;
        pen.fillStyle = fills[tone];
        if (right - left > 0.75) {
          pen.fillRect(left, middle - thick / 2, right - left, thick);
          if (tall > 5) {
            pen.fillStyle = marks[tone];
            if (lower >= story.low) pen.fillRect(left, middle - thick / 2, 1.5, thick);
            if (upper <= story.high) pen.fillRect(right - 1.5, middle - thick / 2, 1.5, thick);
          }
        } else {
          pen.fillStyle = marks[tone];
          pen.beginPath();
          pen.arc((left + right) / 2, middle, Math.max(1, Math.min(thick * 0.55, 4.5)), 0, 2 * Math.PI);
          pen.fill();
        }
        if (tone === TONE.next) this.#ring(pen, colour, left, right, middle, thick);
      }
    }
    this.#threshold(pen, colour, story.steps[before].threshold, story.steps[Math.min(before + 1, story.steps.length - 1)].threshold, part, height);
    this.#names(pen, colour, step);
  }

  #lay(width, height) {
    const { story } = this;
    this.width = width;
    this.gutter = width > 560 ? Math.min(190, width * 0.25) : 10;
    this.depth = height - TOP - BOTTOM;
    const count = Math.max(1, story.documents);
    this.even = count * FIRST_ROW <= this.depth ? count : Math.min(count, MOST_FIRST_ROWS, Math.max(story.trace.hits.length, 3));
    this.rest = this.depth - this.even * FIRST_ROW;
    // Below the rows of equal height, y(row) = rest * log(1 + row/c) / log(1 + count/c). c makes the first of them
    // equally high.
    let low = 1e-3, high = 1e9;
    for (let i = 0; i < 80; i++) {
      const c = Math.sqrt(low * high);
      if ((this.rest * Math.log1p(1 / c)) / Math.log1p((count - this.even) / c) > FIRST_ROW) low = c;
      else high = c;
    }
    this.curve = low;
    this.unit = this.rest / Math.log1p(Math.max(1, count - this.even) / low);
  }

  #down(row) {
    return TOP + (row <= this.even ? row * FIRST_ROW : this.even * FIRST_ROW + this.unit * Math.log1p((row - this.even) / this.curve));
  }

  #rowAt(y) {
    const down = Math.max(0, y - TOP), even = this.even * FIRST_ROW;
    return Math.floor(down <= even ? down / FIRST_ROW : this.even + this.curve * Math.expm1((down - even) / this.unit));
  }

  #across(value) {
    const { low, high } = this.story;
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
    return this.gutter + share * (this.width - this.gutter - RIGHT);
  }

  #axis(pen, colour, step) {
    const { low, high } = this.story, bottom = TOP + this.depth;
    pen.font = font(11);
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const own = step.kind === "tier 0";
    if (!own) {
      const { found, digits } = ticks(low, high, (this.width - this.gutter) / 80);
      for (const tick of found) {
        const x = Math.round(this.#across(tick)) + 0.5;
        pen.fillStyle = colour.line;
        pen.fillRect(x - 0.5, TOP, 1, this.depth);
        pen.fillStyle = colour.soft;
        pen.fillText(tick.toFixed(digits), x, bottom + 6);
      }
    }
    pen.fillStyle = colour.soft;
    const label = own ? "proxy of tier 0, on a scale of its own →" : "score →";
    pen.textAlign = "right";
    pen.fillText(label, this.width - RIGHT, bottom + 21);
  }

  #ring(pen, colour, left, right, middle, thick) {
    pen.strokeStyle = colour.tau;
    pen.lineWidth = 1.5;
    const reach = Math.max(thick / 2 + 2.5, 4);
    pen.strokeRect(left - 3, middle - reach, Math.max(1, right - left) + 6, 2 * reach);
  }

  #threshold(pen, colour, before, after, part, height) {
    if (before === null && (after === null || part < 0.5)) return;
    const value = before === null ? after : after === null ? before : before + (after - before) * part;
    const x = this.#across(value);
    pen.strokeStyle = colour.tau;
    pen.lineWidth = 1.5;
    if (value >= this.story.low && value <= this.story.high) {
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(x, TOP - 6);
      pen.lineTo(x, height - BOTTOM);
      pen.stroke();
      pen.setLineDash([]);
    }
    pen.fillStyle = colour.tau;
    pen.font = font(12, 600);
    pen.textBaseline = "bottom";
    const { low, high } = this.story;
    const text = `${value < low ? "← " : ""}τ ${score(value)}${value > high ? " →" : ""}`, half = pen.measureText(text).width / 2;
    pen.textAlign = "center";
    pen.fillText(text, Math.min(Math.max(x, half + 4), this.width - half - 4), TOP - 7);
  }

  // The names of the first rows, if these are high enough to be read.
  #names(pen, colour, step) {
    if (this.gutter < 60) return;
    pen.font = font(11);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    let free = 0;
    for (let row = 0; row < this.story.documents; row++) {
      const top = this.#down(row), tall = this.#down(row + 1) - top;
      if (tall < 5) break;
      const middle = top + tall / 2;
      if (middle < free) continue;
      free = middle + 12;
      const place = this.story.order[row], hit = step.kind === "end" && this.story.hitRank.has(place);
      pen.fillStyle = hit ? colour.ink : colour.soft;
      pen.fillText(fit(pen, shorten(this.story.trace.ids[place], 60), this.gutter - 16), this.gutter - 8, middle);
    }
  }

  #point(event) {
    const { story } = this;
    if (!story || !this.unit) return;
    const box = this.canvas.getBoundingClientRect(), y = event.clientY - box.top, x = event.clientX - box.left;
    const row = this.#rowAt(y);
    if (y < TOP || row >= story.documents) {
      this.tip.hidden = true;
      return;
    }
    const place = story.order[row], { lower, upper, tone } = story.at(Math.round(this.at));
    const known = tone[place] === TONE.hidden || story.steps[Math.round(this.at)].kind === "tier 0"
      ? ""
      : lower[place] === upper[place] ? `: ${score(lower[place])}` : `: ${score(lower[place])} to ${score(upper[place])}`;
    this.tip.textContent = `${shorten(story.trace.ids[place], 80)}${known}`;
    this.tip.hidden = false;
    const { width } = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.min(Math.max(4, x + 14), box.width - width - 6)}px`;
    this.tip.style.top = `${y + 16}px`;
  }
}
