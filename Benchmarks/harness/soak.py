"""A server under an even load for a long time: what becomes of its memory and its descriptors."""
import concurrent.futures
import os
import shutil
import statistics
import time

from loads import wanted_by
from programs import Failed, Herald, Receiver, publish
from report import Goal

DELEGATES = 3
PER_SECOND = 500


def soak(bench):
    seconds, folder = 20 if bench.quick else 600, bench.folder()
    seen = {"seconds": [], "memory": [], "descriptors": [], "cpu": []}
    with Receiver(DELEGATES) as receiver, Herald(folder, wanted_by(receiver, DELEGATES)) as herald:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            began = time.monotonic()
            load = pool.submit(publish, herald, c=64, r=PER_SECOND, d=seconds)
            while not load.done():
                time.sleep(1)
                if load.done():
                    break  # Its connections are being closed.
                seen["seconds"].append(round(time.monotonic() - began, 2))
                seen["memory"].append(herald.memory())
                seen["descriptors"].append(len(os.listdir(f"/proc/{herald.process.pid}/fd")))
                seen["cpu"].append(herald.cpu())
                bench.progress(f"soak, {seen['seconds'][-1]:.0f} s of {seconds}")
            accepted = load.result()["accepted"]
        arrived = receiver.wait(accepted * DELEGATES, 60)["unique"]
    shutil.rmtree(folder, ignore_errors=True)
    if arrived != accepted * DELEGATES:
        raise Failed(f"{arrived} of {accepted * DELEGATES} deliveries arrived")
    bench.samples["soak"] = seen
    title = f"soak of {seconds} s, {PER_SECOND} events per second, {DELEGATES} delegates"
    fifth = max(1, len(seen["memory"]) // 5)
    memory, late_memory = early_and_late(seen["memory"], fifth)
    descriptors, late_descriptors = early_and_late(seen["descriptors"], fifth)
    bench.single(title, "memory at last, MiB", late_memory / (1 << 20), None)
    bench.single(title, "memory, last fifth / third", late_memory / memory,
                 None if bench.quick else Goal(most=1.1, aim=1.02))
    # Connections come in bursts and go when they were idle, so their number wanders by a tenth or two. One descriptor lost with
    # each thousand events would double it.
    bench.single(title, "descriptors, last fifth / third", late_descriptors / descriptors,
                 None if bench.quick else Goal(most=1.25, aim=1.1))
    cpu = (seen["cpu"][-1] - seen["cpu"][0]) / (seen["seconds"][-1] - seen["seconds"][0])
    bench.single(title, "CPU µs per event", cpu * 1e6 / PER_SECOND, None)


def early_and_late(values, fifth):
    """The third fifth, when all caches are full, and the last."""
    return statistics.median(values[2 * fifth:3 * fifth] or values), statistics.median(values[-fifth:])
