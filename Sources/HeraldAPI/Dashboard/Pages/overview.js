// The overview: the flow of events, charts, problems, and the nodes.

import { may, teach } from "./access.js";
import { acting, api, matches } from "./api.js";
import { h, show, fails, notice, button, t } from "./dom.js";
import { keep } from "./live.js";
import { state, name, address, count, duration, sentence, plural, backlog, failure, linked, retries, flow as limit, statuses as order } from "./format.js";
import { activity } from "./activity.js";
import { fanout } from "./fanout.js";
import { charts } from "./charts.js";
import { History } from "./history.js";
import { nodes } from "./nodes.js";

const history = new History();
const [mostCards, appsAtOnce] = [50, 10];
const trouble = order.filter((each) => each !== "active").join(",");

export function overview(root, { signal }) {
  const picture = h("section", { "aria-labelledby": "flow" });
  const graphs = charts();
  const attention = h("section", { "aria-labelledby": "attention" });
  const sharing = h("div");
  root.append(h("h1", "Overview"), attention, h("h2", { id: "flow" }, "Event flow"), picture, graphs.element, activity(signal, may("admin") && !acting ? { apps: "all" } : {}), sharing);
  let running = [];
  nodes(sharing, signal, (all) => { running = all.filter((each) => each.present).map((each) => each.id); });

  // The metrics concern the whole server: they are not available to users of a single app.
  keep(async () => {
    history.add(await api.metrics(), running);
    graphs.show(history.points);
  }, 2000, signal, (error) => error.status === 403 && graphs.element.remove());

  // Apps are isolated: the trouble of each other one is a line. A few are read at a time, so that many apps cost no more.
  const others = new Map();
  let unread = [];
  if (may("admin")) keep(async () => {
    if (unread.length === 0) {
      unread = (await api.allApps()).map((each) => each.name).filter((name) => name !== (acting ?? "default"));
      for (const name of others.keys()) if (!unread.includes(name)) others.delete(name);
    }
    for (const name of unread.splice(0, appsAtOnce)) {
      const [lost, ill] = await Promise.all([api.counts("exhausted", 1, name), api.delegates({ kind: "webhook", status: trouble }, name)]);
      if (signal.aborted) return;
      if (lost.deliveries + ill.data.length > 0) others.set(name, { name, lost: lost.deliveries, ill: ill.data.length });
      else others.delete(name);
    }
    refresh();
  }, 20_000, signal);

  const refresh = keep(async () => {
    // The first page has what the picture shows; the other one all trouble.
    const [delegates, ill, lost, retried, recent, late] = await Promise.all([api.delegates({ kind: "webhook", sort: "status" }),
      api.delegates({ kind: "webhook", status: trouble, sort: "status", limit: mostCards }),
      api.counts("exhausted", mostCards), api.counts("retrying", 200), api.events({ limit: 200 }), behind()]);
    for (const each of ill.data) each.last = [...retried.data, ...lost.data].find(({ delegate }) => delegate === each.id);
    const types = flow(recent.data);
    const webhooks = delegates.data.map((each) => weigh(each, types));
    webhooks.sort((left, right) => order.indexOf(left.status) - order.indexOf(right.status)
      || right.lag.events - left.lag.events || right.flow - left.flow);
    if (webhooks.length === 0) show(picture, teach(types.length > 0 ? "Events arrive, but no webhook is registered" : undefined));
    else fanout(picture, types, webhooks, delegates.next_cursor !== null);
    show(attention, needs(webhooks.length > 0, ill, late, lost, [...others.values()], (id, words) => act(id, words, refresh)));
  }, 3000, signal, fails(picture));
}

/// Active delegates whose oldest event has waited for a minute.
async function behind() {
  const { data } = await api.delegates({ kind: "webhook", status: "active", sort: "lag", limit: 5 });
  const found = await Promise.all(data.filter((each) => each.lag.events > 0).map(async (each) => {
    const numbers = await api.statistics(each.id).catch(() => null);
    return { ...each, seconds: numbers?.pending.seconds };
  }));
  return found.filter((each) => each.seconds >= 60);
}

