// Draws curves against sweeps or steps, live, with as many points as a screen has and no more.

import { h, s } from "./dom.js";
import { number } from "./fraction.js";

/** @typedef {{name: string, colour: string, dashes: string, points: [number, number][], every: number}} Line */

/** More points than this are thinned to every second; an hour of playing stays this small. */
const MOST = 1600;
const [HEIGHT, LEFT, TOP, BOTTOM] = [270, 54, 12, 40];
/** The width of a plot that is not on the screen. */
const WIDTH = 760;

/** Colours and dashes of curves, told apart without the colour too. */
export const LOOKS = [
  { colour: "#0072b2", dashes: "" },
  { colour: "#d55e00", dashes: "7 3" },
  { colour: "#009e73", dashes: "2 3" },
  { colour: "#cc79a7", dashes: "9 3 2 3" },
  { colour: "#e69f00", dashes: "12 4" },
  { colour: "#56b4e9", dashes: "4 2" },
  { colour: "#59636e", dashes: "1 2" },
];

export class Plot {
  /** @type {Line[]} */ lines = [];

  /**
   * @param {HTMLElement} host
   * @param {{x: string, y: string, label: string, unit?: boolean}} words  `unit`: y is a share between 0 and 1
   */
  constructor(host, words) {
    this.words = words;
    this.svg = s("svg", { class: "plot", role: "img", "aria-label": words.label });
    host.replaceChildren(h("div", { class: "plot-frame" }, this.svg));
    new ResizeObserver(() => { if (host.clientWidth && host.clientWidth !== this.wide) this.draw(); }).observe(host);
    this.host = host;
    this.draw();
  }

  /** The width it is drawn at. */
  wide = WIDTH;

  /** Whether x is drawn by the logarithm of 1 + x, which has a place for 0. */
  log = false;

  /** @param {string[]} names */
  setLines(names) {
    this.lines = names.map((name, place) => {
      const look = LOOKS[place % LOOKS.length] ?? { colour: "#000000", dashes: "" };
      return { name, ...look, points: [], every: 1 };
    });
    this.draw();
  }

  /** @param {number} which @param {[number, number][]} points */
  extend(which, points) {
    const line = this.lines[which];
    if (!line) return;
    line.points.push(...points);
    while (line.points.length > MOST) {
      const last = line.points.length - 1;
      line.points = line.points.filter((_, place) => place % 2 === 0 || place === last);
      line.every *= 2;
    }
  }

