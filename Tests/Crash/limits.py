"""Little memory, few descriptors, a folder that is read-only, removed or moved."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

from herald import BINARY, ROOT, Broken, Failure, Folder, Herald, Ledger, Load, Receiver, check_folder, compare_log, due, wait_for

# The load generator and the receiver of the benchmarks, which are fast enough. Ours come first where names are the same.
sys.path.append(str(ROOT / "Benchmarks/harness"))
import programs  # noqa: E402
import soak as endurance  # noqa: E402
from machine import MemoryGroup  # noqa: E402

QUICK, FULL, UNIT = 1, 5, "times each"
MEMORY = 64 << 20
DESCRIPTORS = 64
HALF_OPEN = 400


def run(count, seed, outcome):
    for number in range(count):
        for attack in (memory, soak, descriptors, read_only, removed, moved):
            if attack is soak and number > 0:
                continue
            # What is kept in memory counts as the group's.
            with Folder("limits", on_disk=attack in (memory, soak)) as folder:
                before = len(outcome.failures)
                attack(folder, seed + number, outcome)
                outcome.counts[attack.__name__] += 1
                if len(outcome.failures) > before:
                    raise Failure(f"to repeat: script/crash-test limits --count 1 --seed {seed + number}")


def memory(folder, seed, outcome):
    """A burst of large events within 64 MiB, with a receiver that never responds: it survives, and loses nothing."""
    with MemoryGroup(MEMORY) as group:
        if not group.path:
            print("    memory: not possible here, no control group can be made", flush=True)
            outcome.counts["no control group"] += 1
            return
        ledger, receiver = Ledger(), Receiver(folder / "receipts", seed)
        herald = Herald(folder / "data", prefix=group.prefix).expect()
        herald.register(receiver.url("/all"))
        herald.register(receiver.url("/hang/hang/100"))
        load = Load(herald, ledger, "m", seed, publishers=4, size=4000)
        end = time.monotonic() + 5
        while time.monotonic() < end and herald.process.poll() is None:
            time.sleep(0.1)
        load.stop()
        if herald.process.poll() is not None:
            outcome.counts["ended by the kernel"] += 1
            outcome.fail(f"64 MiB: it ended with {herald.ended()}")
        else:
            outcome.figures["burst_MiB"].append(peak(herald.process.pid) / 1000)
            herald.kill()
    herald = Herald(folder / "data").expect()
    compare_log(herald, ledger, outcome, "64 MiB")
    herald.kill()
    check_folder(folder / "data", outcome, "64 MiB")
    outcome.counts["events with little memory"] += len(ledger.acknowledged)
    receiver.close()


def soak(folder, seed, outcome):
    """3,000 events per second to 3 webhooks within 64 MiB: each arrives. For 20 s, and with --full for ten minutes."""
    subprocess.run(["make", "--silent", "-C", ROOT / "Benchmarks/reference"], check=True)
    programs.HERALD = BINARY
    seconds = 600 if outcome.is_full else 20
    os.mkdir(folder / "soak")
    try:
        seen, peaks = endurance.endure(folder / "soak", seconds, endurance.SMALL_PER_SECOND, memory=MEMORY)
    except programs.Failed as failure:
        return outcome.fail(f"soak within 64 MiB: {failure}")
    outcome.counts["seconds of soak"] += seconds
    outcome.figures["soak_MiB"].append(peaks["process"] / (1 << 20) / 1000)
    if peaks["process"] > MEMORY:
        outcome.fail(f"soak within 64 MiB: it took {peaks['process'] >> 20} MiB")


def peak(pid):
    """Of the memory of a process, in MiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(file.read().split("VmHWM:")[1].split()[0]) / 1024


