// Lays the cells of a class out as a grid, a block a step: windows by tokens before, folded to the width there is.

import { button, h } from "./dom.js";
import { MEANING } from "./marks.js";

/** @typedef {import("./types.js").ClassInfo} ClassInfo */
/** @typedef {import("./types.js").Block} Block */
/** @typedef {import("./field.js").Spot} Spot */

/** Up to so many cells all steps are shown at once; a step shows at most `MOST` at a time. */
const ALL = 700;
const MOST = 4000;
/** The width of a cell, of a small one and of one for fingers, in pixels; a letter of a line's label, and what is around it. */
const CELL = 24.4;
const SMALL = 15.4;
const FINGER = 44;
const LETTER = 7;
/** So many windows are not folded. */
const FEW = 12;
const AROUND = 8;

/** Where fingers are what points. */
const fingers = matchMedia("(max-width: 40rem), (pointer: coarse)");

/**
 * What a block is called: its step, and where that is not one of its own what can be seen there, as `x x –, y`. A dash
 * stands for a place before the first symbol or after the last.
 * @param {Block} block
 * @param {ClassInfo|null} info
 */
function blockName(block, info) {
  const alone = info?.grid.filter(({ t }) => t === block.t).length === 1;
  if (block.t !== null && alone) return `t = ${block.t}`;
  /** @param {string|undefined} text @param {string} letter */
  const places = (text, letter) => (text ?? "").split(",").map((one) => (one === "SEP" ? "–" : letter)).join(" ");
  const before = places(block.columns[0], "y");
  const seen = `${places(block.rows[0], "x")}, ${before.includes("y") ? before : "first step"}`;
  return block.t === null ? seen : `t = ${block.t}: ${seen}`;
}

export class Grid {
  /** @type {Spot[]} */ spots = [];
  /** @type {ClassInfo|null} */ #info = null;
  #width = 0;
  #block = 0;
  #part = 0;

  /** @param {() => void} onRenew @param {boolean} small */
  constructor(onRenew, small) {
    this.onRenew = onRenew;
    this.small = small;
    this.element = h("div", { class: small ? "grid small" : "grid" });
    this.bar = h("div", { class: "grid-bar" });
  }

