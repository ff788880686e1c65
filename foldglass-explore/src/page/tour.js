// Tells the paper's story in four acts. Each act does something in the page, says what came of it, and waits.
//
// Every number in it is what the program answers; none is written here.

import { ask } from "./api.js";
import { button, by, h, put, still } from "./dom.js";
import { beginStory, play, runsNow } from "./dynamics.js";
import { bare, number, plural } from "./fraction.js";
import { store } from "./store.js";
import { waysNow } from "./ways.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {import("./types.js").View} View */

/** @typedef {object} Scene  What an act shows now.
 * @property {Child[]} words
 * @property {string} news  what has come of it, read out by screen readers
 * @property {string|null} label  of the button; none while something goes on
 * @property {() => void} [act]
 */

/** @typedef {object} Act
 * @property {string} title
 * @property {string} short
 * @property {string} flags  of its class
 * @property {View} view
 * @property {() => Promise<void>} enter
 * @property {() => Scene} scene
 */

/** The class that the page opens on where nothing is named. */
export const STORY = ["--task", "quasigroup", "--lengths", "8"];
const CORRELATED = [...STORY, "--inputs", "markov:9/10"];
const SMALL = ["--task", "parity", "--lengths", "4", "--inputs", "markov:9/10"];

let at = 0;
/** Whether the second scene of the last act is shown. */
let whole = false;
/** The code at which RLVR stopped. @type {number[]|null} */
let stoppedAt = null;
/** The trap that the last act begins with. @type {number[]} */
let trap = [];
/** A worked example of the task. */
let example = "";
/** Something is being opened. */
let busy = false;

const random = { how: "random", seed: 0 };

/** @param {string} id */
const click = (id) => by(id).click();

/** The single changes of the code at hand, counted. */
function counts() {
  const { raise, keep, lower } = store.marks?.counts ?? { raise: 0, keep: 0, lower: 0 };
  return { raise, keep, lower, all: raise + keep + lower };
}

/** The reward of the code at hand. */
const reward = () => bare((store.foreseen ?? store.look?.reward)?.text ?? "…");

