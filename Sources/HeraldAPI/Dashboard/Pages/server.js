// What the operator of the server needs: keys, apps, changes and storage.

import { isOpen } from "./access.js";
import { adoptKey } from "./signin.js";
import { acting, api } from "./api.js";
import { h, show, confirm, button, fails, pairs, t } from "./dom.js";
import { row, line, area, choice, numeric, openForm } from "./form.js";
import { keep } from "./live.js";
import { moment, count, size, duration, plural, state } from "./format.js";
import { nodes } from "./nodes.js";
import { cell, pages, table } from "./pages.js";
import { shownOnce } from "./secret.js";

const tabs = [["", "Keys", keys], ["apps", "Apps", apps], ["changes", "Changes", changes], ["storage", "Storage", storage]];

export function server(root, { parameter, signal }) {
  const [, title, fill] = tabs.find(([path]) => path === (parameter ?? "")) ?? tabs[0];
  const body = h("section", { "aria-label": title });
  root.append(h("h1", "Server"), h("div.tabs", { role: "navigation", "aria-label": "Parts of the server" },
    tabs.map(([path, words]) => h("a", { href: "#/server" + (path && "/" + path), "aria-current": words === title && "page" }, words))), body);
  return fill(body, signal);
}

/// The button of a list, the element for what is shown once, and the list.
function parts(root, words, action) {
  const [outcome, list] = [h("div", { role: "status" }), h("div.list")];
  root.append(h("div.actions.head", h("button.primary", { onclick: action }, words)), outcome, list);
  return { outcome, list };
}

const actions = (...buttons) => h("td", h("div.row", buttons));

// MARK: Keys

/// The scopes of a key; those for programs are first.
const scopes = [["publish", "Publish events"], ["read", "Read"], ["manage", "Read and manage delegates"], ["publish,manage", "Publish, read and manage"],
  ["admin", "Everything, of all apps"]];
const day = 24 * 3600 * 1000;
const lifetimes = [["", "Never"], ["7", "In a week"], ["90", "In 90 days"], ["365", "In a year"]];

async function keys(root, signal) {
  const all = await api.allApps();
  if (signal.aborted) return;
  const app = choice(all.reverse().map((each) => [each.name, new Text(each.name)]), acting ?? "default", { id: "app", onchange: () => again() });
  root.append(h("div.filters", h("label", { for: "app" }, "Keys of the app"), app));
  const { outcome, list } = parts(root, "New key", create);
  const again = pages(list, signal, {
    read: (cursor) => api.keys({ cursor }, app.value),
    older: "Older keys",
    draw: (found) => table("access", ["Key", "Allows", "Last used", "Ends", "Actions"], found.map(entry),
      isOpen() ? "There is no key: every request is allowed. The first key must allow everything; from then on every request needs a key. Callbacks to loopback addresses then need the setting --allow-networks." : "This app has no key."),
  });

  const title = (each) => each.name || each.id;
  const isOver = (each) => each.expires_at !== null && Date.parse(each.expires_at) <= Date.now();
  const entry = (each) => h("tr",
    h("td.first", h("span.strong.address", title(each)), h("div.sub.mono.muted", each.id)),
    cell("allows", each.scopes.join(", ")),
    cell("last used", each.last_used_at ? moment(each.last_used_at) : "never"),
    cell("ends", each.expires_at ? moment(each.expires_at) : "never"),
    actions(!isOver(each) && button("rotate" + each.id, "Rotate", () => rotate(each)), button("revoke" + each.id, "Revoke", () => revoke(each), "danger")));

  const once = (made) => show(outcome, shownOnce("The key", " Keep it where programs keep their secrets.", made.key, h("h2.data", made.name || t("The new key"))));

  function create() {
    openForm(t("New key of the app {}", app.value), [
      row("name", "Name", line(), "Who uses it."), row("scopes", "Allows", choice(scopes), "", (text) => text.split(",")),
      row("expires_at", "Ends", choice(lifetimes), "", (days) => (days ? new Date(Date.now() + days * day).toISOString() : null)),
    ], "Create", async (settings) => {
      const made = await api.createKey({ ...settings, app: app.value });
      once(made);
      // The first key ends the access without one, also of this page.
      await adoptKey(made.key);
      again();
    });
  }

  async function rotate(each) {
    if (!await confirm(t("Replace “{}”? The old key works for one more day. {}", title(each), used(each)), "Rotate")) return;
    once(await api.rotateKey(each.id).finally(again));
  }

  async function revoke(each) {
    if (!await confirm(t("Revoke “{}”? Programs and pages that use it are refused from now on. {}", title(each), used(each)), "Revoke")) return;
    await api.revokeKey(each.id).finally(again);
  }

  const used = (each) => (each.last_used_at ? t("It was last used {}.", moment(each.last_used_at).textContent) : t("It was never used."));
}

// MARK: Apps

