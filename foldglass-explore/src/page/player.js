// Plays a list of moves into the code at hand: forwards, backwards, by itself.

import { markMove } from "./code.js";
import { button, h, still } from "./dom.js";
import { bare, plural } from "./fraction.js";
import { cellName, sameCode, store } from "./store.js";

/** @typedef {import("./types.js").Move} Move */

let paths = 0;

export class Player {
  /** @type {Move[]} */ moves = [];
  /** @type {number[]} */ start = [];
  at = 0;
  #timer = 0;
  #tag = "";

  /** @param {HTMLElement} host @param {string} label */
  constructor(host, label) {
    this.list = h("ol", { class: "moves", "aria-label": label });
    this.play = button("▶ Play", () => this.toggle(), { title: "Play or pause (space)" });
    this.before = button("‹ Previous", () => this.go(this.at - 1), { title: "Previous move (p)" });
    this.after = button("Next ›", () => this.go(this.at + 1), { title: "Next move (n)" });
    this.first = button("⇤ Start", () => this.go(0));
    this.words = h("p", { class: "move-words", "aria-live": "polite" });
    this.element = h("div", { class: "player", hidden: true }, h("div", { class: "buttons" }, this.first, this.before, this.play, this.after), this.words, this.list);
    host.append(this.element);
  }

  /** @param {number[]} start @param {Move[]} moves */
  load(start, moves) {
    this.stop();
    [this.start, this.moves] = [start, moves];
    this.#tag = `path ${paths += 1}`;
    this.at = 0;
    const info = store.info;
    /** @type {string|null} */
    let stage = null;
    const items = moves.map((move, place) => {
      // Moves of a stage are for one thing: it is said above the first.
      const head = move.stage !== stage ? h("p", { class: "stage" }, h("b", {}, move.stage ?? ""), ` ${move.for}`) : null;
      stage = move.stage;
      const name = info ? cellName(info, move.cell) : `cell ${move.cell}`;
      const one = button("", () => this.go(place + 1), { class: "move" });
      one.append(h("span", { class: "number" }, place + 1), h("span", {}, `${name}: ${move.from} → ${move.to}`), h("span", { class: "numbers" }, `J = ${bare(move.reward.text)}`));
      return h("li", {}, head, one);
    });
    this.list.replaceChildren(...items);
    this.element.hidden = moves.length === 0;
    this.#show();
  }

  clear() {
    this.load([], []);
  }

  /**
   * Takes note of the code that is shown, and answers whether it is one of the path's. One that the player did not
   * put there stops it: a hand on the code is not overruled.
   */
  follow() {
    if (sameCode(store.code, this.codeAt(this.at))) return true;
    this.stop();
    const code = this.start.slice();
    for (let at = 0; at <= this.moves.length; at += 1) {
      const move = this.moves[at - 1];
      if (move) code[move.cell] = move.to;
      if (!sameCode(store.code, code)) continue;
      this.at = at;
      this.#show();
      return true;
    }
    return false;
  }

  /** The code after so many moves. @param {number} at */
  codeAt(at) {
    const code = this.start.slice();
    for (const move of this.moves.slice(0, at)) code[move.cell] = move.to;
    return code;
  }

  /** @param {number} at */
  go(at) {
    if (at < 0 || at > this.moves.length || !this.moves.length) return;
    this.at = at;
    store.setCode(this.codeAt(at), this.#tag);
    const move = this.moves[at - 1];
    if (move) store.select(move.cell);
    markMove(move?.cell ?? null);
    this.#show();
    if (at === this.moves.length) this.stop();
  }

  #show() {
    const move = this.moves[this.at - 1];
    this.words.textContent = move ? `Move ${this.at} of ${this.moves.length}: ${move.for}` : `${plural(this.moves.length, "move")}; none is made yet.`;
    this.before.disabled = this.first.disabled = this.at === 0;
    this.after.disabled = this.at === this.moves.length;
    [...this.list.children].forEach((item, place) => {
      item.classList.toggle("done", place < this.at);
      if (place === this.at - 1) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const current = this.list.children[this.at - 1];
    if (current instanceof HTMLElement) this.list.scrollTo({ top: current.offsetTop - this.list.clientHeight / 2, behavior: still() ? "auto" : "smooth" });
  }

  /** One move on or back. @param {number} by */
  walk(by) {
    this.go(this.at + by);
  }

  toggle() {
    if (this.#timer) { this.stop(); return; }
    if (!this.moves.length) return;
    if (this.at === this.moves.length) this.go(0);
    this.play.textContent = "❚❚ Pause";
    // Long paths go faster: none takes more than about half a minute.
    const pause = Math.max(120, Math.min(900, 30_000 / this.moves.length));
    this.#timer = setInterval(() => this.go(this.at + 1), pause);
    store.tell("ways");
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.play.textContent = "▶ Play";
    store.tell("ways");
  }

  get playing() {
    return this.#timer !== 0;
  }
}
