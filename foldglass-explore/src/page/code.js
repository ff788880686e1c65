// Shows the code at hand: its picture, its reward, what every single change would do, the cell that is chosen.

import { ask } from "./api.js";
import { button, by, h, latest } from "./dom.js";
import { Field } from "./field.js";
import { bare, change, number } from "./fraction.js";
import { gridSvg } from "./grid.js";
import { markOf, MARKS, MEANING } from "./marks.js";
import { cellName, store } from "./store.js";
import { takeButtons } from "./take.js";
import { term } from "./words.js";

/** @type {Field} */
let field;

/** @type {number|null} The cell that the last move of a path changed. */
let moved = null;

/** Marks the cell of a move. @param {number|null} cell */
export function markMove(cell) {
  moved = cell;
  draw();
}

/** The field of the code, for keys. */
export const codeField = () => field;

/** Builds the picture and the panels beside it. */
export function startCode() {
  field = new Field(by("stage-field"), {
    label: "Cells of the code",
    tools: by("stage-tools"),
    onPick: pick,
    onFocus: (cell) => { if (store.selected !== cell) store.select(cell); },
    onToken: (cell, token) => store.setToken(cell, token),
    tinted: () => shade() === "tokens",
  });
  field.onMode = () => { showReading(); askPicture(undefined); };
  by("stage-take").append(takeButtons("code", { svg: stageSvg, json: stageJson }));
  by("shade").addEventListener("change", draw);
  by("undo").addEventListener("click", () => store.back("undo"));
  by("redo").addEventListener("click", () => store.back("redo"));
  by("legend").append(...MARKS.map((mark) => h("li", { class: mark }, h("i", { "aria-hidden": "true" }, MEANING[mark].sign), MEANING[mark].words)), h("li", { class: "only-drawing" }, "grey: the ways of all inputs, to the answer on the right"));
  store.on("class", () => { moved = null; closeTokens(); if (store.info) field.setClass(store.info); });
  store.on("code", () => { showReward(); showHistory(); draw(); showCell(); });
  store.on("look", () => { showReward(); showCounts(); draw(); showCell(); askPicture(undefined); });
  store.on("select", () => { draw(); showCell(); });
  store.on("rollout", () => { draw(); showReading(); askPicture(undefined); });
  addEventListener("resize", () => field.resize());
  addEventListener("pointerdown", (event) => {
    if (event.target instanceof Element && !event.target.closest("#tokens, [data-spot]")) closeTokens(false);
  });
}

function draw() {
  const path = store.rollout?.steps ?? null;
  field.show({ code: store.code, marks: store.marks?.marks ?? null, shades: shades(), selected: store.selected, path, moved });
}

const shade = () => /** @type {HTMLSelectElement} */ (by("shade")).value;

/** How the cells are read: what their tokens and their names mean. */
function showReading() {
  const { info, input } = store;
  if (!info) return;
  const seen = info.window[0] + info.window[1] > 0 ? "the symbols seen" : "the symbol x seen";
  const said = info.memory > 1 ? "the tokens said before" : "the token y said before";
  const items = field.mode === "drawing"
    ? [info.actions === 2 && ["↑ ↓", "the cell says token 1, token 0"], ["below a cell", `${seen}, ${said} (at t = 1 there is none)`], input && ["blue", `the way of the input ${input.join(" ")}`]]
    : [["rows", seen], ["columns", said], ["in a cell", "the token that it says"], input && ["framed", `the way of the input ${input.join(" ")}`]];
  by("reading").replaceChildren(...items.flatMap((item) => (item ? [h("li", {}, h("b", {}, item[0]), " ", item[1])] : [])));
}

/** How often each cell is visited, beside the one that is visited most; small shares can still be seen. */
function shades() {
  const { look } = store;
  if (!look?.visits || shade() !== "visits") return null;
  const most = look.visits.reduce((a, b) => Math.max(a, b), 0) || 1;
  return look.visits.map((visits) => Math.sqrt(visits / most));
}

