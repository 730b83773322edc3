// The events that are published later.

import { may } from "./access.js";
import { api } from "./api.js";
import { button, confirm, h, notice, t } from "./dom.js";
import { eventCells, moment } from "./format.js";
import { pages, table } from "./pages.js";

/// Fills `root` with the scheduled events, the earliest first; with nothing if there are none.
export function scheduled(root, subject, signal) {
  const refresh = pages(root, signal, {
    read: (cursor) => api.scheduled({ subject, limit: 20, cursor }),
    draw: (found) => found.length > 0 && [h("h2", "Scheduled"), table("events", ["When", "Type", "Subject", "Data", ""], found.map(row))],
    older: "Later events",
  });

  const row = (each) => h("tr",
    h("td", moment(each.deliver_at)),
    eventCells(each),
    h("td", may("publish") && button("cancel" + each.id, "Cancel the event", () => cancel(each), "quiet")));

  async function cancel(each) {
    if (!await confirm(t("Cancel {}? It is not published.", each.type), "Cancel the event")) return;
    await api.cancelScheduled(each.id).then(() => notice("Cancelled.")).finally(refresh);
  }
}
