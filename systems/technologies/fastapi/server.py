"""GET /random?num=N with FastAPI: a JSON list of N random numbers, each as a string of six digits."""

import os
import random
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

app = FastAPI()


@app.exception_handler(RequestValidationError)
async def refuse(_request, error):
    # Without it the status is 422.
    return JSONResponse({"detail": [mistake["msg"] for mistake in error.errors()]}, 400)


@app.get("/random")
async def numbers(num: Annotated[int, Query(ge=0, le=100_000)] = 10) -> list[str]:
    return [f"{random.randrange(1_000_000):06}" for _ in range(num)]


def main():
    setting = os.environ.get
    # Without a backlog of its own uvicorn takes 2048.
    backlog = {"backlog": int(setting("BACKLOG"))} if setting("BACKLOG") else {}
    default = len(os.sched_getaffinity(0)) if setting("TUNED") == "true" else 1
    workers = int(setting("WORKERS", default))
    listen = {"host": setting("LISTEN"), "port": int(setting("PORT"))}
    uvicorn.run("server:app", **listen, workers=workers, access_log=False, log_level="warning", **backlog)


if __name__ == "__main__":
    main()