  /** @param {ClassInfo} info */
  setClass(info) {
    this.#info = info;
    this.#block = info.grid.findIndex((block) => block.columns.length > 1);
    if (this.#block < 0) this.#block = 0;
    this.#part = 0;
    this.#width = 0;
  }

  /** As many cells as a line has room for, gaps between windows taken off. */
  get #room() {
    const size = this.small ? SMALL : fingers.matches ? FINGER : CELL;
    return Math.max(1, Math.floor(((this.#width || 900) - this.#label - 24) / size));
  }

  /** The width of the labels: that of the longest window, or of all its symbols but those that vary in a line. */
  get #label() {
    const longest = Math.max(1, ...(this.#info?.grid ?? []).map(({ rows }) => short((rows[0] ?? "").split(",")).length));
    return Math.max(2, longest) * LETTER + AROUND;
  }

  /** Whether a step is shown at a time. */
  get single() {
    return (this.#info?.cells ?? 0) > ALL;
  }

  /** @param {number} width */
  layOut(width) {
    if (!this.#info || width === this.#width || width === 0) return;
    this.#width = width;
    this.#build();
  }

  #build() {
    const info = this.#info;
    if (!info) return;
    this.spots = [];
    const blocks = this.single ? info.grid.slice(this.#block, this.#block + 1) : info.grid;
    let below = 0;
    const parts = blocks.map((block) => {
      const lines = foldOf(block, info.q, this.#room);
      const element = this.#blockElement(block, lines, below);
      below += lines.count + 2;
      return element;
    });
    this.element.replaceChildren(...parts);
    this.element.classList.toggle("wide", this.single);
    this.element.style.setProperty("--head", `${this.#label}px`);
    this.#buildBar(info);
    this.onRenew();
  }

  /** @param {Block} block @param {ReturnType<typeof foldOf>} fold @param {number} below */
  #blockElement(block, fold, below) {
    const from = this.#part * fold.linesAtOnce;
    const to = Math.min(fold.count, from + fold.linesAtOnce);
    const table = h("div", { role: "grid", "aria-label": blockName(block, this.#info) });
    if (block.columns.length > 1) table.dataset.wide = "";
    table.append(...headLines(block, fold, this.small ? blockName(block, this.#info).replaceAll(" = ", "=") : ""));
    for (let line = from; line < to; line += 1) {
      const row = h("div", { class: "line", role: "row" }, h("span", { class: "head", role: "rowheader" }, fold.label(line)));
      for (let place = 0; place < fold.windows * block.columns.length; place += 1) {
        const cell = block.first_cell + line * fold.windows * block.columns.length + place;
        const edge = block.columns.length > 1 && place % block.columns.length === 0 && place > 0;
        const element = h("div", { class: "c", role: "gridcell", tabindex: -1, "data-spot": this.spots.length, "data-cell": cell });
        this.spots.push({ cell, element, x: place, y: below + line, state: "", t: block.t, length: null });
        if (edge) element.dataset.edge = "";
        row.append(element);
      }
      table.append(row);
    }
    return h("div", { class: "block" }, h("div", { class: "block-title" }, blockName(block, this.#info)), table);
  }

  /** @param {ClassInfo} info */
  #buildBar(info) {
    this.bar.replaceChildren();
    if (!this.single) return;
    const steps = info.grid.map((block, number) => button(blockName(block, this.#info), () => {
      this.#block = number;
      this.#part = 0;
      this.#build();
    }, { class: "small", "aria-pressed": String(number === this.#block) }));
    this.bar.append(h("span", { class: "choices", role: "group", "aria-label": "Step shown" }, ...steps));
    const block = info.grid[this.#block];
    if (!block) return;
    const fold = foldOf(block, info.q, this.#room);
    const parts = Math.ceil(fold.count / fold.linesAtOnce);
    if (parts < 2) return;
    /** @param {number} by */
    const turn = (by) => { this.#part = (this.#part + by + parts) % parts; this.#build(); };
    this.bar.append(button("‹", () => turn(-1), { class: "small", "aria-label": "Windows before" }), ` part ${this.#part + 1} of ${parts} `, button("›", () => turn(1), { class: "small", "aria-label": "Windows after" }));
  }

  /** Shows the step that a cell belongs to. @param {number} cell */
  reveal(cell) {
    const info = this.#info;
    if (!info || this.spots.some((spot) => spot.cell === cell)) return;
    const number = info.grid.findIndex((block) => cell >= block.first_cell && cell < block.first_cell + block.rows.length * block.columns.length);
    const block = info.grid[number];
    if (!block) return;
    const fold = foldOf(block, info.q, this.#room);
    this.#block = number;
    this.#part = Math.floor((cell - block.first_cell) / (block.columns.length * fold.windows) / fold.linesAtOnce);
    this.#build();
  }

  /**
   * @param {Spot} spot
   * @param {number} token
   * @param {string} mark
   * @param {number} shade
   * @param {string} on
   */
  paint(spot, token, mark, shade, on) {
    const element = /** @type {HTMLElement} */ (spot.element);
    element.className = `c ${mark} ${on}${shade >= 0 ? " shaded" : ""}`;
    element.textContent = String(token);
    element.dataset.token = String(token);
    if (shade >= 0) element.style.setProperty("--shade", `${shade * 5}%`);
  }
}

/**
 * How many windows stand in a line, and what lines are called.
 * @param {Block} block @param {number} q @param {number} room
 */
export function foldOf(block, q, room) {
  let windows = 1;
  let deep = 0;
  // Few windows stand as they are: a table of x by y.
  while (block.rows.length > FEW && windows * q * block.columns.length <= room && block.rows.length % (windows * q) === 0 && block.rows.length > windows) {
    windows *= q;
    deep += 1;
  }
  /** @param {number} line */
  const label = (line) => {
    const symbols = (block.rows[line * windows] ?? "").split(",");
    // Symbols behind the input's end do not vary: what varies is before them.
    const ends = symbols.filter((symbol) => symbol === "SEP").length && symbols[symbols.length - 1] === "SEP";
    const kept = symbols.length - deep - (ends ? symbols.filter((symbol) => symbol === "SEP").length : 0);
    return deep === 0 ? short(symbols) : `${short(symbols.slice(0, Math.max(0, kept)))} ${"·".repeat(deep)}`.trim();
  };
  const linesAtOnce = Math.max(1, Math.floor(MOST / (windows * block.columns.length)));
  return { windows, deep, label, count: Math.ceil(block.rows.length / windows), linesAtOnce };
}

/** @param {string[]} symbols */
const short = (symbols) => symbols.join(" ").replaceAll("SEP", "–");

/** @param {Block} block @param {ReturnType<typeof foldOf>} fold @param {string} name  what stands in the corner of a small grid */
function headLines(block, fold, name) {
  const lines = [];
  const columns = block.columns.length;
  if (fold.windows > 1) {
    const line = h("div", { class: "line heads windows", role: "row" }, h("span", { class: "head" }, "x"));
    for (let window = 0; window < fold.windows; window += 1) {
      const symbols = (block.rows[window] ?? "").split(",").filter((symbol) => symbol !== "SEP");
      const head = h("span", { class: "over", role: "columnheader" }, symbols.slice(-fold.deep).join(columns > 1 ? " " : ""));
      head.style.setProperty("--span", String(columns));
      line.append(head);
    }
    lines.push(line);
  }
  if (columns > 1 || name) {
    const line = h("div", { class: "line heads", role: "row" }, h("span", { class: name ? "head corner" : "head" }, name || (fold.windows > 1 ? "y" : "x")));
    for (let place = 0; place < fold.windows * columns; place += 1) {
      const head = h("span", { class: "over", role: "columnheader" }, (block.columns[place % columns] ?? "").replaceAll("SEP", "–"));
      if (place % columns === 0 && place > 0) head.dataset.edge = "";
      line.append(head);
    }
    lines.push(line);
  }
  return lines;
}

/**
 * The cells shown as an SVG, to take away: signs and numbers in black and grey, readable without colour.
 * @param {Spot[]} spots
 * @param {import("./field.js").Shown} shown
 */
export function gridSvg(spots, shown) {
  const size = 24;
  const [right, bottom] = [Math.max(0, ...spots.map((spot) => spot.x)), Math.max(0, ...spots.map((spot) => spot.y))];
  const [width, height] = [(right + 1) * size + 20, (bottom + 1) * size + 20];
  const cells = spots.map(({ cell, x, y }) => {
    const [left, top] = [10 + x * size, 10 + y * size];
    const mark = shown.marks?.[cell];
    const grey = shown.shades ? 255 - Math.round(130 * (shown.shades[cell] ?? 0)) : 255;
    return `<rect x="${left}" y="${top}" width="${size - 1}" height="${size - 1}" fill="rgb(${grey},${grey},${grey})" stroke="${mark === "unvisited" ? "#cccccc" : "#000000"}"/>`
      + `<text x="${left + 9}" y="${top + 17}" font-size="12" text-anchor="middle">${shown.code[cell]}</text>`
      + (mark ? `<text x="${left + size - 3}" y="${top + 9}" font-size="7" text-anchor="end">${MEANING[mark].sign}</text>` : "");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>${cells.join("")}</svg>\n`;
}
