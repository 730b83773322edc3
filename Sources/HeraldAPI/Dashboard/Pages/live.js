// Keeps a visible page up to date.

import { acting, api } from "./api.js";
import { notice, remain } from "./dom.js";
import { read } from "./json.js";

let isLost = false;
let probing = null;
/// Milliseconds in which entries of a stream are collected; longer after many.
const [pause, longPause, many] = [100, 400, 20];

const lostWords = "The connection to the server is lost. Trying again.";

/// Shows that the server is unreachable until a request succeeds, and then once that it is back.
function tell(lost) {
  remain(lost ? lostWords : "");
  if (lost === isLost) return;
  isLost = lost;
  document.documentElement.toggleAttribute("data-lost", lost);
  notice(lost ? lostWords : "Connected again.");
  clearTimeout(probing);
  if (lost) probing = setTimeout(probe, 2000);
  else dispatchEvent(new Event("connected"));
}
addEventListener("reached", ({ detail }) => tell(!detail));

/// Some pages send no request by themselves.
const probe = () => isLost && api.session().catch(() => {}).then(() => { probing = setTimeout(probe, 2000); });

/// Reads a live stream while the page is visible, until `signal` is aborted. `start` loads the existing entries and
/// returns the stream's parameters. When the connection breaks, the browser resumes it; if that is impossible, `start`
/// is called again. `take` is called with a few entries at a time, newest first, and with none when the stream starts:
/// from there on nothing is missed.
export function follow(path, start, take, signal, failed = () => {}, shape = undefined) {
  let source = null;
  let timer = null;
  let turn = 0;
  function close() {
    source?.close();
    clearTimeout(timer);
    source = timer = null;
  }
  async function open() {
    close();
    const mine = ++turn;
    const isOver = () => signal.aborted || document.hidden || mine !== turn;
    if (isOver()) return;
    try {
      const query = await start();
      if (isOver()) return;
      // An EventSource sends no header, and so can't name another app.
      if (acting) {
        timer = setTimeout(open, 3000);
        return take([]);
      }
      source = new EventSource(`${path}?${new URLSearchParams(query)}`);
    } catch (error) {
      if (isOver()) return;
      if (error.status !== 0) failed(error);
      timer = setTimeout(open, 2000);
      return;
    }
    let [batch, wait] = [[], pause];
    source.onmessage = ({ data }) => {
      if (batch.push(read(data, shape)) === 1) setTimeout(() => {
        wait = batch.length > many ? longPause : pause;
        if (!isOver()) take(batch.reverse());
        batch = [];
      }, wait);
    };
    source.onopen = () => {
      clearTimeout(timer);
      timer = null;
      tell(false);
    };
    source.onerror = () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      if (!isRefused) tell(true);
      if (!isRefused && timer) return;
      clearTimeout(timer);
      // After a long time there may be too many missed entries to show.
      timer = setTimeout(open, isRefused ? 2000 : 30_000);
    };
    source.addEventListener("ready", () => isOver() || take([]));
    source.addEventListener("reset", open);
  }
  document.addEventListener("visibilitychange", open, { signal });
  signal.addEventListener("abort", close);
  open();
}

/// Runs `task` now, `milliseconds` after each end, and when the server is back, while the page is visible, until `signal` is
/// aborted. Errors are passed to `failed`, except a lost connection after a run that succeeded; a refusal (403) ends it.
/// Returns a function that runs it sooner: now, or after the current run.
export function keep(task, milliseconds, signal, failed = () => {}) {
  let timer = null;
  let isRunning = false;
  let again = false;
  let isRefused = false;
  let hasContent = false;
  async function run() {
    clearTimeout(timer);
    again = isRunning;
    if (isRunning || signal.aborted || document.hidden) return;
    isRunning = true;
    isRefused = false;
    try {
      await task();
      hasContent = true;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status !== 0 || !hasContent) failed(error);
      isRefused = error.status === 403;
    } finally {
      isRunning = false;
      if (!signal.aborted && !isRefused) timer = setTimeout(run, again ? 250 : milliseconds);
    }
  }
  document.addEventListener("visibilitychange", run, { signal });
  addEventListener("connected", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return run;
}
