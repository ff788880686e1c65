// Runs a Monte Carlo chain and CAVI side by side from the code at hand, at a temperature that is turned as they go.

import { ask, Refused } from "./api.js";
import { button, by, h, latest, put, sleep, still } from "./dom.js";
import { Field } from "./field.js";
import { bare, number } from "./fraction.js";
import { gridSvg } from "./grid.js";
import { notice } from "./notice.js";
import { Plot } from "./plot.js";
import { cellName, store } from "./store.js";
import { takeButtons } from "./take.js";
import { term } from "./words.js";

/** @typedef {import("./types.js").RunState} RunState */
/** @typedef {{kind: "chain"|"cavi", field: Field, state: RunState|null, words: HTMLElement, cell: HTMLElement, last: number, reached: number|null, picture: ((code: number[]) => Promise<void>)|null}} Side */

/** The slider goes over powers of ten from COLDEST to 1. */
const COLDEST = -13;
/** The hottest temperature that the server takes. */
const HOTTEST = 1e300;
/** Milliseconds between two pictures at least: what the eye follows and the server bears. */
const BEAT = 110;
/** Of so many beats one is shown to those who want little motion. */
const FEW = 20;
/** Up to so many cells the ways of the inputs are drawn at every beat. */
const SOON = 60;

/** The curves, in the order of the sides. */
const NAMES = ["Monte Carlo", "RLVR"];
/** RLVR has stopped where no probability would change by more than this. */
const STOPPED = 1e-6;

/** @type {Side[]} */
let sides = [];
/** @type {Plot} */
let plot;
let playing = false;
let stale = true;
let runs = 0;

/** @param {string} id */
const entry = (id) => /** @type {HTMLInputElement} */ (by(id));

/** Builds the view. */
export function startDynamics() {
  plot = new Plot(by("dynamics-plot"), { x: "sweeps", y: "reward J", label: "Reward against sweeps", unit: true });
  plot.setLines(NAMES);
  sides = [side("chain", "Cells of the chain's code"), side("cavi", "Cells of the policy")];
  by("dynamics-take").append(takeButtons("reward-against-sweeps", { svg: () => plot.source(), json: numbers }));
  const [slider, exact] = [entry("tau-slider"), entry("tau")];
  let chosen = false;
  for (const one of [slider, exact]) one.addEventListener("input", () => { chosen = true; });
  // Until the reader turns it: where something happens. Larger tasks are at chance when parity still folds.
  store.on("class", () => {
    if (chosen) return;
    exact.value = store.info?.q === 2 ? "0.01" : "1e-6";
    slider.value = String(Math.log10(tau()));
    checkTau();
  });
  slider.addEventListener("input", () => { exact.value = String(Number((10 ** Number(slider.value)).toPrecision(3))); checkTau(); });
  exact.addEventListener("input", () => { if (checkTau() && tau() > 0) slider.value = String(Math.max(COLDEST, Math.log10(tau()))); });
  for (const id of ["kernel", "resets", "run-seed"]) by(id).addEventListener("change", () => { pause(); reset().catch(store.failed); });
  plot.log = entry("log").checked;
  entry("log").addEventListener("change", () => { plot.log = entry("log").checked; plot.draw(); });
  by("play").addEventListener("click", toggle);
  by("step").addEventListener("click", single);
  by("reset").addEventListener("click", () => { pause(); reset().catch(store.failed); });
  store.on("class", () => { pause(); stale = true; for (const one of sides) one.state = null; });
  store.on("code", () => { if (!playing) stale = true; showStale(); });
  store.on("view", () => {
    if (store.view !== "dynamics") { pause(); return; }
    sides.forEach(({ field }) => field.resize());
    if (stale) reset().catch(store.failed);
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) pause(); });
  addEventListener("resize", () => { if (store.view === "dynamics") sides.forEach(({ field }) => field.resize()); });
}

/** @param {"chain"|"cavi"} kind @param {string} label @returns {Side} */
function side(kind, label) {
  const words = by(`${kind}-words`);
  const cell = by(`${kind}-cell`);
  const field = new Field(by(`${kind}-field`), { label, small: true, tinted: () => true, tools: by(`${kind}-take`), onFocus: (one) => showCell(kind, one), onPick: (one) => showCell(kind, one) });
  by(`${kind}-take`).append(
    button("To the code", () => {
      const code = sides.find((one) => one.kind === kind)?.state?.code;
      if (!code) return;
      store.setCode(code);
      store.show("code");
    }, { class: "link", title: "Load this code, to look at it" }),
    takeButtons(kind, {
      svg: () => (field.info ? gridSvg(field.mode === "drawing" ? spread(field) : field.grid.spots, field.shown) : null),
      json: () => { const state = sides.find((one) => one.kind === kind)?.state; return state && { class: store.info?.flags, tau: tau(), ...state }; },
    }));
  return { kind, field, state: null, words, cell, last: 0, reached: null, picture: null };
}

