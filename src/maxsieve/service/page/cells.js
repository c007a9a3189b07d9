// The revealed cells of all documents and all query tokens. Blank cells were never computed.
//
// Documents are from left to right in the order of the picture above. The longer a document stayed, the more of its
// column is filled, which makes a staircase.

import { colours, fit, font, prepare } from "./canvas.js";

const TOP = 8, BOTTOM = 22, RIGHT = 14, MOST_NAMES = 24;

export const drawCells = (canvas, story, step) => {
  const { pen, width, height } = prepare(canvas), colour = colours();
  const { trace, documents } = story, tokens = trace.token_order.length;
  const named = tokens <= MOST_NAMES, left = named ? Math.min(110, width * 0.22) : 14;
  const across = width - left - RIGHT, down = height - TOP - BOTTOM, tall = down / tokens;
  const gap = tall > 5 ? 1 : 0;
  const after = [0, ...trace.rounds.map((round) => round.revealed)];

  // For each token in reveal order: for how many of the shown documents it is revealed at this step.
  const revealed = new Int32Array(tokens);
  for (let place = 0; place < documents; place++) {
    const known = Math.min(after[story.lastRound(place) + 1], step.revealed);
    for (let n = 0; n < known; n++) revealed[n]++;
  }
  for (let n = 0; n < tokens; n++) {
    const y = TOP + n * tall;
    pen.fillStyle = colour.faint;
    pen.fillRect(left, y, across, tall - gap);
    pen.fillStyle = colour["blue-soft"];
    if (revealed[n]) pen.fillRect(left, y, Math.max(1, (across * revealed[n]) / documents), tall - gap);
    if (step.scored) {
      pen.fillStyle = colour.hit;
      pen.fillRect(left, y, Math.max(2, (across * step.scored) / documents), tall - gap);
    }
    if (named) {
      pen.fillStyle = n < step.revealed ? colour.ink : colour.soft;
      pen.font = font(Math.min(11, Math.max(8, tall - 1)));
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      if (tall >= 8) pen.fillText(fit(pen, story.tokens[trace.token_order[n]], left - 12), left - 6, y + (tall - gap) / 2);
    }
  }
  pen.fillStyle = colour.soft;
  pen.font = font(11);
  pen.textAlign = "right";
  pen.textBaseline = "alphabetic";
  pen.fillText(`${story.unit}s, in the order above →`, width - RIGHT, height - 7);
};
