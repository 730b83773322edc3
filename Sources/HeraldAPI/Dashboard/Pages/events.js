// The log as a live list that does not scroll while the user reads.

import { curl, may } from "./access.js";
import { api, eventShape } from "./api.js";
import { h, show, empty, fails, button, t } from "./dom.js";
import { follow } from "./live.js";
import { clock, count, eventCells } from "./format.js";
import { filters as bar } from "./filters.js";
import { table } from "./pages.js";
import { scheduled } from "./scheduled.js";
import { local } from "./times.js";

/// The rows of a live list: more of them than fit on a screen only cost time.
const most = 200;
/// While more arrive in one piece, only the first rows are made: the others would be removed unseen.
const [piece, first, rest] = [20, 30, 1000];
const pageSize = 100;
const outcomes = { "": "Any outcome", exhausted: "A delivery is exhausted", retrying: "A delivery is retrying", dropped: "A delivery is dropped" };

export function events(root, { query, signal }) {
  const about = query.get("subject");
  let shown = [];
  let waiting = [];
  let older = null;
  let isPaused = false;
  let [isBusy, timer] = [false, null];
  // A search for a moment, an id, content or an outcome is not live: the stream selects by type and subject.
  const others = { id: null, data: null, since: null, until: null, delivery: null };
  const isLive = !Object.keys(others).some((name) => query.get(name));
  const wanted = bar("events", query, [
    { id: "type", label: "Types or patterns", placeholder: "Types: auth.*, order.paid" },
    { id: "subject", label: "Subject", placeholder: "Subject: user:42" },
    { id: "id", label: "Beginning of the id", placeholder: "Id: evt_01M7" },
    { id: "data", label: "Content", placeholder: 'Content: {"amount": [{"numeric": [">", 100]}]}', title: "Conditions on the data, in the grammar of a delegate's filter" },
    { id: "delivery", label: "Outcome", options: outcomes },
    { id: "since", label: "From", type: "datetime-local", ...local, title: "From" },
    { id: "until", label: "Until", type: "datetime-local", ...local, title: "Until" },
  ]);
  const pause = h("button", { "aria-pressed": "false", onclick: () => {
    isPaused = !isPaused;
    pause.ariaPressed = String(isPaused);
    pause.textContent = t(isPaused ? "❚❚ Paused" : "Pause");
    if (!isPaused) release();
  } }, "Pause");
  const fresh = h("div.fresh", { role: "status" });
  const list = h("div.list");
  const rows = table("events", ["Time", "Type", "Subject", "Data"], []);
  const foot = h("div");
  const later = h("section", { "aria-label": "Scheduled" });
  show(list, h("p.calm", "Searching …"));
  root.append(h("div.head", h("h1", "Events"), may("publish") && h("a.button.primary", { href: "#/post" }, "Publish an event")),
    wanted.element, h("p.row.muted", isLive ? ["Live.", pause] : ["Not live.", h("button.quiet", { onclick: () => wanted.go(others) }, "Show live events")]), fresh, list, later);
  if (isLive) scheduled(later, about, signal);

  const types = query.get("type")?.split(/[\s,]+/).filter(Boolean).join(",");
  const filters = () => ({ type: types, subject: about, id_prefix: query.get("id"), filter: content(query.get("data")), delivery: query.get("delivery"), since: query.get("since"), until: query.get("until") });
  const isReading = () => isPaused || scrollY > 120 || list.contains(document.activeElement);

  function release() {
    shown = [...waiting, ...shown].slice(0, most);
    // Rows that have no room are read again.
    if (shown.length === most) older = "";
    waiting = [];
    draw();
  }

  const newest = () => waiting[0]?.id ?? shown[0]?.id;

  /// Reads the latest events; the stream continues after them.
  async function begin() {
    // If no event matches yet, the stream starts after the end of the log before the request.
    const end = newest() ?? (await api.events({ limit: 1 }, signal)).data[0]?.id ?? "earliest";
    await poll();
    const fields = { events: types || "*,herald.*", last_event_id: newest() ?? end };
    // The parameter is a list, and a subject may contain a comma.
    return !about || about.includes(",") ? fields : { ...fields, subjects: about };
  }

  async function poll() {
    const page = await api.events({ ...filters(), limit: pageSize }, signal);
    const known = newest();
    const place = page.data.findIndex((each) => each.id === known);
    const isFirst = known === undefined;
    const found = place < 0 ? page.data : page.data.slice(0, place);
    if (isFirst) older = page.next_cursor;
    // More events were published than fit into one response.
    else if (place < 0 && page.next_cursor && found.length > 0) found.at(-1).isGap = true;
    add(found, isFirst);
  }

  function add(found, isFirst = false) {
    waiting = [...found, ...waiting].slice(0, most);
    if (!isFirst && found.length > piece) {
      isBusy = true;
      clearTimeout(timer);
      timer = setTimeout(calm, rest);
    }
    if (isFirst || !isReading()) release();
    else draw();
  }

  function calm() {
    if (!isBusy || signal.aborted) return;
    isBusy = false;
    draw();
  }

  addEventListener("scroll", () => isReading() && calm(), { signal, passive: true });

  const failed = (error) => fails(list)({ message: error.errors?.[0]?.detail ?? error.message });
  const search = () => poll().catch((error) => signal.aborted || failed(error));
  if (!isLive) {
    search();
    addEventListener("connected", search, { signal });
  } else follow("v1/events/stream", begin, (found) => add(found.filter((each) => !about || each.subject === about)), signal, failed, eventShape);

  async function more() {
    const last = shown.at(-1);
    let [page, isPast, found] = [null, older !== "", []];
    // The publisher chooses the time: the last row may have a lower one than rows after it.
    const again = !isPast && { until: shown.map(({ time }) => time).sort().at(-1) };
    do {
      page = await api.events({ ...filters(), ...again, limit: pageSize, cursor: older }, signal);
      // It had to make room for newer rows.
      if (shown.at(-1) !== last) return;
      older = page.next_cursor;
      for (const each of page.data) {
        if (isPast) found.push(each);
        else isPast = each.id === last.id;
      }
    } while (older && found.length === 0 && page.data.length > 0);
    shown = [...shown, ...found];
    draw();
  }

  function draw() {
    show(fresh, waiting.length > 0 && button("fresh", t("{} new", count(waiting.length)), () => {
      scrollTo(0, 0);
      release();
    }, "primary"));
    if (shown.length === 0) {
      const isFiltered = !isLive || types || about;
      if (older) return show(list, h("p.calm", "No event matches so far."), button("older", "Search older events", more));
      return show(list, isFiltered ? h("p.calm", "No event matches.") : empty("No events yet", "Publish one, from here or from anywhere:",
        may("publish") && curl("v1/events", `--json '{"type": "order.paid", "subject": "order:1001", "data": {"amount": 12.5}}'`)));
    }
    if (!rows.isConnected) list.replaceChildren(rows, foot);
    arrange(rows.tBodies[0], (isBusy && !isReading() ? shown.slice(0, first) : shown).flatMap(rowsOf));
    show(foot, older !== null && shown.length < 25 * most && button("older", "Older events", more));
  }
}

/// Conditions on the data, as a filter on the event. Text that is no JSON is refused by the server.
const content = (text) => (text?.trim() ? `{"data": ${text}}` : null);

function arrange(body, rows) {
  let next = body.firstChild;
  for (const row of rows) {
    if (row === next) next = next.nextSibling;
    else body.insertBefore(row, next);
  }
  while (next) {
    const old = next;
    next = next.nextSibling;
    old.remove();
  }
}

/// An event never changes, so that its row is built once.
const built = new WeakMap();

function rowsOf(each) {
  if (!built.has(each)) built.set(each, row(each));
  return built.get(each);
}

const row = (each) => [h("tr", h("td", clock(each.time)), eventCells(each)), each.isGap && h("tr.gap", h("td", { colspan: 4 }, "more came here than could be followed"))].filter(Boolean);
