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
      /** @type {HTMLButtonElement} */ (by(`${name}-find`)).disabled = can?.yes === false;
      by(`${name}-why`).textContent = can?.yes === false ? can.why_not ?? "" : "";
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
  const last = answer.moves[answer.moves.length - 1];
  by("escape-words").textContent = answer.words ?? (last
    ? `${answer.moves.length} single changes lead from J = ${bare(answer.start.text)} to J = ${bare(last.reward.text)}; none lowers it.`
    : "There is nothing to do: the reward is 1.");
  player.load(code, answer.moves);
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file ?? store.look?.code_file ?? null }]);
}

/** @param {Player} player */
async function findVerdict(player) {
  const { info, code } = store;
  if (!info) return;
  const answer = /** @type {Certificate} */ (await ask("certify", { class: info.flags, code }));
  certified = { code, answer };
  active = 1;
  const { shelf, barrier } = answer;
  by("certify-words").replaceChildren(
    h("p", {}, h("b", { class: `badge ${answer.verdict}` }, answer.verdict), " ", answer.words),
    h("dl", { class: "facts" },
      h("dt", {}, term("shelf")), h("dd", {}, `${Number(shelf.codes).toLocaleString("en")} ${Number(shelf.codes) === 1 ? "code" : "codes"}${shelf.exhausted ? ", all of them" : ", not all"}`),
      ...(shelf.depth === undefined || shelf.depth === null ? [] : [h("dt", {}, "depth"), h("dd", {}, `${shelf.depth} changes from the code`)]),
      ...(shelf.neutral === undefined || shelf.neutral === null ? [] : [h("dt", {}, "changes at no cost"), h("dd", {}, shelf.neutral)]),
      ...(barrier ? [h("dt", {}, term("barrier")), h("dd", {}, `${barrier.text} (${barrier.is})`)] : [])));
  player.load(code, answer.way_out ?? []);
  store.setCommands("ways", [{ command: answer.command, file: answer.code_file ?? store.look?.code_file ?? null }]);
}
