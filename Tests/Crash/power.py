"""Power cuts: the data folder is on a file system in a file. The disk after the cut is a copy of that file, which has what the
file system had written, and nothing that was only in memory. Needs root and loop devices."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from herald import Failure, Folder, Herald, Ledger, Load, Receiver, check_folder, compare_log, due, wait_for

QUICK, FULL, UNIT = 0, 200, "power cuts"
SIZE = 128 << 20
# Nothing is written of the file system's own accord: only what is flushed is there.
SYSTEMS = [
    ("ext4", ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "loop,commit=300"),
    ("xfs", ["mkfs.xfs", "-q", "-f"], "loop"),
    ("btrfs", ["mkfs.btrfs", "-q", "-f"], "loop,commit=300"),
]


def run(count, seed, outcome):
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        print("    not possible here: it needs root and loop devices", flush=True)
        outcome.counts["impossible"] = 1
        return
    systems = [system for system in SYSTEMS if shutil.which(system[1][0])]
    for number in range(count):
        with Folder("power") as folder:
            before = len(outcome.failures)
            attack(folder, systems[number % len(systems)], seed + number, outcome)
            if len(outcome.failures) > before:
                raise Failure(f"to repeat: script/crash-test power --count 1 --seed {seed + number}")


def mounted(image, point, options):
    os.makedirs(point, exist_ok=True)
    subprocess.run(["mount", "-o", options, image, point], check=True)


def attack(folder, system, seed, outcome):
    name, make, options = system
    chance, ledger = random.Random(seed), Ledger()
    image, copy = folder / "image", folder / "copy"
    # XFS wants 300 MiB at least.
    size = SIZE if name == "ext4" else 320 << 20
    with open(image, "wb") as file:
        file.truncate(size)
    subprocess.run([*make, image], check=True)
    receiver = Receiver(folder / "receipts", seed)
    mounted(image, folder / "before", options)
    try:
        herald = Herald(folder / "before/data").expect()
        herald.register(receiver.url("/all"))
        os.sync() if chance.random() < 0.2 else None
        load = Load(herald, ledger, "p", seed, size=chance.choice([100, 100, 20_000]))
        time.sleep(chance.uniform(0.05, 1.5))
        moment = time.monotonic()
        os.kill(herald.process.pid, signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{herald.process.pid}/task")
        wait_for("all threads stop", lambda: all(
            (task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.iterdir()))
        subprocess.run(["cp", "--sparse=always", image, copy], check=True)
        arrived = {event for at, event in receiver.receipts()["all"] if at <= moment}
        herald.kill()
        load.wait()
    finally:
        subprocess.run(["umount", folder / "before"], check=True)
    mounted(copy, folder / "after", options)
    try:
        begin = time.monotonic()
        herald = Herald(folder / "after/data").expect()
        log = compare_log(herald, ledger, outcome, f"after the cut ({name})", until=moment)
        ids = due(log)
        if not arrived <= ids:
            outcome.fail(f"{name}: {len(arrived - ids)} events were delivered, and are not in the log")
        wait_for("the rest arrives", lambda: ids <= arrived | {
            event for at, event in receiver.receipts()["all"] if at >= begin})
        herald.kill()
        check_folder(folder / "after/data", outcome, f"after the cut ({name})")
    finally:
        subprocess.run(["umount", folder / "after"], check=True)
    receiver.close()
    outcome.counts["cuts"] += 1
    outcome.counts[name] += 1
    outcome.counts["events"] += sum(1 for at in ledger.acknowledged.values() if at <= moment)


def row(o):
    what = "power cuts: the file system in a file, copied while the server stands still"
    if o["impossible"]:
        return what, "not possible on this machine", "–"
    systems = ", ".join(f"{o[name]:,} on {name}" for name, _, _ in SYSTEMS if o[name])
    return what, f"{o['cuts']:,} cuts ({systems}); {o['events']:,} events acknowledged before them", f"{o['lost']} lost"
