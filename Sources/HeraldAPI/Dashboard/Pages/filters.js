// The filters of a list, which are part of the URL: fields and selections that change it.

import { query as search } from "./api.js";
import { h, options, t } from "./dom.js";
import { choice, line } from "./form.js";

const pause = 400;

/// Classes of errors, as the server names them.
export const errors = { ...options("timeout connection_failed name_not_resolved address_refused tls_failed protocol_error request_not_made response_refused token_not_issued refused lease_expired".split(" ")),
  "5xx": "HTTP 5xx", "4xx": "HTTP 4xx", 429: "HTTP 429", 503: "HTTP 503" };

/// - Parameters:
///   - page: the part of the URL after `#/`.
///   - fields: each with an `id`, which is the name in the URL, and a `label`; `options` makes a selection, `type` another input.
///   - others: more names in the URL, which stay.
/// - Returns: the form, and a function that goes to the same list with changed filters.
export function filters(page, query, fields, others = []) {
  const inputs = new Map();
  let timer;
  const element = h("form.filters", { role: "search", onsubmit: submit, onchange: later }, fields.filter(Boolean).map((each) => {
    const value = query.get(each.id) ?? "";
    const input = each.options
      ? choice(complete(each.options, value), value, { id: each.id, "aria-label": each.label })
      : line(each.show?.(value) ?? value, { id: each.id, type: each.type ?? "search", "aria-label": each.label, placeholder: each.placeholder, title: t(each.title ?? each.label) });
    inputs.set(each.id, { input, read: each.read ?? ((text) => text.trim()) });
    return each.type ? h("label", each.label, " ", input) : input;
  }));

  function go(changes = {}) {
    const values = Object.fromEntries([...others.map((name) => [name, query.get(name)]), ...[...inputs].map(([id, { input, read }]) => [id, read(input.value)])]);
    const wanted = `#/${page}` + search({ ...values, ...changes });
    if (wanted !== location.hash) location.hash = wanted;
  }

  /// An arrow key changes a selection at once: the page follows when it rests.
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => element.isConnected && submit(), pause);
  }

  function submit(event) {
    event?.preventDefault();
    clearTimeout(timer);
    // The page is drawn again: the same field keeps the focus.
    filters.focused = document.activeElement?.id;
    go();
  }

  if (filters.focused && inputs.has(filters.focused)) {
    const { input } = inputs.get(filters.focused);
    queueMicrotask(() => setTimeout(() => input.isConnected && input.focus({ preventScroll: true })));
    filters.focused = null;
  }
  return { element, go };
}

/// A value of the URL that is no option is one more.
const complete = (options, value) => (value in options ? options : { ...options, [value]: value });
