// Shows the cells of a code, as the paper's drawing or as a grid, and moves among them by mouse and keys.

import { Drawing } from "./drawing.js";
import { button, h } from "./dom.js";
import { Grid } from "./grid.js";
import { MEANING } from "./marks.js";
import { Overview } from "./overview.js";
import { cellName } from "./store.js";

/** @typedef {import("./types.js").ClassInfo} ClassInfo */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {{cell: number, element: Element, x: number, y: number, state: string, t: number|null, length: number|null}} Spot  A cell at a place where it is shown; in a drawing also its step and the length of the inputs there. */

/**
 * @typedef {object} Shown  What there is to see of a code.
 * @property {number[]} code
 * @property {Mark[]|null} [marks]
 * @property {number[]|null} [shades]  how decided each cell is, 0 to 1
 * @property {number|null} [selected]
 * @property {{cell: number, t: number}[]|null} [path]  the cells of a rollout, step by step
 * @property {number|null} [moved]  the cell of the last move
 */

/**
 * @typedef {object} Options
 * @property {string} label
 * @property {HTMLElement} [tools]  where the switch between drawing and grid stands
 * @property {boolean} [small]  with small cells in the grid
 * @property {() => boolean} [tinted]  whether the cells of the grid have the colours of their tokens
 * @property {(cell: number, at: Element) => void} [onPick]
 * @property {(cell: number) => void} [onFocus]
 * @property {(cell: number, token: number) => void} [onToken]
 */

/** Up to so many cells a code is drawn at first. */
const DRAWN = 60;
/** Tokens up to so many have colours. */
const COLOURS = 7;

export class Field {
  /** @type {ClassInfo|null} */ info = null;
  /** @type {Shown} */ shown = { code: [] };
  /** @type {Spot|null} Where the keyboard is. */ here = null;

  /** @param {HTMLElement} host @param {Options} options */
  constructor(host, options) {
    this.options = options;
    this.host = host;
    this.frame = h("div", { class: "field", role: "group", "aria-label": options.label });
    this.drawing = new Drawing();
    this.grid = new Grid(() => this.#renew(), options.small === true);
    this.#switch = button("", () => this.setMode(this.mode === "drawing" ? "grid" : "drawing"), { class: "small switch", title: "Drawing or grid (d)" });
    (options.tools ?? host).append(this.#switch);
    this.overview = new Overview((cell) => { this.focus(cell); });
    host.append(this.overview.element, this.grid.bar, this.frame);
    this.frame.addEventListener("click", (event) => this.#click(event));
    this.frame.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("theme", () => this.show(this.shown));
    this.frame.addEventListener("focusin", (event) => this.#focused(event));
  }

  /** @type {HTMLButtonElement} */ #switch;

  /** @type {"drawing"|"grid"} */ mode = "drawing";

  /** @param {ClassInfo} info */
  setClass(info) {
    this.info = info;
    this.drawing.clear();
    this.grid.setClass(info);
    this.overview.setClass(info, this.grid.single);
    // The ways of all inputs through more cells cannot be told apart.
    this.setMode(info.fits_drawing && info.cells <= DRAWN ? "drawing" : "grid");
  }

  /** @param {"drawing"|"grid"} mode */
  setMode(mode) {
    if (!this.info) return;
    this.mode = mode === "drawing" && this.info.fits_drawing ? "drawing" : "grid";
    this.#switch.textContent = this.mode === "drawing" ? "As a grid" : "As a drawing";
    this.#switch.hidden = !this.info.fits_drawing;
    this.frame.dataset.mode = this.host.dataset.mode = this.mode;
    this.grid.bar.hidden = this.mode !== "grid";
    this.frame.replaceChildren(this.mode === "drawing" ? this.drawing.element : this.grid.element);
    this.resize();
    this.here = null;
    this.show(this.shown);
    this.onMode?.();
  }

  /** @type {(() => void)|undefined} Called when drawing and grid are exchanged. */ onMode;

  /** @param {import("./types.js").Picture} picture */
  setPicture(picture) {
    if (!this.info) return;
    this.drawing.setPicture(picture, this.info);
    if (this.mode === "drawing") this.show(this.shown);
  }

  get #spots() {
    return this.mode === "drawing" ? this.drawing.spots : this.grid.spots;
  }

  #renew() {
    this.here = null;
    this.show(this.shown);
  }

  /** @param {Shown} shown */
  show(shown) {
    this.shown = shown;
    const info = this.info;
    if (!info || shown.code.length !== info.cells) return;
    const view = this.mode === "drawing" ? this.drawing : this.grid;
    const spots = this.#spots;
    const tinted = this.options.tinted?.() === true;
    this.frame.classList.toggle("tinted", tinted && info.actions <= COLOURS);
    if (this.mode === "grid") this.overview.show(shown, tinted);
    for (const spot of spots) {
      const { cell } = spot;
      const token = shown.code[cell] ?? 0;
      const mark = shown.marks?.[cell] ?? "";
      const shade = shown.shades ? Math.round((shown.shades[cell] ?? 0) * 20) : -1;
      const on = `${shown.selected === cell ? "selected " : ""}${shown.path && onPath(spot, shown.path) ? "path " : ""}${shown.moved === cell ? "moved" : ""}`;
      const state = `${token}|${mark}|${shade}|${on}`;
      if (state === spot.state) continue;
      spot.state = state;
      view.paint(spot, token, mark, shade, on);
    }
    if (!this.here && spots[0]) this.#hold(spots.find((spot) => spot.cell === shown.selected) ?? spots[0]);
  }

  /** @param {Spot} spot */
  #hold(spot) {
    this.here?.element.setAttribute("tabindex", "-1");
    this.here = spot;
    spot.element.setAttribute("tabindex", "0");
  }

  /** @param {Spot} spot */
  #name(spot) {
    const info = this.info;
    if (!info) return "";
    const mark = this.shown.marks?.[spot.cell];
    return `${cellName(info, spot.cell)}: token ${this.shown.code[spot.cell]}${mark ? `; ${MEANING[mark].words}` : ""}`;
  }

