// One delegate, or a new one, in a drawer over the list.

import { may } from "./access.js";
import { api, matches } from "./api.js";
import { h, show, notice, confirm, button, fails, modal, pairs, regain, say } from "./dom.js";
import { keep } from "./live.js";
import { state, name, address, moment, duration, count, plural, backlog, sentence, flow, linked } from "./format.js";
import { reason, t } from "./texts.js";
import { settingsForm } from "./fields.js";
import { secret } from "./secret.js";
import { activity } from "./activity.js";
import { attempt } from "./attempt.js";
import { attempts } from "./attempts.js";
import { bulk } from "./bulk.js";
import { leases, replays } from "./replay.js";

const meanwhile = "These settings were changed elsewhere. Close and open the delegate to see them.";

const refused = (each) => each.refused_types.length === 0 ? "none"
  : each.refused_types.map((type) => t("{} ({} times: {})", type.type, count(type.failures), reason(type.reason))).join(", ");

function open(title, signal, ...content) {
  return modal("drawer", { "aria-label": title }, () => {
    if (!signal.aborted) location.hash = "#/delegates";
  }, h("form.close", { method: "dialog" }, h("button.quiet", { "aria-label": "Close" }, "✕")), content);
}

export function registration(changed, signal) {
  const fields = settingsForm();
  const answer = h("p.hint", { role: "status" });
  const body = h("div", h("h2", "New delegate"), h("form", { novalidate: true, onsubmit: register }, fields.element, answer,
    h("div.actions", h("button.primary", "Register"))));
  open("New delegate", signal, body);
  fields.inputs.get("url").focus();

  let recent = [];
  const preview = () => {
    const patterns = fields.inputs.get("events").value.split(/[\s,]+/).filter(Boolean);
    const told = recent.filter(({ type }) => (patterns.length > 0 ? patterns : ["*"]).some((pattern) => matches(pattern, type)));
    const types = [...new Set(told.map((each) => each.type))];
    say(answer, recent.length === 0 ? "" : `${t("Of the last {} it would have received {}", plural(recent.length, "event"), count(told.length))}${types.length > 0 ? ": " + types.slice(0, 5).join(", ") : ""}${types.length > 5 ? ", …" : "."}`);
  };
  fields.inputs.get("events").addEventListener("input", preview);
  api.events({ limit: 200 }).then((page) => {
    recent = page.data;
    preview();
  }, () => {});

  async function register(event) {
    event.preventDefault();
    const settings = fields.read();
    if (!settings) return;
    try {
      const { answer: delegate, status } = await api.register({ url: "", ...settings });
      changed();
      const link = h("a.button.primary", { href: `#/delegates/${delegate.id}` }, "Go to the delegate");
      show(body, h("h2", { tabindex: -1 }, status === 201 ? "Registered" : "Already registered with these settings"),
        h("p", address(delegate.url)), delegate.secret && secret(delegate), h("div.actions", link));
      link.focus();
    } catch (error) {
      fields.showErrors(error.errors ?? [], error.message);
    }
  }
}

