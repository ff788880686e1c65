"use strict";
// Everything is there without this script; with it tables sort and filter, and the look can be chosen.
(() => {
  const each = (within, selector, act) => within.querySelectorAll(selector).forEach(act);

  /** What a cell is sorted by: its number where it has one, else its words. */
  const key = (row, place) => {
    const cell = row.cells[place];
    const number = cell.dataset.value;
    return number === undefined ? cell.textContent.trim() : Number(number);
  };

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };

  const sort = (table, head) => {
    const place = head.cellIndex;
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    each(table, "thead th", (other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => (ascending ? 1 : -1) * compare(key(a, place), key(b, place)));
    body.append(...rows);
  };

  const filter = (sheet) => {
    const input = sheet.querySelector("input");
    const words = (input ? input.value : "").toLowerCase().split(/\s+/).filter(Boolean);
    const hidden = new Set();
    each(sheet, '.choices [aria-pressed="false"]', (button) => hidden.add(button.dataset.word));
    const rows = [...sheet.querySelectorAll("tbody tr")];
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = hidden.has(row.dataset.word) || !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    const output = sheet.querySelector("output");
    if (output) output.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  };

  each(document, ".sheet", (sheet) => {
    each(sheet, ".live", (tool) => { tool.hidden = false; });
    const table = sheet.querySelector("table");
    each(table, "thead th[data-key]", (head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head));
    });
    const input = sheet.querySelector("input");
    if (input) input.addEventListener("input", () => filter(sheet));
    each(sheet, ".choices button", (button) => {
      // What the paper does not state is drawn in the figures; the list begins with what is judged.
      if (button.dataset.word === "not stated") button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!pressed));
        filter(sheet);
      });
    });
    filter(sheet);
  });

  /** A link to a row that is filtered out, or folded away, shows it. */
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let parent = target.closest("details"); parent; parent = parent.parentElement.closest("details")) {
      parent.open = true;
    }
    if (target.hidden) {
      const sheet = target.closest(".sheet");
      const input = sheet.querySelector("input");
      if (input) input.value = "";
      each(sheet, ".choices button", (button) => button.setAttribute("aria-pressed", "true"));
      filter(sheet);
    }
    target.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  window.addEventListener("beforeprint", () => each(document, "details", (part) => { part.open = true; }));

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  // A page opened from a file may have no storage.
  const kept = (value) => {
    try {
      if (value) localStorage.setItem("theme", value);
      return localStorage.getItem("theme");
    } catch { return null; }
  };
  const before = kept();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept(root.dataset.theme);
    label();
  });

  // The chapter in view is marked in the list.
  if ("IntersectionObserver" in window) {
    const links = new Map();
    each(document, "nav a", (link) => links.set(link.hash.slice(1), link));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link) => link.removeAttribute("aria-current"));
        const link = links.get(entry.target.id);
        if (link) link.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-20% 0px -70% 0px" });
    each(document, "main > section", (section) => seen.observe(section));
  }
})();
