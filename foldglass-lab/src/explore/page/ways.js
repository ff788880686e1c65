// Looks for ways out of a code: the escape path of the theorem, the verdict over its shelf.

import { ask } from "./api.js";
import { by, h } from "./dom.js";
import { bare } from "./fraction.js";
import { Player } from "./player.js";
import { store } from "./store.js";
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

/** The player that space, n and p are for. */
export const activePlayer = () => players[active] ?? null;

/** Builds the panels. */
export function startWays() {
  const escape = new Player(by("escape-body"), "Moves of the escape path");
  const out = new Player(by("certify-body"), "Moves of the way out");
  players = [escape, out];
  by("escape-take").append(takeButtons("escape", { json: () => escaped && { class: store.info?.flags, code: escaped.code, ...escaped.answer } }));
  by("certify-take").append(takeButtons("certify", { json: () => certified && { class: store.info?.flags, code: certified.code, ...certified.answer } }));
  by("escape-find").addEventListener("click", () => work("escape-find", () => findEscape(escape)));
  by("certify-find").addEventListener("click", () => work("certify-find", () => findVerdict(out)));
  store.on("class", () => {
    [escaped, certified] = [null, null];
    players.forEach((player) => player.clear());
    by("escape-words").textContent = "";
    by("certify-words").replaceChildren();
    for (const name of /** @type {const} */ (["escape", "certify"])) {
      const can = store.info?.can[name];
      /** @type {HTMLButtonElement} */ (by(`${name}-find`)).disabled = can?.able === false;
      by(`${name}-why`).textContent = can?.able === false ? can.why_not ?? "" : "";
    }
    store.setCommands("ways", store.commands.get("code") ?? []);
  });
  store.on("code", () => by("ways-now").replaceChildren("The code at hand has ", h("b", {}, store.foreseen ? `J = ${store.foreseen.text}` : "…")));
  store.on("look", () => by("ways-now").replaceChildren("The code at hand has ", h("b", {}, `J = ${bare(store.look?.reward.text ?? "")}`), `: ${store.look?.status.kind ?? ""}.`));
}

/**
 * A button that says that it works.
 * @param {string} id
 * @param {() => Promise<void>} act
 */
async function work(id, act) {
  const element = /** @type {HTMLButtonElement} */ (by(id));
  element.disabled = true;
  element.classList.add("waiting");
  try {
    await act();
  } catch (error) {
    store.failed(error);
  } finally {
    element.disabled = false;
    element.classList.remove("waiting");
  }
}

/** @param {Player} player */
async function findEscape(player) {
  const { info, code } = store;
  if (!info) return;
  const answer = /** @type {Escape} */ (await ask("escape", { class: info.flags, code }));
  escaped = { code, answer };
  active = 0;
  by("escape-words").textContent = answer.moves.length
    ? `${answer.moves.length} single changes (at most ${answer.most_moves} by the theorem) lead from J = ${bare(answer.start_reward.text)} to J = ${bare(answer.reward.text)}; none lowers it.`
    : "There is nothing to do: the reward is 1.";
  player.load(code, answer.moves);
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file }]);
}

/** @param {Player} player */
async function findVerdict(player) {
  const { info, code } = store;
  if (!info) return;
  const answer = /** @type {Certificate} */ (await ask("certify", { class: info.flags, code, barrier: /** @type {HTMLInputElement} */ (by("certify-barrier")).checked }));
  certified = { code, answer };
  active = 1;
  /** @type {[string|HTMLElement, string][]} */
  const facts = [[term("shelf"), `${answer.shelf.toLocaleString("en")} ${answer.shelf === 1 ? "code" : "codes"} searched`]];
  if (typeof answer.depth === "number") facts.push(["depth", `${answer.depth} changes from the code at most`]);
  if (typeof answer.neutral_moves === "number") facts.push(["free changes", `${answer.neutral_moves} of the code itself`]);
  if (typeof answer.unvisited === "number") facts.push(["unvisited", `${answer.unvisited} cells`]);
  if (answer.barrier) facts.push([term("barrier"), `${answer.barrier} (${answer.barrier_is ?? ""})`]);
  by("certify-words").replaceChildren(
    h("p", {}, h("b", { class: `badge ${answer.verdict}` }, answer.verdict), " ", answer.words),
    h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  player.load(code, answer.path ?? answer.way_out ?? []);
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file }]);
}
