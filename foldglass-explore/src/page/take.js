// Gives things away: files to download, text to copy, the command line that gives the same numbers.

import { button, by, h } from "./dom.js";
import { store } from "./store.js";
import { notice } from "./notice.js";

/**
 * Offers a text as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 5000);
}

/**
 * Copies a text and says so.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notice(`${what} copied.`);
  } catch {
    // Without the clipboard's permission the text is shown, to be copied by hand.
    notice(`Copy it here: ${text}`, true);
  }
}

/**
 * The two buttons of a figure or a panel: its picture, its numbers.
 * @param {string} name
 * @param {{svg?: () => string|null, json?: () => unknown}} what
 */
export function takeButtons(name, what) {
  const { svg, json } = what;
  const group = h("span", { class: "take", role: "group", "aria-label": `Take away: ${name}` });
  if (svg) {
    group.append(button("SVG", () => {
      const text = svg();
      if (text) download(`${name}.svg`, text, "image/svg+xml");
      else notice("There is no picture yet.");
    }, { class: "link", title: `The picture (${name}.svg)` }));
  }
  if (json) {
    group.append(button("JSON", () => {
      const value = json();
      if (value) download(`${name}.json`, `${JSON.stringify(value, null, 1)}\n`, "application/json");
      else notice("There are no numbers yet.");
    }, { class: "link", title: `The numbers (${name}.json)` }));
  }
  return group;
}

/** Fills the bar at the bottom: what to type for the same numbers, and the code's file that it reads. */
export function startCommandBar() {
  const show = () => {
    const lines = store.commands.get(store.view) ?? store.commands.get("code") ?? [];
    by("commands").replaceChildren(...lines.map(({ command }) => h("code", {}, command)));
    const files = new Map(lines.flatMap(({ file }) => (file ? [[file.name, file.text]] : [])));
    by("command-files").replaceChildren(...[...files].map(([name, text]) => button(name, () => download(name, text, "application/json"), { title: `The file that the command reads (${name})` })));
  };
  store.on("command", show);
  by("command-copy").addEventListener("click", () => {
    const lines = store.commands.get(store.view) ?? store.commands.get("code") ?? [];
    copy(lines.map(({ command }) => command).join("\n"), "The command");
  });
}
