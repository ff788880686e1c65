// Shows one input's rollout step by step, and the inputs that are answered wrongly.

import { ask, Refused } from "./api.js";
import { button, by, h, latest } from "./dom.js";
import { cellParts, store } from "./store.js";
import { takeButtons } from "./take.js";

/** @type {import("./types.js").WrongAnswers|null} */
let wrong = null;

let soon = 0;

/** Builds the two panels. */
export function startRollout() {
  const entry = /** @type {HTMLInputElement} */ (by("input"));
  const read = () => {
    const text = entry.value.trim();
    const odd = text ? parse(text).find((symbol) => !isSymbol(symbol)) : undefined;
    if (odd !== undefined) {
      const most = (store.info?.q ?? 1) - 1;
      by("input-error").textContent = `"${odd}" is not a symbol of this task: 0 to ${most} are accepted, such as ${Array.from({ length: store.info?.steps ?? 1 }, (_, t) => t % 2).join(" ")}.`;
      return;
    }
    choose(text ? parse(text).map(Number) : null);
  };
  by("input-form").addEventListener("submit", (event) => { event.preventDefault(); read(); });
  by("input-random").addEventListener("click", () => {
    const info = store.info;
    if (!info) return;
    const length = info.lengths[Math.floor(Math.random() * info.lengths.length)] ?? info.steps;
    choose(Array.from({ length }, () => Math.floor(Math.random() * info.q)));
  });
  by("input-none").addEventListener("click", () => choose(null));
  by("rollout-take").append(takeButtons("rollout", { json: () => store.rollout && { class: store.info?.flags, code: store.code, input: store.input, ...store.rollout } }));
  by("wrong-take").append(takeButtons("wrong", { json: () => wrong && { class: store.info?.flags, code: store.code, ...wrong } }));
  store.on("class", () => {
    wrong = null;
    showWrong();
    // An input is worked at once: what the task is can be seen before anything is chosen.
    store.input = store.info ? example(store.info) : null;
    entry.value = store.input?.join(" ") ?? "";
    by("input-error").textContent = "";
    show();
  });
  store.on("look", () => {
    if (store.input) refresh(store.input);
    // All inputs are rolled out for the list: once, after the last of several quick changes.
    clearTimeout(soon);
    soon = setTimeout(() => askWrong(undefined), 150);
  });
}

/** An input with symbols that differ, of the first length. @param {import("./types.js").ClassInfo} info */
const example = (info) => Array.from({ length: info.lengths[0] ?? 1 }, (_, t) => (t + Math.floor(t / 2)) % info.q);

/** Digits side by side, or numbers between commas or spaces. @param {string} text */
const parse = (text) => (/^[0-9]+$/.test(text) && (store.info?.q ?? 0) <= 10 ? [...text] : text.split(/[\s,]+/));

/** @param {string} text */
const isSymbol = (text) => /^[0-9]+$/.test(text) && Number(text) < (store.info?.q ?? 0);

/** @param {number[]|null} input */
function choose(input) {
  store.input = input;
  const entry = /** @type {HTMLInputElement} */ (by("input"));
  entry.value = input ? input.join(" ") : "";
  by("input-error").textContent = "";
  if (input) { refresh(input); return; }
  store.rollout = null;
  show();
  store.tell("rollout");
}

const refresh = latest(async (/** @type {number[]} */ input) => {
  const { info, code } = store;
  if (!info) return;
  try {
    const rollout = await ask("rollout", { class: info.flags, code, input });
    if (store.input !== input || store.info !== info) return;
    store.rollout = /** @type {import("./types.js").Rollout} */ (rollout);
    by("input-error").textContent = "";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    store.rollout = null;
    store.input = null;
    by("input-error").textContent = error.whole;
  }
  show();
  store.tell("rollout");
});

/** Spells the rollout out. */
function show() {
  const { rollout, input, info } = store;
  const place = by("rollout");
  by("task").textContent = rollout && input ? `The task: ${input.join(" · ")} = ${rollout.truth}. Only the last token is graded.` : "The task: multiply the symbols of an input from left to right. Only the last token is graded.";
  if (!rollout || !input || !info) { place.replaceChildren(); return; }
  const rows = rollout.steps.map((step) => {
    const seen = cellParts(info, step.cell);
    return h("tr", { class: step.cell === store.selected ? "own" : "" },
      h("th", { scope: "row" }, step.t), h("td", {}, seen?.x ?? step.x), h("td", {}, seen?.y ?? "–"),
      h("td", {}, button(String(step.token), () => store.select(step.cell), { class: "token", title: `Show the cell of step ${step.t}` })),
      h("td", {}, step.state));
  });
  place.replaceChildren(
    h("table", { class: "steps" },
      h("thead", {}, h("tr", {}, ...["t", "window x", "y before", "token y", "state s"].map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...rows)),
    h("p", { class: rollout.correct ? "verdict good" : "verdict bad" }, h("i", { "aria-hidden": "true" }, rollout.correct ? "✓" : "✗"),
      rollout.correct ? `answers ${rollout.answer}: right` : `answers ${rollout.answer}; right would be ${rollout.truth}`));
}

const askWrong = latest(async () => {
  const { info, code } = store;
  if (!info) return;
  try {
    const answer = await ask("wrong", { class: info.flags, code });
    if (store.code !== code) return;
    wrong = /** @type {import("./types.js").WrongAnswers} */ (answer);
    showWrong();
  } catch (error) {
    store.failed(error);
  }
});

function showWrong() {
  const place = by("wrong");
  if (!wrong) { place.replaceChildren(); by("wrong-count").textContent = ""; return; }
  const { count, of, list, sampled, probability, probability_exact } = wrong;
  const exact = store.fresh ? store.look?.wrong : null;
  /** @param {number|string} whole */
  const spelt = (whole) => Number(whole).toLocaleString("en");
  const value = Number(probability.toPrecision(6));
  const likely = probability_exact.length > 20 ? value : `${probability_exact} = ${value}`;
  const looked = sampled ? `${spelt(of)} inputs drawn from their law` : `all ${spelt(of)} inputs that occur`;
  by("wrong-count").textContent = exact ? `${spelt(exact.count)} of ${spelt(exact.of)}` : `probability ${likely}; listed from ${looked}`;
  if (!list.length) { place.replaceChildren(h("li", { class: "faint" }, probability > 0 ? "None of the inputs drawn." : "None: every input is answered rightly.")); return; }
  place.replaceChildren(...list.map((one) => {
    const answer = one.y[one.y.length - 1] ?? 0;
    const cause = one.t === null || one.t === undefined ? one.why : `${one.why} at t = ${one.t}`;
    return h("li", {},
      button(one.x.join(" "), () => choose(one.x), { class: "input", "aria-label": `Input ${one.x.join(" ")}: answers ${answer}, right would be ${one.target}; ${cause}` }),
      h("span", {}, ` says ${answer}, not ${one.target} `), h("small", {}, cause));
  }));
  const more = Number(exact?.count ?? count) - list.length;
  if (more > 0) place.append(h("li", { class: "faint" }, `and ${spelt(more)} more`));
}
