// Shows the barrier tree of a small class; a leaf that is clicked loads its code.

import { ask, Refused } from "./api.js";
import { by, picture, s, still } from "./dom.js";
import { bare, plural } from "./fraction.js";
import { notice } from "./notice.js";
import { store } from "./store.js";
import { takeButtons } from "./take.js";
import { work } from "./ways.js";

/** @typedef {import("./types.js").Tree} Tree */

/** @type {Tree|null} */
let tree = null;

/** Builds the panel. */
export function startTree() {
  by("tree-take").append(takeButtons("tree", { svg: () => tree?.svg ?? null, json: () => tree && { class: store.info?.flags, leaves: tree.leaves } }));
  by("tree-find").addEventListener("click", () => work("tree-find", find));
  store.on("class", () => {
    tree = null;
    by("tree-figure").hidden = true;
    const can = store.info?.can.tree;
    /** @type {HTMLButtonElement} */ (by("tree-find")).disabled = can?.able === false;
    by("tree-why").textContent = can?.able === false ? can.why_not ?? "" : "";
  });
}

/** How often it is asked how far the flood is, in milliseconds. */
const AGAIN = 400;

/** @param {AbortSignal} signal */
async function find(signal) {
  const info = store.info;
  if (!info) return;
  by("tree-why").textContent = "";
  const watch = setInterval(() => { showProgress().catch(() => {}); }, AGAIN);
  try {
    const answer = await ask("tree", { class: info.flags }, signal);
    if (store.info !== info) return;
    tree = /** @type {Tree} */ (answer);
    show();
    store.setCommands("ways", [{ command: tree.command, file: null }]);
  } catch (error) {
    // Why there is no tree stands where it would have been asked for again.
    if (!(error instanceof Refused) || error.status !== 503) throw error;
    by("tree-why").textContent = error.whole;
  } finally {
    clearInterval(watch);
    by("tree-progress").hidden = true;
  }
}

async function showProgress() {
  const { done, all } = /** @type {{done: number|null, all: number|null}} */ (await ask("progress", { of: "tree" }));
  // The tree may have come meanwhile.
  if (by("tree-cancel").hidden || !done || !all) return;
  /** @type {HTMLProgressElement} */ (by("tree-bar")).value = done / all;
  by("tree-share").textContent = `${Math.floor((100 * done) / all)} % of the flood`;
  by("tree-progress").hidden = false;
}

function show() {
  if (!tree) return;
  const { leaves, width, height } = tree;
  const own = picture(tree.svg);
  own.setAttribute("viewBox", `0 0 ${width} ${height}`);
  own.removeAttribute("width");
  own.removeAttribute("height");
  own.setAttribute("role", "group");
  own.setAttribute("aria-label", `Barrier tree with ${leaves.length} ${leaves.length === 1 ? "leaf" : "leaves"}`);
  /** @type {SVGGElement[]} */
  const spots = leaves.map((leaf, place) => {
    const kind = leaf.barrier ? `a trap behind a barrier of ${bare(leaf.barrier.text)}` : "no higher reward";
    const name = `Leaf ${leaf.id}: J = ${bare(leaf.reward.text)}, ${plural(Number(leaf.size), "code")}, ${kind}`;
    const spot = s("g", { class: "leaf", role: "button", tabindex: place === 0 ? 0 : -1, "aria-label": name, "data-leaf": leaf.id },
      s("circle", { class: "hit", cx: leaf.x, cy: leaf.y, r: 13 }),
      s("circle", { class: "dot", cx: leaf.x, cy: leaf.y, r: 4.5 }),
      s("title", {}, name));
    const load = () => {
      store.setCode(leaf.code);
      spots.forEach((other) => other.classList.toggle("chosen", other === spot));
      notice(`${name}. Its code is loaded.`);
    };
    spot.addEventListener("click", load);
    spot.addEventListener("keydown", (event) => {
      const by_ = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (event.key === "Enter" || event.key === " ") load();
      else if (by_) {
        const next = spots[(place + by_ + spots.length) % spots.length];
        spot.setAttribute("tabindex", "-1");
        next?.setAttribute("tabindex", "0");
        next?.focus();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return spot;
  });
  own.append(...spots);
  by("tree-picture").replaceChildren(own);
  by("tree-figure").hidden = false;
  // It stands below the code, often off the screen.
  by("tree-figure").scrollIntoView({ block: "start", behavior: still() ? "auto" : "smooth" });
}
