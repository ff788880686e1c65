// Keeps the address in step with what is shown, and copies it.

import * as address from "./address.js";
import { by } from "./dom.js";
import { store } from "./store.js";
import { copy } from "./take.js";

let written = "";
let soon = 0;

/** Whether the address is one that this page wrote or has read. */
export const isOwn = () => location.hash === written;

/** Reads the address; from now on it is followed. */
export function readAddress() {
  written = location.hash;
  return address.read(written);
}

function write() {
  const info = store.info;
  // One that the reader has just put there is about to be read: it is not written over.
  if (!info || !isOwn()) return;
  const now = address.write(info.flags, store.code, info.actions, store.view);
  history.replaceState(null, "", now);
  written = location.hash;
}

/** Copies the address of what is shown. */
export function copyAddress() {
  write();
  copy(location.href, "The address");
}

/** Writes it a moment after each change: browsers bear a hundred writes in half a minute. */
export function startShare() {
  const later = () => {
    clearTimeout(soon);
    soon = setTimeout(write, 400);
  };
  store.on("code", later);
  store.on("view", later);
  by("share").addEventListener("click", copyAddress);
}
