// Shows the records of a directory that is dropped on the page or chosen. Nothing of it leaves the browser.

import { Refused } from "../api.js";
import { by } from "../dom.js";
import { failed } from "../notice.js";
import { showDirectory } from "../records.js";
import { store } from "../store.js";
import { hold } from "./transport.js";

/** @typedef {{path: string, file: File}} Found */

/** The files that hold records, of a directory or of one in it. */
const RECORDS = /^[^/]+\/([^/]+\/)?((study|train|models|reproduce)\.json|(records[^/]*|curves)\.jsonl)$/;
/** The most bytes that are read. */
const BYTES = 512 * 2 ** 20;

/** @param {string} name @param {Found[]} found */
async function show(name, found) {
  const files = found.filter(({ path }) => RECORDS.test(path));
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  if (bytes > BYTES) throw new Refused(`The records in ${name} have ${bytes.toLocaleString("en")} bytes. This page reads up to ${BYTES.toLocaleString("en")}.`, "The installed program shows a reproduction one study at a time: foldglass explore DIR", 422);
  const held = await Promise.all(files.map(async ({ path, file }) => ({ path, content: await file.arrayBuffer() })));
  const directory = held.length ? await hold(held) : null;
  if (!directory) throw new Refused(`${name} holds no records: accepted are the directories that run, reproduce and train --out write.`, null, 422);
  store.show("records");
  showDirectory(directory);
}

/** The files below an entry that was dropped, no deeper than those of records. @param {FileSystemEntry} entry @param {number} depth @returns {Promise<Found[]>} */
async function below(entry, depth = 0) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    if (!RECORDS.test(path)) return [];
    return [{ path, file: await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject)) }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {Found[]} */
  const found = [];
  // A reader hands out a part of the entries at a time, and none at the end.
  for (;;) {
    const entries = /** @type {FileSystemEntry[]} */ (await new Promise((resolve, reject) => reader.readEntries(resolve, reject)));
    if (!entries.length) return found;
    for (const inside of entries) if (inside.isFile || depth < 1) found.push(...await below(inside, depth + 1));
  }
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const entry = event.dataTransfer?.items[0]?.webkitGetAsEntry();
  if (entry) below(entry).then((found) => show(entry.name, found)).catch(failed);
});
const input = /** @type {HTMLInputElement} */ (by("directory"));
by("directory-open").addEventListener("click", () => input.click());
input.addEventListener("change", () => {
  const found = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath, file }));
  const name = found[0]?.path.split("/")[0];
  // The same directory can be chosen again, with the records that it has then.
  input.value = "";
  if (name) show(name, found).catch(failed);
});
