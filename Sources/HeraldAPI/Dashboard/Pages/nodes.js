// The nodes that share the store, and which shards of the delegates each has.

import { api } from "./api.js";
import { h, s, show } from "./dom.js";
import { keep } from "./live.js";
import { state, moment, count } from "./format.js";

const shards = 64;

/// Fills `root` when there are several. They concern the whole server: users of a single app do not see them.
export function nodes(root, signal) {
  const allowed = new AbortController();
  keep(async () => {
    const { data } = await api.nodes();
    show(root, data.length > 1 && h("section", { "aria-labelledby": "nodes" }, h("h2", { id: "nodes" }, "Nodes"), table(data)));
  }, 2000, AbortSignal.any([signal, allowed.signal]), (error) => error.status === 403 && allowed.abort());
}

const table = (all) => h("table", { class: "nodes" },
  h("thead", null, h("tr", null, ["Node", "Version", "Shards", "Behind", "Seen", "State"].map((title) => h("th", { scope: "col" }, title)))),
  // The oldest node has the first colour, so that a new one changes no other.
  h("tbody", null, all.map((each, index) => row(each, `hue${(all.length - 1 - index) % 6}`))));

const row = (each, hue) => h("tr", null,
  h("td", { class: "first" }, h("span", { class: "strong" }, each.name.replace(/^herald, /, "")),
    h("div", { class: "sub mono muted" }, each.id, each.is_self && " · shows this page")),
  h("td", { class: "number", "data-label": "version" }, each.version),
  h("td", { "data-label": "shards" }, count(each.shards.length), strip(each.shards, hue)),
  h("td", { class: "number", "data-label": "behind" }, each.lag_events === null ? "–" : count(each.lag_events)),
  h("td", { class: "number", "data-label": "seen" }, moment(each.seen_at)),
  h("td", null, state(each.present ? "running" : each.left_at ? "stopped" : "gone")));

/// A cell for each shard, those of the node in its colour.
const strip = (own, hue) => s("svg", { class: "shards", viewBox: `0 0 ${shards} 8`, preserveAspectRatio: "none", "aria-hidden": "true" },
  s("path", { class: "track", d: cells([...Array(shards).keys()]) }), s("path", { class: hue, d: cells(own) }));

const cells = (numbers) => numbers.map((number) => `M${number} 0h.8v8h-.8z`).join("");
