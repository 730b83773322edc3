// The nodes that share the store, their shards, and what moved when.

import { api } from "./api.js";
import { drawing, h, s, show, t } from "./dom.js";
import { keep } from "./live.js";
import { state, moment, count } from "./format.js";
import { cell, number, table } from "./pages.js";

const shards = 64;
const shown = 10;

/// Fills `root` when there are several. They concern the whole server: users of a single app do not see them.
/// - Parameter found: called with all of them.
export function nodes(root, signal, found = () => {}) {
  keep(async () => {
    const [{ data }, moves] = await Promise.all([api.nodes(), api.moves()]);
    found(data);
    show(root, data.length > 1 && h("section", { "aria-labelledby": "nodes" }, h("h2", { id: "nodes" }, "Nodes"), list(data),
      history(moves.data.slice(0, shown), data)));
  }, 2000, signal);
}

const list = (all) => table("nodes", ["Node", "Version", "Shards", "Behind", "Seen", "State"], all.map((each) => row(each, hue(each.id, all))));

/// The oldest node has the first colour, so that a new one changes no other.
const hue = (id, all) => `hue${(all.length - 1 - all.findIndex((each) => each.id === id)) % 6}`;

const name = (each) => each.name.replace(/^herald, /, "");

const row = (each, hue) => h("tr",
  h("td.first", h("span.strong.data", name(each)),
    h("div.sub.mono.muted", each.id, each.is_self && t(" · shows this page"))),
  number("version", each.version),
  cell("shards", count(each.shards.length), strip(each.shards, hue)),
  number("behind", each.lag_events === null ? "–" : count(each.lag_events)),
  number("seen", moment(each.seen_at)),
  h("td", state(each.present ? "running" : each.left_at ? "stopped" : "gone")));

/// A cell for each shard, those of the node in its colour.
const strip = (own, hue) => drawing(shards + " 8", { class: "shards" },
  s("path", { class: "track", d: cells([...Array(shards).keys()]) }), s("path", { class: hue, d: cells(own) }));

const cells = (numbers) => numbers.map((number) => `M${number} 0h.8v8h-.8z`).join("");

const history = (moves, all) => moves.length > 0 && [
  h("h3", "What moved"), table("moves", ["When", "Shards", "From", "To"], moves.map((each) => h("tr",
    h("td.first", moment(each.moved_at)),
    cell("shards", count(each.shards.length), all.some(({ id }) => id === each.to) && strip(each.shards, hue(each.to, all))),
    cell("from", party(each.from, all), h("div.sub.muted", reasons[each.reason])),
    cell("to", party(each.to, all)))))];

const reasons = { given: "gave them", lost: "its session had ended" };

const party = (id, all) => {
  const node = all.find((each) => each.id === id);
  return node ? h("span.data", name(node)) : id ? h("span.mono", id) : "–";
};
