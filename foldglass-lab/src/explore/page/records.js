// Shows the records of a directory: a quantity against a parameter, the runs behind a point, a fleet's curves as they come.

import { ask } from "./api.js";
import { button, by, h, picture, s } from "./dom.js";
import { number } from "./fraction.js";
import { Plot } from "./plot.js";
import { store } from "./store.js";
import { takeButtons } from "./take.js";

/** @typedef {import("./types.js").Study} Study */
/** @typedef {import("./types.js").Fleet} Fleet */
/** @typedef {import("./types.js").RecordsPlot} RecordsPlot */
/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").Row} Row */

/** @type {Study|Fleet|null} */
let records = null;
/** @type {RecordsPlot|null} */
let plotted = null;
/** @type {Row[]} */
let rows = [];
/** @type {Plot|null} */
let curves = null;
/** How often a fleet in training is asked for more, in milliseconds. */
const AGAIN = 2500;
/** As many columns as a table of runs has. */
const COLUMNS = 6;

/** @param {string} id */
const choice = (id) => /** @type {HTMLSelectElement} */ (by(id));

/** Builds the view; without a directory it says how to give one. @param {{name: string, kind: string}|null} directory */
export function startRecords(directory) {
  by("records-none").hidden = directory !== null;
  by("records-some").hidden = directory === null;
  if (!directory) return;
  by("records-name").textContent = directory.name;
  by("records-take").append(takeButtons("records", { svg: () => curves?.source() ?? plotted?.svg ?? null, json: numbers }));
  by("runs-take").append(takeButtons("runs", { json: () => (rows.length ? rows : null) }));
  for (const id of ["quantity", "by"]) choice(id).addEventListener("change", () => { show().catch(store.failed); });
  store.on("view", () => { if (store.view === "records" && !records) begin().catch(store.failed); });
}

async function begin() {
  const found = /** @type {Study|Fleet} */ (await ask("records"));
  records = found;
  choice("quantity").replaceChildren(...found.quantities.map((name) => h("option", {}, name)));
  if (found.kind === "fleet") {
    by("by-label").hidden = true;
    by("runs-card").hidden = true;
    setInterval(() => { watch().catch(store.failed); }, AGAIN);
  } else {
    if (found.mixed) choice("quantity").prepend(h("option", { value: "" }, "each method's reward"));
    choice("by").replaceChildren(...found.parameters.map(({ name }) => h("option", {}, name)));
    const missing = found.missing === "0" ? "" : `, ${found.missing} to come`;
    by("records-words").textContent = `${found.done.toLocaleString("en")} runs${missing}`;
  }
  await show();
}

/** What is shown, as numbers. */
function numbers() {
  if (records?.kind === "fleet") return { ...records, quantity: choice("quantity").value };
  return plotted && { ...plotted, svg: undefined };
}

async function show() {
  if (records?.kind === "fleet") showFleet(records);
  else await showPlot();
}

async function showPlot() {
  // The first is what `plot` draws where nothing is named.
  const asked = plotted ? { quantity: choice("quantity").value || null, against: choice("by").value || null } : {};
  const drawn = /** @type {RecordsPlot} */ (await ask("records/plot", asked));
  plotted = drawn;
  const mixed = drawn.points.some(({ quantity }) => quantity !== drawn.quantity);
  [choice("quantity").value, choice("by").value] = [mixed ? "" : drawn.quantity, drawn.against];
  const own = picture(drawn.svg);
  own.setAttribute("viewBox", `0 0 ${drawn.width} ${drawn.height}`);
  own.removeAttribute("width");
  own.removeAttribute("height");
  own.setAttribute("role", "group");
  own.setAttribute("aria-label", `${drawn.quantity} against ${drawn.against}`);
  own.append(...drawn.points.map((point) => spotOf(own, drawn, point)));
  by("records-plot").replaceChildren(own);
  store.setCommands("records", [{ command: drawn.command, file: null }]);
}

