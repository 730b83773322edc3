// Four small charts with a common time axis. One crosshair reads all four at once.

import { drawing, h, s, t } from "./dom.js";
import { rate, duration } from "./format.js";
import { scale, area, line } from "./svg.js";

const longest = 15 * 60 * 1000;
const charts = [
  { key: "events", title: "Events per second", words: rate, least: 1 },
  { key: "deliveries", title: "Deliveries per second", words: rate, least: 1 },
  { key: "success", title: "Success", words: (value) => `${rate(Math.floor(10 * value) / 10)} %`, top: 100 },
  { key: "latency", title: "Latency, 95th percentile", words: duration, least: 10 },
];
const width = 300;
const height = 60;

export class Charts {
  #points = [];
  /// The position of the crosshair, as a fraction of the axis; `null` for the newest point.
  #cursor = null;
  #parts;

  constructor() {
    this.#parts = charts.map((chart) => {
      const value = h("span.value", "–");
      const start = h("span");
      const graph = drawing(`${width} ${height}`, {});
      return { ...chart, value, graph, start, element: h("figure", { class: `chart ${chart.key}` }, h("figcaption", chart.title, value),
        graph, h("div.axis", { "aria-hidden": "true" }, start, h("span", "now"))) };
    });
    this.element = h("section.charts", {
      "aria-label": "The last 15 minutes", tabindex: 0, role: "group",
      onpointermove: (event) => this.#point(event), onpointerleave: () => this.#move(null), onblur: () => this.#move(null),
      onkeydown: (event) => {
        const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
        if (!step) return;
        event.preventDefault();
        this.#move((this.#cursor ?? 1) + step);
      },
    }, this.#parts.map((part) => part.element));
  }

  show(points) {
    this.#points = points;
    this.#draw();
  }

  #point(event) {
    const graph = event.target.closest("figure")?.querySelector("svg");
    if (!graph) return;
    const { left, width: wide } = graph.getBoundingClientRect();
    this.#move((event.clientX - left) / wide);
  }

  #move(cursor) {
    this.#cursor = cursor === null ? null : Math.min(1, Math.max(0, cursor));
    this.#draw();
  }

  #draw() {
    const now = Date.now();
    // The time span of the data, at least a minute.
    const span = Math.min(longest, Math.max(60_000, now - (this.#points[0]?.time ?? now)));
    const x = scale([now - span, now], [0, width]);
    const wanted = now - span + (this.#cursor ?? 1) * span;
    const [nearest] = this.#points.toSorted((left, right) => Math.abs(left.time - wanted) - Math.abs(right.time - wanted));
    for (const { key, value, graph, start, words, least, top } of this.#parts) {
      const points = this.#points.filter((each) => each[key] !== null);
      const highest = top ?? Math.max(least, ...points.map((each) => each[key])) * 1.1;
      const y = scale([0, highest], [height - 2, 4]);
      const places = points.map((each) => [x(each.time), y(each[key])]);
      start.textContent = t("{} ago", duration(span));
      value.textContent = nearest && nearest[key] !== null ? words(nearest[key]) : "–";
      graph.replaceChildren(...[
        s("line", { x1: 0, x2: width, y1: height - 1, y2: height - 1, class: "base" }),
        places.length > 1 && s("path", { d: area(places, height - 1), class: "area" }),
        places.length > 1 && s("path", { d: line(places), class: "line" }),
        this.#cursor !== null && s("line", { x1: this.#cursor * width, x2: this.#cursor * width, y1: 0, y2: height, class: "hair" }),
      ].filter(Boolean));
    }
  }
}
