// Calls the module of WebAssembly, whose functions `foldglass-web/src/interface.rs` has.

/**
 * Answers a question, having taken note of classes that flags cannot name.
 * @typedef {(name: string, body: string, handed?: string[]) => {status: number, text: string}} Answers
 */
/** @typedef {{path: string, content: ArrayBuffer}} HeldFile */

/**
 * @param {WebAssembly.Module} module
 * @param {(done: number, all: number) => void} hear  hears how far the question is that is being answered
 * @param {HeldFile[]} [files]  the files of a directory of records
 * @returns {Promise<Answers>}
 */
export async function start(module, hear, files = []) {
  const { exports } = await WebAssembly.instantiate(module, { page: { now: () => performance.now(), hear } });
  const memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  const { room, ask, answer, answer_length, hand, hold } = /** @type {Record<string, (size?: number) => number>} */ (/** @type {unknown} */ (exports));
  if (!room || !ask || !answer || !answer_length || !hand) throw new Error("foldglass.wasm is of another version");
  const [writer, reader] = [new TextEncoder(), new TextDecoder()];
  // Addresses are numbers without a sign. The memory may have grown with each call, so that it is looked up anew.
  const bytes = (/** @type {number} */ at, /** @type {number} */ length) => new Uint8Array(memory.buffer, at >>> 0, length >>> 0);
  for (const { path, content } of files) {
    if (!hold) throw new Error("this module reads no records");
    const name = writer.encode(path);
    const at = room(name.length + content.byteLength);
    bytes(at, name.length).set(name);
    bytes(at + name.length, content.byteLength).set(new Uint8Array(content));
    hold(name.length);
  }
  const write = (/** @type {string} */ text) => {
    const written = writer.encode(text);
    bytes(room(written.length), written.length).set(written);
  };
  return (name, body, handed = []) => {
    for (const one of handed) {
      write(one);
      hand();
    }
    write(name + body);
    const status = ask(writer.encode(name).length);
    return { status, text: reader.decode(bytes(answer(), answer_length())) };
  };
}
