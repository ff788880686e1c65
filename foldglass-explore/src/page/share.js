// Keeps the address in step with what is shown, and copies it. Another view or another class is a new entry of the
// browser's history; a changed cell is not.

import * as address from "./address.js";
import { by } from "./dom.js";
import { store } from "./store.js";
import { copy } from "./take.js";

let written = "";
let soon = 0;
/** What the reader put into the address is being opened: it has its entry already. */
let reading = true;
/** The entry of the history that the address stands for. @type {{flags: string, view: import("./types.js").View, hash: string}|null} */
let entry = null;

/** Whether the address is one that this page wrote or has read. */
export const isOwn = () => location.hash === written;

/** Reads the address; from now on it is followed. */
export function readAddress() {
  written = location.hash;
  reading = true;
  return address.read(written);
}

/** What the address names is shown. */
export function finishReading() {
  reading = false;
  entry = null;
  write();
}

function write() {
  clearTimeout(soon);
  const info = store.info;
  // One that the reader has just put there is about to be read: it is not written over.
  if (!info || reading || !isOwn()) return;
  const [flags, view] = [info.flags.join(" "), store.view];
  const hash = address.write(info.flags, store.code, info.actions, view);
  if (entry && (entry.flags !== flags || entry.view !== view)) {
    // The entry that is left keeps the last code that was shown in it.
    if (entry.hash !== written) history.replaceState(null, "", entry.hash);
    history.pushState(null, "", hash);
  } else history.replaceState(null, "", hash);
  entry = { flags, view, hash };
  written = location.hash;
}

/** Copies the address of what is shown. */
export function copyAddress() {
  write();
  copy(location.href, "The address");
}

/** Takes note of a code that is shown, for the entry of the class and view in which it is. */
function note() {
  const info = store.info;
  if (!info || !entry || entry.flags !== info.flags.join(" ") || entry.view !== store.view) return;
  entry.hash = address.write(info.flags, store.code, info.actions, store.view);
}

/** Writes it a moment after each change: browsers bear a hundred writes in half a minute. */
export function startShare() {
  store.on("code", () => {
    note();
    clearTimeout(soon);
    soon = setTimeout(write, 400);
  });
  // A run that is opened is another class and another view: one entry.
  for (const topic of /** @type {const} */ (["class", "view"])) store.on(topic, () => { clearTimeout(soon); soon = setTimeout(write, 0); });
  by("share").addEventListener("click", copyAddress);
}
