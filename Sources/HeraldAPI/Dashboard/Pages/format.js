// Texts and shapes for values.

import { h, to } from "./dom.js";
import { digits, isVisible, reason, t } from "./texts.js";

/// Each state has a shape, a color and a word.
const states = Object.fromEntries([
  ["active,delivered,succeeded,logged_in,running,matching", "●", "good"],
  ["retrying,pending,pending_verification,behind", "◐", "wait"],
  ["failing,exhausted,failed", "▲", "bad"],
  ["paused", "❚❚", "rest"],
  ["disabled,gone,dropped,logged_out,stopped,not_matching", "✕", "rest"],
].flatMap(([names, ...look]) => names.split(",").map((name) => [name, look])));

/// The statuses of delegates; what needs attention comes first.
export const statuses = ["failing", "disabled", "gone", "pending_verification", "paused", "active"];

export const tone = (state) => (states[state] ?? ["", "rest"])[1];
export const state = (name) => {
  const [shape, colour] = states[name] ?? ["○", "rest"];
  return h("span", { class: `state ${colour}` }, h("span.shape", { "aria-hidden": "true" }, shape),
    name.replaceAll("_", " "));
};

export const count = digits;
export const rate = (value) => digits(value >= 100 ? Math.round(value) : value);
export const plural = (value, one) => `${count(value)} ${t(value === 1 ? one : one.replace(/y$/, "ie") + "s")}`;

/// The number of events still to be sent to a delegate.
export const backlog = ({ events, estimated }) => (estimated ? t("about ") : "") + plural(events, "event");

/// A duration from milliseconds: 0.8 ms, 340 ms, 12 s, 5 min, 3 h, 2 d.
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (milliseconds < 10) return `${digits(milliseconds)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds < 10 ? digits(seconds) : Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/// The last status or error of a delivery; empty if there is none.
export const failure = (each) => (each.status_code ? `HTTP ${each.status_code}` : (each.error ?? "").replaceAll("_", " "));

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${digits(bytes / 1024 ** unit)} ${units[unit]}`;
}

export const sentence = (given, text = given && reason(given)) => (text ? `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}` : "");

// Formatters are expensive to make, and a list has hundreds of times.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
// Swedish times are those of ISO 8601.
const iso = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });

/// A relative time, with the exact one in the title.
export const moment = (text) => (text ? h("time", { datetime: text, title: exact.format(new Date(text)) }, relative(text)) : "–");

function relative(text) {
  const difference = Date.parse(text) - Date.now();
  return t(Math.abs(difference) < 1500 ? "now" : difference < 0 ? "{} ago" : "in {}", duration(Math.abs(difference)));
}
// Not all of them are drawn again.
setInterval(() => document.querySelectorAll("time:not(.mono)").forEach((each) => { each.textContent = relative(each.dateTime); }), 5000);

/// The time of day, to the millisecond, after the date if it is not today.
export function clock(text) {
  const time = new Date(text);
  const [words, now] = [time, new Date()].map((each) => iso.format(each));
  return h("time.mono", { datetime: text, title: exact.format(time) },
    words.slice(words.slice(0, 10) === now.slice(0, 10) ? 11 : 0) + "." + text.slice(20, 23));
}

const limits = {
  concurrency: (each) => t("open requests, {} at once", count(each.concurrency)),
  rate_limit: () => "its rate limit",
  throttled: (each) => each.rate === null ? "failures in a row" : t("rejections, {}/s", count(Math.round(each.rate))),
  circuit_open: (each) => each.next_probe_at ? ["open circuit, next probe ", moment(each.next_probe_at)] : "open circuit, probing",
  slots: () => "slots of the server",
  ordering: (each) => each.blocked_subject === null ? "an earlier delivery" : t("an earlier delivery about {}", each.blocked_subject),
  waiting: () => "deliveries that wait for a retry",
};

/// What prevents deliveries that are due from starting.
export const flow = (each) => each.limited_by ? limits[each.limited_by](each) : "nothing";

// An emoji or a letter with its accents may consist of several characters.
const letters = new Intl.Segmenter();

/// Long texts are truncated in the middle, between letters; the whole is in the title.
export function cut(text, length) {
  if (text.length <= length) return text;
  const half = Math.floor((length - 1) / 2);
  const [before, after] = [half, text.length - half - 1].map((place) => letters.segment(text).containing(place));
  return `${text.slice(0, before.index)}…${text.slice(after.index + after.segment.length)}`;
}

/// The cells of an event in a table: its type, subject and data.
export const eventCells = (each) => [
  h("td.first", h("a.mono.strong", { href: to("events/", each.id) }, each.type)),
  h("td.mono", each.subject && h("a.plain.data", { href: to("events?subject=", each.subject), key: "subject" + each.id }, cut(each.subject, 32))),
  h("td.mono.clip.muted.data", cut(each.data?.text ?? "", 120))];

/// The name of a delegate: its visible description, or else the host of its URL.
export const name = ({ description, url, id, delegate = id }) => isVisible(description) ? description : url ? host(url) : delegate;

const host = (url) => (URL.canParse(url) ? new URL(url).host : url);

/// The number of deliveries of a delegate in a state, as a link to them.
export const linked = (state, id, number, words = count(number)) =>
  (number > 0 ? h("a", { href: `#/deliveries?state=${state}&delegate=${id}` }, words) : words);

export const retries = ({ id, lag }) => linked("retrying", id, lag.retrying, plural(lag.retrying, "retry"));

/// The receiver of a delivery: its description and address.
export const receiver = (each, length) => (each.description ? [h("span.strong.data", each.description), h("div.sub", address(each.url, length))] : address(each.url || each.delegate, length));

/// Host and path, with emphasis on the host.
export function address(url, length = 48) {
  const { origin } = URL.canParse(url) ? new URL(url) : { origin: url };
  return h("span.address.mono", { title: url }, host(url),
    h("span.muted", cut(url.slice(origin.length), length)));
}
