// The requests of a delegate: a preset with its fields or a recipe as JSON, and a preview.

import { may } from "./access.js";
import { api } from "./api.js";
import { attempt } from "./attempt.js";
import { h, show, code, fails, t } from "./dom.js";
import { explained } from "./explained.js";
import { area, choice, field as row, line } from "./form.js";
import { Stored, indented, members, mistake, pretty, put } from "./json.js";

/// A field of a preset. `pointer`: of its setting. `make`: the value there.
const field = (name, title, pointer, hint = "", make = (text) => text) => ({ name, title, pointer, hint, make });
const message = (make) => [field("message", "Text of the message", "/request/body", "Empty: type, subject and data. {{ data.amount }} stands for a value.", make)];
const metadata = (name, title, hint = t("Stored in the metadata as {}.", name)) => field(name, title, "/metadata/" + name, hint);
const aws = [["region", "Region", "Such as eu-central-1."], ["key_id", "Access key id"], ["secret", "Secret access key"]]
  .map(([name, title, hint]) => field(name, title, "/request/auth/aws/" + name, hint));

const groups = {
  "Messages and incidents": {
    slack: ["Slack", message((text) => ({ text }))], teams: ["Microsoft Teams", []],
    discord: ["Discord", message((content) => ({ content, allowed_mentions: { parse: [] } }))],
    google_chat: ["Google Chat", message((text) => ({ text }))], mattermost: ["Mattermost", message((text) => ({ text }))],
    pagerduty: ["PagerDuty", [metadata("routing_key", "Integration key")]],
  },
  "Queues and storage": {
    sqs: ["Amazon SQS", aws], sns: ["Amazon SNS", [...aws, metadata("topic_arn", "Topic ARN")]],
    eventbridge: ["Amazon EventBridge", [...aws, metadata("event_bus", "Event bus", "Stored in the metadata as event_bus; empty: default.")]], s3: ["Amazon S3", aws],
    cloudflare_queue: ["Cloudflare Queues", [field("token", "API token", "/headers/Authorization", "Stored as the header Authorization.", (text) => "Bearer " + text)]],
  },
  "Signatures of providers": { github: ["GitHub", []], stripe: ["Stripe", []], svix: ["Svix", []] },
};
const presets = Object.assign({}, ...Object.values(groups));
const wide = "field wide";

/// The form of the requests.
/// - Parameter settings: returns the settings of the whole form; `null` if one is invalid.
export function recipeForm(delegate, settings) {
  const stored = pretty(delegate?.request);
  const option = ([value, [title]]) => h("option.data", { value }, title);
  const kind = h("select", { id: "field-request", onchange: choose },
    h("option", { value: "" }, "The plain callback"),
    Object.entries(groups).map(([label, each]) => h("optgroup", { label: t(label) }, Object.entries(each).map(option))),
    h("option", { value: "own" }, "A recipe of your own"));
  kind.value = stored ? "own" : "";
  const own = area(stored, 6, { id: "field-recipe" });
  const answer = h("div", { role: "status" });
  const body = h("div.fields.wide");
  const element = h("details.more", h("summary", "Request and preview"), h("div.fields",
    row(kind, "Request recipe", "Makes the body, headers and signature that a receiver expects.", wide),
    body, may("manage") && preview(delegate, settings, answer)));
  let inputs;
  choose();

  function choose() {
    const [, fields] = presets[kind.value] ?? ["", []];
    inputs = new Map(fields.map((each) => [each, line("", { id: "field-request-" + each.name, type: /secret|token/.test(each.name) ? "password" : "text" })]));
    const isOwn = kind.value === "own";
    show(answer);
    body.hidden = !isOwn && fields.length === 0;
    body.replaceChildren(...[...inputs].map(([each, input]) => row(input, each.title, each.hint, each.name === "message" ? wide : undefined)),
      ...isOwn ? [row(own, "Recipe, as JSON", '{"method": "PUT", "body": {"text": "{{ data.amount }}"}}', wide)] : []);
  }

  /// Adds the recipe to the settings, if it was changed.
  /// - Returns: an error in the JSON; else `null`.
  function add(settings) {
    if (kind.value === "own") {
      const text = own.value.trim();
      if (text === stored) return null;
      const found = text && mistake(text);
      if (found) return { pointer: "/request", detail: found };
      settings.request = text ? patched(text) : stored ? null : undefined;
    } else if (kind.value === "") {
      if (stored) settings.request = null;
    } else {
      settings.request = { preset: kind.value };
      for (const [{ pointer, make }, input] of inputs) if (input.value.trim()) put(settings, pointer, make(input.value.trim()));
    }
    return null;
  }

  /// A change is merged: removed members have to be named. A preset replaces all.
  function patched(text) {
    const now = members(text);
    if (!now || !stored || now.some(([name]) => name === "preset")) return new Stored(text);
    const gone = members(stored).filter(([name]) => !now.some(([each]) => each === name)).map(([name]) => [name, null]);
    return Object.fromEntries([...gone, ...now]);
  }

  /// JSON pointers with the inputs that show their errors.
  const targets = () => [...[...inputs].map(([each, input]) => [each.pointer, input]), ...kind.value === "own" ? [["/request", own]] : [], ["/request", kind]];

  return { element, add, targets };
}

function preview(delegate, settings, answer) {
  const which = choice([["", "A made-up event"], ["type", "The example of a type"], ["event", "A published event"]], "", { id: "preview-of", "aria-label": "Event of the preview", onchange: choose });
  const name = line("", { id: "preview-name", hidden: true });

  async function choose() {
    const kind = which.value;
    name.hidden = !kind;
    name.setAttribute("aria-label", t(kind === "type" ? "Type" : "Id"));
    name.value = "";
    const page = kind && await (kind === "type" ? api.types({ limit: 1 }) : api.events({ limit: 1 })).catch(() => null);
    if (page && which.value === kind && !name.value) name.value = page.data[0]?.[kind === "type" ? "type" : "id"] ?? "";
  }

  const chosen = () => which.value && name.value.trim() ? { [which.value]: name.value.trim() } : {};
  const send = () => api.test(delegate.id, chosen()).then((made) => show(answer, h("ol.attempts", attempt(made, false))), fails(answer));

  async function make() {
    const given = settings();
    if (!given) return;
    // Whether the stored settings match it.
    const told = delegate && which.value === "event" && await api.explain(delegate.id, name.value.trim()).then((found) => explained([found]), () => null);
    try {
      const made = await api.preview(delegate?.id, given, chosen());
      const head = [`${made.method} ${made.url}`, ...Object.entries(made.headers).map(([key, value]) => `${key}: ${value}`)];
      show(answer, told, h("h3", "The request"), code(head.join("\n")), made.body ? code(mistake(made.body) ? made.body : indented(made.body)) : h("p.calm", "It has no body."));
    } catch (error) {
      show(answer, told, h("p.error", "The request can't be made."), h("ul.changes",
        (error.errors?.length > 0 ? error.errors : [{ detail: error.message }]).map(({ pointer, parameter, detail }) => h("li", (pointer || parameter) && h("span.mono", pointer || parameter), h("span.data", detail)))));
    }
  }

  return h("div.wide", h("div.filters", { role: "group", "aria-label": "Preview" }, which, name, h("button", { onclick: make }, "Preview"),
    delegate?.flow && h("button", { onclick: send, title: t("With the saved settings") }, "Send as a test")), answer);
}
