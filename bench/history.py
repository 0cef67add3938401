"""Change points of simulated histories, by waggle and by Apache Otava: what bench/history prints.

A series is a level of 100 that changes by a ratio at some runs, times lognormal noise. A change is found if a change point is at most
two runs away from it. Every tool gets the same series, in the same order.
"""

import math
import random
import subprocess
import sys
import time

from otava.analysis import compute_change_points, compute_change_points_orig

NEAR = 2
# The permutations of E-divisive take a second for a long series.
EDIVISIVE_SHARE = 4
EDIVISIVE_MAX_RUNS = 60
# A change in the middle of a history that grows run by run.
DELAY_BEFORE, DELAY_AFTER = 30, 20

program, series_count = sys.argv[1], int(sys.argv[2])


def noise(source, kind):
    if kind == "heavy tails":  # Student's t with 3 degrees of freedom, at a standard deviation of 1
        return source.gauss(0, 1) / math.sqrt(sum(source.gauss(0, 1) ** 2 for _ in range(3)) / 3) / math.sqrt(3)
    if kind == "outliers":
        return source.gauss(0, 1) + (8 if source.random() < 0.05 else 0)
    return source.gauss(0, 1)


def simulate(seed, runs, scatter, changes, kind="normal"):
    source, values = random.Random(seed), []
    memory = source.gauss(0, 1)
    for run in range(runs):
        level = sum(math.log(ratio) for at, ratio in changes if at <= run)
        own = noise(source, kind)
        memory = 0.3 * memory + math.sqrt(1 - 0.3**2) * own if kind == "correlated" else own
        values.append(100 * math.exp(level + scatter * memory))
    return values


def waggle(all_series):
    lines = "\n".join(" ".join(map(repr, series)) for series in all_series) + "\n"
    answer = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
    fields = [line.split() for line in answer.splitlines()]
    found = [[int(change.split(":")[0]) for change in line[1:]] for line in fields]
    return found, sum(int(line[0]) for line in fields) / 1e6


def timed(find):
    def run(all_series):
        began = time.perf_counter()
        found = [[change.index for change in find(list(series))[0]] for series in all_series]
        return found, time.perf_counter() - began

    return run


def edivisive(series):
    import numpy

    return compute_change_points_orig(numpy.array(series), max_pvalue=0.01, seed=1)


TOOLS = {
    "waggle": waggle,
    "Otava": timed(lambda series: compute_change_points(series)),
    "Otava, p 0.01": timed(lambda series: compute_change_points(series, max_pvalue=0.01)),
    "E-divisive, p 0.01": timed(edivisive),
}
NOTHING = [("no change, normal", runs, 0.03, [], "normal") for runs in (10, 40, 60, 200)] + [
    (f"no change, {kind}", 60, 0.03, [], kind) for kind in ("heavy tails", "outliers", "correlated")
]
CHANGED = [
    ("5 % in the middle, scatter 2 %", 40, 0.02, [(20, 1.05)], "normal"),
    ("10 % in the middle, scatter 5 %", 60, 0.05, [(30, 1.10)], "normal"),
    ("5 % in the middle, scatter 5 %", 200, 0.05, [(100, 1.05)], "normal"),
    ("10 % and 5 %, scatter 2 %", 40, 0.02, [(14, 1.10), (28, 1.05)], "normal"),
    ("10 % up for 10 runs, scatter 2 %", 40, 0.02, [(15, 1.10), (25, 1 / 1.10)], "normal"),
    ("15 % up for 5 runs, scatter 2 %", 14, 0.02, [(5, 1.15), (10, 1 / 1.15)], "normal"),
    ("10 %, two runs before the end, scatter 2 %", 40, 0.02, [(38, 1.10)], "normal"),
    ("10 % in the middle, outliers, scatter 3 %", 60, 0.03, [(30, 1.10)], "outliers"),
]


