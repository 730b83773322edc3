"""What publishing costs an app that has a hub inside, beside the same over HTTP: values that the app encodes, from tasks that each wait
until their event is on disk, and posts over as many connections."""
import json
import os
import shutil
import subprocess

from machine import machine_seconds
from programs import Failed, StoringHerald, built
from sampling import children_seconds, own_seconds, sample, together


def embedding(bench):
    bench.progress("publish in the process: building")
    program = built("EmbeddingBenchmark")
    for tasks in (64, 1):
        title = f"publish in the process, {tasks} task{'s' if tasks > 1 else ''}"

        def take(number, tasks=tasks, title=title):
            bench.progress(f"{title}, round {number} of {bench.rounds}")
            bench.patience.wait()
            folder = bench.folder()
            embedded = run(program, os.path.join(folder, "hub"), tasks, bench.seconds)
            with StoringHerald(folder) as server:
                http = sample(server, c=tasks, d=bench.seconds)
            shutil.rmtree(folder, ignore_errors=True)
            return {"embedded": embedded, "http": http}

        rounds = together(bench, take)
        bench.keep(title, rounds)
        for what, figure in (("CPU µs per event", "cpu_us_per_event"), ("accepted per second", "events_per_s")):
            bench.compare(title, what, rounds, figure, "http", herald="embedded", reference="itself over HTTP")


def run(program, folder, tasks, seconds):
    (busy, total), ours = machine_seconds(), own_seconds() + children_seconds()
    done = subprocess.run([program, folder, str(tasks), str(seconds)], capture_output=True, text=True, check=False,
                          timeout=seconds + 60)
    if done.returncode:
        raise Failed(f"EmbeddingBenchmark: {done.stderr.strip()[-300:]}")
    now_busy, now_total = machine_seconds()
    ours = own_seconds() + children_seconds() - ours
    foreign = max(0.0, now_busy - busy - ours) / max(0.01, now_total - total)
    return json.loads(done.stdout) | {"foreign_cpu": foreign}
