// Calls the module of WebAssembly, whose functions `foldglass-web/src/interface.rs` has.

/** @typedef {(name: string, body: string) => {status: number, text: string}} Answers */

/**
 * @param {WebAssembly.Module} module
 * @param {(done: number, all: number) => void} hear  hears how far the question is that is being answered
 * @returns {Promise<Answers>}
 */
export async function start(module, hear) {
  const { exports } = await WebAssembly.instantiate(module, { page: { now: () => performance.now(), hear } });
  const memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  const { room, ask, answer, answer_length } = /** @type {Record<string, (size?: number) => number>} */ (/** @type {unknown} */ (exports));
  if (!room || !ask || !answer || !answer_length) throw new Error("foldglass.wasm is of another version");
  const [writer, reader] = [new TextEncoder(), new TextDecoder()];
  // Addresses are numbers without a sign. The memory may have grown with each call, so that it is looked up anew.
  const bytes = (/** @type {number} */ at, /** @type {number} */ length) => new Uint8Array(memory.buffer, at >>> 0, length >>> 0);
  return (name, body) => {
    const question = writer.encode(name + body);
    const at = room(question.length);
    bytes(at, question.length).set(question);
    const status = ask(writer.encode(name).length);
    return { status, text: reader.decode(bytes(answer(), answer_length())) };
  };
}
