// Says of every cell whether changing it raises, keeps or lowers the reward, by a sign and not by colour alone.

import { sign } from "./fraction.js";

/** @typedef {import("./types.js").Look} Look */
/** @typedef {"raise"|"keep"|"lower"|"unvisited"} Mark */

/** @type {Mark[]} */
export const MARKS = ["raise", "keep", "lower", "unvisited"];

/** @type {Record<Mark, {sign: string, words: string}>} */
export const MEANING = {
  raise: { sign: "▲", words: "some change raises the reward" },
  keep: { sign: "=", words: "some change keeps it, none raises it" },
  lower: { sign: "▼", words: "every change lowers it (defended)" },
  unvisited: { sign: "·", words: "no input comes here: every change keeps it" },
};

/**
 * The mark of each cell, and how many single changes raise, keep and lower the reward.
 * @param {Look} look
 * @param {number[]} code
 * @param {number} actions
 */
export function marksOf(look, code, actions) {
  const counts = { raise: 0, keep: 0, lower: 0 };
  const unvisited = new Set(look.unvisited);
  /** @type {Mark[]} */
  const marks = code.map((own, cell) => {
    let [raises, keeps] = [false, false];
    for (let token = 0; token < actions; token += 1) {
      if (token === own) continue;
      const way = sign(look.delta[cell * actions + token] ?? 0);
      if (way > 0) { counts.raise += 1; raises = true; }
      else if (way === 0) { counts.keep += 1; keeps = true; }
      else counts.lower += 1;
    }
    if (unvisited.has(cell)) return "unvisited";
    return raises ? "raise" : keeps ? "keep" : "lower";
  });
  return { marks, counts };
}

/**
 * The sign of one change.
 * @param {number|string} delta
 * @returns {Mark}
 */
export const markOf = (delta) => (sign(delta) > 0 ? "raise" : sign(delta) === 0 ? "keep" : "lower");