/// One delegate: its statistics, actions, settings and attempts.
export function drawer(id, changed, signal) {
  const head = h("div.drawer-head", null);
  const outcome = h("div", { role: "status" });
  const settings = h("div");
  const [chart, work, list] = [h("div"), h("div", { role: "status" }), h("div")];
  const dialog = open("Delegate", signal, head, outcome, work, chart, settings, list);
  const controller = new AbortController();
  dialog.addEventListener("close", () => controller.abort());
  signal.addEventListener("abort", () => controller.abort());
  let edited = null;
  let past = null;

  const refresh = keep(async () => {
    if (!dialog.isConnected) return controller.abort();
    // Only webhooks have statistics.
    const isWebhook = id.startsWith("dlg_");
    const [{ answer: delegate }, numbers] = await Promise.all([api.delegate(id), isWebhook ? api.statistics(id) : null]);
    drawHead(delegate, numbers);
    if (isWebhook && !edited) {
      past = delegate.flow ? replays(id, controller.signal) : leases(id, controller.signal);
      chart.append(past.element, activity(controller.signal, { delegate: id }, false));
      list.append(attempts(id, controller.signal));
      edit(delegate);
    }
  }, 3000, controller.signal, (error) => show(head, h("h2", "Delegate"), h("p.error", error.message)));

  function drawHead(delegate, numbers) {
    const isHeld = !["active", "pending_verification"].includes(delegate.status);
    const isTold = ["active", "failing"].includes(delegate.status);
    show(head, h("h2.data", name(delegate)), delegate.url && h("p", address(delegate.url, 80)),
      h("p.row", state(delegate.status), delegate.status_reason && h("span", sentence(delegate.status_reason))),
      numbers && h("dl.numbers", pairs([
        ["Behind", linked("pending", id, delegate.flow && delegate.lag.events, backlog(delegate.lag))], ...delegate.flow ? [["Retrying", linked("retrying", id, delegate.lag.retrying)],
          ["Limited by", flow(delegate.flow)], ["Refused types", refused(delegate.flow)]] : [],
        ["Given up", linked("exhausted", id, numbers.pending.exhausted)],
        ["Attempts that succeeded, last hour", count(numbers.last_hour.delivered)], ["Attempts that failed, last hour", count(numbers.last_hour.failed)],
        ["p50", duration(numbers.last_hour.latency_ms.p50)], ["p95", duration(numbers.last_hour.latency_ms.p95)],
      ])),
      h("p.muted.mono.small", delegate.id),
      numbers && may("manage") && h("div.actions",
        delegate.flow && button("test", "Test", test), isTold && button("pause", "Pause", () => act(api.pause, "Paused. Events are kept and delivered after you resume.")),
        isHeld && button("resume", delegate.status === "failing" ? "Probe now" : "Resume", () => act(api.resume, "Resumed.")),
        delegate.flow && delegate.status !== "gone" && button("replay", "Replay", () => past.open()),
        numbers.pending.exhausted > 0 && delegate.status !== "gone" && button("redeliver", "Redeliver given up", redeliver),
        delegate.flow && button("rotate", "Rotate secret", rotate), button("remove", "Remove", () => remove(name(delegate)), "danger")));
  }

  const tried = (action) => action().catch(fails(outcome));

  async function act(action, words) {
    await tried(async () => {
      await action(id);
      notice(words);
    });
    refresh();
    changed();
  }

  async function redeliver() {
    await bulk(work, controller.signal, { action: "redeliver", words: "Redeliver", filter: { state: "exhausted", delegate: id } });
    refresh();
  }

  function test() {
    show(outcome, h("p.calm", "Sending herald.test …"));
    return tried(async () => show(outcome, h("h3", "Result of the test"), h("ol.attempts", attempt(await api.test(id), false))));
  }

  async function rotate() {
    if (!await confirm("Create a new secret? The old one also signs for one more day.", "Rotate")) return;
    await tried(async () => show(outcome, h("h3", "The new secret"), secret(await api.rotate(id))));
  }

  async function remove(title) {
    if (!await confirm(t("Remove {}? It receives nothing more, and its pending deliveries are dropped.", title), "Remove")) return;
    await api.remove(id);
    dialog.close();
    notice("Removed.");
    changed();
  }

  /// Rebuilt only after a change, so that input is not lost.
  function edit(delegate) {
    edited = settingsForm(delegate);
    const form = h("form", { novalidate: true, onsubmit: async (event) => {
      event.preventDefault();
      const patch = edited.read();
      if (!patch) return;
      if (Object.keys(patch).length === 0) return notice("Nothing was changed.");
      try {
        // Pausing changes its version too: only displayed settings matter.
        const { answer: now, etag } = await api.delegate(id);
        if (!edited.isOf(now)) return edited.showErrors([], meanwhile);
        await api.change(id, patch, etag);
        edit((await api.delegate(id)).answer);
        regain("save", settings);
        notice("Saved.");
        changed();
        refresh();
      } catch (error) {
        edited.showErrors(error.errors ?? [], error.status === 412 ? meanwhile : error.message);
      }
    } }, h("fieldset", { disabled: !may("manage") }, edited.element), may("manage") && h("div.actions", h("button.primary", { key: "save" }, "Save")));
    const open = [...settings.querySelectorAll("details")].map((each) => each.open);
    settings.replaceChildren(h("details.settings", h("summary", "Settings"), form));
    settings.querySelectorAll("details").forEach((each, index) => { each.open = open[index] ?? false; });
    settings.append(h("p.muted.small", "Changed ", moment(delegate.updated_at), ", registered ", moment(delegate.created_at), "."));
  }
}
