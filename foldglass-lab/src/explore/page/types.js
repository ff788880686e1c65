// Names the shapes of what the server answers and of what the page keeps.

/** @typedef {{text: string, value: number}} Exact  A rational: exact in words, and as a number. */
/** @typedef {{yes: boolean, why_not?: string}} Can */
/** @typedef {{t: number|null, first_cell: number, rows: string[], columns: string[], cell: (number|null)[][]|null}} Block  The cells of a step: windows by tokens before. */
/** @typedef {"tree"|"certify"|"escape"|"chain"|"cavi"} Ability */

/**
 * @typedef {object} ClassInfo
 * @property {string[]} flags
 * @property {number} q
 * @property {number} actions
 * @property {number} steps
 * @property {number[]} [lengths]
 * @property {[number, number]} window
 * @property {boolean} tied
 * @property {number} memory
 * @property {string} words
 * @property {number} cells
 * @property {string} inputs
 * @property {boolean} fits_drawing
 * @property {Record<Ability, Can>} can
 * @property {Block[]} grid
 * @property {string} [chance]
 */

/** @typedef {{input: number[], answer: number, truth: number, cause: string}} Wrong */

/**
 * @typedef {object} Look
 * @property {Exact} reward
 * @property {{kind: string, words: string}} status
 * @property {number[]} delta  cells * actions, whole numbers over `den`
 * @property {string} den
 * @property {boolean} [exact]
 * @property {number[]} visits
 * @property {number[]} values
 * @property {number[]} unvisited
 * @property {{count: number|string, of: number|string, sampled?: boolean, list: Wrong[]}} wrong
 * @property {string} command
 * @property {string} [code_file]
 */

/** @typedef {{cell: number, t: number, x: number, y: number, r: number}} Place  A circle of the drawing. */
/** @typedef {{svg: string, width: number, height: number, cells: Place[], command?: string}} Picture */
/** @typedef {{t: number, cell: number, x: string, y: string|number|null, token: number, state: number}} Step */
/** @typedef {{steps: Step[], answer: number, truth: number, correct: boolean, command?: string}} Rollout */

/**
 * @typedef {object} RunState
 * @property {string|number} run
 * @property {number} sweep
 * @property {Exact} reward
 * @property {Exact} [greedy]
 * @property {number[]} code
 * @property {number[]} [policy]
 * @property {number} [entropy]
 * @property {[number, number][]} [trace]
 * @property {string} [command]
 * @property {string} [code_file]
 */

/** @typedef {{cell: number, from: number, to: number, kind?: string, for?: string, reward: Exact}} Move */
/** @typedef {{start: Exact, moves: Move[], words?: string, command: string, code_file?: string}} Escape */
/** @typedef {{verdict: string, words: string, shelf: {codes: number|string, exhausted: boolean, depth?: number, neutral?: number}, barrier?: {text: string, is: string}|null, way_out: Move[]|null, command: string, code_file?: string}} Certificate */
/** @typedef {{id: number, reward: Exact, codes: string, barrier: string|null, kind: string, code: number[], x: number, y: number}} Leaf */
/** @typedef {{svg: string, width: number, height: number, leaves: Leaf[], command: string}} Tree */

/** @typedef {{name: string, points: [number, number][]}} Curve */
/** @typedef {{quantities: string[], running: boolean, curves: Curve[]}} Fleet */
/** @typedef {{kind: string, name: string, words?: string, parameters: {name: string, values: (string|number)[]}[], quantities: string[], rows: number, fleet?: Fleet|null, command?: string}} Records */
/** @typedef {{x: number|string, y: number, low: number|null, high: number|null, n: number, name: string, at: [number, number], runs: (string|number)[]}} Point */
/** @typedef {{svg: string, width: number, height: number, points: Point[], command: string}} RecordsPlot */
/** @typedef {{id: string|number, title: string, values: Record<string, string>, has_code: boolean}} Row */

/** @typedef {{version: string, class: string[], code: number[]|null, directory: {name: string, kind: string}|null, tour: boolean}} Hello */
/** @typedef {"code"|"dynamics"|"ways"|"records"} View */

export {};
