// Starts the page: what the address or the server names is opened, and the views are wired together.

import { ask, keepAwake } from "./api.js";
import { startChooser } from "./chooser.js";
import { startCode } from "./code.js";
import { by, latest } from "./dom.js";
import { startDynamics } from "./dynamics.js";
import { startKeys } from "./keys.js";
import { failed, quiet, startNotices } from "./notice.js";
import { startRecords } from "./records.js";
import { startRollout } from "./rollout.js";
import { copyAddress, finishReading, isOwn, readAddress, startShare } from "./share.js";
import { store } from "./store.js";
import { startCommandBar } from "./take.js";
import { startTheme } from "./theme.js";
import { openTour, startTour, STORY } from "./tour.js";
import { startTree } from "./tree.js";
import { startWays } from "./ways.js";
import { translate } from "./words.js";

/** @typedef {import("./types.js").View} View */
/** @type {View[]} */
const VIEWS = ["code", "dynamics", "ways", "records"];


function showView() {
  document.body.dataset.view = store.view;
  for (const view of VIEWS) {
    const tab = by(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === store.view));
    tab.tabIndex = view === store.view ? 0 : -1;
  }
}

function startTabs() {
  for (const [place, view] of VIEWS.entries()) {
    const tab = by(`tab-${view}`);
    tab.addEventListener("click", () => store.show(view));
    tab.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const next = VIEWS[(place + step + VIEWS.length) % VIEWS.length];
      if (!step || !next) return;
      event.preventDefault();
      store.show(next);
      by(`tab-${next}`).focus();
    });
  }
  store.on("view", showView);
}

/** Panels that fold are open where there is room for them. */
function foldPanels() {
  const narrow = matchMedia("(max-width: 60rem)");
  const set = () => {
    for (const panel of document.querySelectorAll("details[data-fold]")) /** @type {HTMLDetailsElement} */ (panel).open = !narrow.matches;
  };
  narrow.addEventListener("change", set);
  set();
}

async function begin() {
  store.failed = failed;
  startNotices(copyAddress);
  startTheme();
  translate(document);
  startTabs();
  startCommandBar();
  startCode();
  startRollout();
  startChooser();
  startDynamics();
  startWays();
  startTree();
  startKeys();
  foldPanels();
  startShare();
  by("skip").addEventListener("click", (event) => { event.preventDefault(); by("stage").focus(); });
  const hello = /** @type {import("./types.js").Hello} */ (await ask("hello"));
  keepAwake();
  startRecords(hello.directory);
  by("version").textContent = hello.version;
  const open = latest(async () => { await openAddress(hello).catch(failed); finishReading(); });
  addEventListener("hashchange", () => { if (!isOwn()) open(undefined); });
  startTour();
  await open(undefined);
}

/** @param {import("./types.js").Hello} hello */
async function openAddress(hello) {
  const named = readAddress();
  quiet();
  const own = named.flags === null;
  const first = hello.class ?? STORY;
  // Nothing is named: the page opens on the story. Who names a class, a code or records has come for them.
  if (own && !hello.class && !hello.directory) { await openTour(); return; }
  try {
    await store.open(named.flags ?? first, own ? hello.code : named.code, { how: "random", seed: 0 });
  } catch (error) {
    failed(error);
    if (!store.info) await store.open(first, hello.code, { how: "random", seed: 0 });
  }
  store.show(named.view ?? (own && hello.directory ? "records" : "code"));
}

begin().catch(failed);
