// One attempt: an HTTP request, its phases and its response.

import { drawing, h, s, to, t } from "./dom.js";
import { state, duration, clock, failure } from "./format.js";

const phases = ["lookup", "connect", "tls", "first_byte"];

export function attempt(each, isLinked) {
  return h("li", h("details", { key: each.id ?? "test" }, h("summary", { key: "summary" + (each.id ?? "test") },
    state(each.outcome), h("span", failure(each)), h("span.muted", duration(each.duration_ms)),
    each.started_at && clock(each.started_at), each.attempt > 1 && h("span.muted", t("attempt {}", each.attempt)),
    each.replay && h("span.muted", "again")),
  h("div.inside",
    each.detail && h("p.data", each.detail),
    isLinked && each.event && h("p", h("a.mono.small", { href: to("events/", each.event) }, each.event)),
    each.phases_ms && bar(each),
    h("p.muted.small", [each.peer && t("to {}", each.peer), t(each.reused_connection ? "on an open connection" : "on a new connection"),
      t("{} bytes out, {} in", each.request_bytes, each.response_bytes)].filter(Boolean).join(", ")),
    each.response_excerpt && h("pre", each.response_excerpt))));
}

function bar({ phases_ms: times, duration_ms: total }) {
  const parts = phases.map((phase) => [phase, times[phase] ?? 0]);
  parts.push(["rest", Math.max(0, total - parts.reduce((sum, [, time]) => sum + time, 0))]);
  const whole = Math.max(1e-6, parts.reduce((sum, [, time]) => sum + time, 0));
  let place = 0;
  return h("figure.phases",
    drawing("100 6", {}, parts.map(([phase, time]) => {
      const x = place;
      place += (100 * time) / whole;
      return s("rect", { x, y: 0, width: (100 * time) / whole, height: 6, class: phase });
    })),
    h("figcaption", parts.filter(([, time]) => time > 0).map(([phase, time]) =>
      h("span", { class: phase }, `${t(phase.replaceAll("_", " "))} ${duration(time)}`))));
}
