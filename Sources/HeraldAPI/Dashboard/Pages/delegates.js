// The list of delegates, and over it the drawer of one delegate.

import { may, teach } from "./access.js";
import { api } from "./api.js";
import { h, show, options, to, t } from "./dom.js";
import { choice } from "./form.js";
import { keep } from "./live.js";
import { number, pages, table } from "./pages.js";
import { state, name, address, count, duration, plural, moment, failure, sentence, retries, statuses as states } from "./format.js";
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
  const status = select("status", "State", { "": "All states", ...options(states) });
  const sort = select("sort", "Sort", { status: "Failing first", name: "By name", lag: "By lag", newest: "Newest first" });
  const sum = h("p.muted", { role: "status" });
  const list = h("div.list", { "aria-live": "off" });
  root.append(h("div.head", h("h1", "Delegates"), may("manage") && h("a.button.primary", { href: "#/delegates/new" }, "New delegate")),
    h("div.filters", { role: "search" }, search, kind, status, sort), sum, list);

  function select(id, label, options) {
    return choice(options, undefined, { id, "aria-label": label, onchange: () => refresh() });
  }

  function draw(rows, next, all = rows) {
    const isFirst = found.length === 0 && all.length > 0;
    found = all;
    if (isFirst) countUp();
    show(sum, next ? t("The first {}", plural(all.length, "delegate")) : plural(all.length, "delegate"));
    const isFiltered = search.value.trim() || kind.value || status.value;
    const shown = rows.length > 0 && table("delegates", ["Delegate", "Events", "State", "Behind", "Success, 24 h", "p95, last hour"], rows.map(row));
    if (!isFiltered && !next && found.every((each) => each.kind === "in_memory")) return [teach(), shown];
    return shown || h("p.calm", "No delegate matches.");
  }

  const cells = (each, own = statistics.get(each.id)) => [own ? spark(own.hours) : "–", duration(own?.last_hour.latency_ms.p95),
    [state(each.status), error(each, own?.failed)]];

  /// The last failed attempt, or else why it is not active.
  const error = (each, failed) => (failed || each.status_reason) && h("div.sub.muted", { title: sentence(each.status_reason) },
    failed ? [failure(failed), ", ", moment(failed.started_at)] : sentence(each.status_reason));

  function row(each) {
    const [success, p95, status] = cells(each);
    const metadata = Object.entries(each.metadata ?? {}).map((pair) => pair.join(": ")).join(", ");
    return h("tr",
      h("td.first", h("a.strong.data", { href: to("delegates/", each.id), key: each.id }, name(each)),
        each.url && h("div.sub", address(each.url, 36)), metadata && h("div.sub.muted.data", { title: metadata }, metadata)),
      h("td.mono.clip", { title: each.events?.join(", ") }, each.events?.join(", ")),
      h("td", status),
      number("behind", each.lag ? (each.lag.estimated ? "~" : "") + count(lag(each)) : "–",
        each.lag?.retrying > 0 && h("div.sub", retries(each))),
      number("success, 24 h", success),
      number("p95", p95));
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
      const [last, own] = [statistics.get(id), await api.statistics(id).catch((error) => (error.status === 404 ? null : Promise.reject(error)))];
      // Its last failed attempt, if it has a new one.
      if (own?.last_day.failed > 0) own.failed = own.last_day.failed === last?.last_day.failed ? last.failed : (await api.lastFailure(id)).data[0];
      statistics.set(id, own);
    }
    list.querySelectorAll("tbody tr").forEach((row, index) => index < 40 && cells(found[index]).forEach((each, column) => show(row.cells[[4, 5, 2][column]], each)));
  }, 5000, signal);

  root.open = (id, isFirst = false) => {
    for (const dialog of document.querySelectorAll("dialog.drawer")) dialog.remove();
    if (id === "new") registration(refresh, signal);
    else if (id) drawer(id, refresh, signal);
    // The user returns to the same rows.
    else if (!isFirst) refresh.renew();
  };
  root.open(parameter, true);
}

/// Shows another delegate over the same list.
delegates.update = (root, id) => {
  root.open(id);
  return true;
};
