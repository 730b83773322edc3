// The attempts to call a delegate: searched by outcome, error and time, in pages.

import { api } from "./api.js";
import { attempt } from "./attempt.js";
import { h } from "./dom.js";
import { errors } from "./filters.js";
import { choice } from "./form.js";
import { follow } from "./live.js";
import { pages } from "./pages.js";
import { choices, time } from "./times.js";

const pageSize = 20;
const outcomes = { "": "All outcomes", succeeded: "Succeeded", failed: "Failed" };

/// The section of a delegate. New attempts appear by themselves until older ones are shown.
export function attempts(id, signal) {
  const select = (name, label, options) => choice(options, "", { id: "attempts-" + name, "aria-label": label, onchange: again });
  const outcome = select("outcome", "Outcome", outcomes);
  const error = select("error", "Error", { "": "Any error", ...errors });
  const since = select("since", "Time", choices("", "Made"));
  const list = h("div");
  const isNarrow = () => outcome.value || error.value || since.value;

  function again() {
    error.disabled = outcome.value === "succeeded";
    if (error.disabled) error.value = "";
    refresh();
  }

  const refresh = pages(list, signal, {
    read: (cursor) => api.attempts(id, { outcome: outcome.value, error: error.value, since: time(since.value), limit: pageSize, cursor }),
    older: "Older attempts",
    draw: (found) => (found.length > 0 ? h("ol.attempts", found.map((each) => attempt(each, true)))
      : h("p.calm", isNarrow() ? "No attempt matches." : "None yet.")),
  });
  follow("v1/attempts/stream", () => ({ delegate: id }), refresh.renew, signal);
  return h("section", { "aria-label": "Attempts" }, h("h3", "Attempts"), h("div.filters", { role: "search", "aria-label": "Attempts" }, outcome, error, since), list);
}
