// Says at the top of the page what happened, to eyes and to screen readers.

import { Refused } from "./api.js";
import { by, h } from "./dom.js";

let clear = 0;

/**
 * @param {string} words
 * @param {boolean} [bad]
 * @param {string|null} [help]
 */
export function notice(words, bad = false, help = null) {
  const place = by("notice");
  place.className = bad ? "notice bad" : "notice";
  place.replaceChildren(h("span", {}, words), help ? h("small", {}, help) : "");
  place.hidden = false;
  clearTimeout(clear);
  clear = setTimeout(() => { place.hidden = true; }, bad ? 15_000 : 4000);
}

/** Hides what is said. */
export function quiet() {
  by("notice").hidden = true;
}

/** @param {unknown} error */
export function failed(error) {
  if (error instanceof Refused) notice(error.message, true, error.help);
  else throw error;
}
