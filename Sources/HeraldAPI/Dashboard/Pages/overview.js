// The overview: the flow of events, charts, problems, and the nodes.

import { curl, may } from "./access.js";
import { api, matches } from "./api.js";
import { h, show, empty, notice } from "./dom.js";
import { keep } from "./live.js";
import { state, name, address, count, duration, sentence, plural, backlog, failure, statuses as order } from "./format.js";
import { t } from "./texts.js";
import { activity } from "./activity.js";
import { fanout } from "./fanout.js";
import { Charts } from "./charts.js";
import { History } from "./history.js";
import { nodes } from "./nodes.js";

const history = new History();
const mostCards = 50;

export function overview(root, { signal }) {
  const picture = h("section", { "aria-labelledby": "flow" });
  const charts = new Charts();
  const attention = h("section", { "aria-labelledby": "attention" });
  const sharing = h("div");
  // What needs attention comes first.
  root.append(h("h1", null, "Overview"), attention, h("h2", { id: "flow" }, "Event flow"), picture, charts.element, activity(signal, may("admin") ? { apps: "all" } : {}), sharing);
  nodes(sharing, signal);

  // The metrics concern the whole server: they are not available to users of a single app.
  const numbers = new AbortController();
  keep(async () => {
    history.add(await api.metrics());
    charts.show(history.points);
  }, 2000, AbortSignal.any([signal, numbers.signal]), (error) => {
    if (error.status !== 403) return;
    charts.element.remove();
    numbers.abort();
  });

  const refresh = keep(async () => {
    // The first page has what the picture shows; the other one all trouble.
    const [delegates, inside, ill, lost, recent] = await Promise.all([api.delegates({ kind: "webhook", sort: "status" }), api.delegates({ kind: "in_memory" }),
      api.delegates({ kind: "webhook", status: order.filter((each) => each !== "active").join(","), sort: "status", limit: mostCards }),
      api.counts("exhausted", mostCards), api.events({ limit: 200 })]);
    const types = flow(recent.data);
    const webhooks = delegates.data.map((each) => weigh(each, types));
    webhooks.sort((left, right) => order.indexOf(left.status) - order.indexOf(right.status)
      || right.lag.events - left.lag.events || right.flow - left.flow);
    if (webhooks.length === 0) show(picture, teach(types.length > 0));
    else fanout(picture, types, inside.data, webhooks, delegates.next_cursor !== null);
    show(attention, needs(webhooks.length > 0, ill, lost, (id, words) => act(id, words, refresh)));
  }, 3000, signal, (error) => show(picture, h("p", { class: "error" }, error.message)));
}

/// The types of the latest events, most frequent first, with their rates per second.
function flow(events) {
  const oldest = events.length > 0 ? Date.parse(events.at(-1).time) : 0;
  const newest = events.length > 0 ? Math.max(Date.now(), Date.parse(events[0].time)) : 0;
  const seconds = Math.max(1, (newest - oldest) / 1000);
  const types = new Map();
  for (const { type, time, id } of events) {
    const entry = types.get(type) ?? { type, count: 0, latest: time, id };
    entry.count += 1;
    types.set(type, entry);
  }
  return [...types.values()].map((each) => ({ ...each, rate: each.count / seconds })).sort((a, b) => b.count - a.count);
}

/// The flow to a delegate according to its patterns; subjects and filters may reduce it.
function weigh(delegate, types) {
  const flow = types.filter(({ type }) => delegate.events.some((pattern) => matches(pattern, type)))
    .reduce((sum, each) => sum + each.rate, 0);
  return { ...delegate, lag: { events: 0, in_flight: 0, retrying: 0, ...delegate.lag }, flow };
}

function needs(isUsed, ill, lost, act) {
  const heading = h("h2", { id: "attention" }, "Needs attention");
  if (ill.data.length === 0 && lost.deliveries === 0) return [heading, h("p", { class: "calm" }, isUsed ? "Nothing: every delegate receives its events." : "Nothing yet.")];
  return [heading, lost.deliveries > 0 && exhausted(lost), ill.data.length > 0 && h("ul", { class: "cards" }, ill.data.map((each) => card(each, act))),
    ill.next_cursor && h("p", null, h("a", { href: "#/delegates", "data-key": "ill" }, "All delegates, failing first"))];
}

/// The deliveries that are given up, by delegate, with the last error of each.
const exhausted = (lost) => h("section", { class: "card", "aria-labelledby": "exhausted" },
  h("div", { class: "row" }, state("exhausted"), h("h3", { id: "exhausted" }, t("{} given up", plural(lost.deliveries, "delivery", "deliveries"))),
    h("a", { class: "button", href: "#/deliveries?state=exhausted", "data-key": "exhausted" }, "Show them")),
  h("ul", { class: "changes" }, lost.data.slice(0, 10).map((each) => h("li", null,
    h("a", { href: `#/deliveries?state=exhausted&delegate=${each.delegate}`, "data-key": "lost" + each.delegate }, t("{} to {}", count(each.deliveries), name(each))),
    h("span", { class: "muted" }, failure(each) && t("last: {}", t(failure(each))))))),
  lost.delegates > 10 && h("p", { class: "muted" }, t("and to {} more", plural(lost.delegates - 10, "delegate"))));

const card = (each, act) => h("li", { class: "card" },
  h("div", { class: "row" }, state(each.status), h("a", { href: `#/delegates/${each.id}`, class: "strong data", "data-key": each.id }, name(each)),
    address(each.url, 32)),
  h("p", null, sentence(each.status_reason)),
  h("p", { class: "muted" }, each.failing_since ? t("For {}. ", duration(Date.now() - Date.parse(each.failing_since))) : "",
    t("{} behind, {} waiting.", backlog(each.lag), plural(each.lag.retrying, "retry", "retries"))),
  h("div", { class: "actions" },
    may("manage") && h("button", { type: "button", "data-key": "try" + each.id, onclick: () => act(each.id, each.status === "failing" ? "Probing now." : "Resumed.") },
      each.status === "failing" ? "Probe now" : "Resume"),
    h("a", { class: "button", href: `#/delegates/${each.id}` }, "Details")));

async function act(id, words, refresh) {
  await api.resume(id);
  notice(words);
  refresh();
}

const teach = (hasEvents) => empty(hasEvents ? "Events arrive, but no webhook is registered" : "No webhooks yet",
  "Register a webhook: the URL of a program that needs the events. From then on Herald sends it every event that it subscribes to.",
  may("manage") && curl("v1/delegates", `--json '{"url": "http://localhost:9000/hook"}'`));
