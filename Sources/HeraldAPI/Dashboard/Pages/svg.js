// Geometry: numbers in, numbers and paths out.

export const scale = ([from, to], [start, end]) => (value) => start + ((value - from) / (to - from || 1)) * (end - start);

const fixed = (value) => Math.round(value * 10) / 10;

export const line = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${fixed(x)} ${fixed(y)}`).join("");

export const area = (points, base) => `${line(points)}L${fixed(points.at(-1)[0])} ${base}L${fixed(points[0][0])} ${base}Z`;

/// The center line of a ribbon from left to right over a box of 100 by 100.
export const curve = (from, to) => `M0 ${fixed(from)}C50 ${fixed(from)} 50 ${fixed(to)} 100 ${fixed(to)}`;

/// A ribbon from left to right in a box of 100 by 100, by the centers and thicknesses of its ends.
export function ribbon(from, to, thickFrom, thickTo = thickFrom) {
  const [a, b, c, d] = [from - thickFrom / 2, to - thickTo / 2, to + thickTo / 2, from + thickFrom / 2].map(fixed);
  return `M0 ${a}C50 ${a} 50 ${b} 100 ${b}L100 ${c}C50 ${c} 50 ${d} 0 ${d}Z`;
}
