"""Random histories against a model, with the real code on one thread and a clock that is moved (Tests/HeraldCoreTests/Simulation): of
posts, faults, changes and restarts of one hub, and of nodes that share a store. And histories of pulls, with the threads of the hub."""

import concurrent.futures
import os
import re
import subprocess

from herald import ROOT, Failure

# No sample: all tests run 100 histories of the hub, 100 of nodes and 30 of pulls anyway.
QUICK, FULL, UNIT = 0, 1_000_000, "steps"
# As many as a history of SimulationTests has.
STEPS = 400
# With --full, so many steps come with one history of nodes, and one of pulls.
STEPS_FOR_NODES = 10
# Histories of one process of the tests.
PART = 2_000
# Compiled like the product: with 100,000 histories that saves hours.
OPTIMIZED = ["--scratch-path", ROOT / ".build/optimized", "-c", "release", "-Xswiftc", "-enable-testing", "--disable-xctest"]
HUB = r"(\d+) histories of (\d+) steps: (\d+) deliveries started, (\d+) crashes"
NODES = r"(\d+) histories of nodes: (\d+) joins, ends and faults, (\d+) events"
PULLS = r"(\d+) histories of pulls: (\d+) events handed out, (\d+) faults of the store"


def run(count, seed, outcome):
    command, first, histories = [ROOT / "script/test", "--filter"], seed % 1_000_000 + 1, max(1, count // STEPS)
    if outcome.is_full:
        subprocess.run(["swift", "build", "--build-tests", *OPTIMIZED], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
        # Several at once: nothing is built any more.
        command = ["swift", "test", "--skip-build", "--ignore-lock", *OPTIMIZED, "--filter"]
    histories, steps, starts, crashes = tests([*command, r"\.SimulationTests"], "HERALD_SEEDS", first, histories, HUB)
    outcome.counts.update(histories=histories, steps=histories * steps, starts=starts, crashes=crashes)
    if not outcome.is_full:
        return
    end = first + count // STEPS_FOR_NODES
    # A process of node histories uses all cores.
    with concurrent.futures.ThreadPoolExecutor(1) as one, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as many:
        def parts(pool, suite, variable, said):
            return [
                pool.submit(tests, [*command, suite], variable, start, min(PART, end - start), said)
                for start in range(first, end, PART)]

        nodes = parts(one, r"\.NodeSimulationTests", "HERALD_NODE_SEEDS", NODES)
        pulls = parts(many, r"\.PullHistoryTests", "HERALD_PULL_SEEDS", PULLS)
        for part in nodes:
            histories, faults, events = part.result()
            outcome.counts.update({"node histories": histories, "faults of nodes": faults, "events at nodes": events})
        for part in pulls:
            histories, events, faults = part.result()
            outcome.counts.update({"pull histories": histories, "events pulled": events, "faults of pulls": faults})


def tests(command, variable, first, seeds, said):
    """The figures that the tests print for these seeds."""
    environment = {**os.environ, variable: str(seeds), "HERALD_FIRST_SEED": str(first)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(said, result.stdout)
    if result.returncode != 0 or not found or int(found[1]) != seeds:
        raise Failure(f"seeds {first} to {first + seeds - 1}:\n{result.stdout[-3000:]}{result.stderr[-1000:]}")
    return map(int, found.groups())


def row(o):
    return [
        ("simulation: random histories of posts, failing receivers, a store that refuses, changes, crashes and restarts, with the real "
         "hub against a model",
         f"{o['steps']:,} steps in {o['histories']:,} histories, {o['crashes']:,} crashes, {o['starts']:,} deliveries",
         "model and hub agreed"),
        ("simulation: random histories of nodes that come, die, end, sleep, lose sessions and responses, of deliveries that are requested "
         "again, and of a standby that takes over without the end of the log, with the real hubs against a model",
         f"{o['node histories']:,} histories, {o['faults of nodes']:,} joins, ends and faults, {o['events at nodes']:,} events",
         "each event arrived, first in order where that is asked for, and again after each request"),
        ("simulation: random histories of a pull delegate, with consumers that acknowledge, fail, extend, give back and die, events that end "
         "each consumer, nodes that come and go, and a store that refuses transactions or loses their responses, against a model",
         f"{o['pull histories']:,} histories, {o['faults of pulls']:,} faults of the store, {o['events pulled']:,} events handed out",
         "each event was acknowledged, or used up its own attempts; none was handed out again, or twice at a time")]
