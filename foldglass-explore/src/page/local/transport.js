// Carries questions to WebAssembly in workers: this page has no server.
//
// Each lane is a worker, which begins with its first question. A first visit loads a module that answers what the page
// asks all the time. Ways out, which may take long, have a module and a lane of their own: to cancel one ends that
// worker, and runs, which belong to another, go on. So have records, with their files.

/** @typedef {{status: number, answer: any}} Carried */
/** @typedef {{name: string, body: string, resolve: (carried: Carried) => void, reject: (why: unknown) => void}} Question */

/** Classes of records whose table or input law has no name, as data: a worker is handed those that it lacks with its next question. @type {string[]} */
const handed = [];

/** A module is loaded and compiled once. @type {Map<string, Promise<WebAssembly.Module>>} */
const modules = new Map();

/** @param {string} name */
function compiled(name) {
  const module = modules.get(name) ?? compile(new URL(`./${name}`, import.meta.url));
  modules.set(name, module);
  return module;
}

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
  /** How many of the classes the worker has. */
  has = 0;

  /** @param {string} module @param {import("./module.js").HeldFile[]} [files]  those of a directory of records */
  constructor(module, files = []) {
    this.module = module;
    this.files = files;
  }

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
      if (this.current !== question) return;
      worker.postMessage({ name: question.name, body: question.body, handed: handed.slice(this.has) });
      this.has = handed.length;
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
    this.has = 0;
    worker.postMessage({ module: await compiled(this.module), files: this.files });
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

const FIRST = "foldglass.wasm";
const [usual, wrong, long] = [new Lane(FIRST), new Lane(FIRST), new Lane("foldglass-ways.wasm")];
/** @type {Lane|null} */
let records = null;

// It is asked for before the first question is.
compiled(FIRST).catch(() => {});

/**
 * Shows the records in files of a directory, whose paths begin with its name.
 * @param {import("./module.js").HeldFile[]} files
 * @returns {Promise<{name: string, kind: string}|null>}  none where they are not those of records
 */
export async function hold(files) {
  const lane = new Lane("foldglass-records.wasm", files);
  const { status, answer } = await lane.carry("hello", "{}");
  if (status !== 200 || !answer.directory) { lane.end(); return null; }
  records?.end();
  records = lane;
  return answer.directory;
}

/** Where a question is answered. @param {string} name @param {Record<string, unknown>} body */
function laneOf(name, body) {
  if (name.startsWith("records")) return records ?? usual;
  if (name === "wrong") return wrong;
  const isWay = ["escape", "certify", "tree"].includes(name) || (name === "start" && body.how === "trap");
  return isWay ? long : usual;
}

/**
 * @param {string} name
 * @param {Record<string, unknown>} body
 * @param {AbortSignal} [signal]  cancels the question
 * @returns {Promise<Carried>}
 */
export async function carry(name, body, signal) {
  if (name === "progress") return { status: 200, answer: long.current?.name === body.of ? long.progress : { done: null, all: null } };
  const carried = await laneOf(name, body).carry(name, JSON.stringify(body), signal);
  if (name === "records/run" && carried.answer.handed) {
    const one = JSON.stringify(carried.answer.handed);
    if (!handed.includes(one)) handed.push(one);
  }
  return carried;
}

/** Workers are awake while the page is open. */
export function keepAwake() {}
