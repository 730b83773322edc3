"""Draws who calls back 64 webhooks, one of each shard, while a node is killed, comes back, ends, and comes back.

usage: HERALD_BINARY=… python3 Tests/Crash/moves.py      writes Documentation/measurements/lanes.svg
"""

import collections
import time

from herald import ROOT, Folder, Ledger, Outcome, Receiver, library
from nodes import NODES, WATCHED, Nodes, Ticker
from postgres import Postgres, Wire
from silence import address, read_callbacks

PAGE = ROOT / "Documentation/measurements/lanes.svg"
# What happens when, in seconds.
TIMES = {"killed": 4, "started again": 10, "ended (TERM)": 19, "started": 25}
END = 34
# Callbacks of one node that are closer than that are one line: four ticks.
NEAR = 0.4
LEFT, TOP, WIDTH, ROW = 20, 70, 920, 6
COLORS = ["#0969da", "#bc4c00", "#1a7f37"]


def main():
    outcome, ledger = Outcome(), Ledger()
    with Folder("moves") as folder, Postgres() as database:
        receiver = Receiver(folder / "receipts")
        shim = str(library("source"))
        database.create("herald")
        # The database takes connections from 127.0.0.1 alone.
        wire = Wire(database.port)
        nodes = Nodes(
            [wire.url("herald")] * NODES, ledger, 0,
            [{"LD_PRELOAD": shim, "SOURCE_ADDRESS": address(index)} for index in range(NODES)])
        nodes.register(receiver)
        ticker = Ticker(nodes)
        time.sleep(4)
        begin = time.monotonic()
        for what, at in TIMES.items():
            time.sleep(max(0, begin + at - time.monotonic()))
            if what == "killed":
                nodes.servers[1].kill()
            elif what.startswith("ended"):
                nodes.end(2, outcome)
            else:
                nodes.start(1 if what == "started again" else 2)
        time.sleep(max(0, begin + END - time.monotonic()))
        ticker.stop()
        callbacks = read_callbacks(receiver, outcome)
        for load in nodes.loads:
            if load:
                load.stop()
        for index in range(NODES):
            nodes.end(index, outcome)
        receiver.close()
        wire.close()
    PAGE.write_text(picture(callbacks, begin))
    print(f"written: {PAGE}")
    return 1 if outcome.failures else 0


def picture(callbacks, begin):
    height = TOP + WATCHED * ROW + 40
    parts = []

    def text(x, y, content, anchor="start", size=12, color="#24292f", weight="normal"):
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}">{content}</text>')

    title = "64 webhooks with ten events a second, and which of three nodes calls them"
    text(LEFT, 24, title, size=15, weight="bold")
    for node, color in enumerate(COLORS):
        text(LEFT + 70 * node, 46, f"node {node + 1}", color=color, weight="bold")

    def x(at):
        return LEFT + WIDTH * min(max(at - begin, 0), END) / END

    rows = [callbacks[f"w{number}"] for number in range(WATCHED)]
    first = {number: next(peer for at, peer in calls if at >= begin) for number, calls in enumerate(rows)}
    for place, number in enumerate(sorted(first, key=lambda number: (first[number], number))):
        lines = collections.deque()
        for at, peer in rows[number]:
            if at < begin:
                continue
            if lines and lines[-1][2] == peer and at - lines[-1][1] < NEAR:
                lines[-1][1] = at
            else:
                lines.append([at, at, peer])
        y = TOP + place * ROW
        for start, stop, peer in lines:
            color = COLORS[[address(index) for index in range(NODES)].index(peer)]
            parts.append(
                f'<rect x="{x(start):.1f}" y="{y}" width="{max(1.0, x(stop) - x(start)):.1f}" height="{ROW - 1.5}" fill="{color}"/>')
    bottom = TOP + WATCHED * ROW
    for what, at in TIMES.items():
        node = 2 if "again" in what or what == "killed" else 3
        place = x(begin + at)
        parts.append(f'<line x1="{place:.1f}" y1="{TOP - 4}" x2="{place:.1f}" y2="{bottom}" stroke="#24292f" stroke-width="1"/>')
        text(place, TOP - 8, f"node {node} {'started again' if what == 'started' else what}", color=COLORS[node - 1])
    for second in range(0, END + 1, 2):
        text(x(begin + second), bottom + 18, f"{second} s", anchor="middle", size=11)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" width="960" height="{height}" '
        f'font-family="system-ui, sans-serif" role="img">\n<title>{title}</title>\n<rect width="960" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    raise SystemExit(main())
