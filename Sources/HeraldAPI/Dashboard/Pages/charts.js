// Four small charts with a common time axis. One crosshair reads all four at once.

import { chart } from "./activity.js";
import { drawing, h, s } from "./dom.js";
import { rate, duration } from "./format.js";
import { scale, area, line } from "./svg.js";

const longest = 15 * 60 * 1000;
const parts = [
  { key: "events", title: "Events per second", words: rate, least: 1 },
  { key: "deliveries", title: "Deliveries per second", words: rate, least: 1 },
  { key: "success", title: "Success", words: (value) => `${rate(Math.floor(10 * value) / 10)} %`, top: 100 },
  { key: "latency", title: "Latency, 95th percentile", words: duration, least: 10 },
];
const [width, height] = [300, 60];

export function charts() {
  let points = [];
  /// The position of the crosshair, as a fraction of the axis; `null` for the newest point.
  let cursor = null;
  const element = h("section.charts", {
    "aria-label": "The last 15 minutes", tabindex: 0, role: "group",
    onpointermove: point, onpointerleave: () => move(null), onblur: () => move(null),
    onkeydown: (event) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
      if (!step) return;
      event.preventDefault();
      move((cursor ?? 1) + step);
    },
  });
  draw();

  function point(event) {
    const graph = event.target.closest("figure")?.querySelector("svg");
    if (!graph) return;
    const { left, width: wide } = graph.getBoundingClientRect();
    move((event.clientX - left) / wide);
  }

  function move(place) {
    cursor = place === null ? null : Math.min(1, Math.max(0, place));
    draw();
  }

  function draw() {
    const now = Date.now();
    // The time span of the data, at least a minute.
    const span = Math.min(longest, Math.max(60_000, now - (points[0]?.time ?? now)));
    const x = scale([now - span, now], [0, width]);
    const wanted = now - span + (cursor ?? 1) * span;
    const [nearest] = points.toSorted((left, right) => Math.abs(left.time - wanted) - Math.abs(right.time - wanted));
    element.replaceChildren(...parts.map(({ key, title, words, least, top }) => {
      const known = points.filter((each) => each[key] !== null);
      const highest = top ?? Math.max(least, ...known.map((each) => each[key])) * 1.1;
      const y = scale([0, highest], [height - 2, 4]);
      const places = known.map((each) => [x(each.time), y(each[key])]);
      return chart(key, title, nearest && nearest[key] !== null ? words(nearest[key]) : "–", span, drawing(`${width} ${height}`, {},
        s("line", { x1: 0, x2: width, y1: height - 1, y2: height - 1, class: "base" }),
        places.length > 1 && [s("path", { d: area(places, height - 1), class: "area" }), s("path", { d: line(places), class: "line" })],
        cursor !== null && s("line", { x1: cursor * width, x2: cursor * width, y1: 0, y2: height, class: "hair" })));
    }));
  }

  return { element, show(found) {
    points = found;
    draw();
  } };
}
