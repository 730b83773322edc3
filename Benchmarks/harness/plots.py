"""Draws what a run measured: ratios against their goals, the distribution of latency, the soak."""
import math
import os
import statistics

from loads import SHARES
from svg import BAD, FAINT, GOOD, INK, SERIES, Drawing


def draw(folder, lines, samples):
    """Writes a plot for each that there are figures of, and removes those of former runs."""
    plots = {"goals": goals(lines), "latency": latency(samples), "soak": soak(samples)}
    for name, drawing in plots.items():
        path = os.path.join(folder, f"{name}.svg")
        if drawing:
            drawing.write(path)
        elif os.path.exists(path):
            os.remove(path)


def goals(lines):
    """How much of what is allowed each figure takes: 100 % is the bound."""
    judged = sorted((line for line in lines if line.goal and line.goal.of), key=lambda line: line.goal.of)
    if not judged:
        return None
    left, right, top, row = 470, 900, 62, 22
    drawing = Drawing(960, top + row * len(judged) + 20, "What each goal allows, and what Herald takes of it")
    scale = (right - left) / 2
    for share in (0.5, 1, 1.5, 2):
        x = left + share * scale
        drawing.line(x, top - 8, x, top + row * len(judged), INK if share == 1 else FAINT)
        drawing.text(x, top - 14, f"{share:.0%}" + (" or more" if share == 2 else ""), 11, "middle")
    for number, line in enumerate(judged):
        y = top + row * number
        value = line.measured if line.ratio is None else line.ratio
        share = value / line.goal.most if line.goal.most is not None else line.goal.least / max(value, 1e-9)
        drawing.text(left - 8, y + 13, shortened(f"{line.goal.of}  {line.scenario}: {line.what}"), 11, "end")
        drawing.bar(left, y + 3, max(1, min(share, 2) * scale), row - 8, BAD if line.holds == "no" else GOOD)
        drawing.text(left + min(share, 2) * scale + 5, y + 14, f"{share:.0%}", 11)
    return drawing


def shortened(text, most=76):
    return text if len(text) <= most else text[:most - 1] + "…"


def axis(drawing, left, right, bottom, top, ticks, place, label):
    for value, text in ticks:
        y = bottom - place(value) * (bottom - top)
        drawing.line(left, y, right, y)
        drawing.text(left - 8, y + 4, text, 11, "end")
    drawing.text(left, top - 10, label, 11)


def latency(samples):
    """Percentiles at shares of the capacity: Herald's, and the reference's, dashed."""
    curves = []
    for number, share in enumerate(SHARES):
        rounds = samples.get(f"{share} % of capacity, open loop", {})
        for variant, dashes in (("herald", ""), ("pipeline", "5 4")):
            if variant in rounds:
                name = f"{share} % of capacity, {'Herald' if variant == 'herald' else 'reference'}"
                curves.append((name, SERIES[number], dashes, percentiles(rounds[variant])))
    if not curves:
        return None
    values = [value for *_, curve in curves for value in curve.values()]
    low, high = math.floor(math.log10(max(1, min(values)))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    drawing = Drawing(760, 420, "From the intended posting to the receiver, open loop, 1 delegate")
    left, right, bottom, top = 100, 510, 380, 70

    def place(value):
        return (math.log10(max(value, 10 ** low)) - low) / (high - low)

    ticks = [(10 ** power, f"{10 ** power:,} µs") for power in range(low, high + 1)]
    axis(drawing, left, right, bottom, top, ticks, place, "")
    names = list(curves[0][3])
    step = (right - left) / (len(names) - 1)
    for number, name in enumerate(names):
        drawing.text(left + number * step, bottom + 18, name, 11, "middle")
    for number, (name, colour, dashes, curve) in enumerate(curves):
        drawing.curve([(left + i * step, bottom - place(curve[key]) * (bottom - top)) for i, key in enumerate(names)],
                      colour, dashes)
        y = top + 20 * number
        drawing.line(right + 30, y, right + 60, y, colour, 2, dashes)
        drawing.text(right + 68, y + 4, name, 11)
    return drawing


def percentiles(rounds):
    """Medians of the rounds."""
    names = ("p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9")
    return {name: statistics.median(sample[f"delivered_{name}_us"] for sample in rounds) for name in names}


def soak(samples):
    seen = samples.get("soak")
    if not seen or len(seen["seconds"]) < 2:
        return None
    drawing = Drawing(760, 460, "Under an even load")
    memory = [value / (1 << 20) for value in seen["memory"]]
    panel(drawing, seen["seconds"], memory, 70, 220, "resident memory, MiB", SERIES[0])
    panel(drawing, seen["seconds"], seen["descriptors"], 270, 420, "open descriptors", SERIES[2])
    drawing.text(720, 445, f"{seen['seconds'][-1]:.0f} seconds", 11, "end")
    return drawing


def panel(drawing, seconds, values, top, bottom, label, colour):
    """Over time, from zero."""
    left, right, most = 80, 720, max(values) * 1.1 or 1
    ticks = [(most * part, f"{most * part:.0f}") for part in (0, 0.5, 1)]
    axis(drawing, left, right, bottom, top, ticks, lambda value: value / most, label)
    drawing.curve([(left + (right - left) * second / seconds[-1], bottom - (bottom - top) * value / most)
                   for second, value in zip(seconds, values)], colour)


def rates(receivers):
    """Deliveries per second over time, a panel for each receiver: useful ones, and attempts, dashed."""
    width, height, columns = 470, 170, 2
    rows = math.ceil(len(receivers) / columns)
    drawing = Drawing(width * columns + 20, 60 + height * rows, "Deliveries per second: useful, and attempts (dashed)")
    for index, receiver in enumerate(receivers):
        left, top = 50 + width * (index % columns), 75 + height * (index // columns)
        right, bottom = left + width - 60, top + height - 70
        seconds = max(len(receiver["useful"]), len(receiver["attempts"]), 2)
        most = nice(max(receiver["useful"] + receiver["attempts"], default=1))
        ticks = [(most * part, f"{most * part:,.0f}") for part in (0, 0.5, 1)]
        axis(drawing, left, right, bottom, top, ticks, lambda value, most=most: value / most, "")
        drawing.text(left, top - 12, receiver["name"], 12, weight="bold")
        drawing.text(right, bottom + 15, f"{seconds} s", 11, "end")
        for name, colour, dashes in (("attempts", SERIES[2], "3 3"), ("useful", SERIES[0], "")):
            points = thinned(receiver[name])
            drawing.curve([(left + (right - left) * second / (seconds - 1), bottom - (bottom - top) * min(1, value / most))
                           for second, value in points], colour, dashes)
    return drawing


def nice(value):
    """1, 2 or 5 times a power of ten, no less than the value."""
    power = 10 ** math.floor(math.log10(max(value, 1)))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= value)


def thinned(numbers, most=300):
    """Means of so many seconds at a time that a curve has no more points than can be seen."""
    step = math.ceil(max(1, len(numbers)) / most)
    return [(first, statistics.fmean(numbers[first:first + step])) for first in range(0, len(numbers), step)]
