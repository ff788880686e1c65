// Shows the barrier tree of a small class; a leaf that is clicked loads its code.

import { ask, Refused } from "./api.js";
import { by, picture, s, still } from "./dom.js";
import { bare, plural } from "./fraction.js";
import { notice } from "./notice.js";
import { sameCode, store } from "./store.js";
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
    by("desk").classList.remove("has-tree");
    const can = store.info?.can.tree;
    /** @type {HTMLButtonElement} */ (by("tree-find")).disabled = can?.able === false;
    by("tree-why").textContent = can?.able === false ? can.why_not ?? "" : "";
  });
  store.on("code", showHere);
  store.on("look", showHere);
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
    // It would be given up again: not before the class is opened anew.
    const can = info.can.tree;
    [can.able, can.why_not] = [false, error.whole];
    store.tell("ways");
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
  by("desk").classList.add("has-tree");
  showHere();
  // A picture that is wider than the screen shows the place of the code.
  const place = by("tree-picture");
  const mark = own.querySelector(".here")?.getBoundingClientRect();
  if (mark) place.scrollLeft += mark.left - place.getBoundingClientRect().left - place.clientWidth / 2;
  // On a narrow screen it stands below the code.
  by(wide.matches ? "tree-picture" : "tree-figure").scrollIntoView({ block: wide.matches ? "nearest" : "start", behavior: still() ? "auto" : "smooth" });
  store.tell("ways");
}

/** Where the tree stands beside the code. */
const wide = matchMedia("(min-width: 75rem)");

/** Says where in the tree the code at hand is: at the leaf that it is, else at the height of its reward. */
function showHere() {
  const own = by("tree-picture").querySelector("svg");
  if (!tree || !own || by("tree-figure").hidden) return;
  own.querySelector(".here")?.remove();
  const at = tree.leaves.find(({ code }) => sameCode(code, store.code));
  for (const spot of own.querySelectorAll(".leaf")) spot.classList.toggle("chosen", Number(/** @type {SVGElement} */ (spot).dataset.leaf) === at?.id);
  const reward = store.foreseen ?? (store.fresh ? store.look?.reward : null);
  if (at) {
    const x = Math.max(60, Math.min(tree.width - 60, at.x));
    own.append(s("g", { class: "here" }, s("circle", { cx: at.x, cy: at.y, r: 10 }), s("text", { x, y: at.y - 16, "text-anchor": "middle", "font-size": 16 }, "you are here")));
  } else if (reward) {
    const y = heightOf(tree, reward.value);
    if (y !== null) own.append(s("g", { class: "here" }, s("path", { d: `M70 ${y}H${tree.width - 20}` }), s("text", { x: tree.width - 24, y: y - 6, "text-anchor": "end", "font-size": 16 }, `this code: J = ${bare(reward.text)}`)));
  }
}

/** How high a reward stands in the picture: two leaves of different rewards tell. @param {Tree} of @param {number} value */
function heightOf(of, value) {
  const [one] = of.leaves;
  const other = of.leaves.find(({ reward }) => reward.value !== one?.reward.value);
  if (!one || !other) return null;
  const y = one.y + ((value - one.reward.value) / (other.reward.value - one.reward.value)) * (other.y - one.y);
  return y > 0 && y < of.height - 20 ? y : null;
}
