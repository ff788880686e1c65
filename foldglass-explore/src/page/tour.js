// Leads a newcomer through the page in six sentences, once; it can be skipped and opened again.

import { by, still } from "./dom.js";
import { store } from "./store.js";
import { kept } from "./theme.js";

/** @typedef {{at: string, title: string, words: string}} Stop */

/** @type {Stop[]} */
const STOPS = [
  { at: "class-open", title: "A task and a class of codes", words: "The task: multiply the T symbols x₁, x₂, … of an input one after the other. Only the last answer is checked. To learning this is a verifiable reward; to physics, minus the energy. Here you choose task, length and what a step may see." },
  { at: "stage", title: "A code", words: "A column is a step, a circle a cell: what is seen there, and the token that is said. Together they are a deterministic policy, or a configuration of Potts spins. Click a cell to change its token." },
  { at: "reward-panel", title: "The reward, exact", words: "The share of inputs answered rightly, as a fraction. Cells say what a change would do: ▲ raises it, = keeps it, ▼ lowers it. Where nothing raises it, the code is a local maximum; where no free path leads on, a trap." },
  { at: "tab-dynamics", title: "Dynamics", words: "Monte Carlo and RLVR from the same code, side by side. τ is the temperature, or the weight of the entropy bonus: turn it while they run." },
  { at: "tab-ways", title: "Ways out", words: "The escape path of the theorem, move by move; whether a code is a trap, proved by its whole shelf; which basins meet where." },
  { at: "command-bar", title: "To take away", words: "The command with the same numbers is always here. The address holds class and code, so that it can be sent; SVG and JSON stand beside each figure. Press ? for the keys." },
];

let at = 0;
/** @type {import("./types.js").View} Where the reader was. */
let from = "code";
let height = 0;

const dialog = () => /** @type {HTMLDialogElement} */ (by("tour"));

/** Builds it, and opens it the first time. */
export function startTour() {
  by("tour-open").addEventListener("click", openTour);
  by("tour-next").addEventListener("click", () => go(at + 1));
  by("tour-back").addEventListener("click", () => go(at - 1));
  by("tour-skip").addEventListener("click", closeTour);
  dialog().addEventListener("cancel", closeTour);
  addEventListener("resize", () => { if (dialog().open) place(); });
  // Whoever opens records has come for them: the tour, which is about codes, waits for its button.
  if (kept("toured") !== "yes" && store.view !== "records") openTour();
}

/** Opens it at its beginning. */
export function openTour() {
  [from, height] = [store.view, scrollY];
  if (from !== "code") store.show("code");
  if (!dialog().open) dialog().show();
  go(0);
}

/** Closes it; true if it was open. */
export function closeTour() {
  if (!dialog().open) return false;
  dialog().close();
  kept("toured", "yes");
  light(null);
  if (from !== "code") store.show(from);
  scrollTo({ top: height, behavior: "instant" });
  by("tour-open").focus({ preventScroll: true });
  return true;
}

/** @param {HTMLElement|null} target */
function light(target) {
  document.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
  target?.classList.add("lit");
}

/** @param {number} to */
function go(to) {
  if (to >= STOPS.length) { closeTour(); return; }
  at = Math.max(0, to);
  const stop = STOPS[at];
  if (!stop) return;
  by("tour-title").textContent = stop.title;
  by("tour-words").textContent = stop.words;
  by("tour-count").textContent = `${at + 1} of ${STOPS.length}`;
  /** @type {HTMLButtonElement} */ (by("tour-back")).disabled = at === 0;
  by("tour-next").textContent = at === STOPS.length - 1 ? "Done" : "Next";
  const target = by(stop.at);
  light(target);
  target.scrollIntoView({ block: "nearest", behavior: still() ? "auto" : "smooth" });
  place();
  by("tour-next").focus({ preventScroll: true });
}

/** Beside what it speaks of, where there is room; else at the bottom. */
function place() {
  const stop = STOPS[at];
  if (!stop) return;
  const [box, own] = [by(stop.at).getBoundingClientRect(), dialog().getBoundingClientRect()];
  const wide = document.documentElement.clientWidth;
  let [left, top] = [box.left, box.bottom + 10];
  if (top + own.height > innerHeight - 10) top = box.top - own.height - 10;
  if (top < 10) {
    top = Math.max(10, Math.min(box.top + 10, innerHeight - own.height - 10));
    left = box.right + 12 + own.width < wide ? box.right + 12 : box.left - own.width - 12;
    if (left < 10) { left = wide - own.width - 10; top = innerHeight - own.height - 10; }
  }
  dialog().style.left = `${Math.max(10, Math.min(left, wide - own.width - 10))}px`;
  dialog().style.top = `${top}px`;
}