def series_of(place, scenario, count):
    _, runs, scatter, changes, kind = scenario
    return [simulate(100_000 * place + seed, runs, scatter, changes, kind) for seed in range(count)]


def is_near(found, at):
    return any(abs(change - at) <= NEAR for change in found)


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def head(first, more):
    row([first, "runs", *more])
    row(["---"] * (len(more) + 2))


def answers(place, scenario, tool):
    count = series_count
    if tool.startswith("E-"):
        if scenario[1] > EDIVISIVE_MAX_RUNS:
            return None
        count //= EDIVISIVE_SHARE
    return TOOLS[tool](series_of(place, scenario, max(count, 1)))


def percent(flags):
    return f"{100 * sum(flags) / len(flags):.1f}"


def false_alarms():
    head("series with a false alarm, %", TOOLS)
    for place, scenario in enumerate(NOTHING):
        cells = [answers(place, scenario, tool) for tool in TOOLS]
        rates = ["–" if cell is None else percent([bool(found) for found in cell[0]]) for cell in cells]
        row([scenario[0], str(scenario[1]), *rates])


def power():
    head("series with all changes found, % (with more than these, %)", TOOLS)
    for place, scenario in enumerate(CHANGED, start=100):
        changes, rates = scenario[3], []
        for tool in TOOLS:
            cell = answers(place, scenario, tool)
            if cell is None:
                rates.append("–")
                continue
            hit = percent([all(is_near(found, at) for at, _ in changes) for found in cell[0]])
            rates.append(f"{hit} ({percent([len(found) > len(changes) for found in cell[0]])})")
        row([scenario[0], str(scenario[1]), *rates])


def delay():
    """Runs of the new level until it is first shown, as a history grows."""
    tools = [tool for tool in TOOLS if not tool.startswith("E-")]
    head("runs until a change is shown: median (not within 20, %)", tools)
    for place, (ratio, scatter) in enumerate([(1.05, 0.02), (1.10, 0.02), (1.10, 0.05)], start=200):
        scenario = ("", DELAY_BEFORE + DELAY_AFTER, scatter, [(DELAY_BEFORE, ratio)], "normal")
        all_series, cells = series_of(place, scenario, max(series_count // 2, 1)), []
        for tool in tools:
            prefixes = [series[: DELAY_BEFORE + more] for series in all_series for more in range(1, DELAY_AFTER + 1)]
            found = TOOLS[tool](prefixes)[0]
            delays = []
            for at in range(len(all_series)):
                own = found[at * DELAY_AFTER : (at + 1) * DELAY_AFTER]
                shown = [more for more, one in enumerate(own, start=1) if is_near(one, DELAY_BEFORE)]
                delays.append(shown[0] if shown else math.inf)
            median = sorted(delays)[len(delays) // 2]
            late = percent([delay == math.inf for delay in delays])
            cells.append(f"{'over 20' if median == math.inf else median} ({late})")
        row([f"{100 * (ratio - 1):.0f} % after 30 runs, scatter {100 * scatter:.0f} %", "31 – 50", *cells])


def durations():
    head("ms for a history", TOOLS)
    for runs in (40, 200, 1000):
        scenario = ("a change of 5 % in the middle, scatter 5 %", runs, 0.05, [(runs // 2, 1.05)], "normal")
        cells = []
        for tool in TOOLS:
            if tool.startswith("E-") and runs > EDIVISIVE_MAX_RUNS:
                cells.append("–")
                continue
            # The first call of a tool loads what it needs.
            TOOLS[tool](series_of(300, scenario, 1))
            took = TOOLS[tool](series_of(301, scenario, 5))[1]
            cells.append(f"{1000 * took / 5:.3g}")
        row([scenario[0], str(runs), *cells])


print(f"{series_count} series of each kind, {series_count // EDIVISIVE_SHARE} for E-divisive.\n")
for part in (false_alarms, power, delay, durations):
    part()
    print()
