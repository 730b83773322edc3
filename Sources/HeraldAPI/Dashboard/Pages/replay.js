// Past events sent again to one delegate: counted, confirmed, followed, and ended at any time.

import { may } from "./access.js";
import { api } from "./api.js";
import { button, h, show, notice, confirm, t } from "./dom.js";
import { choice, openForm, row } from "./form.js";
import { keep } from "./live.js";
import { backlog, moment, plural } from "./format.js";
import { choices, time } from "./times.js";

/// The leases of a pull delegate, with their age.
export function leases(id, signal) {
  const element = h("div", { role: "status" });
  keep(async () => {
    const { data, next_cursor: more } = await api.leases(id);
    show(element, h("h3", t("Leases: {}", data.length + (more ? "+" : ""))), data.slice(-10).map((each) =>
      h("p", plural(each.events, "event"), ", ", moment(each.created_at))));
  }, 2000, signal);
  return { element };
}

/// The replays of a delegate that have not ended, with their progress.
/// - Returns: the element, and a function that opens the form of a new one.
export function replays(id, signal) {
  const list = h("div", { role: "status" });
  // The largest backlog that was seen of each: the server has only what is left.
  const whole = new Map();
  const refresh = keep(async () => {
    const { data } = await api.replays(id);
    show(list, data.map((each) => {
      const most = Math.max(1, whole.get(each.id) ?? 0, each.events);
      whole.set(each.id, most);
      return h("div.row", h("progress", { max: most, value: most - each.events, "aria-label": "Progress of the replay" }),
        h("span", t("Replay: {} left, started ", backlog(each)), moment(each.created_at)),
        may("manage") && button("end" + each.id, "Stop", () => end(each.id)));
    }));
  }, 2000, signal);

  const end = (replay) => api.endReplay(id, replay).then(() => notice("Stopped.")).finally(refresh);

  function open() {
    openForm("Send past events again", [
      row("from", "Events", choice({ ...choices("", "Published"), "": "All events of the log" }, "24h"), "", (text) => time(text) ?? "earliest"),
      row("only", "Which", choice([["all", "All that match, also delivered ones"], ["failed", "Only deliveries that failed"]], "all")),
    ], "Count", async (plan) => {
      const counted = await api.replay(id, plan, true);
      if (counted.events === 0) return "No event matches.";
      if (!await confirm(t("Send {} again?", backlog(counted)), "Send again")) return null;
      const made = await api.replay(id, plan, false);
      if (made.id) whole.set(made.id, made.events);
      refresh();
      return t("{} on the way again.", backlog(made));
    });
  }
  return { element: list, open };
}
