// The events that are published later.

import { may } from "./access.js";
import { api } from "./api.js";
import { confirm, h, notice, to, t } from "./dom.js";
import { cut, moment } from "./format.js";
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
    h("td.first", h("a.mono.strong", { href: to("events/", each.id), key: "later" + each.id }, each.type)),
    h("td.mono", each.subject && cut(each.subject, 32)),
    h("td.mono.clip.muted.data", cut(each.data?.text ?? "", 120)),
    h("td", may("publish") && h("button.quiet", { key: "cancel" + each.id, onclick: () => cancel(each) }, "Cancel the event")));

  async function cancel(each) {
    if (!await confirm(t("Cancel {}? It is not published.", each.type), "Cancel the event")) return;
    await api.cancelScheduled(each.id).then(() => notice("Cancelled.")).finally(refresh);
  }
}
