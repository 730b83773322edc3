// Deliveries, newest first, pending ones by delegate: searched, sent again and cancelled.

import { may } from "./access.js";
import { api } from "./api.js";
import { bulk } from "./bulk.js";
import { h, show, button, options, to, t } from "./dom.js";
import { errors, filters } from "./filters.js";
import { number, pages, table } from "./pages.js";
import { state, moment, receiver, count, sentence, failure } from "./format.js";
import { choices, time } from "./times.js";

const pageSize = 100;
const stored = ["exhausted", "retrying", "dropped"];

export function deliveries(root, { query, signal }) {
  const delegate = query.get("delegate");
  const states = [...stored, "pending", "delivered"];
  const wanted = states.includes(query.get("state")) ? query.get("state") : "";
  const canFail = !wanted || stored.includes(wanted);
  // One time for the list, the count before a change, and the change.
  const since = time(query.get("since"));
  const filter = () => ({ state: wanted, delegate, type: query.get("type"), subject: query.get("subject"), error: canFail ? query.get("error") : null,
    [canFail ? "failed_since" : "since"]: since });
  const isNarrow = Object.entries(filter()).some(([key, value]) => key !== "state" && value);
  const bar = filters("deliveries", query, [
    { id: "state", label: "State", options: { "": "All that wait or failed", ...options(states) } },
    { id: "since", label: canFail ? "Failed since" : "Accepted since", options: choices(query.get("since"), canFail ? "Failed" : "Accepted") },
    canFail && { id: "error", label: "Last error", options: { "": "Any error", ...errors } },
    { id: "type", label: "Type or pattern", placeholder: "Type: order.*" },
    { id: "subject", label: "Subject", placeholder: "Subject: user:42" },
  ], ["delegate"]);
  const sums = h("p.muted", { role: "status" });
  const actions = h("div.actions");
  const work = h("div", { role: "status" });
  const list = h("div.list");
  root.append(h("div.head", h("h1", "Deliveries"), actions), bar.element,
    h("div", delegate && h("p.row", "To ", h("a.mono.small", { href: to("delegates/", delegate) }, delegate),
      h("button.quiet", { onclick: () => bar.go({ delegate: null }) }, "To all"))), work, sums, list);

  const row = (each) => h("tr",
    h("td", moment(each.ended_at ?? each.last_attempt_at)),
    h("td.first", each.event ? h("a.mono.strong", { href: to("events/", each.event), key: each.event + each.delegate }, each.type) : "deleted",
      each.subject && h("span.mono.muted", " " + each.subject)),
    h("td", each.delegate && h("a.plain", { href: to("delegates/", each.delegate), key: "to" + each.event + each.delegate }, receiver(each, 28))),
    h("td", state(each.state)),
    number("attempts", count(each.attempts)),
    h("td.clip", { title: sentence(each.reason) }, failure(each) || sentence(each.reason) || "–"));

  // A count with conditions reads many deliveries: it is made once, not with each page.
  let isCounted = false;
  async function sum() {
    if (!canFail || (isCounted && isNarrow)) return;
    isCounted = true;
    const parts = await Promise.all((wanted ? [wanted] : stored).map(async (state) => {
      const { deliveries, isPart } = await api.countAll({ ...filter(), state }, signal);
      return `${isPart ? t("more than {}", count(deliveries)) : count(deliveries)} ${t(state)}`;
    }));
    show(sums, parts.join(", "));
  }

  const refresh = pages(list, signal, {
    read: async (cursor) => {
      const page = await api.deliveries({ ...filter(), limit: pageSize, cursor });
      if (!cursor) sum().catch((error) => signal.aborted || show(sums, error.message));
      return page;
    },
    older: "Older deliveries",
    milliseconds: 5000,
    draw: (found, next) => table("deliveries", ["When", "Event", "Delegate", "State", "Attempts", canFail ? "Last error" : wanted === "pending" ? "Reason" : "Response"],
      found.map(row), next ? "No delivery matches so far." : isNarrow || wanted ? "No delivery matches." : "No delivery waits or has failed."),
  });

  // The server wants a condition: all deliveries are never meant by accident.
  if (may("manage") && canFail && (wanted || isNarrow)) {
    const run = (action, words) => bulk(work, signal, { action, words, filter: filter() }).then(() => {
      isCounted = false;
      refresh();
    });
    show(actions, wanted !== "retrying" && button("redeliver", "Redeliver all", () => run("redeliver", "Redeliver")),
      wanted === "retrying" && button("cancel", "Cancel all", () => run("cancel", "Cancel"), "danger"));
  }
}
