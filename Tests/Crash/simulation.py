"""Random histories of posts, faults, changes and restarts: the real hub on one thread, against a model
(Tests/HeraldCoreTests/Simulation)."""

import os
import re
import subprocess

from herald import ROOT, Failure

QUICK, FULL, UNIT = 20_000, 1_000_000, "steps"
# As many as a history of SimulationTests has.
STEPS = 400
COMMAND = [ROOT / "script/test", "--filter", "SimulationTests"]


def run(count, seed, outcome):
    seeds = max(1, count // STEPS)
    first = seed % 1_000_000 + 1
    environment = {**os.environ, "HERALD_SEEDS": str(seeds), "HERALD_FIRST_SEED": str(first)}
    result = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = re.search(r"(\d+) histories of (\d+) steps: (\d+) deliveries started, (\d+) crashes", result.stdout)
    if result.returncode != 0 or not said:
        raise Failure(f"seeds {first} to {first + seeds - 1}:\n{result.stdout[-3000:]}{result.stderr[-1000:]}")
    histories, steps, starts, crashes = map(int, said.groups())
    outcome.counts.update(histories=histories, steps=histories * steps, starts=starts, crashes=crashes)


def row(o):
    return (
        "simulation: random histories of posts, failing receivers, a store that refuses, changes, crashes and restarts, with the real "
        "hub against a model",
        f"{o['steps']:,} steps in {o['histories']:,} histories, {o['crashes']:,} crashes, {o['starts']:,} deliveries",
        "model and hub agreed")
