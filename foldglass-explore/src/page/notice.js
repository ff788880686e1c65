// Says at the foot of the page what happened, to eyes and to screen readers, and for as long as it lasts that the
// server is gone.

import { Refused, traffic } from "./api.js";
import { button, by, h } from "./dom.js";

let clear = 0;
/** When something went wrong that is still said. @type {number|null} */
let wrongSince = null;
/** When the reader last did something. */
let acted = 0;

/**
 * @param {string} words
 * @param {boolean} [bad]
 * @param {string|null} [help]
 */
export function notice(words, bad = false, help = null) {
  const place = by("notice");
  place.className = bad ? "notice bad" : "notice";
  const close = button("✕", quiet, { class: "close", "aria-label": "Dismiss this message" });
  place.replaceChildren(h("div", {}, h("span", {}, words), help ? h("small", {}, help) : ""), close);
  place.hidden = false;
  wrongSince = bad ? performance.now() : null;
  clearTimeout(clear);
  clear = setTimeout(quiet, bad ? 15_000 : 4000);
}

/** Hides what is said. */
export function quiet() {
  by("notice").hidden = true;
  wrongSince = null;
}

/** @param {unknown} error */
export function failed(error) {
  if (!(error instanceof Refused)) throw error;
  // A bar says so already, for as long as it is so.
  if (error.status !== 0) notice(error.message, true, error.help);
}

/** Listens to what the server answers. @param {() => void} copyLink */
export function startNotices(copyLink) {
  for (const act of ["pointerdown", "keydown"]) addEventListener(act, () => { acted = performance.now(); }, true);
  traffic.addEventListener("unanswered", () => { by("gone").hidden = false; });
  traffic.addEventListener("answered", (event) => {
    by("gone").hidden = true;
    // What the reader did next went well: an older mistake is over.
    const asked = /** @type {CustomEvent<number>} */ (event).detail;
    if (wrongSince !== null && acted > wrongSince && asked >= acted) quiet();
  });
  by("gone-copy").addEventListener("click", copyLink);
}
