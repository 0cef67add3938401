"""GET /random?num=N with Tornado: a JSON list of N random numbers, each as a string of six digits."""

import asyncio
import json
import os
import random
import re

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.process import fork_processes
from tornado.web import Application, HTTPError, RequestHandler


class Numbers(RequestHandler):
    def get(self):
        num = self.get_query_argument("num", "10", strip=False)
        if not re.fullmatch("[0-9]{1,6}", num) or int(num) > 100_000:
            raise HTTPError(400, reason="num is a number from 0 to 100000")
        numbers = [f"{random.randrange(1_000_000):06}" for _ in range(int(num))]
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(numbers, separators=(",", ":")))


async def serve(sockets):
    server = HTTPServer(Application([("/random", Numbers)]))
    server.add_sockets(sockets)
    await asyncio.Event().wait()


def main():
    setting = os.environ.get
    # Without a backlog of its own Tornado takes 128.
    backlog = {"backlog": int(setting("BACKLOG"))} if setting("BACKLOG") else {}
    sockets = bind_sockets(int(setting("PORT")), address=setting("LISTEN"), **backlog)
    default = len(os.sched_getaffinity(0)) if setting("TUNED") == "true" else 1
    workers = int(setting("WORKERS", default))
    if workers > 1:
        fork_processes(workers)
    asyncio.run(serve(sockets))


if __name__ == "__main__":
    main()
