// Adds and writes exact fractions, so that a change shows its reward before the server confirms it.

/** @param {bigint} a @param {bigint} b */
function gcd(a, b) {
  if (a < 0n) a = -a;
  while (b) [a, b] = [b, a % b];
  return a;
}

/**
 * @param {bigint} numerator
 * @param {bigint} denominator
 */
function lowest(numerator, denominator) {
  const common = gcd(numerator, denominator) || 1n;
  const [n, d] = [numerator / common, denominator / common];
  return d === 1n ? String(n) : `${n}/${d}`;
}

/**
 * `text` and `delta / den`, in lowest terms.
 * @param {string} text
 * @param {number|string} delta
 * @param {string} den
 */
export function plus(text, delta, den) {
  const [n, d = "1"] = text.split("/");
  const [a, b, c, e] = [BigInt(n ?? "0"), BigInt(d), BigInt(delta), BigInt(den)];
  return lowest(a * e + c * b, b * e);
}

/**
 * A change of reward as it is read: `+3/32`, `−1/8`, `0`.
 * @param {number|string} delta
 * @param {string} den
 */
export function change(delta, den) {
  const whole = BigInt(delta);
  if (whole === 0n) return "0";
  return whole > 0n ? `+${lowest(whole, BigInt(den))}` : `−${lowest(-whole, BigInt(den))}`;
}

/**
 * Whether a change raises (1), keeps (0) or lowers (-1); text is of numbers too large for others.
 * @param {number|string} delta
 */
export function sign(delta) {
  if (typeof delta === "number") return Math.sign(delta);
  return delta.startsWith("-") ? -1 : delta === "0" ? 0 : 1;
}

/**
 * A number with at most five significant digits.
 * @param {number} value
 */
export function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(5)));
}

/**
 * `1 code`, `2 codes`.
 * @param {number} count
 * @param {string} noun
 */
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/**
 * A reward without `/1`.
 * @param {string} text
 */
export const bare = (text) => text.replace(/\/1$/, "");
