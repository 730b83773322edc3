// Times of filters: spans such as `1h` up to now, and moments.

import { t } from "./texts.js";

const hour = 3600 * 1000;
const spans = { "1h": ["the last hour", hour], "24h": ["the last 24 hours", 24 * hour], "7d": ["the last 7 days", 7 * 24 * hour] };
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/// The time of a value of the URL, in RFC 3339; `null` for none.
export function time(text) {
  if (text && Object.hasOwn(spans, text)) return new Date(Date.now() - spans[text][1]).toISOString();
  return text && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : null;
}

/// The options of a selection: spans, the full hours of the last half day, and the value of the URL.
export function choices(value, verb) {
  const options = { "": "Any time", ...Object.fromEntries(Object.entries(spans).map(([key, [words]]) => [key, t(`${verb} in {}`, t(words))])) };
  const last = new Date();
  last.setMinutes(0, 0, 0);
  for (let back = 0; back < 12; back += 1) {
    const start = new Date(last.getTime() - back * hour);
    options[start.toISOString()] = t(`${verb} since {}`, clock.format(start));
  }
  if (value && !(value in options) && time(value)) options[value] = t(`${verb} since {}`, day.format(new Date(value)));
  return options;
}

/// For an input of the type `datetime-local`, which has no time zone.
export const local = {
  // A Swedish time is one of ISO 8601, with a space.
  show: (text) => (time(text) ? new Date(text).toLocaleString("sv").slice(0, 16).replace(" ", "T") : ""),
  read: (text) => (text ? new Date(text).toISOString() : ""),
};
