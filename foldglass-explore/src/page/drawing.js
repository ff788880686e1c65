// Lays cells that can be clicked over the server's drawing, so that a change is seen before the next drawing comes.

import { h, picture as parse, s } from "./dom.js";

/** @typedef {import("./field.js").Spot} Spot */

/** Ways up to which dashes are drawn. */
const DENSE = 300;

export class Drawing {
  /** @type {Spot[]} */ spots = [];
  /** @type {string} The server's own SVG, to take away. */ source = "";
  #actions = 0;
  #layout = "";

  constructor() {
    // Two layers: a change of a cell does not paint a thousand ways anew.
    this.under = s("svg", { class: "picture", "aria-hidden": "true" });
    this.over = s("svg", { class: "cells" });
    this.element = h("div", { class: "drawing" }, this.under, this.over);
  }

  clear() {
    this.under.replaceChildren();
    this.over.replaceChildren();
    this.spots = [];
    this.#layout = "";
    this.source = "";
  }

  /**
   * @param {import("./types.js").Picture} answer
   * @param {import("./types.js").ClassInfo} info
   */
  setPicture(answer, info) {
    const { cells } = answer;
    this.source = answer.svg;
    this.#actions = info.actions;
    const parsed = parse(answer.svg);
    const several = info.lengths.length > 1;
    this.under.replaceChildren(...withoutWords(parsed, cells, several));
    // Dashes of so many ways cannot be told apart, and take a screen long to paint.
    this.element.classList.toggle("dense", this.under.querySelectorAll("path").length > DENSE);
    const box = frame(this.under, cells, several);
    for (const layer of [this.under, this.over]) layer.setAttribute("viewBox", `${box.left} ${box.top} ${box.width} ${box.height}`);
    this.element.style.setProperty("--natural", `${box.width}px`);
    this.element.style.setProperty("--hit", String(2 * ((cells[0]?.r ?? 15) + 6)));
    this.element.style.setProperty("--aspect", String(box.width / box.height));
    const layout = cells.map(({ cell, x, y }) => `${cell},${x},${y}`).join(" ");
    if (layout === this.#layout) return;
    this.#layout = layout;
    const lengths = lengthsOf(cells);
    this.spots = cells.map((place, number) => this.#spot(place, number, info.actions, lengths[number] ?? null));
    this.over.replaceChildren(...this.spots.map((spot) => spot.element));
  }

  /**
   * @param {import("./types.js").Place} place
   * @param {number} number
   * @param {number} actions
   * @param {number|null} length
   * @returns {Spot}
   */
  #spot({ cell, t, x, y, r }, number, actions, length) {
    const mark = s("path", { class: "mark" });
    const badge = [x + 0.8 * r, y - 0.8 * r];
    mark.dataset.x = String(badge[0]);
    mark.dataset.y = String(badge[1]);
    mark.dataset.size = String(Math.max(4, 0.34 * r));
    const token = actions === 2
      ? s("path", { class: "token arrow", "stroke-width": Math.max(1, r / 9) })
      : s("text", { class: "token", x, y: y + 0.4 * r, "font-size": Math.max(6, Math.floor(1.1 * r)), "text-anchor": "middle" });
    const element = s("g", { class: "spot", role: "button", tabindex: -1, "data-spot": number, "data-cell": cell },
      s("circle", { class: "hit", cx: x, cy: y, r: r + 6 }),
      s("circle", { class: "ring", cx: x, cy: y, r: r + 3.5 }),
      s("circle", { class: "disc", cx: x, cy: y, r }), token,
      s("circle", { class: "backing", cx: badge[0], cy: badge[1], r: Math.max(5, 0.42 * r) }), mark);
    return { cell, element, x, y, state: "", t, length };
  }

  /**
   * @param {Spot} spot
   * @param {number} token
   * @param {string} mark
   * @param {number} shade  in twentieths; -1 is none
   * @param {string} on
   */
  paint(spot, token, mark, shade, on) {
    const element = /** @type {SVGGElement} */ (spot.element);
    element.setAttribute("class", `spot ${mark} ${on}${shade >= 0 ? " shaded" : ""}`);
    element.setAttribute("aria-label", `cell ${spot.cell}, token ${token}`);
    if (shade >= 0) element.style.setProperty("--shade", `${shade * 5}%`);
    const [disc, sign, badge] = [element.children[2], element.children[3], element.children[5]];
    const r = Number(disc?.getAttribute("r"));
    if (this.#actions === 2) sign?.setAttribute("d", arrow(spot.x, spot.y, r, token));
    else if (sign) sign.textContent = String(token);
    const { x, y, size } = /** @type {SVGPathElement} */ (badge).dataset;
    badge?.setAttribute("d", badgePath(mark, Number(x), Number(y), Number(size)));
  }
}

/** Up for 1, down for 0, as the paper draws them. @param {number} x @param {number} y @param {number} r @param {number} token */
function arrow(x, y, r, token) {
  const up = token === 1 ? -1 : 1;
  const [long, wide] = [r * 0.62, r * 0.3];
  const tip = y + up * long;
  const neck = tip - up * wide * 1.2;
  return `M${x} ${y - up * long}L${x} ${tip}M${x - wide} ${neck}L${x} ${tip}L${x + wide} ${neck}`;
}

/** A triangle up, two bars, a triangle down, or nothing. @param {string} mark @param {number} x @param {number} y @param {number} a */
export function badgePath(mark, x, y, a) {
  if (mark === "raise") return `M${x} ${y - a}L${x + a} ${y + 0.8 * a}L${x - a} ${y + 0.8 * a}Z`;
  if (mark === "lower") return `M${x} ${y + a}L${x + a} ${y - 0.8 * a}L${x - a} ${y - 0.8 * a}Z`;
  if (mark === "keep") return `M${x - 0.8 * a} ${y - 0.4 * a}H${x + 0.8 * a}M${x - 0.8 * a} ${y + 0.4 * a}H${x + 0.8 * a}`;
  return "";
}

/** @typedef {import("./types.js").Place} Place */

/**
 * The length of the inputs that each place is for: in panel after panel the steps begin anew.
 * @param {Place[]} cells
 */
function lengthsOf(cells) {
  /** @type {number[]} */
  const lengths = [];
  let first = 0;
  for (let place = 1; place <= cells.length; place += 1) {
    const [before, now] = [cells[place - 1], cells[place]];
    if (now && before && now.t >= before.t) continue;
    lengths.push(...Array(place - first).fill(before?.t ?? 0));
    first = place;
  }
  return lengths;
}

/** Around the cells alone. @param {Place[]} cells */
function cellsBox(cells) {
  const [left, right] = [Math.min(...cells.map(({ x, r }) => x - r)) - 14, Math.max(...cells.map(({ x, r }) => x + r)) + 14];
  const [top, bottom] = [Math.min(...cells.map(({ y, r }) => y - r)) - 38, Math.max(...cells.map(({ y, r }) => y + r)) + 10];
  return { left, top, width: right - left, height: bottom - top };
}

/**
 * The drawing without its title, its explanation and what it says of inputs, which the page says beside it.
 * @param {SVGSVGElement} parsed
 * @param {Place[]} cells
 * @param {boolean} several  panels, whose titles say their lengths
 */
function withoutWords(parsed, cells, several) {
  const below = Math.max(...cells.map(({ y, r }) => y + r)) + 16;
  for (const text of parsed.querySelectorAll("text")) {
    if (Number(text.getAttribute("y")) > below || (!several && text.getAttribute("font-weight") === "bold")) text.remove();
  }
  for (const line of parsed.querySelectorAll("line")) if (Number(line.getAttribute("y1")) > below) line.remove();
  return [...parsed.childNodes];
}

/**
 * What of the drawing is shown: cells, answers, and room for the sign that says whether an input is answered rightly.
 * It does not depend on the input: the drawing does not move when one is chosen.
 * @param {SVGSVGElement} under
 * @param {Place[]} cells
 * @param {boolean} several
 */
function frame(under, cells, several) {
  const box = cellsBox(cells);
  const texts = [...under.querySelectorAll("text")];
  const row = texts.some((text) => Number(text.getAttribute("x")) < box.left && Number(text.getAttribute("y")) < box.top + box.height);
  const answers = [...under.querySelectorAll("rect[x]")].map((rect) => Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")));
  const right = Math.max(box.left + box.width, ...answers) + 30;
  const bottom = Math.max(box.top + box.height, ...texts.map((text) => Number(text.getAttribute("y")))) + 9;
  const [left, top] = [several || row ? 20 : box.left - 6, several ? 14 : box.top];
  return { left, top, width: right - left, height: bottom - top };
}
