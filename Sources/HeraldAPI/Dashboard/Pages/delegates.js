// The list of delegates, and over it the drawer of one delegate.

import { curl, may } from "./access.js";
import { api } from "./api.js";
import { h, show, empty } from "./dom.js";
import { t } from "./texts.js";
import { keep } from "./live.js";
import { pages } from "./pages.js";
import { state, name, address, count, duration, plural, statuses as states } from "./format.js";
import { spark } from "./activity.js";
import { drawer, registration } from "./drawer.js";

const pageSize = 100;
/// Whether the drawer of a delegate is over the list, which is not read then.
const isCovered = () => document.querySelector("dialog.drawer") !== null;
const lag = (each) => each.lag?.events ?? each.lag?.attempts ?? 0;

export function delegates(root, { parameter, signal }) {
  let found = [];
  const statistics = new Map();
  const search = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search delegates", maxlength: 100, oninput: () => refresh() });
  const kind = select("kind", "Kind", { "": "All kinds", webhook: "Webhooks", pull: "Pulled", in_memory: "Inside the process", stream: "Live streams" });
  const status = select("status", "State", { "": "All states", ...Object.fromEntries(states.map((each) => [each, each.replaceAll("_", " ")])) });
  const sort = select("sort", "Sort", { status: "Failing first", name: "By name", lag: "By lag", newest: "Newest first" });
  const sum = h("p", { class: "muted", role: "status" });
  const list = h("div", { class: "list", "aria-live": "off" });
  root.append(h("div", { class: "head" }, h("h1", null, "Delegates"), may("manage") && h("a", { class: "button primary", href: "#/delegates/new" }, "New delegate")),
    h("div", { class: "filters", role: "search" }, search, kind, status, sort), sum, list);

  function select(id, label, options) {
    return h("select", { id, "aria-label": label, onchange: () => refresh() }, Object.entries(options).map(([value, words]) => h("option", { value }, words)));
  }

  function draw(rows, next, all = rows) {
    const isFirst = found.length === 0 && all.length > 0;
    found = all;
    if (isFirst) countUp();
    show(sum, next ? t("The first {}", plural(all.length, "delegate")) : plural(all.length, "delegate"));
    const isFiltered = search.value.trim() || kind.value || status.value;
    if (!isFiltered && !next && found.every((each) => each.kind === "in_memory")) return [teach(), rows.length > 0 && table(rows)];
    return rows.length > 0 ? table(rows) : h("p", { class: "calm" }, "No delegate matches.");
  }

  const table = (rows) => h("table", null,
    h("thead", null, h("tr", null, ["Delegate", "Events", "State", "Behind", "Success, 24 h", "p95, last hour"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", null, rows.map(row)));

  const numbers = (each, own = statistics.get(each.id)) => [own ? spark(own.hours) : "–", duration(own?.last_hour.latency_ms.p95)];

  function row(each) {
    const [success, p95] = numbers(each);
    return h("tr", null,
      h("td", { class: "first" }, h("a", { href: `#/delegates/${encodeURIComponent(each.id)}`, "data-key": each.id, class: "strong data" }, name(each)),
        each.url && h("div", { class: "sub" }, address(each.url, 36))),
      h("td", { class: "mono clip", title: each.events?.join(", ") }, each.events?.join(", ")),
      h("td", null, state(each.status)),
      h("td", { class: "number", "data-label": "behind" }, each.lag ? (each.lag.estimated ? "~" : "") + count(lag(each)) : "–"),
      h("td", { class: "number", "data-label": "success, 24 h" }, success),
      h("td", { class: "number", "data-label": "p95" }, p95));
  }

  // The server searches and sorts: the browser has only the pages that are shown.
  const refresh = pages(list, signal, {
    read: (cursor) => api.delegates({ search: search.value.trim(), kind: kind.value, status: status.value, sort: sort.value, limit: pageSize, cursor }),
    draw,
    older: "More delegates",
    milliseconds: 3000,
    isCovered,
  });

  // For the first rows only: each is a separate query.
  const countUp = keep(async () => {
    for (const { id } of found.filter((each) => each.updated_at).slice(0, 40)) {
      if (signal.aborted || isCovered()) return;
      statistics.set(id, await api.statistics(id).catch((error) => (error.status === 404 ? null : Promise.reject(error))));
    }
    list.querySelectorAll("tbody tr").forEach((row, index) => index < 40 && numbers(found[index]).forEach((each, column) => show(row.cells[4 + column], each)));
  }, 5000, signal);

  root.open = (id, isFirst = false) => {
    for (const dialog of document.querySelectorAll("dialog.drawer")) dialog.remove();
    if (id === "new") registration(refresh, signal);
    else if (id) drawer(id, refresh, signal);
    // The user returns to the same rows.
    else if (!isFirst && !refresh.isLonger()) refresh();
  };
  root.open(parameter, true);
}

/// Shows another delegate over the same list.
delegates.update = (root, id) => {
  root.open(id);
  return true;
};

const teach = () => empty("No webhooks yet", "Register the URL of a program that needs the events. `herald receiver` is one to try things out.",
  may("manage") && curl("v1/delegates", `--json '{"url": "http://localhost:9000/hook", "events": ["auth.*"]}'`));
