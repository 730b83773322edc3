// A change of many deliveries: counted, confirmed, made in parts, and ended at any time.

import { api } from "./api.js";
import { button, h, show, notice, confirm, t } from "./dom.js";
import { count, plural } from "./format.js";

/// So few that each request takes a moment.
const changesPerRequest = 500;
const many = (number) => plural(number, "delivery");

export async function bulk(root, signal, { action, words, filter }) {
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const end = button("stop", "Stop", () => stop.abort());
  try {
    show(root, h("div.row", "Counting …", end));
    const { deliveries: matching, isPart } = await api.countChanges(action, filter, ended);
    show(root);
    if (ended.aborted) return;
    if (matching === 0) return notice("No delivery matches.");
    const number = isPart ? t("more than {}", many(matching)) : many(matching);
    if (!await confirm(t(`${words} {}?`, number), words)) return;
    let changed = 0;
    for (let cursor = null, isLast = false; !isLast && !ended.aborted;) {
      show(root, h("div.row", h("progress", { max: matching, value: Math.min(matching, changed), "aria-label": "Progress" }), t("{} of {}", count(changed), number), end));
      const part = await api.changeAll(action, { ...filter, limit: changesPerRequest, cursor });
      changed += part.deliveries;
      cursor = part.next_cursor;
      isLast = !cursor;
    }
    const result = action === "cancel" ? "{} of {} cancelled" : "{} of {} on the way again";
    notice(`${t(result, count(changed), many(matching))}${stop.signal.aborted ? t("; stopped") : ""}.`);
  } catch (error) {
    notice(error.message);
  } finally {
    show(root);
  }
}
