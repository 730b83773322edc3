"""Lines with goals, and their table: for the terminal, as Markdown, as JSON."""
import dataclasses
import json
import os
import statistics


@dataclasses.dataclass(frozen=True)
class Goal:
    """What must hold, at most or at least, and what we aim for."""

    most: float | None = None
    least: float | None = None
    aim: float | None = None
    of: int | None = None
    """Its number among the project's goals; see GOALS."""

    def judge(self, value):
        if self.most is not None:
            return "no" if value > self.most else "yes, the aim too" if value <= self.aim else "yes"
        return "no" if value < self.least else "yes, the aim too" if value >= self.aim else "yes"

    def __str__(self):
        sign, must = ("≤", self.most) if self.most is not None else ("≥", self.least)
        return f"{sign} {must:,.5g} (aim {self.aim:,.5g})"


@dataclasses.dataclass(frozen=True)
class Line:
    scenario: str
    what: str
    reference: str
    reference_value: float | None
    measured: float
    ratio: float | None
    ratio_least: float | None
    ratio_most: float | None
    goal: Goal | None
    foreign_cpu: float | None

    @property
    def holds(self):
        if not self.goal:
            return ""
        return self.goal.judge(self.measured if self.ratio is None else self.ratio)

    def cells(self):
        digits = 3 if self.ratio is not None and self.ratio < 0.1 else 2
        ratio = "" if self.ratio is None else (
            f"{self.ratio:.{digits}f} ({self.ratio_least:.{digits}f}–{self.ratio_most:.{digits}f})")
        return [
            self.scenario, self.what, ratio, str(self.goal or ""), self.holds, number(self.measured),
            "" if self.reference_value is None else number(self.reference_value), self.reference,
            "" if self.foreign_cpu is None else f"{self.foreign_cpu:.0%}"]


GOALS = {
    1: "publishing, not waiting for storage",
    2: "durable publishing, CPU",
    3: "durable publishing, rate and latency",
    4: "deliveries per second of one loop",
    5: "sending alone",
    6: "whole path, 1 delegate",
    7: "whole path, 10 delegates",
    8: "latency of one event at a time",
    9: "many connections",
    10: "multicast to weak delegates",
    11: "multicast to handlers held by tokens",
    12: "multicast beside NotificationCenter",
    13: "multicast on two threads",
    14: "TLS",
    15: "cost as log, delegates and backlog grow",
    16: "memory",
    17: "start",
    18: "what one would write instead",
    19: "members of a multicast",
}

HEADS = [
    "scenario", "what", "ratio (least–most)", "goal", "holds", "Herald", "reference", "reference is", "foreign CPU"]


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def line(scenario, what, rounds, figure, variant, goal, herald, reference, scale):
    ratios = rounds.ratios(herald, variant, figure)
    return Line(
        scenario, what, reference or variant, rounds.median(variant, figure) / scale,
        rounds.median(herald, figure) / scale, statistics.median(ratios), min(ratios), max(ratios), goal,
        rounds.worst_foreign())


def table(lines):
    """Aligned, for a terminal."""
    return aligned([HEADS, *without_repeats(lines)])


def without_repeats(lines):
    """Rows; a scenario that repeats the one above is left out."""
    above = None
    for entry in lines:
        cells = entry.cells()
        yield [""] + cells[1:] if cells[0] == above else cells
        above = cells[0]


def aligned(rows):
    """The first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def markdown(lines, notes):
    parts = [markdown_rows([HEADS, *(entry.cells() for entry in lines)]), "## Goals", markdown_rows(goals(lines))]
    return "\n\n".join([*parts, "\n".join(notes)]) + "\n"


def goals(lines):
    """A row for each goal and each figure that it is judged by; the first row is the heading."""
    rows = [["goal", "is about", "figure", "must and aim", "measured", "reference", "ratio", "holds"]]
    for of, about in GOALS.items():
        judged = [line for line in lines if line.goal and line.goal.of == of]
        for line in judged:
            _, _, ratio, goal, holds, measured, reference, beside, _ = line.cells()
            beside = f"{reference} ({beside})" if reference else ""
            rows.append([str(of), about, f"{line.scenario}: {line.what}", goal, measured, beside, ratio, holds])
        if not judged:
            rows.append([str(of), about, "not measured in this run", "", "", "", "", ""])
    return rows


def markdown_rows(rows):
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])


def write(folder, lines, notes, samples):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "latest.md"), "w") as file:
        file.write(markdown(lines, notes))
    dump(os.path.join(folder, "latest.json"), lines, notes, samples)


@dataclasses.dataclass(frozen=True)
class Run:
    """What a run has written."""

    lines: list
    notes: list
    samples: dict

    def with_again(self, lines, samples, names):
        """The run with these figures in the place of its own of the same scenarios. A later one has figures of its own."""
        again = {}
        for entry in lines:
            again.setdefault(entry.scenario, []).append(entry)
        put = []
        for scenario in dict.fromkeys(entry.scenario for entry in [*self.lines, *lines]):
            put += again.get(scenario) or [entry for entry in self.lines if entry.scenario == scenario]
        note = f"- measured again, later: {names}"
        return Run(put, [*(other for other in self.notes if other != note), note], self.samples | samples)


def dump(path, lines, notes, samples):
    entries = [dataclasses.asdict(entry) | {"holds": entry.holds} for entry in lines]
    with open(path, "w") as file:
        json.dump({"notes": notes, "lines": entries, "samples": samples}, file, indent=1, ensure_ascii=False)
        file.write("\n")


def read(path):
    """Throws `OSError`, `ValueError`, `KeyError` or `TypeError` when there is no report."""
    with open(path) as file:
        run = json.load(file)

    def entry(fields):
        return Line(**{name: value for name, value in fields.items() if name != "holds"}
                    | {"goal": fields["goal"] and Goal(**fields["goal"])})

    return Run([entry(fields) for fields in run["lines"]], run["notes"], run["samples"])
