// Answers questions one after the other, away from the thread that draws the page.

import { start } from "./module.js";

/** @type {Promise<import("./module.js").Answers>|null} */
let answers = null;

addEventListener("message", async ({ data }) => {
  try {
    if (data.module) answers = start(data.module, (done, all) => postMessage({ done, all }), data.files);
    else if (answers) postMessage((await answers)(data.name, data.body, data.handed));
  } catch (error) {
    // After a trap nothing that the module holds can be relied on: the page ends this worker.
    postMessage({ failed: String(error) });
  }
});
