// The deliveries of one event: a row for each delegate, a mark for each attempt.

import { may } from "./access.js";
import { api, whole } from "./api.js";
import { h, s, show, notice, confirm, button, copyButton, fails, pairs, to, t } from "./dom.js";
import { follow, keep } from "./live.js";
import { state, tone, moment, receiver, duration, count, plural, sentence, failure } from "./format.js";
import { indented } from "./json.js";
import { attempt } from "./attempt.js";
import { bulk } from "./bulk.js";
import { explained } from "./explained.js";
import { scale } from "./svg.js";

const pageSize = 100;
const ticks = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000];

export function story(root, { parameter: id, signal }) {
  const head = h("div");
  const work = h("div", { role: "status" });
  const timeline = h("section.story", { "aria-labelledby": "told" });
  const body = h("section", { "aria-labelledby": "body" });
  const search = h("input", { type: "search", id: "why", "aria-label": "Search a delegate", placeholder: "Its description, URL or id", maxlength: 100 });
  const reasons = h("div", { role: "status" });
  root.append(h("p.trail", h("a", { href: "#/events" }, "← Events")), head, work, timeline,
    h("details.settings", h("summary", "Why did a delegate not get it?"), h("form.filters", { role: "search", onsubmit: explain }, search, h("button", "Explain")), reasons), body);
  let isRaw = false;
  let most = pageSize;

  const refresh = keep(async () => {
    const event = await api.event(id);
    // The server lists failed deliveries first, then those that wait. A scheduled event has none yet.
    const { data, counts } = event.state ? { data: [], counts: {} } : await whole((cursor) => api.deliveriesOf(id, { limit: pageSize, cursor }), most);
    event.deliveries = data;
    show(head, h("div.head", h("h1.mono", event.type),
      may("manage") && event.deliveries.length > 0 && h("div.row",
        counts.exhausted > 0 && button("failed", "Redeliver to failed ones", toFailed),
        button("all", "Redeliver to all", () => toAll(counts)))),
    h("dl.facts", pairs([event.state ? ["Scheduled", moment(event.deliver_at)] : ["Published", moment(event.time)], ["Subject", event.subject && h("a.mono", { href: to("events?subject=", event.subject) }, event.subject)],
      ["Id", h("span.mono.small", event.id)], ...Object.entries(event.attributes).map(([key, value]) => [h("span.data", key), h("span.mono.small", String(value))])]
      .filter(([, value]) => value))));
    drawTimeline(event, Object.entries(counts).filter(([, sum]) => sum > 0));
    drawBody(event);
  }, 10_000, signal, (error) => show(head, h("h1", "Event"), h("p.error", { role: "alert" }, error.message)));

  async function explain(submitted) {
    submitted.preventDefault();
    try {
      const found = await api.delegates({ kind: "webhook", search: search.value.trim(), limit: 10 });
      const answers = await Promise.all(found.data.map((each) => api.explain(each.id, id)));
      show(reasons, answers.length === 0 ? h("p.calm", "No delegate matches.") : explained(answers),
        found.next_cursor && h("p.muted", "There are more: search for a longer text."));
    } catch (error) {
      fails(reasons)(error);
    }
  }

  follow("v1/attempts/stream", () => ({ event: id }), refresh, signal);

  /// - Parameter sums: the number of all deliveries in each state.
  function drawTimeline(event, sums) {
    const heading = h("h2", { id: "told" }, "Deliveries");
    if (event.deliveries.length === 0) return show(timeline, heading, h("p.calm", event.attributes["herald.damaged"] ? "None: the event is damaged, and is not delivered."
      : event.attributes["herald.erased"] ? "None: the event was erased." : event.state ? "None yet." : "None: no delegate subscribes to this event."));
    const posted = Date.parse(event.time);
    const times = event.deliveries.flatMap((each) => [...each.history.map((one) => Date.parse(one.started_at) + one.duration_ms),
      each.next_attempt_at && Date.parse(each.next_attempt_at)]).filter(Boolean).map((time) => time - posted);
    const longest = Math.max(100, ...times);
    const logarithmic = scale([0, Math.log10(longest)], [3, 97]);
    const x = (time) => logarithmic(Math.log10(Math.max(1, time)));
    const marks = ticks.filter((tick) => tick <= longest && x(tick) < 96);
    const rest = sums.reduce((total, [, sum]) => total + sum, 0) - event.deliveries.length;
    show(timeline, heading, h("p.muted", sums.map(([state, sum]) => `${count(sum)} ${t(state)}`).join(", ")), h("div.axis-row", { "aria-hidden": "true" }, h("span"), s("svg", { class: "ticks" },
      marks.map((tick, index) => s("text", { x: `${x(tick)}%`, y: 12, class: index % 2 ? "odd" : "" }, duration(tick)))), h("span")),
    h("ul.rows", event.deliveries.map((each) => h("li.delivery",
      h("div.who", h("a", { href: to("delegates/", each.delegate), key: "to" + each.delegate }, receiver(each, 24))),
      lane(each, posted, x, marks),
      h("div.end", state(each.state), may("manage") && h("button.quiet", { key: "again" + each.delegate, "aria-label": t("Redeliver to {}", each.url || each.delegate), onclick: () => again(each.delegate) }, "Redeliver")),
      h("div.tale", tale(each), each.history.length > 0 && h("ol.attempts", each.history.map((one) => attempt(one, false))))))),
    rest > 0 && button("more", t("{} more of {}", count(Math.min(pageSize, rest)), count(rest)), () => {
      most += pageSize;
      refresh();
    }));
  }

  function drawBody(event) {
    const text = isRaw ? event.data.text : indented(event.data.text);
    show(body, h("div.head", h("h2", { id: "body" }, "Data"), h("div.actions",
      h("button.quiet", { key: "raw", "aria-pressed": String(isRaw), onclick: () => {
        isRaw = !isRaw;
        drawBody(event);
      } }, "Raw"), copyButton(text))), h("pre.body", text));
  }

  async function toAll(counts) {
    const sum = Object.values(counts).reduce((total, each) => total + each, 0);
    if (await confirm(t("Redeliver to {}?", plural(sum, "delegate")), "Redeliver")) again();
  }

  async function toFailed() {
    await bulk(work, signal, { action: "redeliver", words: "Redeliver", filter: { event: id, state: "exhausted" } });
    refresh();
  }

  const again = (delegate) => api.redeliver(id, delegate)
    .then((answer) => notice(t("{} on the way again.", plural(answer.deliveries, "delivery")))).finally(refresh);
}

