// Reads and writes the part of the address after #: class, code and view, so that it can be sent.

/** @typedef {import("./types.js").View} View */
/** @typedef {{flags: string[]|null, code: number[]|null, view: View|null}} Address */

const VIEWS = ["code", "dynamics", "ways", "records"];

/**
 * @param {string} fragment
 * @returns {Address}
 */
export function read(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const flags = parts.get("class");
  const digits = parts.get("code");
  const view = parts.get("view");
  return {
    flags: flags ? flags.trim().split(/\s+/) : null,
    code: digits ? tokens(digits) : null,
    view: view && VIEWS.includes(view) ? /** @type {View} */ (view) : null,
  };
}

/**
 * @param {string[]} flags
 * @param {number[]} code
 * @param {number} actions
 * @param {View} view
 */
export function write(flags, code, actions, view) {
  const parts = new URLSearchParams({ class: flags.join(" "), code: digits(code, actions), view });
  return `#${parts}`;
}

/**
 * One digit of base 36 a cell; with more tokens than that, numbers between dots.
 * @param {number[]} code
 * @param {number} actions
 */
export function digits(code, actions) {
  if (actions > 36) return code.join(".");
  let text = "";
  for (const token of code) text += token.toString(36);
  return text;
}

/**
 * @param {string} text
 * @returns {number[]|null}
 */
export function tokens(text) {
  const list = text.includes(".") ? text.split(".").map(Number) : [...text].map((digit) => parseInt(digit, 36));
  return list.every((token) => Number.isInteger(token) && token >= 0) ? list : null;
}
