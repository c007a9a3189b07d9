// What a hit or a passage says about itself: its name, where its words are, and which of them match.

import { harmless } from "./text.js";

// An id as people read it: that of a page names its file and its number.
export const readable = (id) => harmless(String(id).replace(/#page=(\d+)$/, ", page $1"));

// The name of a document: its title, the name of its file, or its id.
export const nameOf = (id, metadata) => {
  const facts = metadata && typeof metadata === "object" ? metadata : {};
  const named = [facts.title, facts.name].find((one) => typeof one === "string" && one.trim());
  return named === undefined ? readable(id) : harmless(named);
};

// The matches to show on the picture of a page: those that are marked in its text, or all if it has none.
export const onPicture = (found) => {
  const marked = new Set((found.marks ?? []).map((mark) => mark.start));
  return found.picture?.kind === "words" ? found.matches.filter((match) => marked.has(match.start)) : found.matches ?? [];
};

// Where the words that matched are: page or line, and the headings above them.
export const placeOf = (found) => {
  const parts = [];
  if (found.page) parts.push(`page ${found.page}`);
  else if (found.line) parts.push(`line ${found.line}`);
  if (found.heading) parts.push(harmless(found.heading).replaceAll(" > ", " › "));
  if (!parts.length && !found.picture && found.passage?.of > 1) parts.push(`passage ${found.passage.number + 1} of ${found.passage.of}`);
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

// The matches of a word of the query.
export const matchesOf = (found, word) =>
  (found.matches ?? []).filter((one) => one.query_start >= word.start && one.query_start < word.end);
