// Says each term in the words of both fields: a term can be hovered or focused, and then shows its translation.

import { by, h } from "./dom.js";

/** @typedef {{rl: string, physics: string, says: string}} Entry */

/** @type {Record<string, Entry>} */
export const TERMS = {
  code: { rl: "deterministic policy", physics: "spin configuration σ", says: "A token for every cell: what is said in each situation." },
  cell: { rl: "entry of the policy's table", physics: "q-state (Potts) spin", says: "One situation: the step, the input symbols in the window, the token said before." },
  token: { rl: "action", physics: "value of the spin", says: "What is said in a cell; the last one is the answer." },
  reward: { rl: "expected reward J", physics: "minus the energy", says: "The share of inputs answered rightly, exact." },
  tau: { rl: "entropy coefficient", physics: "temperature τ = 1/β", says: "How much a policy is paid for not deciding; how often a chain accepts a loss." },
  visits: { rl: "visit probability d(c)", physics: "how often the site is coupled", says: "The share of inputs whose rollout comes to the cell." },
  values: { rl: "d(c) Q(c, a)", physics: "local field", says: "Visits times the reward to be expected after this token." },
  chain: { rl: "policies sampled by exp(J/τ)", physics: "Monte Carlo", says: "Changes one cell at a time and keeps what the temperature allows." },
  cavi: { rl: "RLVR with an entropy bonus, by exact damped updates", physics: "naive mean field", says: "Coordinate ascent on a policy that may stay undecided." },
  policy: { rl: "stochastic policy π", physics: "variational product state", says: "A probability for every token of every cell; its shade is how decided a cell is." },
  maximum: { rl: "local optimum", physics: "metastable state", says: "No single change raises the reward." },
  trap: { rl: "local optimum without a neutral way out", physics: "metastable state", says: "No path of changes that keep the reward leads to one that raises it." },
  shelf: { rl: "policies of equal reward, one change apart", physics: "zero-energy plateau", says: "All codes reachable by changes that keep the reward." },
  barrier: { rl: "the least loss on the best way out", physics: "energy barrier", says: "How far the reward must fall before it can rise." },
  rollout: { rl: "chain of thought on one input", physics: "a path through the spins", says: "The cells one input leads through, a token a step." },
  state: { rl: "latent state s", physics: "partial product", says: "The product of the inputs so far: what a right answer must keep." },
  resets: { rl: "re-randomised entries of the policy", physics: "local kicks out of a plateau", says: "Every 10 sweeps, up to 100 times, 2 % of the cells are drawn anew: RLVR then diffuses where it would stall." },
  entropy: { rl: "Σ H(π(·|c))", physics: "entropy of the product state", says: "How undecided the policy is, summed over the cells, in nats." },
};

/** @type {HTMLElement|null} */
let open = null;

/** @param {HTMLElement} at @param {Entry} entry */
function show(at, entry) {
  const tip = by("tip");
  tip.replaceChildren(
    h("p", {}, entry.says),
    h("dl", {}, h("dt", {}, "learning"), h("dd", {}, entry.rl), h("dt", {}, "physics"), h("dd", {}, entry.physics)),
  );
  tip.hidden = false;
  const [box, own] = [at.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8));
  const below = box.bottom + 6 + own.height < innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(8, box.top - own.height - 6)}px`;
  open = at;
}

/** Hides the translation. */
export function hideTerm() {
  if (!open) return false;
  by("tip").hidden = true;
  open = null;
  return true;
}

/**
 * A word with its translation.
 * @param {string} name
 * @param {string} [words]
 */
export function term(name, words = name) {
  const entry = TERMS[name];
  if (!entry) return h("span", {}, words);
  const element = h("span", { class: "term", tabindex: 0, role: "button", "aria-describedby": "tip" }, words);
  const appear = () => show(element, entry);
  element.addEventListener("mouseenter", appear);
  element.addEventListener("focus", appear);
  element.addEventListener("click", appear);
  element.addEventListener("mouseleave", hideTerm);
  element.addEventListener("blur", hideTerm);
  return element;
}

/**
 * Gives the terms that stand in the page, as <span data-term="tau">, their translations.
 * @param {ParentNode} within
 */
export function translate(within) {
  for (const place of within.querySelectorAll("[data-term]")) {
    place.replaceWith(term(/** @type {HTMLElement} */ (place).dataset.term ?? "", place.textContent ?? ""));
  }
}
