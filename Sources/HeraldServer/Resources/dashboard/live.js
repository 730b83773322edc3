// What keeps a page up to date while somebody looks at it.

import { notice } from "./dom.js";

let isLost = false;

/// Says once that the server is away, and once that it is back.
function tell(lost) {
  if (lost === isLost) return;
  isLost = lost;
  document.documentElement.toggleAttribute("data-lost", lost);
  notice(lost ? "The connection to the server is lost. Trying again." : "Connected again.");
}

/// Runs `task` now and every `milliseconds` after it has ended, while the page is visible, until `signal` ends it.
/// What it throws is passed to `failed`, but a lost connection, which heals.
export function keep(task, milliseconds, signal, failed = () => {}) {
  let timer = null;
  let isRunning = false;
  async function run() {
    clearTimeout(timer);
    if (isRunning || signal.aborted || document.hidden) return;
    isRunning = true;
    try {
      await task();
      tell(false);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 0) tell(true);
      else failed(error);
    } finally {
      isRunning = false;
      if (!signal.aborted) timer = setTimeout(run, milliseconds);
    }
  }
  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return run;
}
