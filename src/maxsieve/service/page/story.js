// A trace as a story: the steps of a search, what is known about each document at each step, and the words for it.

import { count, harmless, plural, score, shorten } from "./text.js";

// The states of a document at a step.
export const TONE = { hidden: 0, open: 1, leaving: 2, gone: 3, scored: 4, hit: 5, next: 6 };
const BY_TIER_0 = -1;
const MOST_RESCORING_STEPS = 40;

export const tell = (answer) => new Story(answer);

class Story {
  constructor(answer) {
    const { trace, report, query } = answer;
    this.trace = trace;
    this.documents = trace.shown;
    this.unit = trace.documents > report.documents ? "passage" : "document";
    this.exact = report.guarantee === "exact";
    this.rescored = report.rescored;
    this.tokens = tokenNames(query, trace.token_order.length);
    this.hitRank = new Map(trace.hits.map((place, rank) => [place, rank]));
    this.scoreOf = new Map(trace.rescored.map((place, i) => [place, trace.scores[i]]));
    this.order = this.#rows();
    this.row = new Int32Array(this.documents);
    this.order.forEach((place, row) => (this.row[place] = row));
    [this.low, this.high] = this.#range();
    this.steps = this.#steps();
    this.kept = new Map();
  }

  name(place) {
    return harmless(this.trace.ids[place]);
  }

  // The last round before a document was rescored that told something about it; -1 if there was none.
  lastRound(place) {
    const dropped = this.trace.dropped[place];
    return dropped === BY_TIER_0 ? -1 : (dropped || this.trace.rounds.length) - 1;
  }

