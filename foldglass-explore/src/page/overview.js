// Shows all cells of a wide class at once as a map, a point a cell; a click leads to the cell in the grid below.

import { h } from "./dom.js";
import { foldOf } from "./grid.js";
import { MARKS, MEANING } from "./marks.js";
import { cellName } from "./store.js";
import { themeName } from "./theme.js";

/** @typedef {import("./types.js").ClassInfo} ClassInfo */
/** @typedef {import("./field.js").Shown} Shown */
/** @typedef {{name: string, first: number, cells: number, across: number, left: number, top: number}} Box  The cells of a step, `across` in a line. */

/** Points are as large as they can be in so many lines of the screen, from LARGE to SMALL pixels. */
const HIGH = 330;
const [LARGE, SMALL] = [8, 2];
const [GAP, TITLE, WORD] = [14, 15, 36];

/** The colours of tokens, in the order of the grid's. */
const HUES = ["blue", "orange", "green", "pink", "sky", "red", "faint"];
/** What stands for a mark: what can be raised is darkest, what nobody comes to is bare. */
const INKS = { raise: ["raise", 1], keep: ["pale", 0.75], lower: ["lower", 0.5], unvisited: ["pale", 0.12] };

export class Overview {
  /** @type {ClassInfo|null} */ #info = null;
  /** @type {Box[]} */ #boxes = [];
  #size = SMALL;
  #width = 0;
  /** @type {string[]} What each cell was painted as. */ #painted = [];
  #theme = "";
  /** @type {Map<string, string>} Kept: to ask for a colour makes the browser style the whole page. */ #colours = new Map();

  /** @param {(cell: number) => void} onPick */
  constructor(onPick) {
    this.canvas = h("canvas", { role: "img" });
    this.spot = h("i", { class: "spot-here", hidden: true });
    this.element = h("div", { class: "overview", hidden: true }, this.canvas, this.spot);
    this.canvas.addEventListener("click", (event) => {
      const cell = this.#cellAt(event);
      if (cell !== null) onPick(cell);
    });
    this.canvas.addEventListener("mousemove", (event) => {
      const cell = this.#cellAt(event);
      this.canvas.title = cell === null || !this.#info ? "" : cellName(this.#info, cell);
    });
  }

  /** @param {ClassInfo} info @param {boolean} wanted */
  setClass(info, wanted) {
    this.#info = info;
    this.#width = 0;
    this.element.hidden = !wanted;
  }