function apps(root, signal) {
  const { outcome, list } = parts(root, "New app", () => edit());
  const limit = (value, words) => value !== null && h("div", words);
  const again = pages(list, signal, {
    read: (cursor) => api.apps({ cursor }),
    older: "Older apps",
    draw: (found) => table("apps", ["App", "Events", "Stored", "Limits", "Made", "Actions"], found.map((each) => h("tr",
      h("td.first", h("span.strong.data", each.name), h("div.sub.mono.muted", each.id)),
      cell("events", count(each.stored_events)), cell("stored", size(each.stored_bytes)),
      cell("limits", limit(each.max_delegates, plural(each.max_delegates, "delegate")), limit(each.events_per_second, `${plural(each.events_per_second, "event")}/s`),
        limit(each.max_stored_bytes, size(each.max_stored_bytes)), [each.max_delegates, each.events_per_second, each.max_stored_bytes].every((value) => value === null) && "none"),
      cell("made", moment(each.created_at)),
      actions(button("edit" + each.id, "Edit", () => edit(each.id)), button("link" + each.id, "Dashboard link", () => link(each)),
        each.name !== "default" && button("delete" + each.id, "Delete", () => remove(each), "danger"))))),
  });

  /// The list does not show all of it.
  async function edit(id) {
    const { answer: app = {}, etag } = id ? await api.app(id) : {};
    if (signal.aborted) return;
    const portal = app.portal ?? {};
    const logo = h("input", { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp" });
    const drop = h("input", { type: "checkbox" });
    const limit = (name, title) => row(name, title, line(app[name]), "Empty: no limit.", numeric);
    const optional = (text) => text || null;
    const unread = () => undefined;
    openForm(id ? t("Edit {}", app.name) : "New app", [
      app.name !== "default" && row("name", "Name", line(app.name), "A-Z, a-z, 0-9, -, _ and ."),
      limit("max_delegates", "Webhooks, at most"), limit("events_per_second", "Events per second, at most"), limit("max_stored_bytes", "Bytes that its events may take"),
      row("portal-title", "Name on the pages of its links", line(portal.title), "Empty: Herald.", optional),
      row("portal-color", "Color of buttons", line(portal.color), "#0b5cad; dark enough for white text.", optional),
      row("portal-logo", "Logo", logo, ["PNG, JPEG, GIF or WebP, at most 18 KB.", portal.logo && " There is one."], unread),
      portal.logo && row("drop", "Remove the logo", drop, "", unread),
      row("portal-language", "Language", choice([["en", "English"], ["de", "Deutsch"]], portal.language ?? "en")),
      row("portal-frame_origins", "Pages that may frame it", area((portal.frame_origins ?? []).join("\n"), 2), "Origins, one per line: https://shop.example", (text) => text.split(/\s+/).filter(Boolean)),
    ], id ? "Save" : "Create", async (settings) => {
      settings.portal.logo = logo.files.length > 0 ? await dataURL(logo.files[0]) : drop.checked ? null : undefined;
      await (id ? api.changeApp(id, settings, etag) : api.createApp(settings));
      again();
    });
  }

  const dataURL = (file) => new Promise((resolve, reject) => {
    const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result), onerror: () => reject(reader.error) });
    reader.readAsDataURL(file);
  });

  async function link(app) {
    const made = await api.portalLink({ app: app.name, expires_in: 24 * 3600 }).finally(again);
    show(outcome, shownOnce("The link", " Who has the link can manage the delegates of this app for 24 hours.", new URL(made.url.replace(/^\//, ""), document.baseURI).href, h("h2.data", t("The dashboard of {}", app.name))));
  }

  async function remove(app) {
    if (!await confirm(t("Delete {}? Its delegates, keys and streams end at once, and {} cannot be read any more.", app.name, plural(app.stored_events, "event")), "Delete")) return;
    await api.deleteApp(app.id).finally(again);
  }
}

// MARK: Changes

function changes(root, signal) {
  const names = new Map();
  pages(root, signal, {
    read: async (cursor) => {
      const [found, keys, apps] = await Promise.all([api.audit({ cursor }), api.keys(), api.allApps()]);
      for (const each of [...keys.data, ...apps]) names.set(each.id, each.name || each.id);
      return found;
    },
    older: "Older changes",
    draw: (found) => table("audit", ["When", "Change", "Of", "By", "App"], found.map((each) => h("tr",
        h("td", moment(each.time)), h("td.first.mono.address", each.action), h("td.mono.address", { "data-label": "of" }, subject(each.target)),
        h("td.address", { "data-label": "by" }, names.get(each.actor) ?? each.actor, h("div.sub.mono.muted", each.address)),
        h("td.data", { "data-label": "app" }, names.get(each.app) ?? each.app))), "Nothing was changed yet."),
  });
}

/// A delegate or an event has a page.
const subject = (target) => (target?.startsWith("dlg_") ? h("a", { href: "#/delegates/" + target }, target)
  : target?.startsWith("evt_") ? h("a", { href: "#/events/" + target }, target) : target ?? "–");

// MARK: Storage

function storage(root, signal) {
  const [facts, sharing] = [h("div"), h("div")];
  root.append(facts, sharing);
  nodes(sharing, signal);
  const budget = ({ bytes, max_bytes: most, max_age_seconds: age }) => [size(bytes), most !== null && t(" of {}", size(most)), age !== null && t(", kept for {}", duration(age * 1000))];
  keep(async () => {
    const found = await api.storage();
    const removed = found.removed.filter((each) => each.count > 0);
    show(facts, h("p", state(found.works ? "running" : "failed"), found.works ? " Commits succeed." : " Commits fail: nothing is accepted."),
      h("dl.facts", pairs([["Events", budget(found.events)], ["Attempts", budget(found.attempts)], ["Free in the file", size(found.free_bytes)], ["Write-ahead log", size(found.log_bytes)],
        ["Last commit", moment(found.last_commit_at)], ["Last checkpoint", moment(found.last_checkpoint_at)], ["Last backup", found.last_backup_at ? moment(found.last_backup_at) : "none"],
        ...(found.failed_backups > 0 ? [["Failed backups", count(found.failed_backups)]] : [])])),
      removed.length > 0 && [h("h2", "Removed by retention"), h("ul.changes", removed.map((each) => h("li", t("{} {}, by {}", count(each.count), t(each.what), t(each.cause)))))]);
  }, 5000, signal, fails(facts));
}
