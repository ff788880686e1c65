// Asks the server, in the shapes of types.js, and keeps it awake while the page is open.

/** The name of this page: a server that serves two keeps their runs apart. */
export const page = crypto.randomUUID();

/** Tells of "answered" (with the time at which the question was asked) and of "unanswered". */
export const traffic = new EventTarget();

/** What the server refused, in its words. */
export class Refused extends Error {
  /**
   * @param {string} words
   * @param {string|null} help
   * @param {number} status
   */
  constructor(words, help, status) {
    super(words);
    this.help = help;
    this.status = status;
  }

  /** Both sentences. */
  get whole() {
    return this.help ? `${this.message} ${this.help}` : this.message;
  }
}

/**
 * @template T
 * @param {string} name
 * @param {Record<string, unknown>} [body]
 * @param {AbortSignal} [signal]  cancels the question; the server then stops its computation
 * @returns {Promise<T>}
 */
export async function ask(name, body = {}, signal) {
  const asked = performance.now();
  let response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page": page },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    traffic.dispatchEvent(new Event("unanswered"));
    throw new Refused("The server does not answer.", null, 0);
  }
  const answer = await response.json().catch(() => ({ error: `The server answered ${response.status}.`, help: null }));
  if (!response.ok) throw new Refused(answer.error ?? `The server answered ${response.status}.`, answer.help ?? null, response.status);
  traffic.dispatchEvent(new CustomEvent("answered", { detail: asked }));
  return answer;
}

/** Tells the server that someone looks, and when nobody does any more. */
export function keepAwake() {
  const worker = new Worker(new URL("./alive.js", import.meta.url), { type: "module" });
  worker.postMessage({ address: new URL("api/alive", document.baseURI).href, page });
  // What the worker is told is not what a reader has done: no message of the page vanishes for it.
  worker.addEventListener("message", ({ data }) => traffic.dispatchEvent(data.answered ? new CustomEvent("answered", { detail: 0 }) : new Event("unanswered")));
  addEventListener("pagehide", () => {
    navigator.sendBeacon("api/gone", new Blob([JSON.stringify({ page })], { type: "application/json" }));
  });
}