/** A point that can be opened. @param {SVGSVGElement} own @param {RecordsPlot} drawn @param {Point} point */
function spotOf(own, drawn, point) {
  const [x, y] = point.at;
  const range = point.low === null || point.high === null ? "" : ` (${number(point.low)} to ${number(point.high)})`;
  const name = `${point.curve}, ${drawn.against} ${number(point.x)}: ${point.quantity.replaceAll("_", " ")} ${number(point.y)}${range}, ${point.n} runs`;
  const spot = s("g", { class: "point", role: "button", tabindex: 0, "aria-label": name },
    s("circle", { class: "hit", cx: x, cy: y, r: 14 }), s("circle", { class: "ring", cx: x, cy: y, r: 9 }), s("title", {}, name));
  const open = () => {
    for (const other of own.querySelectorAll(".point")) other.classList.toggle("chosen", other === spot);
    showRuns(name, point).catch(store.failed);
  };
  spot.addEventListener("click", open);
  spot.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    open();
  });
  return spot;
}

/** @param {string} title @param {Point} point */
async function showRuns(title, point) {
  const answer = /** @type {{count: number, runs: Row[]}} */ (await ask("records/point", point.point));
  rows = answer.runs;
  by("runs-title").textContent = title;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.values)))].slice(0, COLUMNS);
  const body = rows.map((row) => {
    const name = `run ${row.run}`;
    const open = () => { openRun(row.id).catch(store.failed); };
    return h("tr", {},
      h("th", { scope: "row" }, row.has_code ? button(name, open, { class: "link", title: "Open the code of this run" }) : name),
      ...names.map((one) => h("td", { class: "numbers" }, written(row.values[one]))));
  });
  const heads = ["run", ...names].map((name, place) => h("th", { scope: "col", class: place ? "numbers" : "" }, name.replaceAll("_", " ")));
  by("runs").replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...body)));
  if (!rows.some((row) => row.has_code)) by("runs").append(h("p", { class: "faint" }, "These runs keep no code: keep_code = true in the study's dynamics does."));
}

/** @param {number|string|boolean|null|undefined} value */
function written(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? number(value) : String(value);
}

/** @param {string} id */
async function openRun(id) {
  const run = /** @type {{class: string[], code: number[]|null}} */ (await ask("records/run", { id }));
  if (!run.code) return;
  await store.open(run.class, run.code, { how: "random", seed: 0 });
  store.show("code");
}

/** @param {Fleet} fleet */
function showFleet(fleet) {
  const quantity = choice("quantity").value;
  const column = fleet.quantities.indexOf(quantity) + 1;
  if (curves?.words.y !== quantity) curves = new Plot(by("records-plot"), { x: "step", y: quantity, label: `${quantity} of each network against steps` });
  curves.setLines(fleet.curves.map(({ task, c, seed }) => `${task}, c = ${number(c)}, #${seed}`));
  for (const [place, { points }] of fleet.curves.entries()) {
    const known = points.flatMap((point) => (typeof point[column] === "number" ? [/** @type {[number, number]} */ ([point[0], point[column]])] : []));
    curves.extend(place, known);
  }
  curves.draw();
  const last = Math.max(0, ...fleet.curves.map(({ points }) => Number(points[points.length - 1]?.[0] ?? 0)));
  by("records-words").textContent = `${fleet.curves.length} networks, step ${last.toLocaleString("en")}`;
  by("fleet-state").textContent = fleet.finished ? "trained" : "in training: curves are drawn as they come";
  store.setCommands("records", [{ command: fleet.command ?? `cat ${fleet.name}/curves.jsonl`, file: null }]);
}

async function watch() {
  if (store.view !== "records" || document.hidden || records?.kind !== "fleet" || records.finished) return;
  const next = /** @type {Fleet} */ (await ask("records"));
  records = next;
  showFleet(next);
}
