"""What somebody who looks at a trial costs it: python3 bench/watch.py WAGGLE NULL_SERVER CHROMIUM FOLDER ROUNDS RATE SECONDS."""

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from ratios import ratio
from served import Served

KINDS = ["nobody", "a reader elsewhere", "a browser here"]
METRICS = {"p50 µs": "response_time_p50_us", "p99 µs": "response_time_p99_us", "lag p99 µs": "generator_lag_p99_us",
           "generator, CPU µs/request": "generator_cpu_us_per_request"}
SERVE, WATCHED = "waggle serve, CPU ms/s", "states shown"
START_TIMEOUT_S = 20
BROWSER_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
                 "--disable-component-update"]


def main():
    waggle, null_server, chromium, work, rounds, rate, seconds = sys.argv[1:]
    bench = Bench(waggle, chromium, Path(work), float(seconds))
    server = subprocess.Popen([null_server, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        bench.write_study(server.stdout.readline().strip(), int(rate))
        with Served(bench.waggle, bench.work, bench.environment) as served:
            for number in range(int(rounds)):
                # None of them is always first.
                turn = number % len(KINDS)
                for kind in KINDS[turn:] + KINDS[:turn]:
                    row = bench.run_trial(served, kind)
                    bench.figures[kind].append(row)
                    show_row(kind, row)
    finally:
        server.kill()
        server.wait()
    bench.show()


class Bench:
    def __init__(self, waggle, chromium, work, seconds):
        self.waggle, self.chromium, self.work, self.seconds = waggle, chromium, work, seconds
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache"), "XDG_STATE_HOME": str(work / "state")}
        self.runs = work / "runs"
        self.runs.mkdir()
        self.figures = {kind: [] for kind in KINDS}

    def write_study(self, address, rate):
        (self.work / "watched.yaml").write_text(f"""study: watched
question: What does somebody who looks cost?
system: {{ url: "http://{address}" }}
load: {{ model: open, rate: {rate}/s, arrivals: uniform, connections: 50, request: {{ name: root, get: / }} }}
schedule: {{ warm_up: 1s, measure: {self.seconds}s, repeat: 1 }}
""")

    def run_trial(self, served, kind):
        before = set(self.runs.iterdir())
        command = [self.waggle, "run", "watched.yaml", "--runs", "runs"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=self.work, env=self.environment, text=True, **pipes)
        cpu_s, viewer = served.cpu_s(), None
        if kind != KINDS[0]:
            name = self.new_run(before)
            viewer = Reader(served, name) if kind == KINDS[1] else Browser(self, served, name)
        errors = process.communicate(timeout=120 + self.seconds)[1]
        cpu_s = served.cpu_s() - cpu_s
        states = viewer.end() if viewer else 0
        # A verdict that is not valid has a code of its own: two programs may be more than the machine has CPUs.
        [run] = set(self.runs.iterdir()) - before
        report = json.loads((run / "report.json").read_text()) if (run / "report.json").exists() else sys.exit(errors)
        metrics = report["cells"][0]["metrics"]
        # The run says itself whether somebody looked.
        was_watched = any("followed the run meanwhile" in trial.read_text() for trial in run.glob("trials/*/trial.json"))
        assert was_watched == (viewer is not None), kind
        return {label: metrics[key]["point"] for label, key in METRICS.items()} | {SERVE: 1000 * cpu_s / self.seconds, WATCHED: states}

    def new_run(self, before):
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until:
            for run in set(self.runs.iterdir()) - before:
                return run.name
            time.sleep(0.02)
        sys.exit("no run has begun")

    def show(self):
        print()
        for kind, rows in self.figures.items():
            show_row(kind, {label: median(row[label] for row in rows) for label in rows[0]})
        for kind in KINDS[1:]:
            for label in METRICS:
                pairs = [(row[label], base[label]) for row, base in zip(self.figures[kind], self.figures[KINDS[0]])]
                print(f"{kind} ÷ nobody, {label}: {ratio(pairs)}")


def median(values):
    """None if a browser, which does not say how many states it showed, is among them."""
    values = list(values)
    return None if None in values else statistics.median(values)


def show_row(kind, row):
    print(f"{kind:20}", *(f"{label} {'–' if value is None else f'{value:.1f}'} " for label, value in row.items()), sep="  ", flush=True)


class Reader:
    """What a browser on another machine is to this one: it reads the events until the run has ended."""

    def __init__(self, served, name):
        self.states = 0
        await_page(served, f"/runs/{name}/live")
        self.connection = http.client.HTTPConnection(served.address, timeout=START_TIMEOUT_S)
        self.thread = threading.Thread(target=self.read, args=[f"/runs/{name}/events"])
        self.thread.start()

    def read(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        for line in answer:
            self.states += line.startswith(b"data:")

    def end(self):
        self.thread.join(START_TIMEOUT_S)
        self.connection.close()
        assert self.states > 1, f"{self.states} states were shown"
        return self.states


def await_page(served, path):
    """A run cannot be followed at once."""
    until = time.monotonic() + START_TIMEOUT_S
    while served.get(path)[0] != 200:
        assert time.monotonic() < until, f"{path} is not there"
        time.sleep(0.1)


class Browser:
    """Chromium, without a window, at the live page."""

    def __init__(self, bench, served, name):
        profile = bench.work / "profile"
        page = f"/runs/{name}/live"
        await_page(served, page)
        address = f"http://{served.address}{page}"
        command = [bench.chromium, *BROWSER_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def end(self):
        assert self.process.poll() is None, "the browser ended early"
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()
        return None


main()
