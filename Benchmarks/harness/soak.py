"""A server under an even load for a long time: what becomes of its memory and its descriptors."""
import concurrent.futures
import contextlib
import os
import shutil
import statistics
import time

from loads import wanted_by
from machine import MemoryGroup
from programs import Failed, Herald, Receiver, publish
from report import Goal

DELEGATES = 3
PER_SECOND = 500
SMALL = 64 << 20
SMALL_PER_SECOND = 3000


def soak(bench):
    seconds = 20 if bench.quick else 600
    seen, _ = endure(bench.folder(), seconds, PER_SECOND, progress=bench.progress)
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
    bench.single(title, "CPU µs per event", cpu_per_event(seen, PER_SECOND), None)


def small(bench):
    """The same on a small machine: a control group with 64 MiB, which `--memory` follows by itself."""
    seconds = 20 if bench.quick else 600
    seen, peaks = endure(bench.folder(), seconds, SMALL_PER_SECOND, memory=SMALL, progress=bench.progress)
    bench.samples["small"] = seen
    title = f"soak of {seconds} s within {SMALL >> 20} MiB, {SMALL_PER_SECOND:,} events per second, {DELEGATES} delegates"
    bench.single(title, "peak memory, MiB", peaks["process"] / (1 << 20), Goal(most=SMALL >> 20, aim=48))
    if peaks["group"]:
        bench.single(title, "peak of the control group with the cache of its files, MiB", peaks["group"] / (1 << 20), None)
    bench.single(title, "CPU µs per event", cpu_per_event(seen, SMALL_PER_SECOND), None)
    if peaks["process"] > SMALL:
        raise Failed(f"{title}: it took {peaks['process'] >> 20} MiB")


def endure(folder, seconds, per_second, memory=None, progress=lambda text: None):
    """Publishes evenly; each event must arrive at each delegate. With `memory`, the server is in a control group with so many
    bytes; where none can be made, it is only told so.

    Returns what was seen each second, and the peaks of memory of the process and of the group."""
    seen = {"seconds": [], "memory": [], "descriptors": [], "cpu": []}
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(MemoryGroup(memory)) if memory else None
        receiver = stack.enter_context(Receiver(DELEGATES))
        settings = ["--memory", f"{memory >> 20}MiB"] if memory and not group.path else []
        herald = stack.enter_context(
            Herald(folder, wanted_by(receiver, DELEGATES), settings, prefix=group.prefix if memory else ()))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            began = time.monotonic()
            load = pool.submit(publish, herald, c=64, r=per_second, d=seconds)
            while not load.done():
                time.sleep(1)
                if load.done():
                    break  # Its connections are being closed.
                seen["seconds"].append(round(time.monotonic() - began, 2))
                seen["memory"].append(herald.memory())
                seen["descriptors"].append(len(os.listdir(f"/proc/{herald.process.pid}/fd")))
                seen["cpu"].append(herald.cpu())
                progress(f"soak, {seen['seconds'][-1]:.0f} s of {seconds}")
            accepted = load.result()["accepted"]
        due, arrived, before = accepted * DELEGATES, 0, -1
        while before < arrived < due:
            # Beside other work they arrive later: as long as they do, none is missing.
            arrived, before = receiver.wait(due, 60)["unique"], arrived
        peaks = {"process": herald.peak_memory(), "group": group.peak if memory else None}
    shutil.rmtree(folder, ignore_errors=True)
    if arrived != due:
        raise Failed(f"{arrived} of {due} deliveries arrived")
    if accepted < per_second * seconds * 0.9:
        raise Failed(f"{accepted} events were accepted within {seconds} s, {per_second} per second were due")
    return seen, peaks


def cpu_per_event(seen, per_second):
    return (seen["cpu"][-1] - seen["cpu"][0]) / (seen["seconds"][-1] - seen["seconds"][0]) * 1e6 / per_second


def early_and_late(values, fifth):
    """The third fifth, when all caches are full, and the last."""
    return statistics.median(values[2 * fifth:3 * fifth] or values), statistics.median(values[-fifth:])
