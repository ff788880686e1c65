// Keeps the class, the code and what is known of it; asks the server after each change, one question at a time.

import { ask, Refused } from "./api.js";
import { latest } from "./dom.js";
import { plus } from "./fraction.js";
import { marksOf } from "./marks.js";

/** @typedef {import("./types.js").ClassInfo} ClassInfo */
/** @typedef {import("./types.js").Look} Look */
/** @typedef {import("./types.js").View} View */
/** @typedef {{how: string, seed: number}} Start */
/** @typedef {"class"|"code"|"look"|"select"|"view"|"rollout"|"command"|"runs"|"ways"} Topic */
/** @typedef {{info: ClassInfo, code: number[], tag: string}} Past */
/** @typedef {{command: string, file: import("./types.js").TextFile|null}} Command  A line of the shell, and the file that it reads. */

/** As many steps back as anyone takes. */
const DEPTH = 400;

class Store {
  /** @type {ClassInfo|null} */ info = null;
  /** @type {number[]} */ code = [];
  /** @type {Look|null} What is known of `lookedAt`; of the code itself once the server has answered. */ look = null;
  /** @type {number[]} */ lookedAt = [];
  /** @type {ReturnType<typeof marksOf>|null} */ marks = null;
  /** @type {number|null} */ selected = null;
  /** @type {import("./types.js").Rollout|null} */ rollout = null;
  /** @type {number[]|null} */ input = null;
  /** @type {View} */ view = "code";
  /** @type {Map<View, Command[]>} */ commands = new Map();

  /** @type {Past[]} */ #undo = [];
  /** @type {Past[]} */ #redo = [];
  #tag = "";
  #events = new EventTarget();
  #changed = 0;

  /** @param {Topic} topic @param {() => void} act */
  on(topic, act) {
    this.#events.addEventListener(topic, act);
  }

  /** @param {Topic} topic @param {() => void} act */
  off(topic, act) {
    this.#events.removeEventListener(topic, act);
  }

  /** @param {Topic} topic */
  tell(topic) {
    this.#events.dispatchEvent(new Event(topic));
  }

  /** Whether `look` is of the code as it stands. */
  get fresh() {
    return this.look !== null && this.lookedAt === this.code;
  }

  get canUndo() { return this.#undo.length > 0; }
  get canRedo() { return this.#redo.length > 0; }

  /**
   * Opens a class, with a code of it or one that the server begins with.
   * @param {string[]} flags
   * @param {number[]|null} code
   * @param {Start} start
   */
  async open(flags, code, start) {
    const same = this.info && this.info.flags.join(" ") === flags.join(" ");
    const info = same && this.info ? this.info : await ask("class", { class: flags });
    const fits = code && code.length === info.cells && code.every((token) => token < info.actions);
    // Nothing to do: another view of what is shown.
    if (same && fits && sameCode(code, this.code)) return;
    const begun = fits ? code : (await ask("start", { class: info.flags, ...start })).code;
    this.#remember("");
    this.#take(info, begun);
    if (code && !fits) {
      throw new Refused(`The address has a code of ${code.length} tokens; this class has ${info.cells} cells of ${info.actions} tokens.`, "Another code stands in its place.", 422);
    }
  }

  /** @param {ClassInfo} info @param {number[]} code */
  #take(info, code) {
    const other = this.info !== info;
    this.info = info;
    this.code = code;
    this.foreseen = null;
    if (other) {
      this.look = null;
      this.marks = null;
      this.selected = null;
      this.rollout = null;
      this.input = null;
      this.tell("class");
    }
    this.tell("code");
    this.#refresh(undefined);
  }

  /** @param {string} tag */
  #remember(tag) {
    if (!this.info) return;
    // Moves of one path, or of one run, are one step back.
    if (tag && tag === this.#tag) return;
    this.#tag = tag;
    this.#undo.push({ info: this.info, code: this.code, tag });
    if (this.#undo.length > DEPTH) this.#undo.shift();
    this.#redo = [];
  }

  /**
   * Another code of the same class.
   * @param {number[]} code
   * @param {string} [tag]
   */
  setCode(code, tag = "") {
    if (!this.info) return;
    this.#remember(tag);
    this.#take(this.info, code);
  }

  /** @param {number} cell @param {number} token */
  setToken(cell, token) {
    const info = this.info;
    if (!info || token < 0 || token >= info.actions || this.code[cell] === token) return;
    const code = this.code.slice();
    code[cell] = token;
    this.#changed = performance.now();
    this.#foresee(cell, token);
    this.#remember("");
    this.code = code;
    this.tell("code");
    this.#refresh(undefined);
  }

  /**
   * The reward after a single change is known already: the change's own.
   * @param {number} cell @param {number} token
   */
  #foresee(cell, token) {
    const { look, info } = this;
    this.foreseen = null;
    if (!look || !info || !this.fresh) return;
    const delta = look.delta[cell * info.actions + token] ?? 0;
    const text = plus(look.reward.text, delta, look.denominator);
    this.foreseen = { text, value: look.reward.value + Number(delta) / Number(look.denominator) };
  }

  /** @type {import("./types.js").Exact|null} The reward of the code while the server has not confirmed it. */
  foreseen = null;

  /** @param {"undo"|"redo"} which */
  back(which) {
    const [from, to] = which === "undo" ? [this.#undo, this.#redo] : [this.#redo, this.#undo];
    const past = from.pop();
    if (!past || !this.info) return;
    to.push({ info: this.info, code: this.code, tag: "" });
    this.#tag = "";
    this.#take(past.info, past.code);
  }

  #refresh = latest(async () => {
    const { info, code } = this;
    if (!info) return;
    try {
      const look = await ask("look", { class: info.flags, code, digits: 6 });
      if (this.code !== code) return;
      this.look = /** @type {Look} */ (look);
      this.lookedAt = code;
      this.foreseen = null;
      this.marks = marksOf(this.look, code, info.actions);
      this.setCommands("code", [{ command: this.look.command, file: this.look.code_file }]);
      this.tell("look");
      this.#measure();
    } catch (error) {
      this.failed(error);
    }
  });