/** @type {Act[]} */
const ACTS = [
  {
    title: "One task, two learners",
    short: "Two learners",
    flags: STORY.join(" "),
    view: "dynamics",
    async enter() {
      await store.open(STORY, null, random);
      await work();
      store.show("dynamics");
      await beginStory(!still());
    },
    scene() {
      const { playing, chain, cavi, reached, stopped, over } = runsNow();
      const words = [
        "The task: multiply eight symbols from left to right. Only the last token is graded. ", h("span", { class: "worked" }, example),
        " Both learners begin with the same random answers. Monte Carlo changes one cell at a time; RLVR updates a table of probabilities by exact sums over all inputs.",
      ];
      const first = reached === null ? `Monte Carlo is at J = ${number(chain?.reward.value ?? 0)}.` : `Monte Carlo reached J = 1 after ${plural(reached, "sweep")}.`;
      if (over && cavi?.greedy_reward) {
        return { words, news: `${first} RLVR has stopped at ${bare(cavi.greedy_reward.text)} = ${number(cavi.greedy_reward.value)}. Is it a trap?`, label: "Find out", act: () => { stoppedAt = cavi.code; go(1); } };
      }
      const second = `RLVR ${stopped ? "has stopped" : "is"} at J = ${number(cavi?.reward.value ?? 0)}.`;
      if (playing) return { words, news: reached === null ? "Both are learning." : first, label: null };
      return { words, news: (chain?.sweep ?? 0) > 0 ? `${first} ${second}` : "", label: "▶ Run both", act: () => { play(); } };
    },
  },
  {
    title: "Is it a trap?",
    short: "A trap?",
    flags: STORY.join(" "),
    view: "ways",
    async enter() {
      await store.open(STORY, await stop(), random);
      store.show("ways");
    },
    scene() {
      const { raise, keep, all } = counts();
      const found = waysNow().certified;
      const words = [`This is the code at which RLVR stopped: J = ${reward()}. Of its ${all} single changes ${raise ? raise : "none"} ${raise === 1 || !raise ? "raises" : "raise"} J, and ${keep} keep it. It is a trap only if no path of changes that keep J leads to one that raises it.`];
      if (!found) return { words, news: "", label: "Search for such a path", act: () => click("certify-find") };
      const free = (found.path ?? []).length - 1;
      if (found.verdict !== "escapes") return { words, news: `The answer: ${found.words}.`, label: "Show the way to J = 1", act: () => go(2) };
      return {
        words: [...words, " To RLVR all tokens that keep J look alike, so it has no reason to take that path."],
        news: `No, it is not a trap: ${free ? `after ${plural(free, "change")} that ${free === 1 ? "keeps" : "keep"} J, another` : "a single change"} raises it to ${bare(found.path?.[free]?.reward.text ?? "")}.`,
        label: "Show the way to J = 1", act: () => go(2),
      };
    },
  },
  {
    title: "The way up",
    short: "The way up",
    flags: STORY.join(" "),
    view: "ways",
    async enter() {
      await store.open(STORY, await stop(), random);
      store.show("ways");
      click("escape-find");
    },
    scene() {
      const { escaped, path } = waysNow();
      const words = ["Theorem 4.1 of the paper builds a path to J = 1 from every code of this class. None of its changes lowers J."];
      if (!escaped || !path) return { words, news: "", label: "Find the path", act: () => click("escape-find") };
      const all = path.moves.length;
      const move = path.moves[path.at - 1];
      if (path.at === all) return { words: [...words, " No barrier held RLVR back. Monte Carlo drifts among codes of equal J until a change raises it; RLVR does not drift."], news: `${plural(all, "change")} later J = ${reward()}.`, label: "When are there traps?", act: () => go(3) };
      if (path.playing) return { words: [...words, ` Change ${path.at} of ${all}: J = ${bare(move?.reward.text ?? escaped.start_reward.text)}.`], news: "", label: "❚❚ Pause", act: () => path.toggle() };
      return { words, news: `From J = ${bare(escaped.start_reward.text)} it takes ${plural(all, "change")}.`, label: path.at ? "▶ Resume" : `▶ Play the ${plural(all, "change")}`, act: () => path.toggle() };
    },
  },
  {
    title: "Correlated inputs make real traps",
    short: "Real traps",
    flags: CORRELATED.join(" "),
    view: "ways",
    async enter() {
      await store.open(whole ? SMALL : CORRELATED, null, { how: "trap", seed: 0 });
      trap = store.code;
      store.show("ways");
      if (whole) click("tree-find");
    },
    scene: () => (whole ? landscape() : trapped()),
  },
];

/** @returns {Scene} */
function trapped() {
  const { keep, lower, raise, all } = counts();
  const words = ["The same task, but now a symbol repeats the one before it with probability 9/10. The theorem needs independent symbols, and here there are traps. "];
  const next = { label: "See a whole landscape", act: () => { whole = true; go(3); } };
  if (!store.fresh) return { words, news: "", ...next };
  if (store.code === trap) {
    const caught = raise + keep === 0;
    return { words: [...words, "Try it: click a cell and choose another token."], news: `This code has J = ${reward()}${caught ? `, and each of its ${lower} single changes lowers it` : `: ${keep} of its ${all} single changes keep it, none raises it`}.`, ...next };
  }
  return { words: [...words, "Undo (u) takes you back."], news: `J is now ${reward()}. In the trap it was ${trapReward}.`, ...next };
}

/** The reward of the trap, as it was when it was shown. */
let trapReward = "";

