// Gives every act a key, and lists the keys.

import { openChooser } from "./chooser.js";
import { closeTokens, codeField, tokensKey } from "./code.js";
import { runFields, single, toggle } from "./dynamics.js";
import { by, h } from "./dom.js";
import { copyAddress } from "./share.js";
import { store } from "./store.js";
import { turn } from "./theme.js";
import { activePlayer } from "./ways.js";
import { hideTerm, TERMS } from "./words.js";

/** @typedef {import("./types.js").View} View */
/** @type {View[]} */
const VIEWS = ["code", "dynamics", "ways", "records"];

/** @type {[string, string][]} */
const KEYS = [
  ["← → ↑ ↓", "walk among the cells, leaves, tabs"],
  ["0 … 9", "set the token of the cell"],
  ["Enter", "change the cell; open what is chosen"],
  ["u · r", "undo, redo (also Ctrl-Z, Ctrl-Shift-Z)"],
  ["e", "to the cells"],
  ["i", "to the input"],
  ["space", "play or pause: dynamics, a path"],
  [".", "one sweep"],
  ["n · p", "next, previous move of a path"],
  ["[ · ]", "previous, next view"],
  ["d", "drawing or grid"],
  ["c", "choose a class"],
  ["a", "copy the address"],
  ["t", "light or dark"],
  ["Esc", "close what is open"],
  ["?", "these keys"],
];

const help = () => /** @type {HTMLDialogElement} */ (by("help"));

/** Listens. */
export function startKeys() {
  by("keys").append(...KEYS.flatMap(([key, words]) => [h("dt", {}, ...key.split(" · ").flatMap((one, place) => [place ? " " : "", h("kbd", {}, one)])), h("dd", {}, words)]));
  by("dictionary").append(...Object.entries(TERMS).map(([name, { rl, physics, says }]) => h("tr", { title: says }, h("th", { scope: "row" }, name === "tau" ? "τ" : name), h("td", {}, rl), h("td", {}, physics))));
  by("help-open").addEventListener("click", () => help().showModal());
  by("help-close").addEventListener("click", () => help().close());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { if (!hideTerm()) closeTokens(); return; }
    if (tokensKey(event)) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey) { history(event); return; }
    if (event.altKey || typing(event.target) || document.querySelector("dialog:modal")) return;
    if (act(event)) event.preventDefault();
  });
}

/** @param {EventTarget|null} target */
function typing(target) {
  return target instanceof HTMLInputElement && target.type !== "range" && target.type !== "checkbox" || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

/** @param {KeyboardEvent} event */
function history(event) {
  if (typing(event.target)) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  store.back(key === "y" || event.shiftKey ? "redo" : "undo");
  event.preventDefault();
}

/** @param {number} by_ */
function turnView(by_) {
  const here = VIEWS.indexOf(store.view);
  store.show(VIEWS[(here + by_ + VIEWS.length) % VIEWS.length] ?? "code");
}

/** @param {KeyboardEvent} event */
function act(event) {
  if (/^[0-9]$/.test(event.key)) {
    if (store.selected === null || (store.view !== "code" && store.view !== "ways")) return false;
    store.setToken(store.selected, Number(event.key));
    return true;
  }
  const onButton = event.target instanceof Element && event.target.closest("button, [role=button], summary, a");
  switch (event.key) {
    case "u": store.back("undo"); return true;
    case "r": store.back("redo"); return true;
    case "e":
      if (store.view !== "ways") store.show("code");
      codeField().focus(store.selected ?? 0);
      return true;
    case "i":
      store.show("code");
      by("input").closest("details")?.setAttribute("open", "");
      by("input").focus();
      return true;
    case "d":
      for (const field of store.view === "dynamics" ? runFields() : [codeField()]) field.setMode(field.mode === "drawing" ? "grid" : "drawing");
      return true;
    case "c": openChooser(); return true;
    case "a": copyAddress(); return true;
    case "t": turn(); return true;
    case "[": turnView(-1); return true;
    case "]": turnView(1); return true;
    case "?": help().showModal(); return true;
    case "n": if (store.view !== "ways") return false; activePlayer()?.walk(1); return true;
    case "p": if (store.view !== "ways") return false; activePlayer()?.walk(-1); return true;
    case ".": if (store.view !== "dynamics") return false; single(); return true;
    case " ":
      if (onButton) return false;
      if (store.view === "dynamics") toggle();
      else if (store.view === "ways") activePlayer()?.toggle();
      else return false;
      return true;
    default: return false;
  }
}
