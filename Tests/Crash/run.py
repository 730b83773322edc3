"""Runs the attacks, each a module of this folder, and writes their table. See script/crash-test."""

import argparse
import collections
import datetime
import hashlib
import importlib
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import time
import traceback

import herald

ATTACKS = [
    "kill", "states", "power", "term", "faults", "flips", "limits", "outages", "promotions", "nodes", "pulls", "pending", "upgrades",
    "silence", "races", "visibility", "changes", "streams", "migrate", "simulation", "responses"]
# An attack of --quick goes no further then, on a machine that is slow or busy.
SAMPLE_SECONDS = 30
RESULTS = herald.OUTPUT / "results"
PAGE = herald.ROOT / "Documentation/measurements/attacks.md"
# What is attacked, and what attacks.
SOURCES = ["Package.swift", "Sources", "Tests/Crash", "Tests/HeraldCoreTests/Simulation"]


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("attacks", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    unknown = set(options.attacks) - set(ATTACKS)
    if unknown or (options.quick and options.full):
        print(f"crash-test: attacks are {', '.join(ATTACKS)}; --quick or --full", file=sys.stderr)
        return 64
    if options.add and not options.full:
        print("crash-test: --add adds to results, which only --full keeps", file=sys.stderr)
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
    version = version_of_sources()
    earlier = {name: kept(name) for name in ATTACKS} if options.add else {}
    for name in options.attacks or ATTACKS:
        runs = (earlier.get(name) or {"runs": []})["runs"]
        if runs and earlier[name]["version"] != version:
            print(f"crash-test: {name} was run with other sources: run it once without --add", file=sys.stderr)
            return 64
        # An attack counts on from its seed.
        if any(abs(run["seed"] - seed) < max(run["count"], options.count or 0) for run in runs):
            print(f"crash-test: {name} was run with the seed {seed} or one close to it already", file=sys.stderr)
            return 64
    print(f"seed {seed}", flush=True)
    failed = []
    for name in options.attacks or ATTACKS:
        module = importlib.import_module(name)
        count = options.count if options.count is not None else module.FULL if options.full else module.QUICK
        if count == 0:
            continue
        is_sample = options.count is None and not options.full
        begin = time.monotonic()
        outcome = attempt(name, module, count, seed, SAMPLE_SECONDS if is_sample else float("inf"), options.full)
        if outcome.failures:
            failed.append(name)
        elif options.full:
            keep(name, version, seed, count, round(time.monotonic() - begin), outcome, earlier.get(name))
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
        for crash in herald.crashes():
            outcome.fail(crash)
        herald.stop_all()
    seconds = round(time.monotonic() - begin)
    counts = ", ".join(f"{value:,} {key}" for key, value in summary(outcome.counts, milliseconds(outcome)).items())
    print(f"    {'FAILED' if outcome.failures else 'ok'} in {seconds} s: {counts}", flush=True)
    if outcome.failures:
        print(f"    to repeat: script/crash-test {name} --count {count} --seed {seed}", flush=True)
    return outcome


def version_of_sources():
    """Results of several runs are added only if nothing has changed between them."""
    digest = hashlib.sha256()
    files = [file for name in SOURCES for file in [herald.ROOT / name, *(herald.ROOT / name).rglob("*")]]
    for file in sorted(file for file in files if file.is_file() and "__pycache__" not in file.parts):
        digest.update(f"{file.relative_to(herald.ROOT)} {file.stat().st_size}\n".encode() + file.read_bytes())
    if "HERALD_BINARY" in os.environ:
        digest.update(pathlib.Path(herald.BINARY).read_bytes())
    return digest.hexdigest()[:12]


def milliseconds(outcome):
    """How often each figure had which value."""
    return {name: collections.Counter(round(value * 1000) for value in values) for name, values in outcome.figures.items()}


def summary(counts, figures):
    result = dict(counts)
    for name, values in figures.items():
        every = [int(value) for value, number in values.items() for _ in range(number)]
        for suffix, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            result[f"{name}_{suffix}"] = herald.percentile(every, share)
    return result


def kept(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def keep(name, version, seed, count, seconds, outcome, earlier):
    """Keeps the result of a run, added to earlier ones."""
    earlier = earlier or {"runs": [], "counts": {}, "figures": {}}
    figures = {key: collections.Counter(values) for key, values in earlier["figures"].items()}
    for key, values in milliseconds(outcome).items():
        figures.setdefault(key, collections.Counter()).update({str(value): number for value, number in values.items()})
    run = {
        "seed": seed, "count": count, "seconds": seconds, "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}"}
    content = {
        "version": version, "runs": [*earlier["runs"], run],
        "counts": collections.Counter(earlier["counts"]) + outcome.counts, "figures": figures}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


class Row(dict):
    """What was never counted is 0."""

    def __missing__(self, key):
        return 0


def publish():
    """Writes the table of the page from the last result of each attack. What an attack without a result has there stays."""
    before, rest = PAGE.read_text().split("<!-- script/crash-test --publish writes from here -->\n")
    published, after = rest.split("<!-- to here -->")
    rows, runs = ["| run | attack | number | result |", "|---|---|---|---|"], []
    for name in ATTACKS:
        content = kept(name)
        if content:
            found = importlib.import_module(name).row(Row(summary(content["counts"], content["figures"])))
            rows += ["| " + " | ".join([f"`{name}`", *cells]) + " |" for cells in (found if isinstance(found, list) else [found])]
            runs.append(f"- `{name}`: {description(content)}")
        else:
            rows += [line for line in published.splitlines() if line.startswith(f"| `{name}` |")]
            runs += [line for line in published.splitlines() if line.startswith(f"- `{name}`:")]
        if not runs or not runs[-1].startswith(f"- `{name}`:"):
            print(f"crash-test: {name} has no result yet, and no row", file=sys.stderr)
    lines = [*rows, "", "Each of them was run once, or in parts that were added:", "", *runs]
    PAGE.write_text(
        before + "<!-- script/crash-test --publish writes from here -->\n\n" + "\n".join(lines) + "\n\n<!-- to here -->" + after)
    return 0


def description(content):
    runs = content["runs"]
    dates = {run["date"] for run in runs}
    days = min(dates) + (f" to {max(dates)}" if len(dates) > 1 else "")
    machines = " and ".join(sorted({run["machine"] for run in runs}))
    minutes = max(1, round(sum(run["seconds"] for run in runs) / 60))
    seeds = ", ".join(str(run["seed"]) for run in runs)
    return f"{days}, {machines}, {minutes} minutes, digest of the sources {content['version']}, seeds {seeds}"


if __name__ == "__main__":
    sys.exit(main())
