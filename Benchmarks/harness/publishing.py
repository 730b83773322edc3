"""Puts the figures of the last run into the documentation, and makes them the baseline. Text that holds figures stands between
marks, `<!-- name: made by Benchmarks/run --publish -->` and `<!-- end -->`, and is replaced; the rest of the page is written
by hand."""
import os
import shutil
import statistics

import report
from programs import ROOT, Failed

BENCHMARKS = os.path.join(ROOT, "Benchmarks")
RESULTS = os.path.join(BENCHMARKS, "results")
PAGE = os.path.join(ROOT, "Documentation", "performance.md")
NODES_PAGE = os.path.join(ROOT, "Documentation", "measurements", "nodes.md")
PLOTS = os.path.join(ROOT, "Documentation", "plots")
MARK = "<!-- {}: made by {} -->\n\n"
END = "<!-- end -->"


def publish():
    run = report.read(os.path.join(RESULTS, "latest.json"))
    with open(PAGE) as file:
        text = file.read()
    for name, make in BLOCKS.items():
        made = make(run)
        if made:
            text = replace(text, name, made)
        else:
            print(f"{name}: not measured in the last run, so it stays as it was")
    with open(PAGE, "w") as file:
        file.write(text)
    for name in sorted(os.listdir(RESULTS)):
        if name.endswith(".svg"):
            shutil.copy(os.path.join(RESULTS, name), PLOTS)
    # Samples of every round are large, and comparing needs none.
    report.dump(os.path.join(BENCHMARKS, "baseline.json"), run.lines, run.notes, {})
    print("written: Documentation/performance.md, Documentation/plots, Benchmarks/baseline.json")


def publish_nodes(lines, remarks):
    """What the scenario `nodes` has found, which has a page of its own."""
    with open(NODES_PAGE) as file:
        text = file.read()
    made = report.markdown_rows([report.HEADS, *report.without_repeats(lines)]) + "\n\n" + "\n".join(remarks[:3])
    with open(NODES_PAGE, "w") as file:
        file.write(replace(text, "nodes", made, "Benchmarks/run --only nodes --publish"))
    print("written: Documentation/measurements/nodes.md")


def replace(text, name, made, command="Benchmarks/run --publish"):
    mark = MARK.format(name, command)
    begin = text.find(mark)
    end = text.find(END, begin)
    if begin < 0 or end < 0:
        raise Failed(f"the page has no place for {name}")
    return text[:begin] + mark + made + "\n\n" + text[end:]


def goals(run):
    return "\n".join(run.notes) + "\n\n" + report.markdown_rows(report.goals(run.lines))


def figures(run):
    lines = [line for line in run.lines if line.scenario != "counts"]
    return report.markdown_rows([report.HEADS, *report.without_repeats(lines)])


def counted(run):
    measured = run.samples.get("counts")
    if not measured:
        return None
    rows = [["", *measured, "a delivery of ten adds"]]
    none, *_, ten = measured.values()
    for what in ("system calls", "system calls other than waits", "allocations", "allocated bytes", "bytes on disk"):
        values = [figures[what] for figures in measured.values()] + [(ten[what] - none[what]) / 10]
        rows.append([what, *map(report.number, values)])
    calls = sorted(none["calls"].items(), key=lambda entry: -entry[1])[:10]
    most = ", ".join(f"`{name}` {count:.1f}" for name, count in calls)
    return report.markdown_rows(rows) + f"\n\nOf those for an event without delegates: {most}. `fcntl` are SQLite's locks."


# In the order of the table.
WAYS = {
    "plain": "plain loop over `[any Listener]`",
    "strong": "strong delegates",
    "handlers": "handlers, held by tokens",
    "counted": "the same loop with an atomic increment and decrement around each call",
    "weak": "**weak delegates**",
    "weak_boxes": "bare weak references in an array",
    "notification_center": "`NotificationCenter`",
    "book": "weak wrappers, filtered and cast, as in books",
}


def multicast(run):
    measured = run.samples.get("multicast in the process")
    if not measured:
        return None

    def cell(way, count):
        values = [sample[count] for sample in measured.get(way, ()) if count in sample]
        return f"{statistics.median(values):.2g}" if values else ""

    known = list(WAYS) + sorted(way for way in measured if way not in WAYS and not way.endswith("_two_threads"))
    rows = [["ns for each delegate", "1 delegate", "10", "1,000", "two threads at once, 1,000"]]
    for way in known:
        cells = [cell(way, "ns_1"), cell(way, "ns_10"), cell(way, "ns_1000"), cell(f"{way}_two_threads", "ns_1000")]
        rows.append([WAYS.get(way, way.replace("_", " ")), *cells])
    return report.markdown_rows(rows)


def sizing(run):
    """An example of the sum that sizes a machine."""
    found = {(line.scenario, line.what): line.measured for line in run.lines}
    event = found.get(("durable publish, 64 connections", "CPU µs per event"))
    delivery = found.get(("whole path, 10 delegates", "CPU µs per delivery"))
    if event is None or delivery is None:
        return None
    per_second, delegates = 1000, 5
    share = per_second * (event + delegates * delivery) / 1e6
    return (f"With the figures above, {per_second:,} events per second to {delegates} receivers each are "
            f"{per_second:,} × {event:.0f} + {per_second * delegates:,} × {delivery:.0f} µs = {share:.2f} s of CPU time per "
            f"second; planned for half, that is {2 * share:.1f} cores.")


BLOCKS = {"goals": goals, "figures": figures, "counted": counted, "multicast": multicast, "sizing": sizing}