/** The spots of a drawing, as places of a grid. @param {Field} field */
function spread(field) {
  const steps = [...new Set(field.drawing.spots.map((spot) => spot.x))].sort((a, b) => a - b);
  const seen = new Map();
  return field.drawing.spots.map((spot) => {
    const x = steps.indexOf(spot.x);
    const y = seen.get(x) ?? 0;
    seen.set(x, y + 1);
    return { ...spot, x, y };
  });
}

/** What is written for the temperature; not a number where it cannot be read. */
const tau = () => (entry("tau").value.trim() ? Number(entry("tau").value) : NaN);

/** Whether the temperature is one; where it is not, says so and plays nothing: a run at another one would mislead. */
function checkTau() {
  const good = tau() >= 0 && tau() <= HOTTEST;
  by("tau-error").textContent = good ? "" : `τ = "${entry("tau").value.trim()}" is not a temperature: a number from 0 to ${number(HOTTEST)} is accepted, such as 0.01 or 1e-6.`;
  entry("tau").setAttribute("aria-invalid", String(!good));
  for (const id of ["play", "step", "reset"]) /** @type {HTMLButtonElement} */ (by(id)).disabled = !good;
  if (!good) pause();
  return good;
}

const sweeps = () => Number(/** @type {HTMLSelectElement} */ (by("sweeps")).value);

function showStale() {
  by("dynamics-start").textContent = stale ? "The code has changed since: reset begins from it." : "";
}

/** One act after the other. @param {() => Promise<void>} act */
function inTurn(act) {
  const done = turn.then(act);
  turn = done.catch(() => {});
  return done;
}

/** @type {Promise<void>} */
let turn = Promise.resolve();

/** The paper's resets: 2 % of the cells, every 10 iterations, 100 times. */
const RESETS = { share: 0.02, every: 10, cycles: 100 };

/** What is chosen for one of the two. @param {"chain"|"cavi"} kind */
function settings(kind) {
  if (kind === "chain") return { kernel: /** @type {HTMLSelectElement} */ (by("kernel")).value };
  return entry("resets").checked ? { resets: RESETS } : {};
}

/** New runs, from the code at hand. */
const reset = () => inTurn(begin);

async function begin() {
  const { info, code } = store;
  if (!info || !checkTau()) return;
  runs += 1;
  const own = runs;
  for (const one of sides) {
    if (one.state) ask("run/drop", { run: one.state.run }).catch(() => {});
    one.state = null;
    if (one.field.info !== info) {
      one.field.setClass(info);
      one.field.onMode = () => by("desk-dynamics").classList.toggle("as-grid", sides.every(({ field }) => field.mode === "grid"));
      one.field.onMode();
      one.picture = latest((/** @type {number[]} */ wanted) => drawPicture(one, info, wanted));
    }
  }
  plot.setLines(NAMES);
  telling = false;
  for (const [place, one] of sides.entries()) {
    const can = info.can[one.kind];
    if (!can.able) { one.words.textContent = can.why_not ?? "not for this class"; continue; }
    const state = /** @type {RunState} */ (await ask("run/new", { class: info.flags, code, kind: one.kind, tau: tau(), seed: Number(entry("run-seed").value), ...settings(one.kind) }));
    if (own !== runs) return;
    one.state = state;
    one.last = state.sweep;
    one.reached = null;
    plot.extend(place, [[state.sweep, state.reward.value]]);
    show(one);
  }
  plot.draw();
  stale = false;
  showStale();
  showCommands();
  store.tell("runs");
}

/**
 * The ways of the inputs through a code.
 * @param {Side} one
 * @param {import("./types.js").ClassInfo} info
 * @param {number[]} code
 */
async function drawPicture(one, info, code) {
  try {
    const picture = await ask("svg", { class: info.flags, code, inputs: [] });
    if (one.field.info === info) one.field.setPicture(/** @type {import("./types.js").Picture} */ (picture));
    one.field.frame.classList.toggle("moving", playing && info.cells > SOON);
  } catch (error) {
    store.failed(error);
  }
}

/** One beat of both. @param {number} count */
async function beat(count) {
  if (stale && sides.every((one) => !one.state)) await begin();
  const own = runs;
  await Promise.all(sides.map(async (one, place) => {
    if (!one.state) return;
    const next = /** @type {RunState} */ (await ask("run/step", { run: one.state.run, sweeps: count, tau: tau(), digits: 4 }));
    if (own !== runs || !one.state) return;
    one.state = { ...one.state, ...next };
    const fresh = (next.trace ?? [[next.sweep, next.reward.value]]).filter(([sweep]) => sweep > one.last);
    one.last = next.sweep;
    one.reached ??= fresh.find(([, reward]) => reward === 1)?.[0] ?? null;
    plot.extend(place, /** @type {[number, number][]} */ (fresh));
  }));
  beats += 1;
  // Who wants little motion sees a playing run in few pictures.
  if (!playing || !still() || beats % FEW === 0) {
    sides.forEach(show);
    plot.draw();
    showCommands();
  }
  // The runs of the story rest when nothing moves any more; then it is the reader's to go on.
  if (telling && runsNow().over) {
    telling = false;
    pause();
  }
  store.tell("runs");
}

