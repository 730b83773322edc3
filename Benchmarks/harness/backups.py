"""What a backup of the running server costs those who publish meanwhile."""
import contextlib
import os
import shutil
import subprocess
import threading
import time

from machine import cpu_seconds
from programs import HERALD, Failed, StoringHerald, publish
from report import Goal
from sampling import sample, take_turns


def backup(bench):
    """Publishes in a closed loop, by turns alone and while a backup is made of all that is stored."""
    least, seconds = (64 << 20, 2) if bench.quick else (2 << 30, 5)
    folder = bench.folder()
    with StoringHerald(folder) as herald:
        bench.progress("backup: filling the database")
        data = herald.command[herald.command.index("--data") + 1]
        database = os.path.join(data, "herald.db")
        while (size := os.path.getsize(database)) < least:
            publish(herald, c=64, n=min(20_000, max(1_000, (least - size) // 8_000)), d=60, s=8_000)
        backups = Backups(data, os.path.join(folder, "one.backup"))

        def take(is_beside):
            with backups if is_beside else contextlib.nullcontext():
                return sample(herald, beside=[backups], warm_up=0, c=64, d=seconds)

        rounds = take_turns(bench, {"alone": False, "beside": True}, take)
        bench.progress("backup: a whole one")
        began = time.monotonic()
        backups.make()
        whole = time.monotonic() - began
    shutil.rmtree(folder, ignore_errors=True)
    title = "durable publish while a backup is made"
    bench.keep(title, rounds)
    bench.compare(title, "accepted per second", rounds, "events_per_s", "alone", Goal(least=0.9, aim=0.95), herald="beside",
                  reference="itself alone")
    bench.compare(title, "answered after, p99 µs", rounds, "accepted_p99_us", "alone", herald="beside", reference="itself alone")
    bench.single(title, "size of the database at first, MiB", size / (1 << 20), None)
    bench.single(title, "seconds that a backup took afterwards, with nothing else to do", whole, None)


class Backups:
    """One after the other in its context, whose end cuts the last one off."""

    def __init__(self, data, path):
        self.data, self.path, self.process = data, path, None

    def __enter__(self):
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def __exit__(self, *_):
        self.is_over.set()
        self.process.terminate()
        self.thread.join()
        self.is_over.clear()

    def run(self):
        while not self.is_over.is_set():
            self.make()

    def make(self):
        """One backup; fails unless it was cut off."""
        self.process = subprocess.Popen(
            [HERALD, "backup", self.path, "--data", self.data], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        error = self.process.communicate()[1]
        if self.process.returncode == 0:
            os.unlink(self.path)
        elif not self.is_over.is_set():
            raise Failed(f"herald backup: {error}")

    def cpu(self):
        """Of the backup under way. Those that have ended count among the children of this program."""
        try:
            return cpu_seconds(self.process.pid) if self.process and self.process.returncode is None else 0
        except OSError:
            return 0
