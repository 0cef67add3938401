"""waggle serve of a folder, for scripts of this folder that measure it."""

import http.client
import os
import signal
import subprocess
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
ANSWER_TIMEOUT_S = 60


class Served:
    """The server of the folder `runs` in a working folder, at a free port."""

    def __init__(self, waggle, work, environment):
        command = [waggle, "serve", "runs", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, cwd=work, env=environment, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.address = line.split("http://")[1].split("/")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.process.stderr.close()

    def get(self, path):
        """Status, and the whole page."""
        connection = http.client.HTTPConnection(self.address, timeout=ANSWER_TIMEOUT_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        page = answer.read().decode()
        connection.close()
        return answer.status, page

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def memory_mib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024
