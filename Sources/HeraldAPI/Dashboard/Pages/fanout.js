// The flow of events: types on the left, delegates on the right, ribbons with widths by rate.

import { drawing, h, s, show, to, t } from "./dom.js";
import { curve, ribbon } from "./svg.js";
import { state, tone, name, rate, plural, backlog } from "./format.js";

const most = 12;

/// Draws into `root`; if the counts have changed since the last time, a dot moves along the ribbon.
export function fanout(root, types, delegates, isMore) {
  const left = fold(types);
  const right = fold(delegates);
  const total = Math.max(1e-9, types.reduce((sum, each) => sum + each.rate, 0));
  const known = root.latest ?? new Map();
  const moved = new Set(types.filter((each) => known.has(each.type) ? known.get(each.type) !== each.id : root.latest)
    .map((each) => each.type));
  root.latest = new Map(types.map((each) => [each.type, each.id]));

  const rows = Math.max(left.shown.length + (left.rest ? 1 : 0), right.shown.length + (right.rest ? 1 : 0), 3);
  const picture = h("div.fanout",
    h("ul.side", { "aria-label": "Event types" }, left.shown.map(type),
      left.rest > 0 && h("li", h("a", { href: "#/events" }, t("and {} more", left.rest)))),
    ribbons(left, (each) => ({ weight: each.rate / total, tone: "flow", moves: moved.has(each.type) }), false),
    hub(delegates, total, isMore),
    ribbons(right, (each) => ({ weight: each.flow / total, tone: tone(each.status), moves: moved.size > 0 && each.flow > 0 }), true),
    h("ul.side.told", { "aria-label": "Delegates" }, right.shown.map(delegate),
      right.rest > 0 && h("li", h("a", { href: "#/delegates" }, isMore ? "and many more" : t("and {} more", right.rest)))));
  picture.style.setProperty("--rows", rows);
  show(root, picture);
}

const fold = (all) => (all.length > most ? { shown: all.slice(0, most - 1), rest: all.length - most + 1 } : { shown: all, rest: 0 });

const type = (each) => h("li", h("a", { href: to("events?type=", each.type) },
  h("span.mono.clip", { title: each.type }, each.type), h("span.muted", `${rate(each.rate)}/s`)));

function delegate(each) {
  const behind = Math.min(100, 18 * Math.log10(1 + each.lag.events));
  const bar = drawing("100 4", { class: "lag" },
    s("rect", { width: 100, height: 4, class: "track" }), s("rect", { width: behind, height: 4, class: tone(each.status) }));
  return h("li", h("a", { href: `#/delegates/${each.id}` },
    h("span.clip.data", { title: each.url }, name(each)), state(each.status), bar,
    h("span.muted", each.lag.events > 0 ? t("{} behind", backlog(each.lag))
      : each.lag.retrying > 0 ? plural(each.lag.retrying, "retry") : "up to date")));
}

const hub = (delegates, total, isMore) => h("div.hub",
  h("span.disc", { "aria-hidden": "true" }, s("svg", { viewBox: "0 0 24 24", class: "mark" },
    s("use", { href: "#mark" }))),
  h("p", h("strong", `${rate(total)}/s`), h("span.muted", t(isMore ? " to more than {}" : " to {}", plural(delegates.length, "delegate")))));

/// The ribbons between one side and the middle.
function ribbons({ shown, rest }, look, isOutgoing) {
  const places = shown.length + (rest > 0 ? 1 : 0);
  const looks = shown.map(look);
  // A ribbon is never wider than its row; all together are not wider than the middle.
  const widest = Math.max(1e-9, ...looks.map((each) => each.weight));
  const thick = (weight) => Math.max(0.5, (weight / widest) * Math.min(12, 70 / Math.max(1, places)));
  const room = looks.reduce((sum, each) => sum + thick(each.weight), 0);
  const share = Math.min(1, 36 / room);
  let place = 50 - (room * share) / 2;
  return drawing("100 100", { class: "ribbons" },
    looks.map((each, index) => {
      const outer = (100 * (index + 0.5)) / places;
      const width = thick(each.weight);
      const inner = place + (width * share) / 2;
      place += width * share;
      const [from, to] = isOutgoing ? [inner, outer] : [outer, inner];
      const ends = isOutgoing ? [width * share, width] : [width, width * share];
      return [s("path", { d: ribbon(from, to, ...ends), class: `ribbon ${each.tone}` }),
        each.moves && s("path", { d: curve(from, to), class: `dot ${isOutgoing ? "late" : ""}`, pathLength: 100 })];
    }));
}
