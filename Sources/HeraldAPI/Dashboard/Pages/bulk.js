// A change of many deliveries: counted first, confirmed, made in parts that show the progress, and ended at any time.

import { api } from "./api.js";
import { h, show, notice, confirm } from "./dom.js";
import { count, plural } from "./format.js";

/// So few that each request takes a moment.
const changesPerRequest = 500;
const many = (number) => plural(number, "delivery", "deliveries");

/// - Parameters:
///   - root: shows the progress, and the button that ends it.
///   - filter: the parameters of the request.
/// - Returns: when it has ended.
export async function bulk(root, signal, { action, words, filter }) {
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const end = h("button", { type: "button", "data-key": "stop", onclick: () => stop.abort() }, "Stop");
  try {
    show(root, h("div", { class: "row" }, "Counting …", end));
    const { deliveries: matching, isPart } = await api.countChanges(action, filter, ended);
    show(root);
    if (ended.aborted) return;
    if (matching === 0) return notice("No delivery matches.");
    const number = (isPart ? "more than " : "") + many(matching);
    if (!await confirm(`${words} ${number}?`, words)) return;
    let changed = 0;
    for (let cursor = null, isLast = false; !isLast && !ended.aborted;) {
      show(root, h("div", { class: "row" }, h("progress", { max: matching, value: Math.min(matching, changed), "aria-label": "Progress" }), `${count(changed)} of ${number}`, end));
      const part = await api.changeAll(action, { ...filter, limit: changesPerRequest, cursor });
      changed += part.deliveries;
      cursor = part.next_cursor;
      isLast = !cursor;
    }
    const result = action === "cancel" ? "cancelled" : "on the way again";
    notice(`${count(changed)} of ${many(matching)} ${result}${stop.signal.aborted ? "; stopped" : ""}.`);
  } catch (error) {
    notice(error.message);
  } finally {
    show(root);
  }
}
