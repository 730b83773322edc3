// The only module that sends requests to the server: to the public API.

import { read, stored, write } from "./json.js";
import { named, t } from "./texts.js";

/// An error response of the server (RFC 9457).
export class Problem extends Error {
  constructor(document, status) {
    const text = document.detail ?? document.title ?? t("The server responded with status {}.", status);
    super(named("problem " + document.type?.split("/").at(-1), text));
    this.status = status;
    this.errors = (document.errors ?? []).map((each) => ({ ...each, detail: named("invalid", each.detail) }));
    this.requestID = document.request_id;
  }
}

/// The app that the pages show, if it is not the session's own: the key must allow everything.
export let acting = null;
export const actOn = (app) => { acting = app; };
const on = (app) => (app ? { "Herald-App": app } : {});

// Paths are relative to the page, which may be below a path of a proxy.
const session = "v1/session";

/// - Parameter shape: where the response has values that are shown as they are stored.
async function send(method, path, body, headers = {}, shape = undefined) {
  const options = { method, headers: { ...on(acting), ...headers }, cache: "no-store" };
  if (body !== undefined) {
    options.body = typeof body === "string" ? body : write(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response, text, type;
  try {
    response = await fetch(path, options);
    text = await response.text();
    type = response.headers.get("Content-Type") ?? "";
    // Of a proxy without the server, or of one that starts.
    if ([502, 503, 504].includes(response.status) && !/problems\/(?!starting)/.test(text)) throw response;
  } catch {
    dispatchEvent(new CustomEvent("reached", { detail: false }));
    throw new Problem({ detail: "The server can't be reached." }, 0);
  }
  dispatchEvent(new CustomEvent("reached", { detail: true }));
  const isJSON = type.includes("json");
  let answer = text;
  try {
    if (isJSON) answer = read(text, response.ok ? shape : undefined);
  } catch {
    throw new Problem({ detail: "The response of the server was cut off." }, response.status);
  }
  if (response.status === 401 && path.split("?")[0] !== session) dispatchEvent(new Event("unauthorized"));
  if (!response.ok) throw new Problem(isJSON ? answer : {}, response.status);
  return { answer, etag: response.headers.get("ETag"), status: response.status };
}

const get = async (path, filter = {}, shape = undefined, app = null) => (await send("GET", path + query(filter), undefined, on(app), shape)).answer;
const post = async (path, body, filter = {}, headers = {}) => (await send("POST", path + query(filter), body, headers)).answer;
/// The text after a path: the fields that have a value.
export const query = (fields) => {
  const entries = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return entries.length > 0 ? "?" + new URLSearchParams(entries) : "";
};

/// The pages of a list, up to a limit.
/// - Parameter signal: ends it when the page is left.
async function* parts(read, signal, most = 100) {
  let page = {};
  do {
    yield page = await read(page.next_cursor ?? null);
    most -= 1;
  } while (page.next_cursor && most > 0 && !signal?.aborted);
}

/// A page may be empty before the end of a search. Then this reads the next one.
async function search(path, filter, shape, signal) {
  let found;
  for await (found of parts((cursor) => get(path, cursor ? { ...filter, cursor } : filter, shape), signal)) if (found.data.length > 0) break;
  return found;
}

/// The pages of a list in one, at least its first `most` entries.
export async function whole(read, most = Infinity) {
  const data = [];
  let page;
  for await (page of parts(read, null, Infinity)) if (data.push(...page.data) >= most) break;
  return { ...page, data };
}

/// Adds the parts of a count of deliveries.
async function sum(read, signal) {
  let [deliveries, part] = [0, null];
  for await (part of parts(read, signal)) deliveries += part.deliveries;
  return { deliveries, isPart: Boolean(part.next_cursor) };
}

const [delegate, event, eventType, key, app, user] = ["delegates", "events", "event-types", "keys", "apps", "auth"]
  .map((kind) => (id) => `v1/${kind}/${encodeURIComponent(id)}`);

/// Whether an event type matches a pattern: `auth.logged_in`, `auth.*`, or `*`, which omits the service's own.
export function matches(pattern, type) {
  if (pattern === "*") return !type.startsWith("herald.");
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

export const eventShape = { data: stored };
const typeShape = { example: stored, schema: stored };

export const api = {
  session: () => get(session),
  signIn: (credentials) => send("POST", session, credentials),
  appOf: async (credentials) => (await post(session, credentials, { dry_run: true })).app,
  signOut: () => send("DELETE", session),

  metrics: () => get("metrics"),
  nodes: () => get("v1/nodes"),
  moves: () => get("v1/nodes/moves"),

  delegates: (filter = {}, app = null) => get("v1/delegates", { limit: 200, ...filter }, undefined, app),
  delegate: (id) => send("GET", delegate(id), undefined, {}, { filter: stored, request: stored }),
  register: (settings) => send("POST", "v1/delegates", settings),
  change: (id, patch, etag) => send("PATCH", delegate(id), patch, etag ? { "If-Match": etag } : {}),
  remove: (id) => send("DELETE", delegate(id)),
  pause: (id) => post(delegate(id) + "/pause"),
  resume: (id) => post(delegate(id) + "/resume"),
  rotate: (id) => post(delegate(id) + "/secret/rotate"),
  test: (id, filter = {}) => post(delegate(id) + "/test", undefined, filter),
  /// - Parameter id: of the delegate that the settings change; none for a new one.
  preview: (id, settings, filter = {}) => post((id ? delegate(id) : "v1/delegates") + "/preview", id ? settings : { url: "", ...settings }, filter),
  attempts: (id, filter) => search(delegate(id) + "/attempts", filter),
  lastFailure: (id) => get(delegate(id) + "/attempts", { outcome: "failed", limit: 1 }),
  replay: (id, plan, isDryRun) => post(delegate(id) + "/replay", plan, { dry_run: isDryRun || null }),
  replays: (id) => get(delegate(id) + "/replays"),
  leases: (id) => get(delegate(id) + "/leases"),
  endReplay: (id, replay) => send("DELETE", `${delegate(id)}/replays/${encodeURIComponent(replay)}`),
  explain: (id, event) => get(delegate(id) + "/explain", { event }),
  activity: (filter) => get("v1/stats", filter),
  activityByType: (filter) => get("v1/stats/types", { limit: 200, ...filter }),
  statistics: (id) => get(delegate(id) + "/stats"),

  events: (filter, signal) => search("v1/events", filter, { data: [eventShape] }, signal),
  scheduled: (filter) => get("v1/events", { state: "scheduled", ...filter }, { data: [eventShape] }),
  cancelScheduled: (id) => send("DELETE", event(id)),
  /// Without its deliveries.
  event: (id) => get(event(id), { deliveries: "none" }, eventShape),
  deliveriesOf: (id, filter) => get(event(id) + "/deliveries", filter),
  redeliver: (id, to) => post(event(id) + "/redeliver", to ? { delegate: to } : {}),
  post: (text, key) => post("v1/events", text, {}, { "Idempotency-Key": key }),
  dryRun: (text) => post("v1/events", text, { dry_run: true }),

  types: (filter = {}) => get("v1/event-types", { limit: 100, ...filter }),
  type: (name) => send("GET", eventType(name), undefined, {}, typeShape),
  describe: (name, description, etag) => send("PUT", eventType(name), description, etag ? { "If-Match": etag } : { "If-None-Match": "*" }),
  forget: (name, etag) => send("DELETE", eventType(name), undefined, { "If-Match": etag }),

  keys: (filter = {}, app = "default") => get("v1/keys", { limit: 100, ...filter }, undefined, app),
  createKey: (settings) => post("v1/keys", settings),
  rotateKey: (id) => post(key(id) + "/rotate"),
  revokeKey: (id) => send("DELETE", key(id)),
  apps: (filter = {}) => get("v1/apps", { limit: 200, ...filter }),
  allApps: async () => (await whole((cursor) => api.apps({ cursor }))).data,
  app: (id) => send("GET", app(id)),
  createApp: (settings) => post("v1/apps", settings),
  changeApp: (id, patch, etag) => send("PATCH", app(id), patch, { "If-Match": etag }),
  deleteApp: (id) => send("DELETE", app(id)),
  portalLink: (settings) => post("v1/portal-links", settings),
  audit: (filter = {}) => get("v1/audit", { limit: 100, ...filter }),
  storage: () => get("v1/storage"),

  deliveries: (filter = {}) => search("v1/deliveries", filter),
  counts: (state, limit, app = null) => get("v1/deliveries/counts", { state, limit }, undefined, app),
  countAll: (filter, signal) => sum((cursor) => get("v1/deliveries/counts", { ...filter, limit: 1, cursor }), signal),
  /// Sends deliveries again, or cancels them: `action` is `redeliver` or `cancel`.
  changeAll: (action, filter) => post(`v1/deliveries/${action}`, undefined, filter),
  countChanges: (action, filter, signal) => sum((cursor) => post(`v1/deliveries/${action}`, undefined, { ...filter, dry_run: true, cursor }), signal),
  appState: () => get("v1/app-state", {}, { state: stored }),
  authStatus: (id) => get(user(id), {}, { user: stored }),
};