let beats = 0;
/** Whether the runs are those of the story, and not over. */
let telling = false;

/** How the two runs stand. */
export function runsNow() {
  const [chain, cavi] = sides;
  const stopped = cavi?.state?.residual !== undefined && cavi.state.sweep > 0 && cavi.state.residual <= STOPPED && !entry("resets").checked;
  return { playing, chain: chain?.state ?? null, cavi: cavi?.state ?? null, reached: chain?.reached ?? null, stopped, over: stopped && chain?.reached !== null };
}

/** Begins the runs of the story, at a temperature and with settings of its own, and plays them if that is wanted. @param {boolean} atOnce */
export async function beginStory(atOnce) {
  pause();
  entry("tau").value = "1e-6";
  entry("tau-slider").value = "-6";
  entry("run-seed").value = "0";
  entry("resets").checked = false;
  /** @type {HTMLSelectElement} */ (by("kernel")).value = "metropolis";
  await reset();
  telling = true;
  if (atOnce) play();
}

/** @param {Side} one */
function show(one) {
  const { state, field, words } = one;
  if (!state || !field.info) return;
  const { actions } = field.info;
  const shades = state.policy ? decided(state.policy, actions) : null;
  field.show({ code: state.code, shades });
  // In a large class the ways are drawn when it rests.
  const { info } = field;
  const first = field.drawing.spots.length === 0;
  field.frame.classList.toggle("moving", playing && info.cells > SOON);
  if (field.mode === "drawing" && (first || !playing || info.cells <= SOON)) one.picture?.(state.code);
  words.replaceChildren();
  const greedy = state.greedy_reward ? h("span", {}, "; its most likely code ", h("b", {}, bare(state.greedy_reward.text))) : "";
  const entropy = state.entropy === undefined || state.entropy === null ? "" : h("span", {}, "; ", term("entropy"), ` ${number(state.entropy)}`);
  const value = state.reward.text ? bare(state.reward.text) : number(state.reward.value);
  by("dynamics-note").textContent = state.note ?? "";
  const done = one.kind === "cavi" ? runsNow().stopped && h("span", { class: "badge shelf", title: `No probability would change by more than ${STOPPED}.` }, "stopped") : bare(state.reward.text ?? "") === "1" && h("span", { class: "badge top" }, "solved");
  put(words, `sweep ${state.sweep.toLocaleString("en")}: J = `, h("b", {}, value), greedy, entropy, done && " ", done);
}

/**
 * How decided each cell is: 0 where all tokens are equally likely, 1 where one is certain.
 * @param {number[]} policy @param {number} actions
 */
export function decided(policy, actions) {
  const shades = [];
  for (let first = 0; first < policy.length; first += actions) {
    let top = 0;
    for (let token = 0; token < actions; token += 1) top = Math.max(top, policy[first + token] ?? 0);
    shades.push(Math.max(0, (top - 1 / actions) / (1 - 1 / actions)));
  }
  return shades;
}

/** @param {"chain"|"cavi"} kind @param {number} cell */
function showCell(kind, cell) {
  const one = sides.find((side_) => side_.kind === kind);
  const info = one?.field.info;
  if (!one || !one.state || !info) return;
  const row = one.state.policy?.slice(cell * info.actions, (cell + 1) * info.actions);
  const said = row ? `π = ${row.map((p) => p.toFixed(2)).join("  ")}` : `token ${one.state.code[cell]}`;
  one.cell.textContent = `${cellName(info, cell)}: ${said}`;
}

function showCommands() {
  store.setCommands("dynamics", sides.flatMap(({ state }) => (state ? [{ command: state.command, file: state.start_file }] : [])));
}

function numbers() {
  return { class: store.info?.flags, tau: tau(), curves: plot.numbers() };
}

/** The fields of the two, for keys. */
export const runFields = () => sides.map(({ field }) => field);

/** Plays or pauses. */
export function toggle() {
  if (!checkTau()) return;
  if (playing) pause();
  else play();
}

function pause() {
  const played = playing;
  playing = false;
  if (played) {
    sides.forEach(show);
    plot.draw();
    showCommands();
  }
  by("play").textContent = "▶ Play";
  by("play").setAttribute("aria-pressed", "false");
  if (played) store.tell("runs");
}

export async function play() {
  if (playing) return;
  playing = true;
  by("play").textContent = "❚❚ Pause";
  by("play").setAttribute("aria-pressed", "true");
  while (playing) {
    const begun = performance.now();
    if (!(await attempt(sweeps()))) break;
    await sleep(Math.max(0, BEAT - (performance.now() - begun)));
  }
  pause();
}

/** One step. */
export async function single() {
  pause();
  if (checkTau()) await attempt(1);
}

/** @param {number} count */
async function attempt(count) {
  try {
    await inTurn(() => beat(count));
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) {
      // Runs that nobody steps are forgotten.
      notice("These runs were dropped. They begin again from the code at hand.");
      await reset().catch(store.failed);
    } else store.failed(error);
    return false;
  }
}