/// The delivery of an event to a delegate, as marks over time; the next attempt is hollow.
function lane(delivery, posted, x, ticks) {
  const percent = (value) => `${Math.round(value * 100) / 100}%`;
  const at = (text) => x(Date.parse(text) - posted);
  return s("svg", { class: "lane", role: "img", "aria-label": plural(delivery.history.length, "attempt") },
    ticks.map((tick) => s("line", { x1: percent(x(tick)), x2: percent(x(tick)), y1: 0, y2: "100%", class: "tick" })),
    s("line", { x1: "3%", x2: "97%", y1: "50%", y2: "50%", class: "base" }),
    delivery.history.map((each) => {
      const [start, end] = [at(each.started_at), x(Date.parse(each.started_at) - posted + each.duration_ms)];
      return [s("line", { x1: percent(start), x2: percent(end), y1: "50%", y2: "50%", class: `span ${tone(each.outcome)}` }),
        each.outcome === "succeeded" ? s("circle", { cx: percent(end), cy: "50%", r: 6, class: "mark good" })
          : s("svg", { x: percent(end), y: "50%", overflow: "visible" }, s("path", { d: "M0-7 7 6H-7Z", class: "mark bad" }))];
    }),
    delivery.next_attempt_at && s("circle", { cx: percent(at(delivery.next_attempt_at)), cy: "50%", r: 5.5, class: "mark next" }));
}

function tale(each) {
  const tries = plural(each.attempts, "attempt");
  const words = {
    delivered: [t("Delivered on attempt {}, ", count(each.attempts)), moment(each.last_attempt_at), "."],
    retrying: [t("{} so far", tries), each.next_attempt_at ? [", the next ", moment(each.next_attempt_at)] : "", "."],
    pending: ["Not attempted yet."],
    exhausted: [t("Given up after {}, the last one ", tries), moment(each.last_attempt_at), failure(each) && `: ${t(failure(each))}`, "."],
    dropped: [t("Dropped after {}.", tries)],
  }[each.state] ?? [];
  return h("p.muted", words, each.reason ? " " + sentence(each.reason) : "");
}
