"""GET /random?num=N with Flask: a JSON list of N random numbers, each as a string of six digits."""

import random
import re

from flask import Flask, abort, jsonify, request
from uwsgidecorators import postfork

app = Flask(__name__)
# uWSGI forks after it has imported this module: without it all processes would have the same numbers.
postfork(random.seed)


@app.get("/random")
def numbers():
    num = request.args.get("num", "10")
    if not re.fullmatch("[0-9]{1,6}", num) or int(num) > 100_000:
        abort(400, "num is a number from 0 to 100000")
    return jsonify([f"{random.randrange(1_000_000):06}" for _ in range(int(num))])
