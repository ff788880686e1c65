// Asks the server, in the shapes of types.js, and keeps it awake while the page is open.

/** The name of this page: a server that serves two keeps their runs apart. */
export const page = crypto.randomUUID();

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
 * @returns {Promise<T>}
 */
export async function ask(name, body = {}) {
  let response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Page": page },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Refused("The server does not answer.", "Is `foldglass explore` still running? Start it again and paste this address's part after # behind the new one.", 0);
  }
  const answer = await response.json().catch(() => ({ error: `The server answered ${response.status}.`, help: null }));
  if (!response.ok) throw new Refused(answer.error ?? `The server answered ${response.status}.`, answer.help ?? null, response.status);
  return answer;
}

/** Tells the server that someone looks, and when nobody does any more. */
export function keepAwake() {
  const worker = new Worker(new URL("./alive.js", import.meta.url), { type: "module" });
  worker.postMessage({ address: new URL("api/alive", document.baseURI).href, page });
  addEventListener("pagehide", () => {
    navigator.sendBeacon("api/gone", new Blob([JSON.stringify({ page })], { type: "application/json" }));
  });
}
