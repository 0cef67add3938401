"""Makes a folder of many runs and times the first page of waggle serve: python3 bench/serve.py WAGGLE FOLDER RUNS."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from served import Served

HOSTS = ["amber", "basalt", "cobalt"]
STUDIES = ["nightly", "checkout", "search", "ingest"]
ROUNDS = 5


def main():
    waggle, work, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache"), "XDG_STATE_HOME": str(work / "state")}
    template = imported_run(waggle, work, environment)
    began = time.perf_counter()
    copy_runs(template, work / "runs", count)
    print(f"{count:,} runs of {folder_bytes(template):,} bytes each, made in {time.perf_counter() - began:.0f} s")
    index = work / "cache/waggle/serve"
    first, restarted, running = [], [], []
    for _ in range(ROUNDS):
        shutil.rmtree(index, ignore_errors=True)
        with Served(waggle, work, environment) as served:
            first.append(timed_page(served, "/")[0])
        with Served(waggle, work, environment) as served:
            restarted.append(timed_page(served, "/")[0])
            # The folder is looked at again after a second.
            time.sleep(1.1)
            running.append(timed_page(served, "/")[0])
            sort, page = timed_page(served, "/?sort=study&q=checkout+amber&page=3")
            assert sort < 5 and "page 3 of" in page, "a filtered and sorted page"
            memory = served.memory_mib()
    show("without an index (it is made)", first)
    show("with the index, server just started", restarted)
    show("with the index, server runs", running)
    size = sum(file.stat().st_size for file in index.iterdir())
    print(f"index: {size:,} bytes; resident memory of the server: {memory:.0f} MiB")


def imported_run(waggle, work, environment):
    """A run of one cell with three trials of 50 requests."""
    for trial in range(3):
        start = 1_767_225_600_000 + 60_000 * trial
        rows = [f"{start + 10 * request},{9 + request % 3},200" for request in range(50)]
        (work / f"{trial}.csv").write_text("begun,took,code\n" + "\n".join(rows) + "\n")
    columns = ["start=begun:ms", "duration=took:ms", "status=code"]
    flags = [word for column in columns for word in ("--column", column)]
    files = [f"{trial}.csv" for trial in range(3)]
    subprocess.run([waggle, "import", "csv", *files, *flags, "--name", "nightly", "--runs", "one"], cwd=work, env=environment,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [run] = (work / "one").iterdir()
    return run


def copy_runs(template, runs, count):
    info = json.loads((template / "run.json").read_text())
    runs.mkdir()
    for number in range(count):
        started = time.gmtime(1_767_225_600 + 3_600 * number)
        study = STUDIES[number % len(STUDIES)]
        run = runs / f"{study}-{time.strftime('%Y%m%dT%H%M%SZ', started)}"
        shutil.copytree(template, run, copy_function=os.link)
        info.update(study=study, started_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", started))
        info["host"]["name"] = HOSTS[number % len(HOSTS)]
        (run / "run.json").unlink()
        (run / "run.json").write_text(json.dumps(info))


def folder_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def show(what, seconds):
    times = [1000 * second for second in seconds]
    print(f"{what}: median {statistics.median(times):.0f} ms, {min(times):.0f} to {max(times):.0f} ms of {len(times)}")


def timed_page(served, path):
    """Seconds until the whole page is there, and the page."""
    began = time.perf_counter()
    status, page = served.get(path)
    took = time.perf_counter() - began
    assert status == 200, (path, status, page)
    return took, page


main()
