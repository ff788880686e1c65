// Shows the records of a directory: a quantity against a parameter, the runs behind a point, a fleet's curves as they come.

import { ask } from "./api.js";
import { button, by, h, picture, s } from "./dom.js";
import { number, plural } from "./fraction.js";
import { Plot } from "./plot.js";
import { store } from "./store.js";
import { takeButtons } from "./take.js";

/** @typedef {import("./types.js").Study} Study */
/** @typedef {import("./types.js").Fleet} Fleet */
/** @typedef {import("./types.js").RecordsPlot} RecordsPlot */
/** @typedef {import("./types.js").Point} Point */
/** @typedef {import("./types.js").Row} Row */

/** @typedef {import("./types.js").Reproduction} Reproduction */

/** Whether there is a directory. */
let given = false;
/** What is shown of it. @type {Study|Fleet|null} */
let records = null;
/** A page without a server has the files as they were when they were dropped on it. */
const still = document.body.dataset["local"] !== undefined;
/** The study of a reproduction that is shown. @type {string|null} */
let study = null;
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
  by("records-take").append(takeButtons("records", { svg: () => curves?.source() ?? plotted?.svg ?? null, json: numbers }));
  by("runs-take").append(takeButtons("runs", { json: () => (rows.length ? rows : null) }));
  choice("study").addEventListener("change", () => { openStudy(choice("study").value).catch(store.failed); });
  for (const id of ["quantity", "by"]) choice(id).addEventListener("change", () => { show().catch(store.failed); });
  store.on("view", () => { if (store.view === "records" && given && !records) begin().catch(store.failed); });
  setInterval(() => { watch().catch(store.failed); }, AGAIN);
  showDirectory(directory);
}

/** Shows another directory, or none. @param {{name: string, kind: string}|null} directory */
export function showDirectory(directory) {
  given = directory !== null;
  by("records-none").hidden = given;
  by("records-some").hidden = !given;
  // Without records no command gives their numbers: that of the code would be another one.
  store.setCommands("records", given ? [] : [{ command: "foldglass explore DIR", file: null }]);
  [records, study, curves] = [null, null, null];
  by("records-name").textContent = directory?.name ?? "";
  for (const id of ["records-words", "fleet-state"]) by(id).textContent = "";
  by("study-label").hidden = true;
  for (const id of ["by-label", "runs-card"]) by(id).hidden = directory?.kind === "fleet";
  clearPlot();
  if (given && store.view === "records") begin().catch(store.failed);
}

/** Takes away the plot and the runs of a point. */
function clearPlot() {
  [plotted, rows] = [null, []];
  by("records-plot").replaceChildren();
  by("records-legend").hidden = true;
  by("records-empty").textContent = "";
  by("runs").replaceChildren();
  by("runs-choice").hidden = true;
  by("runs-title").textContent = "Click a point to see its runs";
}

/** Begins with what the directory holds; of a reproduction, with its first study. */
async function begin() {
  const found = /** @type {Study|Fleet|Reproduction} */ (await ask("records"));
  if (found.kind !== "reproduction") { await open(found); return; }
  by("study-label").hidden = false;
  choice("study").replaceChildren(...found.studies.map((name) => h("option", {}, name)));
  const first = found.studies[0];
  if (first) await openStudy(first);
  else {
    by("records-empty").textContent = "This reproduction holds no study yet: the command below compares what it holds with the paper.";
    store.setCommands("records", [{ command: found.command, file: null }]);
  }
}

/** @param {string} name */
async function openStudy(name) {
  study = name;
  clearPlot();
  await open(/** @type {Study} */ (await ask("records", { study: name })));
}