const askPicture = latest(async () => {
  const { info, code, input } = store;
  if (!info || field.mode !== "drawing") return;
  try {
    const picture = await ask("svg", { class: info.flags, code, inputs: input ? [input] : [] });
    if (store.info === info) field.setPicture(/** @type {import("./types.js").Picture} */ (picture));
  } catch (error) {
    store.failed(error);
  }
});

function stageSvg() {
  if (field.mode === "drawing" && field.drawing.source) return field.drawing.source;
  return store.info ? gridSvg(field.grid.spots, field.shown) : null;
}

function stageJson() {
  return store.look && { class: store.info?.flags, code: store.code, ...store.look };
}

function showReward() {
  const { look, foreseen } = store;
  const reward = foreseen ?? look?.reward;
  by("reward").textContent = reward ? bare(reward.text) : "…";
  by("reward").classList.toggle("long", (reward?.text.length ?? 0) > 9);
  by("reward-value").textContent = reward && reward.text !== "1" && reward.text !== "1/1" && reward.text !== "0" ? `= ${number(reward.value)}` : "";
  by("stage-reward").textContent = reward ? `J = ${bare(reward.text)}` : "";
  by("reward-panel").classList.toggle("waiting", !store.fresh);
  // The number of another code is not this one's.
  by("reward-panel").classList.toggle("unknown", !store.fresh && !foreseen);
  if (!look) { by("status").textContent = ""; by("status-words").textContent = ""; return; }
  if (!store.fresh) return;
  const kind = look.status.kind;
  document.body.classList.toggle("solved", kind === "global maximum");
  by("status").textContent = kind;
  by("status").className = `badge ${KINDS[kind] ?? "open"}`;
  by("status-words").textContent = look.status.words;
  const raising = store.marks?.counts.raise ?? 0;
  const said = `Reward ${bare(look.reward.text)}, ${kind}. ${raising === 1 ? "1 single change raises" : `${raising} single changes raise`} it.`;
  if (by("said").textContent !== said) by("said").textContent = said;
}

/** @type {Record<string, string>} */
const KINDS = { "global maximum": "top", trap: "trap", "local maximum": "top-local", "on a shelf": "shelf", "not a maximum": "open" };

function showHistory() {
  /** @type {HTMLButtonElement} */ (by("undo")).disabled = !store.canUndo;
  /** @type {HTMLButtonElement} */ (by("redo")).disabled = !store.canRedo;
}

function showCounts() {
  const { marks, info, look } = store;
  if (!marks || !info || !look) return;
  const { raise, keep, lower } = marks.counts;
  const all = raise + keep + lower || 1;
  for (const [name, count] of Object.entries({ raise, keep, lower })) {
    by(`count-${name}`).textContent = count.toLocaleString("en");
    by(`verb-${name}`).textContent = count === 1 ? `${name}s` : name;
    by(`bar-${name}`).style.flexGrow = String(count / all);
  }
  by("count-cells").textContent = `${info.cells.toLocaleString("en")} cells${look.visits ? `, ${look.unvisited.length.toLocaleString("en")} never visited` : ""}`;
}

/** What is known of the chosen cell: a line a token. */
function showCell() {
  const { info, look, selected, code } = store;
  const place = by("cell");
  if (!info || selected === null) {
    place.replaceChildren(h("p", { class: "faint" }, "Click a cell, or walk to one with the arrow keys; digits set its token."));
    return;
  }
  const visits = store.fresh && look ? look.visits?.[selected] ?? null : null;
  const rows = [];
  for (let token = 0; token < info.actions; token += 1) {
    const at = selected * info.actions + token;
    const own = code[selected] === token;
    const delta = store.fresh && look ? look.delta[at] ?? 0 : null;
    const mark = delta === null || own ? "" : markOf(delta);
    const words = delta === null ? "…" : own ? "now" : change(delta, look?.denominator ?? "1");
    rows.push(h("tr", { class: own ? "own" : mark },
      h("th", { scope: "row" }, button(String(token), () => store.setToken(selected, token), { class: "token", "aria-pressed": String(own), "aria-label": `Token ${token}${own ? ", as it is" : `, changes the reward by ${words}`}` })),
      h("td", { class: "delta" }, mark ? h("i", { "aria-hidden": "true" }, MEANING[mark].sign) : "", words),
      h("td", { class: "numbers" }, delta === null || !look ? "…" : look.values ? number(look.values[at] ?? 0) : "–")));
  }
  place.replaceChildren(
    h("p", { class: "cell-name" }, h("b", {}, cellName(info, selected)), h("small", {}, ` cell ${selected}`)),
    h("p", {}, term("visits", "visits d"), " ", look?.no_sums ? h("span", { class: "faint" }, look.no_sums) : visits === null ? "…" : visits === 0 ? "0: no input comes here" : number(visits)),
    h("table", { class: "tokens" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, term("token")), h("th", { scope: "col" }, "change of J"), h("th", { scope: "col", class: "numbers" }, term("values", "d·Q")))), h("tbody", {}, ...rows)));
  showTokens();
}

