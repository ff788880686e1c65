// Carries questions to the server, and keeps it awake while the page is open.
//
// A page without a server has `local/transport.js` in this file's place.

/** The name of this page: a server that serves two keeps their runs apart. */
const page = crypto.randomUUID();

/**
 * @param {string} name
 * @param {Record<string, unknown>} body
 * @param {AbortSignal} [signal]  cancels the question; the server then stops its computation
 * @returns {Promise<{status: number, answer: any}>}  The answer is null where it is not JSON.
 */
export async function carry(name, body, signal) {
  const response = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Page": page },
    body: JSON.stringify(body),
    signal,
  });
  return { status: response.status, answer: await response.json().catch(() => null) };
}

/** Tells the server that someone looks, and when nobody does any more. @param {(answered: boolean) => void} hear */
export function keepAwake(hear) {
  const worker = new Worker(new URL("./alive.js", import.meta.url), { type: "module" });
  worker.postMessage({ address: new URL("api/alive", document.baseURI).href, page });
  worker.addEventListener("message", ({ data }) => hear(data.answered));
  addEventListener("pagehide", () => {
    navigator.sendBeacon("api/gone", new Blob([JSON.stringify({ page })], { type: "application/json" }));
  });
}
