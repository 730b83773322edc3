"""Measures Herald beside references; `Benchmarks/run` builds everything and starts this."""
import argparse
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import counts
import faults
import plots
import publishing
import report
import scenarios
from machine import Patience, file_system
from programs import HERALD, ROOT, Failed


# What may go wrong in a scenario; the others are measured all the same.
MISHAPS = (Failed, OSError, subprocess.SubprocessError, http.client.HTTPException)


class Bench:
    """How to measure, and what was measured so far."""

    def __init__(self, options, folder):
        self.quick = options.quick
        self.rounds = options.rounds or (3 if options.quick else 5)
        self.seconds = 0.5 if options.quick else 1
        self.patience = Patience(0)
        self.lines, self.samples = [], {}
        self.faults = None
        self._folder = folder

    def folder(self):
        """A fresh one for data."""
        return tempfile.mkdtemp(dir=self._folder)

    def progress(self, text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def keep(self, scenario, rounds):
        self.samples[scenario] = rounds.samples

    def compare(self, scenario, what, rounds, figure, variant, goal=None, *, herald="herald", reference=None,
                scale=1):
        self.lines.append(report.line(scenario, what, rounds, figure, variant, goal, herald, reference, scale))

    def reckon(self, scenario, what, measured, reference_value, reference, goal=None):
        """A ratio of two figures that come from more than one scenario, and so have no spread."""
        ratio = measured / reference_value
        self.lines.append(report.Line(
            scenario, what, reference, reference_value, measured, ratio, ratio, ratio, goal, None))

    def single(self, scenario, what, value, goal):
        self.lines.append(report.Line(scenario, what, "", None, value, None, None, None, goal, None))


def notes(bench, options, took):
    version = subprocess.run([HERALD, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return [
        f"- {version}, Linux {re.match('[0-9.]*', os.uname().release)[0]}, {os.cpu_count()} cores, data on {file_system(options.data)}",
        f"- {bench.rounds} rounds, medians; a ratio is the median of the rounds' ratios; took {took:.0f} s",
        "- foreign CPU: the largest share of the machine that other programs took in a round",
    ]


def measure(bench, chosen, patience):
    """Returns the seconds that each took, and whether one failed. Who interrupts it gets the figures that there are."""
    took, failed = {}, False
    for name in chosen:
        bench.patience.left = max(0, bench.patience.left) + patience / len(chosen)
        began = time.monotonic()
        try:
            scenarios.ALL[name](bench)
        except MISHAPS as error:
            bench.progress("")
            print(f"Benchmarks/run: {name}: {error if isinstance(error, Failed) else repr(error)}", file=sys.stderr)
            failed = True
        except (KeyboardInterrupt, SystemExit):
            bench.progress("")
            print(f"Benchmarks/run: interrupted in {name}", file=sys.stderr)
            return took, True
        took[name] = time.monotonic() - began
        bench.progress("")
        print(f"Benchmarks/run: {name} took {took[name]:.0f} s", file=sys.stderr)
    return took, failed


def publish(put=publishing.publish):
    try:
        put()
        return 0
    except (Failed, OSError, ValueError, KeyError, TypeError) as error:
        print(f"Benchmarks/run: nothing to publish: {error!r}", file=sys.stderr)
        return 1


def main():
    parser = argparse.ArgumentParser(
        prog="Benchmarks/run", description="Measures this clone's Herald beside references in C, and prints a table.",
        epilog=f"Scenarios: {', '.join(scenarios.ALL)}. --quick leaves out: {', '.join(scenarios.LONG)}. Measured only when "
        f"--only names it: {', '.join(scenarios.APART)} (15 minutes each, 4 when quick). Writes "
        "Benchmarks/results/latest.md, latest.json and the plots.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, and only the short scenarios")
    parser.add_argument("--rounds", type=int, metavar="N", help="of each comparison (default 5, 3 when quick)")
    parser.add_argument("--patience", type=float, metavar="SECONDS",
                        help="to wait, in all, for others to leave the machine alone (default 60, 15 when quick)")
    parser.add_argument("--check", action="store_true",
                        help="exit 1 if a figure of the scenario `counts` is beyond its bound in Benchmarks/bounds.json, or "
                        "a goal of the scenario `faults` does not hold")
    parser.add_argument("--record", action="store_true",
                        help="measure `counts` and write these bounds, the highest of --rounds; nothing else")
    parser.add_argument("--publish", action="store_true",
                        help="measure nothing; put the figures and plots of the last run into Documentation/performance.md, and "
                        "make them Benchmarks/baseline.json; with --only faults or --only nodes: measure, and put what was found "
                        "into receivers.md or nodes.md of Documentation/measurements")
    parser.add_argument("--only", metavar="LIST", help="these scenarios, separated by commas")
    parser.add_argument("--again", action="store_true",
                        help="with --only: put their figures in the place of those of the last run, and keep its others")
    parser.add_argument("--data", default=".", metavar="FOLDER", help="where to write data, on a disk (default: here)")
    options = parser.parse_args()
    if options.publish and options.only not in scenarios.APART:
        return publish()
    if options.again and (not options.only or options.quick):
        parser.error("--again takes --only, and whole rounds")
    results = os.path.join(ROOT, "Benchmarks", "results")
    if options.again and not os.path.exists(os.path.join(results, "latest.json")):
        parser.error("--again needs a run before, of which Benchmarks/results has the figures")
    unnamed = scenarios.APART + (scenarios.LONG if options.quick else ())
    all_of_them = [name for name in scenarios.ALL if name not in unnamed]
    chosen = options.only.split(",") if options.only else all_of_them
    for name in chosen:
        if name not in scenarios.ALL:
            parser.error(f"no scenario {name}")
    if options.check and not {"counts", "faults"} & set(chosen):
        parser.error("--check is about the scenarios counts and faults, which --only leaves out")
    if file_system(options.data) in ("tmpfs", "ramfs"):
        print("Benchmarks/run: this folder is in memory: what is durable costs nothing here", file=sys.stderr)

    # A signal unwinds like an error does, so that what was started is stopped, and what was written is removed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".herald-benchmark-", dir=options.data) as folder:
        bench = Bench(options, folder)
        if options.record:
            counts.record(bench)
            return 0
        patience = (15 if options.quick else 60) if options.patience is None else options.patience
        took, failed = measure(bench, chosen, patience)
    # Half a table would replace a whole one.
    publishes = options.publish and not failed
    if options.publish and failed:
        print(f"Benchmarks/run: not published, since {options.only} did not end", file=sys.stderr)
    left_out = [name for name in scenarios.ALL if name not in took]
    remarks = notes(bench, options, time.monotonic() - began)
    remarks.append("- seconds that each took: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in took.items()))
    remarks += ["- left out: " + ", ".join(left_out)] if left_out else []
    if bench.faults:
        bench.faults["notes"] = faults.notes(bench, remarks[0])
        print(faults.table(bench.faults))
        faults.write(bench.faults)
        failed |= options.check and not faults.hold(bench.faults)
        if publishes:
            failed = publish(faults.publish_page) == 1 or failed
        if options.only == "faults":
            return 1 if failed else 0
    if publishes and options.only == "nodes":
        failed = publish(lambda: publishing.publish_nodes(bench.lines, remarks)) == 1 or failed
    print(report.table(bench.lines))
    if not options.only:
        print("\n" + report.aligned(report.goals(bench.lines)))
    print("\n" + "\n".join(remarks))
    if not options.again:
        report.write(results, bench.lines, remarks, bench.samples)
        plots.draw(results, bench.lines, bench.samples)
    elif not failed:
        last = report.read(os.path.join(results, "latest.json")).with_again(bench.lines, bench.samples, options.only)
        report.write(results, last.lines, last.notes, last.samples)
        plots.draw(results, last.lines, last.samples)
    for complaint in counts.exceeded(bench.lines, bench.samples.get("counts", {})) if options.check else ():
        print(f"Benchmarks/run: {complaint}", file=sys.stderr)
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
