// The described event types, and the page of one: its schema, its example, and who would receive it.

import { curl, may } from "./access.js";
import { api } from "./api.js";
import { h, show, empty, confirm, button, fails, to, t } from "./dom.js";
import { row, line, area, choice, json, openForm, required } from "./form.js";
import { has, pretty, write } from "./json.js";
import { keep } from "./live.js";
import { count, moment } from "./format.js";
import { number, pages, table } from "./pages.js";
import { activity } from "./activity.js";
import { outcome } from "./post.js";

const checks = { off: "not checked", report: "reported if it does not match", enforce: "refused if it does not match" };
const capital = (words) => words[0].toUpperCase() + words.slice(1);
const place = (type) => to("types/", type);

export function types(root, { parameter, signal }) {
  if (parameter) return description(root, parameter, signal);
  const list = h("div.list");
  const others = h("div");
  let volumes = new Map();
  root.append(h("div.head", h("h1", "Event types"),
    may("manage") && h("button.primary", { onclick: () => edit(null, null, (type) => { location.hash = place(type); }) }, "Describe a type")), list, others);
  const volume = (type) => number("events, 24 h", count(volumes.get(type)?.events ?? 0));
  pages(list, signal, {
    read: async (cursor) => {
      const [page, active] = await Promise.all([api.types({ cursor }), api.activityByType({})]);
      volumes = new Map(active.data.filter((each) => each.type).map((each) => [each.type, each]));
      const known = new Set(page.data.map((each) => each.type));
      // Only if all described types are on this page.
      const found = cursor || page.next_cursor ? [] : [...volumes.values()].filter((each) => !known.has(each.type));
      show(others, found.length > 0 && [h("h2", { id: "others" }, "Published without a description"), table("types", ["Type", "Events, 24 h", "Attempts that failed"], found.map((each) => h("tr",
        h("td.first", h("a.mono.strong", { href: to("events?type=", each.type) }, each.type)),
        number("events, 24 h", count(each.events)), number("failed", count(each.failed)))))]);
      return page;
    },
    older: "More types",
    draw: (found) => (found.length === 0 ? empty("No event type is described yet", "Types need no description to be published. With one, its meaning is written down, and Herald can check its data.",
      may("manage") && curl("v1/event-types/order.paid", "-X PUT", `--json '{"description": "An order was paid in full.", "example": {"amount": 12.5}}'`))
      : table("types", ["Type", "Description", "Events, 24 h", "Data", "Changed"], found.map((each) => h("tr",
        h("td.first", h("a.mono.strong", { href: place(each.type) }, each.type)),
        h("td.address", each.description),
        volume(each.type),
        h("td", each.schema === null ? "no schema" : checks[each.check]),
        h("td", moment(each.updated_at)))))),
  });
}

function description(root, type, signal) {
  const head = h("div");
  const receivers = h("div");
  root.append(h("p.trail", h("a", { href: "#/types" }, "Event types")), h("h1.mono", type), head, activity(signal, { type }), receivers);
  const refresh = keep(async () => {
    const { answer: found, etag } = await api.type(type);
    show(head, found.description && h("p.address", found.description),
      h("p.muted", has(found.schema) ? t("Data is {}.", t(checks[found.check])) : "It has no schema.", " Changed ", moment(found.updated_at), "."),
      h("div.actions", h("a.button", { href: to("events?type=", type) }, "Its latest events"),
        may("publish") && h("a.button", { href: to("post?type=", type) }, has(found.example) ? "Publish the example" : "Publish one"),
        may("manage") && [button("edit", "Edit", () => edit(found, etag, refresh)),
          button("remove", "Delete the description", () => remove(type, etag), "danger")]),
      ["Example", "Schema"].map((title) => {
        const value = found[title.toLowerCase()];
        return [h("h2", title), has(value) ? h("pre", pretty(value)) : h("p.calm", "None.")];
      }));
    // A dry run says which delegates would receive the event, and why not.
    if (may("publish") && may("read")) await api.dryRun(write({ type, data: found.example })).then((made) => show(receivers, outcome(made)), fails(receivers));
  }, 10_000, signal, (error) => fails(head)(error.status === 404 ? { message: "This event type has no description." } : error));
}

function edit(found, etag, then) {
  const words = Object.entries(checks).map(([value, words]) => [value, capital(words)]);
  openForm(found ? t("Edit {}", found.type) : "Describe an event type", [
    !found && row("type", "Type", line(), "Such as order.paid.", required),
    row("description", "Description", area(found?.description, 2)),
    row("example", "Example of its data", area(pretty(found?.example)), "JSON.", json),
    row("schema", "Schema of its data", area(pretty(found?.schema), 10), "JSON Schema; empty: none.", json),
    row("check", "Data of published events", choice(words, found?.check ?? "off")),
    row("assert_formats", "Formats in the schema", choice([["false", "Not checked"], ["true", "Checked"]], String(found?.assert_formats ?? false)), "", (text) => text === "true"),
  ], "Save", async ({ type: name = found.type, ...description }) => {
    const { answer } = await api.describe(name, description, etag);
    const parts = answer.unchecked ?? [];
    then(name);
    return parts.length > 0 ? t("Saved. Not checked: {}.", parts.slice(0, 3).map((each) => each.pointer).join(", ")) : "Saved.";
  });
}

async function remove(type, etag) {
  if (!await confirm(t("Delete the description of {}? Events of this type can still be published; their data is no longer checked.", type), "Delete")) return;
  await api.forget(type, etag);
  location.hash = "#/types";
}