  /** @returns {{x0: number, x1: number, y0: number, y1: number}} */
  #range() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const line of this.lines) {
      for (const [x, y] of line.points) {
        if (x < x0) x0 = x;
        if (x > x1) x1 = x;
        if (y < y0) y0 = y;
        if (y > y1) y1 = y;
      }
    }
    if (this.words.unit || y0 > y1) [y0, y1] = [0, 1];
    if (y1 - y0 < 1e-12) [y0, y1] = [y0 - 0.5, y1 + 0.5];
    if (x0 > x1) [x0, x1] = [0, 10];
    if (x1 - x0 < 1) x1 = x0 + 10;
    return { x0, x1, y0, y1 };
  }

  draw() {
    this.wide = this.host.clientWidth || this.wide;
    const wide = Math.max(280, this.wide);
    // Room for the names of the curves.
    const right = Math.min(190, 16 + 7 * Math.max(5, ...this.lines.map(({ name }) => name.length)));
    this.svg.setAttribute("viewBox", `0 0 ${wide} ${HEIGHT}`);
    const { x0, x1, y0, y1 } = this.#range();
    /** @param {number} x */
    const scale = (x) => (this.log ? Math.log10(1 + x) : x);
    /** @param {number} x */
    const across = (x) => LEFT + ((scale(x) - scale(x0)) / (scale(x1) - scale(x0))) * (wide - LEFT - right);
    /** @param {number} y */
    const up = (y) => HEIGHT - BOTTOM - ((y - y0) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);
    /** @type {SVGElement[]} */
    const parts = [];
    const rows = ticks(y0, y1, 5);
    for (const y of rows.places) {
      parts.push(s("line", { class: "rule", x1: LEFT, x2: wide - right, y1: up(y), y2: up(y), stroke: "#dddddd" }));
      parts.push(s("text", { class: "tick", x: LEFT - 7, y: up(y) + 4, "text-anchor": "end", "font-size": 12 }, rows.written(y)));
    }
    const columns = this.log ? { places: logTicks(x0, x1), written: number } : ticks(x0, x1, wide > 500 ? 6 : 3);
    for (const x of columns.places) {
      parts.push(s("line", { class: "axis", x1: across(x), x2: across(x), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5, stroke: "#000000" }));
      parts.push(s("text", { class: "tick", x: across(x), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle", "font-size": 12 }, columns.written(x)));
    }
    parts.push(s("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${wide - right}`, fill: "none", stroke: "#000000" }));
    parts.push(s("text", { class: "tick", x: (LEFT + wide - right) / 2, y: HEIGHT - 5, "text-anchor": "middle", "font-size": 13 }, this.log ? `${this.words.x}, logarithmic` : this.words.x));
    parts.push(s("text", { class: "tick", x: 14, y: HEIGHT / 2, "text-anchor": "middle", "font-size": 13, transform: `rotate(-90 14 ${HEIGHT / 2})` }, this.words.y));
    const ends = this.#ends(up);
    for (const [place, line] of this.lines.entries()) {
      if (!line.points.length) continue;
      const d = line.points.map(([x, y]) => `${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join("L");
      parts.push(s("path", { class: "curve", d: `M${d}`, fill: "none", stroke: line.colour, "stroke-width": 1.8, "stroke-dasharray": line.dashes || "none" }));
      const [x, y] = line.points[line.points.length - 1] ?? [0, 0];
      parts.push(s("circle", { class: "end", cx: across(x), cy: up(y), r: 3, fill: line.colour }));
      parts.push(s("text", { class: "name", x: wide - right + 8, y: ends[place], "font-size": 12, fill: line.colour }, line.name));
    }
    this.svg.replaceChildren(...parts);
    this.svg.setAttribute("aria-label", [this.words.label, ...this.lines.flatMap(({ name, points }) => {
      const [x, y] = points[points.length - 1] ?? [null, null];
      return x === null ? [] : [`${name}: ${number(y)} at ${number(x)}`];
    })].join("; "));
  }

  /** Where the names of curves stand, apart from each other. @param {(y: number) => number} up */
  #ends(up) {
    const wanted = this.lines.map((line, place) => ({ place, y: up(line.points[line.points.length - 1]?.[1] ?? 0) + 4 }));
    wanted.sort((a, b) => a.y - b.y);
    let last = -Infinity;
    for (const one of wanted) {
      one.y = Math.max(one.y, last + 14);
      last = one.y;
    }
    /** @type {number[]} */
    const places = [];
    for (const { place, y } of wanted) places[place] = y;
    return places;
  }

  /** The plot as a file. */
  source() {
    const copy = /** @type {SVGSVGElement} */ (this.svg.cloneNode(true));
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", String(Math.max(280, this.wide)));
    copy.setAttribute("height", String(HEIGHT));
    copy.setAttribute("font-family", "DejaVu Sans, sans-serif");
    copy.prepend(s("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
    return new XMLSerializer().serializeToString(copy);
  }

  /** The curves as numbers. */
  numbers() {
    return this.lines.map(({ name, points, every }) => ({ name, thinned: every > 1, points }));
  }
}

/** Powers of ten and 0; where they are few, also their doubles and fives. @param {number} from @param {number} to */
function logTicks(from, to) {
  const list = [0];
  for (let ten = 1; ten <= to; ten *= 10) list.push(...(to < 100 ? [ten, 2 * ten, 5 * ten] : [ten]));
  return list.filter((x) => x >= from && x <= to);
}

/**
 * Round numbers between two, with up to so many steps, and how each is written: with the decimals that the step needs.
 * A test holds it to `figure::ticks`, which has the ticks of all other figures.
 * @param {number} from @param {number} to @param {number} steps
 */
export function ticks(from, to, steps) {
  const least = (to - from) / steps;
  const power = Math.floor(Math.log10(least));
  const ten = 10 ** power;
  const step = ([1, 2, 5, 10].find((n) => n * ten >= least) ?? 10) * ten;
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  /** @type {number[]} */
  const places = [];
  for (let n = Math.ceil(from / step - 1e-9); n <= Math.floor(to / step + 1e-9); n += 1) places.push(n * step);
  return { places, written: (/** @type {number} */ place) => (Math.abs(place) >= 1e6 ? number(place) : (place || 0).toFixed(decimals)) };
}