  /** @param {number} width */
  layOut(width) {
    const info = this.#info;
    if (!info || this.element.hidden || width === 0 || width === this.#width) return;
    this.#width = width;
    let high = 0;
    for (this.#size = LARGE; this.#size >= SMALL; this.#size -= 1) {
      high = this.#flow(info, width);
      if (high <= HIGH) break;
    }
    this.#size = Math.max(SMALL, this.#size);
    const dense = devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [Math.round(width * dense), Math.round(high * dense)];
    [this.canvas.style.width, this.canvas.style.height] = [`${width}px`, `${high}px`];
    this.#painted = [];
  }

  /** Puts the steps beside and below each other; their height together. @param {ClassInfo} info @param {number} width */
  #flow(info, width) {
    let [left, top, line] = [0, 0, 0];
    this.#boxes = info.grid.map((block) => {
      const across = foldOf(block, info.q, Math.floor(width / this.#size)).windows * block.columns.length;
      const cells = block.rows.length * block.columns.length;
      const [wide, tall] = [Math.max(WORD, across * this.#size), Math.ceil(cells / across) * this.#size + TITLE];
      if (left > 0 && left + wide > width) [left, top, line] = [0, top + line + GAP, 0];
      const box = { name: block.t === null ? "" : `t = ${block.t}`, first: block.first_cell, cells, across, left, top: top + TITLE };
      left += wide + GAP;
      line = Math.max(line, tall);
      return box;
    });
    return top + line;
  }

  /** @param {MouseEvent} event */
  #cellAt(event) {
    for (const { first, cells, across, left, top } of this.#boxes) {
      const [x, y] = [Math.floor((event.offsetX - left) / this.#size), Math.floor((event.offsetY - top) / this.#size)];
      if (x < 0 || x >= across || y < 0 || y * across + x >= cells) continue;
      return first + y * across + x;
    }
    return null;
  }

  /**
   * Paints the cells that are not what they were.
   * @param {Shown} shown
   * @param {boolean} tinted  with the colours of tokens
   */
  show(shown, tinted) {
    const ink = this.canvas.getContext("2d");
    const info = this.#info;
    if (!ink || !info || this.element.hidden || !this.#width) return;
    const theme = `${themeName()} ${tinted}`;
    const dense = devicePixelRatio || 1;
    ink.setTransform(dense, 0, 0, dense, 0, 0);
    if (theme !== this.#theme || !this.#painted.length) {
      this.#theme = theme;
      this.#painted = [];
      ink.clearRect(0, 0, this.canvas.width, this.canvas.height);
      ink.font = "11px system-ui, sans-serif";
      this.#colours.clear();
      ink.fillStyle = this.#colour("faint");
      for (const { name, left, top } of this.#boxes) ink.fillText(name, left, top - 4);
    }
    const size = this.#size;
    const edge = size > 3 ? 1 : 0;
    for (const { first, cells, across, left, top } of this.#boxes) {
      for (let place = 0; place < cells; place += 1) {
        const [name, alpha] = inkOf(shown, first + place, info.actions, tinted);
        const state = `${name} ${alpha}`;
        if (this.#painted[first + place] === state) continue;
        this.#painted[first + place] = state;
        const [x, y] = [left + (place % across) * size, top + Math.floor(place / across) * size];
        ink.globalAlpha = 1;
        ink.fillStyle = this.#colour("card");
        ink.fillRect(x, y, size, size);
        ink.globalAlpha = alpha;
        ink.fillStyle = this.#colour(name);
        ink.fillRect(x, y, size - edge, size - edge);
      }
    }
    ink.globalAlpha = 1;
    this.#mark(shown.selected ?? null);
    this.canvas.setAttribute("aria-label", this.#words(shown, info));
  }

  /** A colour of the page. @param {string} name */
  #colour(name) {
    const known = this.#colours.get(name);
    if (known) return known;
    const colour = getComputedStyle(this.element).getPropertyValue(`--${name}`);
    this.#colours.set(name, colour);
    return colour;
  }

  /** Rings the chosen cell. @param {number|null} cell */
  #mark(cell) {
    const box = this.#boxes.find(({ first, cells }) => cell !== null && cell >= first && cell < first + cells);
    this.spot.hidden = !box;
    if (!box || cell === null) return;
    const place = cell - box.first;
    this.spot.style.left = `${box.left + (place % box.across) * this.#size + this.#size / 2}px`;
    this.spot.style.top = `${box.top + Math.floor(place / box.across) * this.#size + this.#size / 2}px`;
  }

  /** What the map shows, in words. @param {Shown} shown @param {ClassInfo} info */
  #words({ marks }, info) {
    const all = `Map of all ${info.cells.toLocaleString("en")} cells`;
    if (!marks) return `${all}, coloured by token`;
    const count = Object.fromEntries(MARKS.map((mark) => [mark, 0]));
    for (const mark of marks) count[mark] = (count[mark] ?? 0) + 1;
    return `${all}. ${MARKS.map((mark) => `${MEANING[mark].words}: ${count[mark]}`).join("; ")}.`;
  }
}

/** The colour of a cell and how strong it is. @param {Shown} shown @param {number} cell @param {number} actions @param {boolean} tinted @returns {[string, number]} */
function inkOf({ code, marks, shades }, cell, actions, tinted) {
  const shade = shades ? Math.round((shades[cell] ?? 0) * 10) / 10 : null;
  const token = code[cell] ?? 0;
  if (tinted) return actions <= HUES.length ? [HUES[token] ?? "faint", 0.8 * (shade ?? 1)] : ["ink", (token + 1) / actions * (shade ?? 1)];
  if (shade !== null) return ["shade-top", shade];
  const mark = marks?.[cell];
  return mark ? /** @type {[string, number]} */ (INKS[mark]) : ["pale", 0.4];
}
