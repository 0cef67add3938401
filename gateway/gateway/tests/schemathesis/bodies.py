"""What Schemathesis cannot take from the gateway's OpenAPI document: how texts are sent that are no `text/plain`, bodies in formats that
no schema describes, and times whose range depends on another parameter.
"""

import json

import schemathesis

RANGE = 2**63 - 2
UNITS = {"us": 10**3, "u": 10**3, "ms": 10**6, "s": 10**9}


@schemathesis.serializer("application/x-ndjson")
def send_text(context, value):
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def line(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'text,schema=none value="{escaped}",length={len(text)}i 1700000'


def record(text):
    return json.dumps({"measurement": "text", "fields": {"value": text, "length": len(text)}, "time": 1700000000})


FORMATS = {"text/plain": line, "application/x-ndjson": record}


@schemathesis.hook
def map_case(context, case):
    """Any text becomes the value of a field in a record of the format."""
    write = FORMATS.get(case.media_type)
    is_positive = case.meta is not None and case.meta.generation.mode.is_positive
    if write is not None and is_positive and isinstance(case.body, str):
        case.body = write(case.body)
    return case


def is_topic(database, policy):
    """Whether both are one, not too long name. A policy that is in the database, too, is given twice."""
    return "/" not in database and len(database) + 1 + len(policy) <= 200


@schemathesis.hook
def filter_case(context, case):
    """Leaves out times that are out of range in the unit of `precision` alone, and those such as 307.0, an integer in JSON Schema only;
    databases and retention policies that no topic can be made of, together."""
    query = case.query if isinstance(case.query, dict) else {}
    if case.path == "/write" and query.get("rp") and not is_topic(str(query.get("db")), str(query["rp"])):
        return False
    precision = query.get("precision")
    unit = UNITS.get(precision, 1) if isinstance(precision, str) else 1
    records = case.body if isinstance(case.body, list) else [case.body]
    times = [record.get("time") for record in records if isinstance(record, dict)]
    numbers = [time for time in times if isinstance(time, (int, float))]
    return all(isinstance(time, int) and abs(time) * unit <= RANGE for time in numbers)
