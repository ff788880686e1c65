// Makes elements, finds them, and turns the server's SVG text into nodes.

export const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * An HTML element; attributes that begin with "on" are listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  dress(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * Appends what is there of the children.
 * @param {Element} parent
 * @param {...Child} children
 */
export function put(parent, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function by(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * A button of the page.
 * @param {string} words
 * @param {(event: MouseEvent) => void} act
 * @param {Record<string, any>} [attributes]
 */
export function button(words, act, attributes = {}) {
  return h("button", { type: "button", onclick: act, ...attributes }, words);
}

/**
 * A picture of the server as a node: parsed, not written into the page, so that nothing in it can run.
 * @param {string} text
 * @returns {SVGSVGElement}
 */
export function picture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  for (const odd of parsed.querySelectorAll("script, style, foreignObject")) odd.remove();
  // The page names a picture in words of its own.
  parsed.querySelector(":scope > title")?.remove();
  for (const one of parsed.querySelectorAll("[style]")) one.removeAttribute("style");
  const node = /** @type {unknown} */ (document.importNode(parsed, true));
  return /** @type {SVGSVGElement} */ (node);
}

/**
 * Runs an asynchronous act with at most one call under way; of the calls made meanwhile the latest is done next.
 * @template A
 * @param {(argument: A) => Promise<void>} act
 * @returns {(argument: A) => Promise<void>}
 */
export function latest(act) {
  /** @type {Promise<void>|null} */
  let running = null;
  /** @type {{argument: A}|null} */
  let next = null;
  const run = async () => {
    while (next) {
      const { argument } = next;
      next = null;
      await act(argument);
    }
  };
  return (argument) => {
    next = { argument };
    running ??= run().finally(() => { running = null; });
    return running;
  };
}

/** @param {number} milliseconds */
export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Whether the reader asked for little motion. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
