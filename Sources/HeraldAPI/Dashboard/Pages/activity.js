// Events and attempts of all nodes over an hour, a day or a week, as bars.

import { api } from "./api.js";
import { drawing, fails, h, s, show, t } from "./dom.js";
import { keep } from "./live.js";
import { count, duration, plural } from "./format.js";

const hour = 3600 * 1000;
const periods = { hour: ["Hour", "5min", hour], day: ["Day", "hour", 24 * hour], week: ["Week", "hour", 7 * 24 * hour] };
const outcomes = [["delivered", "good"], ["failed", "bad"]];

export function activity(signal, filter, hasEvents = true) {
  let period = "day";
  const charts = h("div.charts.two");
  const buttons = Object.entries(periods).map(([key, [words]]) => h("button.quiet", { "aria-pressed": String(key === period), onclick: () => {
    period = key;
    buttons.forEach((each, index) => { each.ariaPressed = String(Object.keys(periods)[index] === key); });
    refresh();
  } }, words));
  const element = h("section.activity", { "aria-label": "Over time" }, h("div.row", { role: "group", "aria-label": "Period" }, buttons), charts);
  const refresh = keep(async () => {
    const [, interval, span] = periods[period];
    const { data } = await api.activity({ ...filter, interval, since: new Date(Date.now() - span).toISOString() });
    const draw = (title, series, words) => chart("counts", title, words, span, bars(data, series, 300, 60, `${t(title)}: ${t(words)}`));
    show(charts, hasEvents && draw("Events", [["events", "flow"]], plural(sum(data, "events"), "event")), draw("Attempts", outcomes, success(data)));
  }, 20_000, signal, (error) => (error.status === 403 ? element.remove() : fails(charts)(error)));
  return element;
}

const sum = (data, key) => data.reduce((total, each) => total + each[key], 0);

const percent = (delivered, failed) => count(Math.floor((1000 * delivered) / (delivered + failed)) / 10);

function success(data) {
  const [delivered, failed] = [sum(data, "delivered"), sum(data, "failed")];
  if (delivered + failed === 0) return "No attempt";
  return t("{} % of {} succeeded", percent(delivered, failed), plural(delivered + failed, "attempt"));
}

/// A drawing with its title, its value in words, and the time span of its axis.
export const chart = (look, title, words, span, graph) => h("figure.chart." + look, h("figcaption", title, h("span.value", words)), graph,
  h("div.axis", { "aria-hidden": "true" }, h("span", t("{} ago", duration(span))), h("span", "now")));

function bars(data, series, width, height, label) {
  const highest = Math.max(1, ...data.map((each) => series.reduce((total, [key]) => total + each[key], 0)));
  const step = width / data.length;
  return drawing(`${width} ${height}`, { role: "img", "aria-label": label, class: "bars" }, data.map((each, index) => {
    let top = height;
    return series.map(([key, look]) => {
      if (each[key] === 0) return null;
      // What is there is seen, however little it is.
      const tall = Math.max(1.5, (each[key] / highest) * (height - 2));
      top -= tall;
      return s("rect", { x: index * step, y: Math.max(0, top), width: Math.max(0.5, step * 0.82), height: tall, class: look });
    });
  }));
}

/// The success of the last 24 hours in one line of a table.
export function spark(hours) {
  const [delivered, failed] = [sum(hours, "delivered"), sum(hours, "failed")];
  if (delivered + failed === 0) return "–";
  const words = `${percent(delivered, failed)} %`;
  return h("span.spark", bars(hours, outcomes, 96, 20, t("Attempts in 24 hours: {}", success(hours))), words);
}
