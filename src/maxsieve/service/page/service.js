// Requests to the service of this page. A failure is an Error whose message is a sentence to be shown.

import { POLICIES } from "./policies.js";

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const ask = async (path, key, body, signal) => {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const method = body === undefined ? "GET" : "POST";
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused("The service does not answer. Is it still running?", 0);
  }
  let found;
  try {
    found = await response.json();
  } catch {
    throw new Refused(`The service answered with status ${response.status} and without a sentence.`, response.status);
  }
  if (!response.ok) throw new Refused(sentence(found, response.status), response.status);
  return found;
};

const sentence = (found, status) => {
  const said = typeof found?.detail === "string" ? found.detail : `The service refused, with status ${status}.`;
  return /[.!?]$/.test(said) ? said : `${said}.`;
};

export const collections = async (key) => (await ask("/v1/collections", key)).collections;

// The values of the form, as the route expects them.
export const toRequest = (wanted, policy = wanted.policy, trace = true) => {
  const chosen = Object.fromEntries(POLICIES[policy].parameters.map(({ name }) => [name, wanted[name]]));
  return { query: wanted.q, k: wanted.k, policy: { name: policy, ...chosen }, matches: true, trace };
};

export const search = (collection, key, request, signal) =>
  ask(`/v1/collections/${encodeURIComponent(collection)}/search`, key, request, signal);
