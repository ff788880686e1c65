// Chooses a class and the code to begin with; what the server refuses is shown in its words.

import { Refused } from "./api.js";
import { button, by, h } from "./dom.js";
import { shortName, store } from "./store.js";

/** @typedef {{words: string, flags: string, how: string}} Preset */

/** @type {Preset[]} Classes worth a first look. */
const PRESETS = [
  { words: "The paper's quasigroup, T = 8: RLVR stops below 1", flags: "--task quasigroup --lengths 8", how: "random" },
  { words: "Parity, T = 5, as in the paper's Fig. 1", flags: "--task parity --lengths 5", how: "random" },
  { words: "Correlated parity, T = 6: it has traps", flags: "--task parity --lengths 6 --inputs markov:9/10", how: "trap" },
  { words: "Correlated parity, T = 4: a barrier tree", flags: "--task parity --lengths 4 --inputs markov:9/10", how: "trap" },
  { words: "Addition modulo 5, T = 8", flags: "--task z:5 --lengths 8", how: "random" },
  { words: "The paper's quasigroup, window (0,3), T = 7", flags: "--task quasigroup --lengths 7 --window 0,3", how: "random" },
  { words: "Tied parity, window (1,0), T = 5: it has traps", flags: "--task parity --lengths 5 --window 1,0 --tied", how: "trap" },
];

/** @param {string} name @returns {HTMLInputElement} */
const entry = (name) => /** @type {HTMLInputElement} */ (by(`class-${name}`));

/** Builds the dialog. */
export function startChooser() {
  const dialog = /** @type {HTMLDialogElement} */ (by("class-dialog"));
  by("class-open").addEventListener("click", openChooser);
  by("class-close").addEventListener("click", () => dialog.close());
  by("presets").append(...PRESETS.map((preset) => h("li", {}, button(preset.words, () => open(preset.flags.split(" "), preset.how), { class: "preset" }))));
  by("class-form").addEventListener("submit", (event) => {
    event.preventDefault();
    open(flagsOfForm(), how());
  });
  for (const kind of ["random", "ground", "trap", "constant"]) {
    by(`start-${kind}`).addEventListener("click", () => {
      if (store.info) begin(store.info.flags, kind);
    });
  }
  store.on("class", () => {
    const info = store.info;
    if (!info) return;
    const name = shortName(info);
    by("class-words").textContent = name;
    by("class-size").textContent = `${info.cells.toLocaleString("en")} cells`;
    by("class-sentence").textContent = info.words;
    document.title = `${name} – foldglass explore`;
    fill(info.flags);
  });
}

/** Shows the dialog. */
export function openChooser() {
  by("class-error").textContent = "";
  /** @type {HTMLDialogElement} */ (by("class-dialog")).showModal();
}

const how = () => /** @type {HTMLSelectElement} */ (by("class-how")).value;

const seed = () => {
  const value = Number(/** @type {HTMLInputElement} */ (by("seed")).value);
  return Number.isInteger(value) && value >= 0 ? value : 0;
};

/**
 * @param {string[]} flags
 * @param {string} kind
 */
async function open(flags, kind) {
  const error = by("class-error");
  error.textContent = "";
  by("class-form").classList.add("waiting");
  try {
    await store.open(flags, null, { how: kind, seed: seed() });
    /** @type {HTMLDialogElement} */ (by("class-dialog")).close();
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    error.textContent = refused.whole;
  } finally {
    by("class-form").classList.remove("waiting");
  }
}

/**
 * Another code of the class at hand.
 * @param {string[]} flags
 * @param {string} kind
 */
async function begin(flags, kind) {
  const entry_ = /** @type {HTMLInputElement} */ (by("seed"));
  const pressed = /** @type {HTMLButtonElement} */ (by(`start-${kind}`));
  pressed.disabled = true;
  pressed.classList.add("waiting");
  try {
    await store.open(flags, null, { how: kind, seed: seed() });
    // The same button again gives another one.
    if (kind === "random") entry_.value = String(seed() + 1);
  } catch (refused) {
    store.failed(refused);
  } finally {
    pressed.disabled = false;
    pressed.classList.remove("waiting");
  }
}

/** What the form says, in the words of the command line; what is a default is left out. */
function flagsOfForm() {
  const flags = ["--task", entry("task").value.trim(), "--lengths", entry("lengths").value.trim().replaceAll(" ", "")];
  const window = entry("window").value.trim().replace(/[()\s]/g, "");
  if (window && window !== "0,0") flags.push("--window", window);
  if (entry("tied").checked) flags.push("--tied");
  const memory = entry("memory").value.trim();
  if (memory && memory !== "1") flags.push("--memory", memory);
  const inputs = entry("inputs").value.trim();
  if (inputs && inputs !== "uniform") flags.push("--inputs", inputs);
  const weights = entry("length-weights").value.trim().replaceAll(" ", "");
  if (weights) flags.push("--length-weights", weights);
  const reward = entry("reward").value.trim().replaceAll(" ", "");
  if (reward && reward !== "final") flags.push("--reward", reward);
  return flags;
}

/** @param {string[]} flags */
function fill(flags) {
  /** @param {string} name @param {string} otherwise */
  const value = (name, otherwise) => {
    const at = flags.indexOf(name);
    return at < 0 ? otherwise : flags[at + 1] ?? otherwise;
  };
  entry("task").value = value("--task", "parity");
  entry("lengths").value = value("--lengths", "5");
  entry("window").value = value("--window", "0,0");
  entry("tied").checked = flags.includes("--tied");
  entry("memory").value = value("--memory", "1");
  entry("inputs").value = value("--inputs", "uniform");
  entry("length-weights").value = value("--length-weights", "");
  entry("reward").value = value("--reward", "final");
}
