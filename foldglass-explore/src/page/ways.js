// Looks for ways out of a code: the escape path of the theorem, the verdict over its shelf.

import { ask } from "./api.js";
import { by, h } from "./dom.js";
import { bare, plural } from "./fraction.js";
import { Player } from "./player.js";
import { sameCode, store } from "./store.js";
import { takeButtons } from "./take.js";
import { term } from "./words.js";

/** @typedef {import("./types.js").Escape} Escape */
/** @typedef {import("./types.js").Certificate} Certificate */

/** @type {{code: number[], answer: Escape}|null} */
let escaped = null;
/** @type {{code: number[], answer: Certificate}|null} */
let certified = null;
/** @type {Player[]} */
let players = [];
let active = 0;
/** Whether a command of this view is shown; after what it gave is removed, that of the code comes in its place. */
let hasCommand = false;

/** What is known of the code at hand, or of the path that it is on. */
export const waysNow = () => ({ escaped: escaped?.answer ?? null, certified: certified?.answer ?? null, path: players[0] ?? null });

/** The player that space, n and p are for. */
export const activePlayer = () => players[active] ?? null;

/** Builds the panels. */
export function startWays() {
  const escape = new Player(by("escape-body"), "Moves of the escape path");
  const out = new Player(by("certify-body"), "Moves of the way out");
  players = [escape, out];
  by("escape-take").append(takeButtons("escape", { json: () => escaped && { class: store.info?.flags, code: escaped.code, ...escaped.answer } }));
  by("certify-take").append(takeButtons("certify", { json: () => certified && { class: store.info?.flags, code: certified.code, ...certified.answer } }));
  by("escape-find").addEventListener("click", () => work("escape-find", (signal) => findEscape(escape, signal)));
  by("certify-find").addEventListener("click", () => work("certify-find", (signal) => findVerdict(out, signal)));
  store.on("view", () => { if (store.view !== "ways") players.forEach((player) => player.stop()); });
  store.on("class", () => {
    forgetEscape("");
    forgetVerdict("");
    for (const name of /** @type {const} */ (["escape", "certify"])) {
      const can = store.info?.can[name];
      /** @type {HTMLButtonElement} */ (by(`${name}-find`)).disabled = can?.able === false;
      by(`${name}-why`).textContent = can?.able === false ? can.why_not ?? "" : "";
    }
    store.setCommands("ways", []);
    hasCommand = false;
  });
  store.on("code", () => {
    // What was found is of one code, and of the path that leads from it.
    if (escaped && !escape.follow()) forgetEscape("The code is another one now.");
    if (certified && !out.follow()) forgetVerdict("The code is another one now: its verdict is not known.");
    const of = document.getElementById("certify-of");
    if (of) of.hidden = !certified || sameCode(store.code, certified.code);
  });
  store.on("code", () => by("ways-now").replaceChildren("The code at hand has ", h("b", {}, store.foreseen ? `J = ${store.foreseen.text}` : "…")));
  store.on("look", () => {
    if (hasCommand) return;
    hasCommand = true;
    store.setCommands("ways", store.commands.get("code") ?? []);
  });
  store.on("look", () => by("ways-now").replaceChildren("The code at hand has ", h("b", {}, `J = ${bare(store.look?.reward.text ?? "")}`), `: ${store.look?.status.kind ?? ""}.`));
}

/** @param {string} words */
function forgetEscape(words) {
  if (escaped) hasCommand = false;
  escaped = null;
  players[0]?.clear();
  by("escape-words").textContent = words;
}

/** @param {string} words */
function forgetVerdict(words) {
  if (certified) hasCommand = false;
  certified = null;
  players[1]?.clear();
  by("certify-words").replaceChildren(words ? h("p", { class: "faint" }, words) : "");
}

/**
 * A button that says that it works, with one beside it that cancels where the page has one.
 * @param {string} id
 * @param {(signal: AbortSignal) => Promise<void>} act
 */
export async function work(id, act) {
  const element = /** @type {HTMLButtonElement} */ (by(id));
  const cancel = document.getElementById(id.replace("-find", "-cancel"));
  const control = new AbortController();
  const stop = () => control.abort();
  element.disabled = true;
  element.classList.add("waiting");
  if (cancel) cancel.hidden = false;
  cancel?.addEventListener("click", stop);
  store.on("class", stop);
  try {
    await act(control.signal);
  } catch (error) {
    if (!control.signal.aborted) store.failed(error);
  } finally {
    cancel?.removeEventListener("click", stop);
    store.off("class", stop);
    if (cancel) cancel.hidden = true;
    const name = /** @type {import("./types.js").Ability} */ (id.replace("-find", ""));
    element.disabled = store.info?.can[name].able === false;
    element.classList.remove("waiting");
  }
}

/** @param {Player} player @param {AbortSignal} signal */
async function findEscape(player, signal) {
  const { info, code } = store;
  if (!info) return;
  const answer = /** @type {Escape} */ (await ask("escape", { class: info.flags, code }, signal));
  if (store.info !== info || !sameCode(store.code, code)) { forgetEscape("The code was changed meanwhile."); return; }
  escaped = { code, answer };
  active = 0;
  by("escape-words").textContent = answer.moves.length
    ? `${plural(answer.moves.length, "single change")} (at most ${answer.most_moves} by the theorem) ${answer.moves.length === 1 ? "leads" : "lead"} from J = ${bare(answer.start_reward.text)} to J = ${bare(answer.reward.text)}; none lowers it.`
    : "There is nothing to do: the reward is 1.";
  player.load(code, answer.moves);
  store.tell("ways");
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file }]);
}

/** @param {Player} player @param {AbortSignal} signal */
async function findVerdict(player, signal) {
  const { info, code } = store;
  if (!info) return;
  const answer = /** @type {Certificate} */ (await ask("certify", { class: info.flags, code, barrier: /** @type {HTMLInputElement} */ (by("certify-barrier")).checked }, signal));
  if (store.info !== info || !sameCode(store.code, code)) { forgetVerdict("The code was changed meanwhile: its verdict is not known."); return; }
  certified = { code, answer };
  active = 1;
  /** @type {[string|HTMLElement, string][]} */
  const facts = [[term("shelf"), `${plural(answer.shelf, "code")} searched`]];
  if (typeof answer.depth === "number") facts.push(["depth", `${plural(answer.depth, "change")} from the code at most`]);
  if (typeof answer.neutral_moves === "number") facts.push(["free changes", `${answer.neutral_moves} of the code itself`]);
  if (typeof answer.unvisited === "number") facts.push(["unvisited", plural(answer.unvisited, "cell")]);
  if (answer.barrier) facts.push([term("barrier"), `${answer.barrier} (${answer.barrier_is ?? ""})`]);
  else if (answer.stopped && answer.barrier === undefined) facts.push([term("barrier"), "no way out was found in the time that a page waits"]);
  by("certify-words").replaceChildren(
    h("p", { id: "certify-of", class: "faint", hidden: true }, "Of the code from which this path starts:"),
    h("p", {}, h("b", { class: `badge ${answer.verdict}` }, answer.verdict), " ", answer.words),
    h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  player.load(code, answer.path ?? answer.way_out ?? []);
  store.tell("ways");
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file }]);
}