  /** How long the last change of a cell took until everything about it was shown. */
  #measure() {
    if (!this.#changed) return;
    performance.clearMeasures("cell-change");
    performance.measure("cell-change", { start: this.#changed });
    this.#changed = 0;
  }

  /** @param {number|null} cell */
  select(cell) {
    this.selected = cell;
    this.tell("select");
  }

  /** @param {View} view */
  show(view) {
    this.view = view;
    this.tell("view");
    this.tell("command");
  }

  /**
   * The command lines that give what a view shows.
   * @param {View} view
   * @param {Command[]} commands
   */
  setCommands(view, commands) {
    this.commands.set(view, commands);
    if (view === this.view) this.tell("command");
  }

  /** @type {(error: unknown) => void} Shows what went wrong. */
  failed = (error) => { throw error; };
}

/** @param {number[]} a @param {number[]} b */
export const sameCode = (a, b) => a === b || (a.length === b.length && a.every((token, cell) => token === b[cell]));

/** The one store of the page. */
export const store = new Store();

/**
 * What a cell is: its step, the symbols in its window, the tokens before.
 * @param {ClassInfo} info
 * @param {number} cell
 */
export function cellParts(info, cell) {
  const block = info.grid.find((one) => cell >= one.first_cell && cell < one.first_cell + one.rows.length * one.columns.length);
  if (!block) return null;
  const within = cell - block.first_cell;
  /** @param {string|undefined} text */
  const plain = (text) => (text ?? "").replaceAll("SEP", "–").replaceAll(",", " ");
  return {
    t: block.t,
    x: plain(block.rows[Math.floor(within / block.columns.length)]),
    y: plain(block.columns[within % block.columns.length]),
  };
}

/**
 * What a cell is called.
 * @param {ClassInfo} info
 * @param {number} cell
 */
export function cellName(info, cell) {
  const parts = cellParts(info, cell);
  if (!parts) return `cell ${cell}`;
  const before = /[0-9]/.test(parts.y) ? `, y = ${parts.y}` : "";
  return `${parts.t === null ? "" : `t = ${parts.t}, `}x = ${parts.x}${before}`;
}

/**
 * A class in few words.
 * @param {ClassInfo} info
 */
export function shortName(info) {
  /** @param {string} name */
  const flag = (name) => info.flags[info.flags.indexOf(name) + 1] ?? "";
  const parts = [info.flags.includes("--task") ? flag("--task") : "task", `T = ${info.lengths.join(", ")}`, `window (${info.window.join(", ")})`];
  if (info.tied) parts.push("tied");
  if (info.memory > 1) parts.push(`memory ${info.memory}`);
  if (info.flags.includes("--inputs") && flag("--inputs") !== "uniform") parts.push(`inputs ${flag("--inputs")}`);
  return parts.join(" · ");
}
