"""Runs the attacks, each a module of this folder, and writes their table. See script/crash-test."""

import argparse
import datetime
import importlib
import json
import os
import platform
import random
import subprocess
import sys
import time
import traceback

import herald

ATTACKS = ["kill", "states", "power", "term", "faults", "flips", "limits", "simulation"]
# An attack of --quick goes no further then, on a machine that is slow or busy.
SAMPLE_SECONDS = 50
RESULTS = herald.OUTPUT / "results"
PAGE = herald.ROOT / "Documentation/reliability.md"


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("attacks", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    unknown = set(options.attacks) - set(ATTACKS)
    if unknown or (options.quick and options.full):
        print(f"crash-test: attacks are {', '.join(ATTACKS)}; --quick or --full", file=sys.stderr)
        return 64
    if options.publish and not (options.attacks or options.quick or options.full):
        return publish()
    mounts = "power" in options.attacks or options.full and not options.attacks
    if mounts and os.geteuid() == 0 and "CRASH_TEST_ALONE" not in os.environ:
        if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0:
            # What is mounted is gone with this process, however it ends.
            os.environ["CRASH_TEST_ALONE"] = "1"
            os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    seed = random.randrange(1 << 31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    failed = []
    for name in options.attacks or ATTACKS:
        module = importlib.import_module(name)
        count = options.count if options.count is not None else module.FULL if options.full else module.QUICK
        if count == 0:
            continue
        is_sample = options.count is None and not options.full
        outcome = attempt(name, module, count, seed, SAMPLE_SECONDS if is_sample else float("inf"), options.full)
        if outcome.failures:
            failed.append(name)
    if options.publish and not failed:
        publish()
    return 1 if failed else 0


def attempt(name, module, count, seed, seconds, is_kept):
    print(f"{name}: {count:,} {module.UNIT}", flush=True)
    begin = time.monotonic()
    outcome = herald.Outcome(begin + seconds, is_full=is_kept)
    try:
        module.run(count, seed, outcome)
    except herald.Failure as failure:
        outcome.fail(str(failure))
    except Exception:  # The attack itself is wrong, which must not pass for a result.
        outcome.fail(traceback.format_exc())
    finally:
        herald.stop_all()
    result = dict(outcome.counts)
    for figure, values in outcome.figures.items():
        for suffix, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            result[f"{figure}_{suffix}"] = round(herald.percentile(values, share) * 1000)
    seconds = round(time.monotonic() - begin)
    counts = ", ".join(f"{value:,} {key}" for key, value in result.items())
    print(f"    {'FAILED' if outcome.failures else 'ok'} in {seconds} s: {counts}", flush=True)
    if not outcome.failures and is_kept:
        RESULTS.mkdir(parents=True, exist_ok=True)
        content = {
            "seed": seed, "seconds": seconds, "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}", "result": result}
        (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    if outcome.failures:
        print(f"    to repeat: script/crash-test {name} --count {count} --seed {seed}", flush=True)
    return outcome


class Row(dict):
    """What was never counted is 0."""

    def __missing__(self, key):
        return 0


def publish():
    """Writes the table of the page from the last results of each attack."""
    lines, dates, machines, seconds = ["| attack | how often | what came out |", "|---|---|---|"], set(), set(), 0
    for name in ATTACKS:
        path = RESULTS / f"{name}.json"
        if not path.exists():
            print(f"crash-test: {name} has no result yet, and no row", file=sys.stderr)
            continue
        content = json.loads(path.read_text())
        dates.add(content["date"])
        machines.add(content["machine"])
        seconds += content["seconds"]
        rows = importlib.import_module(name).row(Row(content["result"]))
        for cells in rows if isinstance(rows, list) else [rows]:
            lines.append("| " + " | ".join(cells) + " |")
    days = min(dates) + (f" to {max(dates)}" if len(dates) > 1 else "")
    lines += ["", f"Run on {days}, with {' and '.join(sorted(machines))}, in {round(seconds / 60)} minutes."]
    text = PAGE.read_text()
    begin, end = "<!-- script/crash-test --publish writes from here -->\n", "<!-- to here -->"
    before, rest = text.split(begin)
    PAGE.write_text(before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])
    return 0


sys.exit(main())
