// Asks questions in the shapes of types.js; what carries them is the transport.

import * as transport from "./transport.js";

/** Tells of "answered" (with the time at which the question was asked) and of "unanswered". */
export const traffic = new EventTarget();

/** What was refused, in the words of the program. */
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
 * @param {AbortSignal} [signal]  cancels the question and its computation
 * @returns {Promise<T>}
 */
export async function ask(name, body = {}, signal) {
  const asked = performance.now();
  let carried;
  try {
    carried = await transport.carry(name, body, signal);
  } catch (error) {
    if (signal?.aborted) throw error;
    traffic.dispatchEvent(new Event("unanswered"));
    throw new Refused("The server does not answer.", null, 0);
  }
  const { status, answer } = carried;
  if (status !== 200 || !answer) throw new Refused(answer?.error ?? `The server answered ${status}.`, answer?.help ?? null, status);
  traffic.dispatchEvent(new CustomEvent("answered", { detail: asked }));
  return answer;
}

/** Keeps alive whoever answers, while the page is open. */
export function keepAwake() {
  // What is heard here is not what a reader has done: no message of the page vanishes for it.
  transport.keepAwake((answered) => traffic.dispatchEvent(answered ? new CustomEvent("answered", { detail: 0 }) : new Event("unanswered")));
}
