"""What a backup of the running server costs those who publish meanwhile."""
import contextlib
import os
import shutil
import subprocess
import threading
import time

from programs import HERALD, Failed, StoringHerald, publish
from report import Goal
from sampling import sample, take_turns


def backup(bench):
    """Publishes in a closed loop, by turns alone and while one backup after the other is made of all that is stored."""
    events, seconds = (100_000, 2) if bench.quick else (400_000, 4)
    folder = bench.folder()
    with StoringHerald(folder) as herald:
        bench.progress("backup: filling the database")
        publish(herald, c=64, n=events, d=300)
        data = herald.command[herald.command.index("--data") + 1]
        size = os.path.getsize(os.path.join(data, "herald.db"))
        backups = Backups(data, os.path.join(folder, "one.backup"))

        def take(is_beside):
            with backups if is_beside else contextlib.nullcontext():
                return sample(herald, warm_up=0, c=64, d=seconds) | {"backups": backups.made}

        rounds = take_turns(bench, {"alone": False, "beside": True}, take)
    shutil.rmtree(folder, ignore_errors=True)
    if not backups.made:
        raise Failed("no backup was made")
    title = "durable publish while backups are made"
    bench.keep(title, rounds)
    bench.compare(title, "accepted per second", rounds, "events_per_s", "alone", Goal(least=0.9, aim=0.95), herald="beside",
                  reference="itself alone")
    bench.compare(title, "answered after, p99 µs", rounds, "accepted_p99_us", "alone", herald="beside", reference="itself alone")
    bench.single(title, "size of the database at first, MiB", size / (1 << 20), None)
    bench.single(title, "seconds that a backup took", backups.seconds / backups.made, None)


class Backups:
    """One after the other, from beginning to end of its context, which waits for the last one."""

    def __init__(self, data, path):
        self.data, self.path, self.made, self.seconds = data, path, 0, 0.0

    def __enter__(self):
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def run(self):
        while not self.is_over.is_set():
            began = time.monotonic()
            result = subprocess.run([HERALD, "backup", self.path, "--data", self.data], capture_output=True, text=True, check=False)
            if result.returncode:
                raise Failed(f"herald backup: {result.stderr}")
            self.seconds += time.monotonic() - began
            self.made += 1
            os.unlink(self.path)
