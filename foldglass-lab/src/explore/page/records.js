// Shows the records of a directory: a quantity against a parameter, the runs behind a point, a fleet's curves as they come.

import { ask } from "./api.js";
import { button, by, h, picture, s } from "./dom.js";
import { number } from "./fraction.js";
import { Plot } from "./plot.js";
import { store } from "./store.js";
import { takeButtons } from "./take.js";

/** @typedef {import("./types.js").Records} Records */
/** @typedef {import("./types.js").RecordsPlot} RecordsPlot */

/** @type {Records|null} */
let records = null;
/** @type {RecordsPlot|null} */
let plotted = null;
/** @type {import("./types.js").Row[]} */
let rows = [];
/** @type {Plot|null} */
let curves = null;
/** How often a fleet in training is asked for more, in milliseconds. */
const AGAIN = 2500;

/** @param {string} id */
const choice = (id) => /** @type {HTMLSelectElement} */ (by(id));

/** Builds the view; without a directory it says how to give one. @param {{name: string, kind: string}|null} directory */
export function startRecords(directory) {
  by("records-none").hidden = directory !== null;
  by("records-some").hidden = directory === null;
  if (!directory) return;
  by("records-name").textContent = directory.name;
  by("records-take").append(takeButtons("records", { svg: () => (records?.fleet ? curves?.source() ?? null : plotted?.svg ?? null), json: () => (records?.fleet ? { fleet: records.name, quantity: choice("quantity").value, curves: curves?.numbers() } : plotted && { ...plotted, svg: undefined }) }));
  by("runs-take").append(takeButtons("runs", { json: () => (rows.length ? rows : null) }));
  choice("quantity").addEventListener("change", () => { renew().catch(store.failed); });
  choice("by").addEventListener("change", () => { renew().catch(store.failed); });
  store.on("view", () => { if (store.view === "records" && !records) begin().catch(store.failed); });
}

async function begin() {
  records = /** @type {Records} */ (await ask("records"));
  const { quantities, parameters, fleet } = records;
  fill("quantity", fleet ? fleet.quantities : quantities);
  fill("by", parameters.map(({ name }) => name));
  by("by-label").hidden = Boolean(fleet) || parameters.length === 0;
  by("records-words").textContent = records.words ?? `${records.rows.toLocaleString("en")} runs`;
  await renew();
  if (fleet) watch();
}

/** @param {string} id @param {string[]} names */
function fill(id, names) {
  choice(id).replaceChildren(...names.map((name) => h("option", { value: name }, name)));
}

async function renew() {
  if (records?.fleet) await showFleet();
  else await showPlot();
}

async function showPlot() {
  plotted = /** @type {RecordsPlot} */ (await ask("records/plot", { quantity: choice("quantity").value, by: choice("by").value }));
  const { svg, width, height, points, command } = plotted;
  const own = picture(svg);
  own.setAttribute("viewBox", `0 0 ${width} ${height}`);
  own.removeAttribute("width");
  own.removeAttribute("height");
  own.setAttribute("role", "group");
  own.setAttribute("aria-label", `${choice("quantity").value} against ${choice("by").value}`);
  for (const point of points) {
    const name = `${point.name}: ${number(point.y)}${point.low !== null && point.high !== null ? ` (${number(point.low)} to ${number(point.high)})` : ""}, ${point.n} runs`;
    const spot = s("g", { class: "point", role: "button", tabindex: 0, "aria-label": name },
      s("circle", { class: "hit", cx: point.at[0], cy: point.at[1], r: 14 }), s("circle", { class: "ring", cx: point.at[0], cy: point.at[1], r: 9 }), s("title", {}, name));
    const open = () => {
      own.querySelectorAll(".point").forEach((other) => other.classList.toggle("chosen", other === spot));
      showRuns(name, point.runs).catch(store.failed);
    };
    spot.addEventListener("click", open);
    spot.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      open();
    });
    own.append(spot);
  }
  by("records-plot").replaceChildren(own);
  store.setCommands("records", [{ command, file: null }]);
}

/** @param {string} title @param {(string|number)[]} runs */
async function showRuns(title, runs) {
  const answer = await ask("records/runs", { runs });
  rows = /** @type {{rows: import("./types.js").Row[]}} */ (answer).rows;
  by("runs-title").textContent = title;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.values)))].slice(0, 6);
  const body = rows.map((row) => h("tr", {},
    h("th", { scope: "row" }, row.has_code ? button(row.title, () => openRun(row.id).catch(store.failed), { class: "link", title: "Open the code of this run" }) : row.title),
    ...names.map((name) => h("td", { class: "numbers", "data-head": name }, row.values[name] ?? "–"))));
  by("runs").replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "run"), ...names.map((name) => h("th", { scope: "col", class: "numbers" }, name)))), h("tbody", {}, ...body)));
  if (!rows.some((row) => row.has_code)) by("runs").append(h("p", { class: "faint" }, "These runs keep no code; a study with keep_code = true does."));
}

/** @param {string|number} id */
async function openRun(id) {
  const run = /** @type {{class: string[], code: number[]|null}} */ (await ask("records/run", { id }));
  if (!run.code) return;
  await store.open(run.class, run.code, { how: "random", seed: 0 });
  store.show("code");
}

async function showFleet() {
  const answer = /** @type {Records} */ (await ask("records", { quantity: choice("quantity").value }));
  const fleet = answer.fleet;
  if (!fleet) return;
  records = answer;
  const host = by("records-plot");
  const quantity = choice("quantity").value;
  if (!curves || curves.words.y !== quantity) curves = new Plot(host, { x: "step", y: quantity, label: `${quantity} of each network against steps` });
  curves.setLines(fleet.curves.map(({ name }) => name));
  fleet.curves.forEach(({ points }, place) => curves?.extend(place, points));
  curves.draw();
  by("fleet-state").textContent = fleet.running ? "in training: curves come as they are written" : "at rest";
  if (answer.command) store.setCommands("records", [{ command: answer.command, file: null }]);
}

async function watch() {
  setInterval(() => {
    if (store.view === "records" && !document.hidden && records?.fleet?.running) showFleet().catch(store.failed);
  }, AGAIN);
}