/** @param {number} cell @param {Element} at */
function pick(cell, at) {
  const info = store.info;
  if (!info) return;
  store.select(cell);
  if (info.actions === 2) { store.setToken(cell, 1 - (store.code[cell] ?? 0)); return; }
  anchor = { cell, at };
  showTokens();
  const own = by("tokens").querySelector('[aria-pressed="true"]');
  if (own instanceof HTMLElement) own.focus({ preventScroll: true });
}

/** @type {{cell: number, at: Element}|null} Where the choice of tokens hangs. */
let anchor = null;

/**
 * Closes the choice of tokens; true if it was open.
 * @param {boolean} [back]  whether its focus goes back to the cell: not where something else is pressed, which would move away
 */
export function closeTokens(back = true) {
  if (!anchor) return false;
  const { cell } = anchor;
  anchor = null;
  const held = by("tokens").contains(document.activeElement);
  by("tokens").hidden = true;
  if (held && back) field.focus(cell);
  return true;
}

function showTokens() {
  const { info, look, code } = store;
  const box = by("tokens");
  if (!anchor || !info || anchor.cell !== store.selected) { box.hidden = true; anchor = null; return; }
  const { cell } = anchor;
  const held = box.contains(document.activeElement) ? Number(/** @type {HTMLElement} */ (document.activeElement).dataset.token) : null;
  const choices = [];
  for (let token = 0; token < info.actions; token += 1) {
    const own = code[cell] === token;
    const delta = store.fresh && look ? look.delta[cell * info.actions + token] ?? 0 : null;
    const mark = delta === null || own ? "" : markOf(delta);
    const choice = button(String(token), () => store.setToken(cell, token), { class: mark, "data-token": token, "aria-pressed": String(own), title: own ? "as it is" : delta === null ? "" : change(delta, look?.denominator ?? "1") });
    choice.append(h("i", { "aria-hidden": "true" }, mark ? MEANING[mark].sign : own ? "●" : " "));
    choices.push(choice);
  }
  box.replaceChildren(...choices);
  box.hidden = false;
  box.setAttribute("aria-label", `Token of the cell ${cellName(info, cell)}`);
  const target = (field.elementOf(cell) ?? anchor.at).getBoundingClientRect();
  const own = box.getBoundingClientRect();
  const wide = document.documentElement.clientWidth;
  box.style.left = `${Math.max(6, Math.min(target.left + target.width / 2 - own.width / 2, wide - own.width - 6)) + scrollX}px`;
  box.style.top = `${target.bottom + 6 + scrollY}px`;
  if (held !== null) /** @type {HTMLElement|null} */ (box.querySelector(`[data-token="${held}"]`))?.focus({ preventScroll: true });
}

/** Arrow keys in the choice of tokens. @param {KeyboardEvent} event */
export function tokensKey(event) {
  const box = by("tokens");
  if (box.hidden || !box.contains(document.activeElement)) return false;
  const buttons = [...box.querySelectorAll("button")];
  const here = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  const by_ = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (by_) buttons[(here + by_ + buttons.length) % buttons.length]?.focus();
  else if (/^[0-9]$/.test(event.key) && anchor) store.setToken(anchor.cell, Number(event.key));
  else return false;
  event.preventDefault();
  return true;
}
