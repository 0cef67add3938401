"""Reads the latest version of random artifacts, as fast as answers come.

HttpReader uses Locust's default client, FastHttpReader the faster one that comes with it. If it is asked to, the master makes the
artifacts before the load begins. A follower takes connections at LISTEN and READY_PORT once the master knows it. waggle starts every component
on the CPUs of the system; with LOCUST_CPUS=load Locust moves to the others.
"""

import itertools
import json
import os
import random
import urllib.request

from gevent.server import StreamServer
from locust import FastHttpUser, HttpUser, constant, events
from locust.runners import MasterRunner, WorkerRunner

ARTIFACTS = "/apis/registry/v3/groups/default/artifacts"
HOSTS = ["http://" + address for address in os.environ["REGISTRY_ADDRESSES"].split(",")]
PREFIX = os.environ["ARTIFACT_PREFIX"]
COUNT = int(os.environ["ARTIFACT_COUNT"])

hosts = itertools.cycle(HOSTS)

others = set(range(os.cpu_count())) - os.sched_getaffinity(0)
if os.environ["LOCUST_CPUS"] == "load" and others:
    os.sched_setaffinity(0, others)


def read_latest(user):
    artifact = f"{PREFIX}{random.randint(1, COUNT)}"
    user.client.get(f"{ARTIFACTS}/{artifact}/versions/branch=latest/content", name="latest")


class Reader:
    wait_time = constant(0)
    tasks = [read_latest]

    def __init__(self, environment):
        self.host = next(hosts)
        super().__init__(environment)


class HttpReader(Reader, HttpUser):
    pass


class FastHttpReader(Reader, FastHttpUser):
    pass


@events.init.add_listener
def listen_if_ready(environment, **_):
    if isinstance(environment.runner, WorkerRunner):
        StreamServer((os.environ["LISTEN"], int(os.environ["READY_PORT"])), lambda *_: None).start()


@events.test_start.add_listener
def make_artifacts(environment, **_):
    if not isinstance(environment.runner, MasterRunner) or os.environ["MAKE_ARTIFACTS"] != "true":
        return
    for number in range(1, COUNT + 1):
        fields = [{"name": f"field{number}_{field}", "type": "string"} for field in range(7)]
        schema = json.dumps({"type": "record", "name": f"Reading{number}", "fields": fields})
        version = {"content": {"content": schema, "contentType": "application/json"}}
        artifact = {"artifactId": f"{PREFIX}{number}", "artifactType": "AVRO", "firstVersion": version}
        request = urllib.request.Request(
            f"{HOSTS[0]}{ARTIFACTS}?ifExists=FIND_OR_CREATE_VERSION",
            json.dumps(artifact).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).read()