def descriptors(folder, seed, outcome):
    """64 descriptors, and 400 clients that open streams or send half a request, while receivers hang: everything else continues."""
    ledger, receiver = Ledger(), Receiver(folder / "receipts", seed)
    herald = Herald(folder / "data", prefix=["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$0" "$@"']).expect()
    herald.register(receiver.url("/all"))
    for number in range(20):
        herald.register(receiver.url(f"/hang{number}/hang/100"))
    Load(herald, ledger, "before", seed, limit=50).wait()
    if not herald.log("few file descriptors"):
        outcome.fail("few descriptors: the log does not say so")
    held = []
    for _ in range(HALF_OPEN):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", herald.port))
        held.append(client)
    time.sleep(0.2)
    for number, client in enumerate(held):
        with contextlib.suppress(OSError):
            client.send(b"GET /v1/events" + (b"/stream HTTP/1.1\r\nHost: localhost\r\n\r\n" if number % 2 else b" HTTP/1.1\r\nHost: loc"))
    for number in range(5):
        for method, path, body in (
            ("POST", "/v1/events", {"type": "limit.test", "id": f"during-{number}"}), ("GET", "/v1/events?limit=50", None)):
            begin = time.monotonic()
            try:
                status, _ = herald.ask(method, path, body)
            except Broken:
                status = None
            outcome.figures["few_list" if method == "GET" else "few_post"].append(time.monotonic() - begin)
            if status == 202:
                ledger.acknowledged[f"during-{number}"] = time.monotonic()
            elif status != 200:
                outcome.counts["refused with few descriptors"] += 1
    for client in held:
        client.close()
    Load(herald, ledger, "after", seed, limit=50).wait()
    if ledger.refused:
        outcome.fail(f"few descriptors: afterwards posts were refused with {dict(ledger.refused)}")
    ids = due(compare_log(herald, ledger, outcome, "few descriptors"))
    receiver.set_faulty(False)
    wait_for("few descriptors: everything arrives", lambda: ids <= {event for _, event in receiver.receipts()["all"]}, pause=0.2)
    if herald.stop() != 0:
        outcome.fail("few descriptors: it did not stop with 0")
    receiver.close()


def read_only(folder, seed, outcome):
    """It does not start, says why, and changes nothing."""
    herald = Herald(folder / "data").expect()
    herald.ask("POST", "/v1/events", {"type": "limit.test"})
    herald.stop()
    if os.geteuid() == 0:
        mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        herald = Herald(folder / "data", prefix=["unshare", "-m", "sh", "-c", mount, folder / "data"])
    else:
        os.chmod(folder / "data", 0o500)
        os.chmod(folder / "data/herald.db", 0o400)
        herald = Herald(folder / "data")
        os.chmod(folder / "data", 0o700)
        os.chmod(folder / "data/herald.db", 0o600)
    status = herald.ended()
    if status != 73 or len(herald.lines) != 1:
        outcome.fail(f"read-only folder: ended with {status}, and said {herald.lines}")
    check_folder(folder / "data", outcome, "read-only folder")


def removed(folder, seed, outcome):
    lose(folder, seed, outcome, "removed", lambda: shutil.rmtree(folder / "data"))


def moved(folder, seed, outcome):
    ledger = lose(folder, seed, outcome, "moved", lambda: os.rename(folder / "data", folder / "moved"))
    herald = Herald(folder / "moved").expect()
    compare_log(herald, ledger, outcome, "moved")
    herald.stop()


def lose(folder, seed, outcome, what, action):
    """It accepts nothing from half a second later on, and ends with 74."""
    ledger = Ledger()
    herald = Herald(folder / "data").expect()
    load = Load(herald, ledger, what, seed)
    time.sleep(0.5)
    action()
    begin = time.monotonic()
    status = herald.ended()
    load.wait()
    late = [at - begin for at in ledger.acknowledged.values() if at > begin]
    outcome.figures["noticed"].append(max(late, default=0))
    if status != 74:
        outcome.fail(f"folder {what}: ended with {status}")
    # As promised, and as much again. A sample runs beside other work, which may take longer.
    if outcome.is_full and max(late, default=0) > 1:
        outcome.fail(f"folder {what}: posts were accepted for {max(late):.1f} s")
    if os.path.exists(folder / "data"):
        outcome.fail(f"folder {what}: there is a new one in its place")
    return ledger


def row(o):
    survived = o["memory"] - o["no control group"] - o["ended by the kernel"]
    small = (
        "not possible on this machine" if o["no control group"] else
        f"{survived} survived, with at most {o['burst_MiB_max']} MiB resident; {o['events with little memory']:,} events "
        f"acknowledged, {o['lost']} lost")
    return [
        ("a burst for 5 s with 64 MiB of memory, with a receiver that never responds", f"{o['memory']} times", small),
        (f"3,000 events per second to 3 webhooks for {o['seconds of soak'] // max(1, o['soak'])} s, with 64 MiB of memory", "once" if o["soak"] == 1 else f"{o['soak']} times",
         f"each arrived at each webhook; at most {o['soak_MiB_max']} MiB resident"),
        ("64 descriptors, 400 clients that open streams or send half a request, 20 receivers that never respond", f"{o['descriptors']} times",
         f"{o['refused with few descriptors']} requests refused; a post took at most {o['few_post_max']} ms, a list {o['few_list_max']} ms; "
         "none lost"),
        ("the folder is read-only at the start", f"{o['read_only']} times", "not started, status 73, nothing changed"),
        ("the folder is removed, or moved, under load", f"{o['removed'] + o['moved']} times",
         f"status 74; the last post was accepted {o['noticed_max']} ms later at most; in the moved folder none was lost"),
    ]
