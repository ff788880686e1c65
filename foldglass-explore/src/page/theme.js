// Chooses light or dark: what the system says, until the reader says otherwise.

import { by } from "./dom.js";

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** A page may have no storage. @param {string} key @param {string} [value] @returns {string|null} */
export function kept(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

/** The theme that is shown. */
export const themeName = () => (isDark() ? "dark" : "light");

/** Turns light to dark and back. */
export function turn() {
  root.dataset.theme = isDark() ? "light" : "dark";
  kept("theme", root.dataset.theme);
  label();
}

/** Names the button, and has what is painted painted anew. */
function label() {
  by("theme").textContent = isDark() ? "Light" : "Dark";
  document.dispatchEvent(new Event("theme"));
}

/** Takes what was chosen before. */
export function startTheme() {
  const before = kept("theme");
  if (before === "dark" || before === "light") root.dataset.theme = before;
  by("theme").addEventListener("click", turn);
  prefersDark.addEventListener("change", label);
  label();
}
