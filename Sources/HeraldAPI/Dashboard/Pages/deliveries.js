// Deliveries that wait or did not succeed, newest first: searched by state and delegate, redelivered and cancelled.

import { may } from "./access.js";
import { api } from "./api.js";
import { h, show, notice, confirm } from "./dom.js";
import { pages, table } from "./pages.js";
import { state, moment, address, count, plural, sentence, failure } from "./format.js";

const pageSize = 100;
const states = ["exhausted", "retrying", "dropped"];
const hour = 3600 * 1000;
const spans = { "1h": ["The last hour", hour], "24h": ["The last 24 hours", 24 * hour], "7d": ["The last 7 days", 7 * 24 * hour] };

export function deliveries(root, { query, signal }) {
  const wanted = states.includes(query.get("state")) ? query.get("state") : "";
  const delegate = query.get("delegate");
  const span = Object.hasOwn(spans, query.get("span")) ? query.get("span") : "";
  // One time for the list, the count before a change, and the change.
  const since = span && new Date(Date.now() - spans[span][1]).toISOString();
  const filter = () => ({ state: wanted, delegate, since });
  const select = h("select", { id: "state", "aria-label": "State", onchange: () => go({ state: select.value, delegate, span }) },
    h("option", { value: "" }, "All states"), states.map((each) => h("option", { value: each, selected: each === wanted }, each)));
  const time = h("select", { id: "span", "aria-label": "Accepted in", onchange: () => go({ state: wanted, delegate, span: time.value }) },
    h("option", { value: "" }, "Any time"), Object.entries(spans).map(([value, [words]]) => h("option", { value, selected: value === span }, words)));
  const sums = h("p", { class: "muted", role: "status" });
  const actions = h("div", { class: "actions" });
  const list = h("div", { class: "list" });
  root.append(h("div", { class: "head" }, h("h1", null, "Deliveries"), actions),
    h("div", { class: "filters", role: "search" }, select, time, delegate && h("span", { class: "row" }, "To ", h("a", { href: `#/delegates/${encodeURIComponent(delegate)}`, class: "mono small" }, delegate),
      h("button", { type: "button", class: "quiet", onclick: () => go({ state: wanted, span }) }, "To all"))), sums, list);

  function go(fields) {
    const entries = Object.entries(fields).filter(([, value]) => value);
    location.hash = "#/deliveries" + (entries.length > 0 ? "?" + new URLSearchParams(entries) : "");
  }

  const row = (each) => h("tr", null,
    h("td", null, moment(each.ended_at ?? each.last_attempt_at)),
    h("td", { class: "first" }, each.event ? h("a", { href: `#/events/${encodeURIComponent(each.event)}`, class: "mono strong", "data-key": each.event + each.delegate }, each.type) : "deleted",
      each.subject && h("span", { class: "mono muted" }, " " + each.subject)),
    h("td", null, each.delegate && h("a", { href: `#/delegates/${encodeURIComponent(each.delegate)}`, class: "plain", "data-key": "to" + each.event + each.delegate }, address(each.url, 28))),
    h("td", null, state(each.state)),
    h("td", { class: "number", "data-label": "attempts" }, count(each.attempts)),
    h("td", { class: "clip", title: each.reason }, failure(each) || sentence(each.reason) || "–"));

  const refresh = pages(list, signal, {
    read: async (cursor) => {
      const sum = cursor || delegate || since ? null : await Promise.all(states.map((each) => api.counts(each, 1)));
      if (!cursor) show(sums, sum && sum.map((each, index) => [index > 0 && ", ", `${count(each.deliveries)} ${each.state}`]));
      return api.deliveries({ ...filter(), limit: pageSize, cursor });
    },
    older: "Older deliveries",
    milliseconds: 5000,
    draw: (found) => (found.length === 0 ? h("p", { class: "calm" }, "No delivery waits or has failed.")
      : table("deliveries", ["When", "Event", "Delegate", "State", "Attempts", "Last error"], found.map(row))),
  });

  // The server wants at least one condition, so that not everything is meant by accident.
  if (may("manage") && (wanted || delegate || since)) {
    show(actions, wanted !== "retrying" && h("button", { type: "button", "data-key": "redeliver", onclick: () => all("redeliver", "Redeliver") }, "Redeliver all"),
      wanted === "retrying" && h("button", { type: "button", "data-key": "cancel", class: "danger", onclick: () => all("cancel", "Cancel") }, "Cancel all"));
  }

  async function all(action, words) {
    try {
      const { deliveries: matching } = await api.changeAll(action, filter(), true);
      if (matching === 0) return notice("No delivery matches.");
      if (!await confirm(`${words} ${plural(matching, "delivery", "deliveries")}?`, words)) return;
      let changed = 0;
      for (let more = true; more && changed < matching && !signal.aborted;) {
        const answer = await api.changeAll(action, filter(), false);
        changed += answer.deliveries;
        more = answer.more && answer.deliveries > 0;
        notice(`${count(changed)} of ${plural(matching, "delivery", "deliveries")} ${action === "cancel" ? "cancelled" : "on the way again"}.`);
      }
    } catch (error) {
      notice(error.message);
    }
    refresh();
  }
}
