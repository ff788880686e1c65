// Carries questions to WebAssembly in workers: this page has no server.
//
// Questions that may take long have a worker of their own, which begins with the first of them. To cancel one ends that
// worker; runs belong to the other and go on.

/** @typedef {{status: number, answer: any}} Carried */
/** @typedef {{name: string, body: string, resolve: (carried: Carried) => void, reject: (why: unknown) => void}} Question */

/** The code is loaded and compiled once. @type {Promise<WebAssembly.Module>} */
const compiled = compile(new URL("./foldglass.wasm", import.meta.url));

/** @param {URL} address */
async function compile(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address.pathname}: ${response.status}`);
  // Not every host knows what kind of file it is.
  const known = response.headers.get("Content-Type") === "application/wasm";
  return known ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** One worker, and the questions that wait for it. */
class Lane {
  /** @type {Promise<Worker>|null} */ worker = null;
  /** @type {Question|null} */ current = null;
  /** @type {Question[]} */ waiting = [];
  progress = { done: 0, all: 0 };

  /** @param {string} name @param {string} body @param {AbortSignal} [signal] @returns {Promise<Carried>} */
  carry(name, body, signal) {
    return new Promise((resolve, reject) => {
      const question = { name, body, resolve, reject };
      if (signal?.aborted) { reject(signal.reason); return; }
      signal?.addEventListener("abort", () => this.cancel(question, signal.reason));
      this.waiting.push(question);
      this.next();
    });
  }

  next() {
    const question = this.current ? null : this.waiting.shift();
    if (!question) return;
    this.current = question;
    this.progress = { done: 0, all: 0 };
    this.worker ??= this.begin();
    this.worker.then((worker) => {
      if (this.current === question) worker.postMessage({ name: question.name, body: question.body });
    }, (error) => { this.worker = null; this.finish()?.reject(error); });
  }

  async begin() {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      if (data.failed !== undefined) this.fail(data.failed);
      else if (data.status === undefined) this.progress = data;
      else this.finish()?.resolve({ status: data.status, answer: JSON.parse(data.text) });
    });
    worker.addEventListener("error", (event) => this.fail(event.message));
    worker.postMessage({ module: await compiled });
    return worker;
  }

  /** The question that is being answered is over. */
  finish() {
    const question = this.current;
    this.current = null;
    queueMicrotask(() => this.next());
    return question;
  }

  /** Ends the worker; what it held is lost. */
  end() {
    this.worker?.then((worker) => worker.terminate(), () => {});
    this.worker = null;
  }

  /** @param {string} why */
  fail(why) {
    this.end();
    this.finish()?.resolve({ status: 500, answer: { error: `The computation failed: ${why}.`, help: "Runs begin again from the code at hand." } });
  }

  /** @param {Question} question @param {unknown} why */
  cancel(question, why) {
    if (this.current === question) {
      this.end();
      this.finish();
    } else this.waiting = this.waiting.filter((other) => other !== question);
    question.reject(why);
  }
}

const [usual, long] = [new Lane(), new Lane()];

/** Whether a question may take seconds. @param {string} name @param {Record<string, unknown>} body */
const isLong = (name, body) => ["certify", "tree", "wrong"].includes(name) || (name === "start" && body.how === "trap");

/**
 * @param {string} name
 * @param {Record<string, unknown>} body
 * @param {AbortSignal} [signal]  cancels the question
 * @returns {Promise<Carried>}
 */
export async function carry(name, body, signal) {
  if (name === "progress") return { status: 200, answer: long.current?.name === body.of ? long.progress : { done: null, all: null } };
  return (isLong(name, body) ? long : usual).carry(name, JSON.stringify(body), signal);
}

/** Workers are awake while the page is open. */
export function keepAwake() {}