/** @param {Study|Fleet} found */
async function open(found) {
  records = found;
  choice("quantity").replaceChildren(...found.quantities.map((name) => h("option", {}, name)));
  if (found.kind === "study") {
    if (found.mixed) choice("quantity").prepend(h("option", { value: "" }, "each method's reward"));
    choice("by").replaceChildren(...found.parameters.map(({ name }) => h("option", {}, name)));
    const missing = found.missing === "0" ? "" : `, ${found.missing} to come`;
    by("records-words").textContent = `${plural(found.done, "run")}${missing}`;
    // Where the points differ in no number there is nothing to draw against; the summary is a table.
    const drawn = found.parameters.length > 0;
    by("records-empty").textContent = drawn ? "" : "The runs of this study differ in no number, so there is nothing to draw against. The command below prints their table.";
    if (!drawn) { store.setCommands("records", [{ command: found.command, file: null }]); return; }
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
  const of = study;
  const drawn = /** @type {RecordsPlot} */ (await ask("records/plot", { ...asked, study }));
  if (of !== study) return;
  plotted = drawn;
  const mixed = drawn.points.some(({ quantity }) => quantity !== drawn.quantity);
  [choice("quantity").value, choice("by").value] = [mixed ? "" : drawn.quantity, drawn.against];
  const own = picture(drawn.svg);
  own.removeAttribute("width");
  own.removeAttribute("height");
  own.setAttribute("role", "group");
  own.setAttribute("aria-label", `${drawn.quantity} against ${drawn.against}`);
  // A point at 0 has no place on an axis of logarithms.
  own.append(...drawn.points.filter(({ at }) => at).map((point) => spotOf(own, drawn, point)));
  by("records-plot").replaceChildren(own);
  const plain = withoutLegend(own) ?? drawn.width;
  const crop = () => own.setAttribute("viewBox", `0 0 ${narrow.matches ? plain : drawn.width} ${drawn.height}`);
  crop();
  narrow.onchange = crop;
  showLegend(drawn);
  store.setCommands("records", [{ command: drawn.command, file: null }]);
}

/** Where there is little room, the names of the curves stand below the picture, and not in it. */
const narrow = matchMedia("(max-width: 40rem)");

/** Marks the names of curves in a picture, which stand to the right of its axes, and gives the width without them. @param {SVGSVGElement} own */
function withoutLegend(own) {
  const area = own.querySelector("clipPath rect");
  if (!area) return null;
  const right = Number(area.getAttribute("x")) + Number(area.getAttribute("width"));
  for (const part of own.children) {
    if (part instanceof SVGGraphicsElement && part.getBBox().x > right) part.classList.add("in-legend");
  }
  return right + 30;
}

/** The names of the curves; the page shows them where the picture does not. @param {RecordsPlot} drawn */
function showLegend(drawn) {
  by("records-legend").hidden = false;
  by("records-legend").replaceChildren(...drawn.curves.map(({ name, colour }) => {
    const swatch = s("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" }, s("line", { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour, "stroke-width": 2 }), s("circle", { cx: 11, cy: 5, r: 4, fill: colour }));
    return h("li", {}, swatch, name);
  }));
}

/** A point that can be opened. @param {SVGSVGElement} own @param {RecordsPlot} drawn @param {Point} point */
function spotOf(own, drawn, point) {
  const [x, y] = point.at;
  const range = point.low === null || point.high === null ? "" : ` (${number(point.low)} to ${number(point.high)})`;
  const name = `${point.curve}, ${drawn.against} ${number(point.x)}: ${point.quantity.replaceAll("_", " ")} ${number(point.y)}${range}, ${plural(point.n, "run")}`;
  const spot = s("g", { class: "point", role: "button", tabindex: 0, "aria-label": name, "data-curve": point.curve, "data-at": point.at.join(" ") },
    s("circle", { class: "hit", cx: x, cy: y, r: 14 }), s("circle", { class: "ring", cx: x, cy: y, r: 9 }), s("title", {}, name));
  const open = () => {
    for (const other of own.querySelectorAll(".point")) other.classList.toggle("chosen", other === spot);
    showChoice(own, drawn, point);
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

/** Markers nearer to each other than this, in the picture's units, lie on each other. */
const NEAR = 7;

/** Of markers that lie on each other only the uppermost can be clicked: it offers them all. @param {SVGSVGElement} own @param {RecordsPlot} drawn @param {Point} chosen */
function showChoice(own, drawn, chosen) {
  const here = drawn.points.filter(({ at }) => at && Math.hypot(at[0] - chosen.at[0], at[1] - chosen.at[1]) < NEAR);
  /** @param {Point} point */
  const click = (point) => {
    const spots = [...own.querySelectorAll(".point")];
    spots.find((one) => one.getAttribute("data-curve") === point.curve && one.getAttribute("data-at") === point.at.join(" "))?.dispatchEvent(new Event("click"));
  };
  by("runs-choice").hidden = here.length < 2;
  by("runs-choice").replaceChildren(h("span", { class: "faint" }, `${here.length} curves have a point here:`), ...here.map((point) => button(point.curve, () => click(point), { class: "small", "aria-pressed": String(point === chosen) })));
}

/** @param {string} title @param {Point} point */
async function showRuns(title, point) {
  const answer = /** @type {{count: number, runs: Row[]}} */ (await ask("records/point", { ...point.point, study }));
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
  const run = /** @type {{class: string[], code: number[]|null}} */ (await ask("records/run", { id, study }));
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
  by("records-words").textContent = `${plural(fleet.curves.length, "network")}, step ${last.toLocaleString("en")}`;
  by("fleet-state").textContent = fleet.finished ? "trained" : still ? "in training when its directory was read" : "in training: curves are drawn as they come";
  store.setCommands("records", [{ command: fleet.command, file: null }]);
}

async function watch() {
  if (still || store.view !== "records" || document.hidden || records?.kind !== "fleet" || records.finished) return;
  const next = /** @type {Fleet} */ (await ask("records"));
  records = next;
  showFleet(next);
}