/** @returns {Scene} */
function landscape() {
  const leaves = document.querySelectorAll("#tree-picture .leaf").length;
  const words = [`Parity of four correlated symbols has ${plural(store.info?.cells ?? 0, "cell")}, few enough to search all codes. `];
  const can = store.info?.can.tree;
  if (can?.able === false) return { words, news: can.why_not ?? "", label: "End the tour", act: closeTour };
  if (!leaves || by("tree-figure").hidden) return { words, news: "", label: "Draw the barrier tree", act: () => click("tree-find") };
  return {
    words: [...words, "A leaf is a maximum of J, or several that free changes connect. To get from one leaf to another, J must first fall to where their branches meet. Click leaves, change cells, or choose another class at the top: all of it is yours."],
    news: `${leaves} leaves. ${store.code === trap ? `This code is one of them: a trap at J = ${reward()}.` : `This code has J = ${reward()}.`}`,
    label: "End the tour", act: closeTour,
  };
}

/** The code at which RLVR stops, from the runs of the first act; they are made anew where they are not there. */
async function stop() {
  if (stoppedAt) return stoppedAt;
  const { code } = await ask("start", { class: STORY, ...random });
  const run = await ask("run/new", { class: STORY, code, kind: "cavi", tau: 1e-6, seed: 0 });
  const end = await ask("run/step", { run: run.run, sweeps: 400 });
  ask("run/drop", { run: run.run }).catch(() => {});
  stoppedAt = /** @type {number[]} */ (end.code);
  return stoppedAt;
}

/** Works the example: the product of an input, as the program multiplies. */
async function work() {
  const { info, code, input } = store;
  if (example || !info || !input) return;
  const rollout = /** @type {import("./types.js").Rollout} */ (await ask("rollout", { class: info.flags, code, input }));
  example = `For example ${input.join("·")} = ${rollout.truth}.`;
}

/** Listens, and waits to be opened. */
export function startTour() {
  by("tour-open").addEventListener("click", () => { whole = false; openTour().catch(store.failed); });
  by("tour-close").addEventListener("click", closeTour);
  for (const topic of /** @type {const} */ (["class", "code", "look", "view", "runs", "ways"])) store.on(topic, show);
  by("tour-acts").append(...ACTS.map(({ short }, place) => {
    const one = button(String(place + 1), () => { whole = false; go(place); });
    one.append(h("span", { class: "act-name" }, ` ${short}`));
    return h("li", {}, one);
  }));
}

/** Opens it at its beginning. */
export async function openTour() {
  by("tour").hidden = false;
  await go(0);
}

/** Closes it; what it has opened stays. */
export function closeTour() {
  by("tour").hidden = true;
  by("tour-open").focus({ preventScroll: true });
}

/** @param {number} to */
async function go(to) {
  at = to;
  busy = true;
  show();
  try {
    await ACTS[to]?.enter();
  } catch (error) {
    store.failed(error);
  } finally {
    busy = false;
  }
  scrollTo({ top: 0, behavior: still() ? "auto" : "smooth" });
  show();
}

/** Shows where the act stands. */
function show() {
  const act = ACTS[at];
  if (!act || by("tour").hidden) return;
  if (store.code === trap && store.fresh) trapReward = reward();
  const flags = (store.info?.flags ?? []).join(" ");
  const here = store.view === act.view && (flags === act.flags || (whole && flags === SMALL.join(" ")));
  /** @type {Scene} */
  const away = { words: ["You have left the tour: look around for as long as you like."], news: "", label: "Back to the tour", act: () => { go(at); } };
  const scene = busy ? { words: [], news: "", label: null } : here ? act.scene() : away;
  by("tour-title").textContent = act.title;
  by("tour-words").replaceChildren();
  put(by("tour-words"), ...scene.words);
  if (by("tour-news").textContent !== scene.news) by("tour-news").textContent = scene.news;
  const next = /** @type {HTMLButtonElement} */ (by("tour-do"));
  next.disabled = scene.label === null;
  next.textContent = scene.label ?? "…";
  next.onclick = scene.act ?? null;
  [...by("tour-acts").children].forEach((item, place) => {
    if (place === at) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
}
