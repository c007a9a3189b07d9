// Requests to the service of this page. A failure is an Error whose message is a sentence to be shown.

import { PER_DOCUMENT } from "./address.js";
import { POLICIES } from "./policies.js";
import { harmless } from "./text.js";

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const send = async (path, key, body, signal) => {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body && JSON.stringify(body), signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused("The service does not answer. Is it still running?", 0);
  }
};

const ask = async (path, key, body, signal) => {
  const response = await send(path, key, body, signal);
  let found;
  try {
    found = await response.json();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(`The service answered with status ${response.status} and without a sentence.`, response.status);
  }
  if (!response.ok) throw refusal(typeof found?.detail === "string" ? found.detail : "", response.status);
  return found;
};

// What a person at this page can do about it: by what the service says, or by the status.
const SENTENCES = [
  [/nothing to search for/, "There is nothing to search for: type some words."],
  [/^query: /, "The query is too long: shorten it."],
  [/^matches: /, "The query is too long to mark what matches: shorten it, or ask for fewer results per page."],
  [/^trace: /, "The query is too long for a picture of its search."],
  [/^where[.: ]*/, "This filter can't be used: "],
];
const BY_STATUS = {
  401: "This service needs an API key, and this one is missing or wrong.",
  404: "This is no longer there: another process may have changed the collection.",
  429: "The service is busy. Try again in a moment.",
  504: "The search took too long, and was stopped.",
};

const refusal = (detail, status) => {
  const [pattern, known] = SENTENCES.find(([one]) => one.test(detail)) ?? [];
  const said = known?.endsWith(" ") ? detail.replace(pattern, known) : known ?? BY_STATUS[status] ?? (detail || `The service refused, with status ${status}`);
  const sentence = said.charAt(0).toUpperCase() + said.slice(1);
  return new Refused(harmless(/[.!?]$/.test(sentence) ? sentence : `${sentence}.`), status);
};

export const collections = async (key) => (await ask("/v1/collections", key)).collections;

// The values of the form, as the route expects them.
export const toRequest = (wanted, trace, policy = wanted.policy) => {
  const chosen = Object.fromEntries(POLICIES[policy].parameters.map(({ name }) => [name, wanted[name]]));
  const request = { query: wanted.q, k: wanted.k, offset: (wanted.page - 1) * wanted.k, policy: { name: policy, ...chosen }, maps: true };
  if (wanted.by === "passage") request.by = "passage";
  else request.per_document = PER_DOCUMENT;
  if (wanted.where) request.where = JSON.parse(wanted.where);
  if (wanted.hybrid) request.hybrid = wanted.hybrid;
  if (trace) request.trace = true;
  return request;
};

export const search = (collection, key, request, signal) =>
  ask(`/v1/collections/${encodeURIComponent(collection)}/search`, key, request, signal);

// The bytes of a picture, at a path that the service gave.
export const pictureOf = async (path, key) => {
  const response = await send(path, key);
  if (!response.ok) throw new Refused("There is no picture.", response.status);
  return response.blob();
};

export const wholeDocument = (collection, key, id, signal) =>
  ask(`/v1/collections/${encodeURIComponent(collection)}/documents?id=${encodeURIComponent(id)}`, key, undefined, signal);
