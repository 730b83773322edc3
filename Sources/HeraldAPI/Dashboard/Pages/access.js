// What the user may do: controls that the server would refuse are not shown.

import { empty } from "./dom.js";

let session = { key_required: false, signed_in: false, portal: false, scopes: [] };

export function setAccess(found) {
  session = found;
  for (const each of document.querySelectorAll("[data-scope]")) each.hidden = !may(each.dataset.scope);
}

/// Whether the server has no key, so that every request is allowed.
export const isOpen = () => !session.key_required;

export const may = (scope) => session.scopes.includes(scope);

/// A `curl` command for a path of the API, with a variable for the key if one is needed.
export function curl(path, ...lines) {
  if (session.portal) return null;
  const key = session.key_required ? ['-H "Authorization: Bearer $HERALD_KEY"'] : [];
  return ["curl " + new URL(path, document.baseURI).href.replace(/#.*$/, ""), ...key, ...lines].join(" \\\n  ");
}

/// An empty list of webhooks.
export const teach = (title = "No webhooks yet") => empty(title, "Register the URL of a program that needs the events. `herald receiver` is one to try things out.",
  may("manage") && curl("v1/delegates", `--json '{"url": "http://localhost:9000/hook", "events": ["auth.*"]}'`));
