// Names the shapes of what the server answers and of what the page keeps.

/** @typedef {{text: string, value: number}} Exact  A rational: exact in words, and as a number. */
/** @typedef {number|string} Whole  A whole number; text where it is beyond what a number holds exactly. */
/** @typedef {{name: string, text: string}} TextFile  A file that a command reads. */
/** @typedef {{able: boolean, why_not: string|null}} Can */
/** @typedef {{t: number|null, first_cell: number, rows: string[], columns: string[]}} Block  The cells of a step, row by row: windows by tokens before. */
/** @typedef {"tree"|"certify"|"escape"|"chain"|"cavi"} Ability */

/**
 * @typedef {object} ClassInfo
 * @property {string[]} flags
 * @property {number} q
 * @property {number} actions
 * @property {number} steps
 * @property {number[]} lengths
 * @property {[number, number]} window
 * @property {boolean} tied
 * @property {number} memory
 * @property {string} words
 * @property {number} cells
 * @property {string} inputs
 * @property {boolean} fits_drawing
 * @property {Record<Ability, Can>} can
 * @property {Block[]} grid
 */

/** @typedef {{x: number[], y: number[], target: number, t: number|null, why: string}} Wrong  An input, its tokens, the right answer, and which step lost it. */
/** @typedef {{count: number|string, of: number|string, sampled: boolean, probability: number, probability_exact: string, list: Wrong[], command: string}} WrongAnswers */

/**
 * @typedef {object} Look
 * @property {Exact} reward
 * @property {{kind: string, words: string}} status
 * @property {Whole[]} delta  cells * actions, whole numbers over `denominator`
 * @property {string} denominator
 * @property {number[]|null} visits
 * @property {number[]|null} values
 * @property {string} [no_sums]  why there are no visits and no values
 * @property {number[]} unvisited
 * @property {{count: string, of: string}|null} wrong  of all inputs, where they are equally likely
 * @property {string} command
 * @property {TextFile} code_file
 */

/** @typedef {{cell: number, t: number, x: number, y: number, r: number}} Place  A circle of the drawing. */
/** @typedef {{svg: string, width: number, height: number, cells: Place[], command?: string}} Picture */
/** @typedef {{t: number, x: number, cell: number, token: number, state: number}} Step */
/** @typedef {{steps: Step[], answer: number, truth: number, correct: boolean, command?: string}} Rollout */

/**
 * @typedef {object} RunState
 * @property {number} run
 * @property {number} sweep
 * @property {{text: string|null, value: number}} reward
 * @property {Exact} [greedy_reward]
 * @property {number[]} code
 * @property {number[]} [policy]
 * @property {number} [entropy]
 * @property {number} [residual]  the most by which the next update would change a probability
 * @property {[number, number][]} [trace]
 * @property {string} command
 * @property {string|null} note
 * @property {TextFile|null} start_file
 */

/** @typedef {{cell: number, from: number, to: number, stage: string|null, for: string, reward: Exact}} Move */
/** @typedef {{start_reward: Exact, reward: Exact, moves: Move[], most_moves: string, command: string, code_file: TextFile}} Escape */
/** @typedef {{verdict: string, words: string, stopped: boolean, shelf: number, depth?: number, neutral_moves?: number, unvisited?: number, barrier?: string|null, barrier_is?: string|null, path: Move[]|null, way_out: Move[]|null, command: string, code_file: TextFile}} Certificate */
/** @typedef {{id: number, reward: Exact, size: string, barrier: Exact|null, code: number[], x: number, y: number}} Leaf */
/** @typedef {{svg: string, width: number, height: number, codes: string, leaf_count: number, leaves: Leaf[], command: string}} Tree */

/** @typedef {{model: number, task: string, c: number, learning_rate: number, seed: number, points: (number|null)[][]}} Curve  Of a network: points of step and quantities. */
/** @typedef {{kind: "fleet", name: string, finished: boolean, quantities: string[], curves: Curve[], command: string}} Fleet */
/** @typedef {{kind: "reproduction", name: string, studies: string[], command: string}} Reproduction */
/** @typedef {{kind: "study", name: string, done: number, missing: string, damaged: number, classes: string[], parameters: {name: string, values: number[]}[], quantities: string[], mixed: boolean, command: string}} Study  Mixed: its methods are judged by several quantities. */
/** @typedef {{class: string, method: string, parameters: Record<string, unknown>}} PointName */
/** @typedef {{curve: string, quantity: string, x: number, y: number, low: number|null, high: number|null, n: number, at: [number, number], point: PointName}} Point */
/** @typedef {{svg: string, width: number, height: number, quantity: string, against: string, curves: {name: string, colour: string}[], points: Point[], command: string}} RecordsPlot */
/** @typedef {{id: string, run: number, values: Record<string, number|string|boolean|null>, has_code: boolean}} Row */

/** @typedef {{version: string, class: string[]|null, code: number[]|null, directory: {name: string, kind: string}|null}} Hello */
/** @typedef {"code"|"dynamics"|"ways"|"records"} View */

export {};
