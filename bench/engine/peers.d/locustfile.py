"""Locust with its fast client. EACH: requests per second of each user; 0: each sends as fast as it is answered."""

import os

from locust import FastHttpUser, constant, constant_throughput, task

EACH = float(os.environ.get("EACH", "0"))


class Visitor(FastHttpUser):
    wait_time = constant_throughput(EACH) if EACH else constant(0)

    @task
    def get(self):
        self.client.get("/")