  /** @param {Event} event @returns {Spot|undefined} */
  #spotOf(event) {
    const element = event.target instanceof Element ? event.target.closest("[data-spot]") : null;
    return element ? this.#spots[Number(element.getAttribute("data-spot"))] : undefined;
  }

  /** @param {Event} event */
  #focused(event) {
    const spot = this.#spotOf(event);
    if (!spot) return;
    this.#hold(spot);
    spot.element.setAttribute("aria-label", this.#name(spot));
    this.options.onFocus?.(spot.cell);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const spot = this.#spotOf(event);
    if (!spot) return;
    /** @type {HTMLElement} */ (spot.element).focus({ preventScroll: true });
    this.options.onPick?.(spot.cell, spot.element);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const spot = this.#spotOf(event);
    if (!spot || event.ctrlKey || event.metaKey || event.altKey) return;
    const way = WAYS[event.key];
    if (way) this.#go(spot, way);
    else if (event.key === "Enter" || (event.key === " " && this.options.onPick)) this.options.onPick?.(spot.cell, spot.element);
    else if (/^[0-9]$/.test(event.key) && this.options.onToken) this.#type(spot, Number(event.key));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * A digit sets the token; with more than ten tokens two digits in quick succession do.
   * @param {Spot} spot @param {number} digit
   */
  #type(spot, digit) {
    const actions = this.info?.actions ?? 0;
    const now = performance.now();
    const two = this.#typed.digit * 10 + digit;
    const token = actions > 10 && now - this.#typed.at < 700 && two < actions ? two : digit;
    this.#typed = { digit, at: now };
    this.options.onToken?.(spot.cell, token);
  }

  #typed = { digit: 0, at: -1e9 };

  /** @param {Spot} from @param {[number, number]} way */
  #go(from, [dx, dy]) {
    let [best, least] = [from, Infinity];
    for (const spot of this.#spots) {
      const [x, y] = [spot.x - from.x, spot.y - from.y];
      const along = x * dx + y * dy;
      if (along <= 0.5) continue;
      const aside = Math.abs(x * dy + y * dx);
      // The next column of a drawing is far away; a row is exact.
      const far = dx ? along * 1000 + aside : aside * 1000 + along;
      if (far < least) [best, least] = [spot, far];
    }
    this.#hold(best);
    /** @type {HTMLElement} */ (best.element).focus();
  }

  /** Puts the keyboard on a cell. @param {number} cell */
  focus(cell) {
    if (this.mode === "grid") this.grid.reveal(cell);
    const spot = this.#spots.find((one) => one.cell === cell) ?? this.#spots[0];
    if (!spot) return;
    this.#hold(spot);
    /** @type {HTMLElement} */ (spot.element).focus();
  }

  /** The element of a cell, to point at. @param {number} cell */
  elementOf(cell) {
    return this.#spots.find((one) => one.cell === cell)?.element ?? null;
  }

  /** Lays the grid out anew when there is more or less room. */
  resize() {
    if (this.mode !== "grid") return;
    this.overview.layOut(this.frame.clientWidth - 6);
    this.grid.layOut(this.frame.clientWidth);
  }
}

/**
 * Whether a rollout comes by: a tied cell is shown at every step, but visited at some.
 * @param {Spot} spot
 * @param {{cell: number, t: number}[]} path
 */
function onPath(spot, path) {
  if (spot.length !== null && spot.length !== path.length) return false;
  return path.some(({ cell, t }) => cell === spot.cell && (spot.t === null || t === spot.t));
}

/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