/// The types of the latest events, most frequent first, with their rates per second.
function flow(events) {
  const milliseconds = events.length > 0 ? Math.max(Date.now(), Date.parse(events[0].time)) - Date.parse(events.at(-1).time) : 0;
  const seconds = Math.max(1, milliseconds / 1000);
  const types = new Map();
  for (const { type, id } of events) {
    const entry = types.get(type) ?? { type, count: 0, id };
    entry.count += 1;
    types.set(type, entry);
  }
  return [...types.values()].map((each) => ({ ...each, rate: each.count / seconds })).sort((a, b) => b.count - a.count);
}

/// The flow to a delegate by its patterns.
function weigh(delegate, types) {
  const flow = types.filter(({ type }) => delegate.events.some((pattern) => matches(pattern, type)))
    .reduce((sum, each) => sum + each.rate, 0);
  return { ...delegate, lag: { events: 0, in_flight: 0, retrying: 0, ...delegate.lag }, flow };
}

function needs(isUsed, ill, late, lost, others, act) {
  const heading = h("h2", { id: "attention" }, "Needs attention");
  if (ill.data.length + late.length + lost.deliveries + others.length === 0) return [heading, h("p.calm", isUsed ? "Nothing: every delegate receives its events." : "Nothing yet.")];
  return [heading, lost.deliveries > 0 && exhausted(lost), ill.data.length + late.length > 0 && h("ul.cards", [...ill.data, ...late].map((each) => card(each, act))),
    others.map(other),
    ill.next_cursor && h("p", h("a", { href: "#/delegates" }, "All delegates, failing first"))];
}

const other = ({ name, lost, ill }) => h("div.card.row", h("strong", t("App: {}", name)), lost > 0 && h("span", t("{} given up", plural(lost, "delivery"))), ill > 0 && h("span", t("{} not active", plural(ill, "delegate"))),
  button("app" + name, "Show", () => dispatchEvent(new CustomEvent("app", { detail: name }))));

/// The deliveries that are given up, by delegate, with the last error of each.
const exhausted = (lost) => h("section.card", { "aria-labelledby": "exhausted" },
  h("div.row", state("exhausted"), h("h3", { id: "exhausted" }, t("{} given up", plural(lost.deliveries, "delivery"))),
    h("a.button", { href: "#/deliveries?state=exhausted" }, "Show them")),
  h("ul.changes", lost.data.slice(0, 10).map((each) => h("li",
    linked("exhausted", each.delegate, each.deliveries, t("{} to {}", count(each.deliveries), name(each))),
    h("span.muted", failure(each) && t("last: {}", t(failure(each))))))),
  lost.delegates > 10 && h("p.muted", t("and to {} more", plural(lost.delegates - 10, "delegate"))));

const card = (each, act) => h("li.card",
  h("div.row", state(each.seconds ? "behind" : each.status), h("a.strong.data", { href: `#/delegates/${each.id}` }, name(each)),
    address(each.url, 32)),
  h("p", each.seconds ? t("The oldest event has waited for {}.", duration(1000 * each.seconds)) : sentence(each.status_reason), each.last && failure(each.last) && [" ", "Last error", ": ", failure(each.last), "."]),
  h("p.muted", each.failing_since ? t("For {}. ", duration(Date.now() - Date.parse(each.failing_since))) : "",
    t("{} behind", backlog(each.lag)), ", ", retries(each), ".",
    each.seconds && each.flow.limited_by && [" ", "Limited by", ": ", limit(each.flow), "."]),
  h("div.actions",
    may("manage") && !each.seconds && button("try" + each.id, each.status === "failing" ? "Probe now" : "Resume",
      () => act(each.id, each.status === "failing" ? "Probing now." : "Resumed.")),
    h("a.button", { href: `#/delegates/${each.id}` }, "Details")));

async function act(id, words, refresh) {
  await api.resume(id);
  notice(words);
  refresh();
}