  // Hits first, then other rescored documents, then by how long a document stayed and how high it could have scored.
  #rows() {
    const { rounds, tier0 } = this.trace;
    const stage = new Float64Array(this.documents), height = new Float64Array(this.documents);
    for (let place = 0; place < this.documents; place++) {
      const last = this.lastRound(place);
      if (this.hitRank.has(place)) {
        stage[place] = rounds.length + 3;
        height[place] = -this.hitRank.get(place);
      } else if (this.scoreOf.has(place)) {
        stage[place] = rounds.length + 2;
        height[place] = this.scoreOf.get(place);
      } else {
        stage[place] = this.trace.dropped[place] === 0 ? rounds.length + 1 : last + 1;
        height[place] = last >= 0 ? rounds[last].upper[place] : tier0 ? tier0[place] : 0;
      }
    }
    const order = Int32Array.from({ length: this.documents }, (_, place) => place);
    return order.sort((a, b) => stage[b] - stage[a] || height[b] - height[a] || a - b);
  }

  // The range of scores in the picture: those that are still possible after a third of the rounds, except a few far
  // below. Wider intervals of the first rounds are cut off at the edges.
  #range() {
    const lower = [...this.trace.scores], upper = [...this.trace.scores];
    for (const round of this.trace.rounds.slice(Math.floor(this.trace.rounds.length / 3))) {
      for (let place = 0; place < this.documents; place++) {
        if (round.lower[place] === null) continue;
        lower.push(round.lower[place]);
        upper.push(round.upper[place]);
      }
    }
    if (!lower.length) return [0, 1];
    lower.sort((a, b) => a - b);
    const low = Math.min(lower[Math.floor(lower.length * 0.01)], ...this.trace.scores.slice(0, 1000));
    const high = upper.reduce((a, b) => Math.max(a, b), -Infinity);
    const room = Math.max(high - low, 1e-6) * 0.03;
    return [low - room, high + room];
  }

  #steps() {
    const { trace } = this;
    const steps = [];
    if (trace.tier0) steps.push({ kind: "tier 0", threshold: null, revealed: 0, scored: 0, words: this.#tier0Words() });
    trace.rounds.forEach((round, i) => {
      steps.push({ kind: "round", round: i, threshold: round.threshold, revealed: round.revealed, scored: 0, words: this.#roundWords(i) });
    });
    const revealed = trace.rounds.length ? trace.rounds.at(-1).revealed : 0;
    const each = Math.max(1, Math.ceil(trace.rescored.length / MOST_RESCORING_STEPS));
    for (let scored = Math.min(each, trace.rescored.length); scored > 0; scored = Math.min(scored + each, trace.rescored.length)) {
      const threshold = trace.thresholds[scored - 1];
      steps.push({ kind: "rescore", threshold, revealed, scored, words: this.#rescoreWords(scored, Math.min(each, scored)) });
      if (scored === trace.rescored.length) break;
    }
    const threshold = trace.thresholds.length ? trace.thresholds.at(-1) : null;
    steps.push({ kind: "end", threshold, revealed, scored: trace.rescored.length, words: this.#endWords(threshold) });
    return steps;
  }

  #tier0Words() {
    const { trace } = this;
    const stayed = trace.rounds.length ? trace.rounds[0].active : trace.dropped.filter((one) => one !== BY_TIER_0).length;
    return (
      `Tier 0: two bytes a token give each of ${plural(trace.documents, this.unit)} a proxy, quickly and without an error bound. ` +
      `The best ${count(stayed)} by proxy are followed up; ${count(trace.documents - stayed)} are left behind.`
    );
  }

  #roundWords(i) {
    const { trace } = this, round = trace.rounds[i], stayed = round.active - round.dropped;
    const before = i ? trace.rounds[i - 1].revealed : 0;
    const out = round.dropped
      ? `${plural(round.dropped, this.unit)} can't reach it and drop${round.dropped === 1 ? "s" : ""} out; ${count(stayed)} stay${stayed === 1 ? "s" : ""}.`
      : `No ${this.unit} drops out; ${count(stayed)} stay.`;
    const tau = `τ, the ${ordinal(trace.k)} best lower end, is ${score(round.threshold)}.`;
    if (trace.policy !== "Bandit") {
      return `The scan: proxies of all cells, and how far they can be wrong, put each score between two ends. ${tau} ${out}`;
    }
    const names = trace.token_order.slice(before, round.revealed).map((token) => `“${this.tokens[token]}”`);
    const shown = names.length > 6 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
    return `Round ${i + 1} of ${trace.rounds.length} reveals ${shown}: ${round.revealed} of ${plural(trace.token_order.length, "query token")} are known. ${tau} ${out}`;
  }

  #rescoreWords(scored, together) {
    const { trace } = this, place = trace.rescored[scored - 1], threshold = trace.thresholds[scored - 1];
    const which = together > 1 ? `${count(scored)} ${this.unit}s have exact scores; the last,` : `Rescoring, ${this.unit} ${count(scored)}:`;
    const best = threshold === null
      ? `There are not yet ${trace.k} scores to set a threshold.`
      : `The ${ordinal(trace.k)} best so far is ${score(threshold)}.`;
    return `${which} ${shorten(trace.ids[place], 60)} scores ${score(trace.scores[scored - 1])}. ${best}`;
  }

  #endWords(threshold) {
    const { trace } = this, scored = this.rescored;
    const all = `${count(scored)} of ${plural(trace.documents, this.unit)}`;
    if (trace.unseen) {
      const reach = `The next, ${shorten(trace.unseen.id, 60)}, can score ${score(trace.unseen.upper)} at most, below the ${ordinal(trace.k)} best, ${score(threshold)}.`;
      const sure = this.exact ? " No other can be a hit." : "";
      return `Stop after ${all}. ${reach}${sure}`;
    }
    if (trace.policy === "Exhaustive" || scored === trace.documents) return `Every one of ${plural(trace.documents, this.unit)} was scored.`;
    return `All ${plural(scored, this.unit)} that stayed were rescored, of ${count(trace.documents)}; the best ${count(trace.hits.length)} are the hits.`;
  }

  // What is known of every document at a step: both ends of its interval, and its tone.
  at(step) {
    if (!this.kept.has(step)) this.kept.set(step, this.#look(this.steps[step]));
    return this.kept.get(step);
  }

  #look(step) {
    const { rounds, dropped, tier0, rescored, unseen, ids } = this.trace;
    const lower = new Float64Array(this.documents), upper = new Float64Array(this.documents), tone = new Uint8Array(this.documents);
    const known = step.kind === "tier 0" ? -1 : step.kind === "round" ? step.round : rounds.length - 1;
    const proxy = tier0 && this.#proxyScale();
    const scores = new Map();
    for (let i = 0; i < step.scored; i++) scores.set(rescored[i], this.trace.scores[i]);
    for (let place = 0; place < this.documents; place++) {
      if (scores.has(place)) {
        lower[place] = upper[place] = scores.get(place);
        tone[place] = step.kind === "end" && this.hitRank.has(place) ? TONE.hit : TONE.scored;
        continue;
      }
      const out = dropped[place], last = out === BY_TIER_0 ? -1 : Math.min(known, out > 0 ? out - 1 : known);
      if (step.kind === "tier 0" || out === BY_TIER_0) {
        // A proxy has no place on the scale of scores: documents that it dropped are at the edge.
        lower[place] = upper[place] = step.kind === "tier 0" ? proxy(tier0[place]) : this.low;
        tone[place] = out === BY_TIER_0 ? (step.kind === "tier 0" ? TONE.leaving : TONE.gone) : TONE.open;
      } else if (last >= 0) {
        lower[place] = rounds[last].lower[place];
        upper[place] = rounds[last].upper[place];
        tone[place] = out === 0 || out - 1 > known ? TONE.open : out - 1 === known && step.kind === "round" ? TONE.leaving : TONE.gone;
      }
    }
    if (step.kind === "end" && unseen) {
      const place = ids.indexOf(unseen.id);
      if (place >= 0) tone[place] = TONE.next;
    }
    return { lower, upper, tone };
  }

  // Tier 0 has its own scale, drawn over that of the scores.
  #proxyScale() {
    const most = this.trace.tier0.reduce((a, b) => Math.max(a, b), 1), least = this.trace.tier0.reduce((a, b) => Math.min(a, b), most);
    const room = (this.high - this.low) * 0.05, span = Math.max(1, most - least);
    return (one) => this.low + room + ((one - least) / span) * (this.high - this.low - 2 * room);
  }

  // Cells revealed as proxies up to a step, among all documents, shown or not.
  cells(step) {
    let cells = 0, before = 0;
    for (const round of this.trace.rounds) {
      if (round.revealed > step.revealed) break;
      cells += round.active * (round.revealed - before);
      before = round.revealed;
    }
    return cells;
  }
}

// Names of the query's tokens: words, if each word is one token.
const tokenNames = (query, tokens) =>
  Array.from({ length: tokens }, (_, i) => (query.words.length === tokens ? harmless(query.words[i].word) : `token ${i + 1}`));

export const ordinal = (number) => {
  const ten = number % 10, hundred = number % 100;
  const ending = ten === 1 && hundred !== 11 ? "st" : ten === 2 && hundred !== 12 ? "nd" : ten === 3 && hundred !== 13 ? "rd" : "th";
  return `${count(number)}${ending}`;
};
