// The app state with its history, and the auth status of users.

import { curl, may } from "./access.js";
import { acting, api, eventShape } from "./api.js";
import { drawing, h, s, show, empty, fails, to, t } from "./dom.js";
import { has, members, pretty } from "./json.js";
import { follow, keep } from "./live.js";
import { state as shape, moment, plural, duration } from "./format.js";

export function state(root, { query, signal }) {
  const current = h("section", { "aria-labelledby": "app-state" });
  const user = h("input", { type: "search", id: "user", "aria-label": "User id", placeholder: "User id: 42", value: query.get("user") ?? "", autocomplete: "off" });
  const answer = h("div", { role: "status" });
  const latest = h("div");
  root.append(h("h1", "State"), current,
    h("section", { "aria-labelledby": "auth" }, h("h2", { id: "auth" }, "Login status"),
      h("form.filters", { role: "search", onsubmit: (event) => {
        event.preventDefault();
        const wanted = user.value.trim();
        location.hash = wanted ? to("state?user=", wanted) : "#/state";
      } }, user, h("button", "Find")), answer, latest));

  // Searches for changes may take seconds: the states do not wait for them.
  const all = ["app_state.changed", "auth.status_changed"];
  const stale = new Set(all);
  const found = new Map();
  let searched = 0;
  async function changes(type, limit) {
    if (!stale.delete(type)) return found.get(type);
    searched = Date.now();
    try {
      found.set(type, (await api.events({ type, limit }, signal)).data);
    } catch (error) {
      stale.add(type);
      throw error;
    }
    return found.get(type);
  }
  const draw = (now, history) => show(current, h("h2", { id: "app-state" }, "App state"), now.since ? [h("p.large.mono", words(now.state.text)),
      since(now, "by"),
      strip(history)] : empty("No app state yet", "An app reports its state with an event:",
      may("publish") && curl("v1/app-state", "-X PUT", `--json '{"state": {"data_retrieval": "success"}}'`)));

  const refreshState = keep(async () => {
    const now = await api.appState();
    draw(now, found.get("app_state.changed") ?? []);
    if (now.since) draw(now, await changes("app_state.changed", 100));
  }, 10_000, signal, fails(current));

  const refreshUsers = keep(async () => {
    const wanted = query.get("user");
    if (wanted) {
      const status = await api.authStatus(wanted);
      show(answer, h("div.card", h("div.row", shape(status.status), h("strong.mono", status.user_id)),
        status.since ? since(status, "auth-by")
          : h("p.muted", "There is no event about this user."),
        has(status.user) && h("pre", pretty(status.user))));
    }
    if (!found.has("auth.status_changed")) show(latest, h("p.calm", "Searching …"));
    const logins = await changes("auth.status_changed", 30);
    show(latest, h("h3", "Latest changes"), logins.length === 0 ? h("p.calm", "None yet.")
      : h("ul.changes", logins.map((each) => h("li",
        shape(each.data?.value?.status ?? "unknown"), h("a.mono", { href: to("state?user=", idOf(each)), key: each.id }, idOf(each)),
        h("span.muted", moment(each.time))))));
  }, 10_000, signal, fails(latest));

  follow("v1/events/stream", () => ({ events: all.join() }), (arrived) => {
    for (const { type } of arrived) stale.add(type);
    // A stream starts, and some may have been missed. Without streams this comes every three seconds.
    if (arrived.length === 0 && (!acting || Date.now() > searched + 10_000)) all.forEach((type) => stale.add(type));
    refreshState();
    refreshUsers();
  }, signal, () => {}, eventShape);
}

const since = (each, key) => h("p.muted", "Since ", moment(each.since), ", by ", h("a", { href: to("events/", each.event_id), key }, "this event"), ".");

const plain = (text) => (text?.startsWith('"') ? JSON.parse(text) : text);
const member = (text, name) => members(text ?? "")?.find(([each]) => each === name)?.[1].text;

function idOf(event) {
  const id = member(event.data?.text, "user_id") ?? member(member(event.data?.text, "user"), "id");
  return String(plain(id) ?? event.subject ?? "").replace(/^user:/, "");
}

/// `{"authentication": "active"}` reads as `authentication: active`.
function words(text) {
  const entries = members(text ?? "null") ?? [];
  return entries.length === 1 ? `${entries[0][0]}: ${plain(entries[0][1].text)}` : plain(text ?? "null");
}

/// The history, oldest on the left: a span for each state, with a width by duration.
function strip(changes) {
  const spans = changes.map((each, index) => ({ id: each.id, text: words(member(each.data.text, "state")), start: Date.parse(each.time), time: each.time,
    end: index === 0 ? Date.now() : Date.parse(changes[index - 1].time) })).reverse();
  if (spans.length === 0) return null;
  const [start, whole] = [spans[0].start, Math.max(1, Date.now() - spans[0].start)];
  const texts = [...new Set(spans.map((each) => each.text))];
  const colour = (text) => `hue${texts.indexOf(text) % 6}`;
  return [h("figure.strip", drawing("1000 24", {}, spans.map((each) =>
    s("rect", { x: (1000 * (each.start - start)) / whole, width: Math.max(1, (1000 * (each.end - each.start)) / whole), y: 0, height: 24, class: colour(each.text) },
      s("title", null, each.text)))),
  h("figcaption", texts.slice(0, 12).map((text) => h("span", h("span", { class: `swatch ${colour(text)}`, "aria-hidden": "true" }), h("span.data", text))))),
  h("details", { key: "history" }, h("summary", { key: "history-summary" }, t("{}, newest first", plural(spans.length, "change"))), h("ol.changes", [...spans].reverse().map((each) =>
    h("li", h("a.mono", { href: to("events/", each.id) }, each.text),
      h("span.muted", moment(each.time), t(" for {}", duration(each.end - each.start)))))))];
}
