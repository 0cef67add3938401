"""Writes the records of the test `influx::clients` by the official clients for Python: `write.py VERSION URL TOKEN TOPIC RECORDS`."""

import sys
import warnings
from urllib.parse import urlsplit

BATCH = 100
UNKNOWN = "wgw_unknown"


def tags(i):
    return {"machine": f"press {i % 5}"}


def fields(i):
    return {"value": i + 0.5, "count": i, "text": f'said "{i}", ok', "ok": i % 2 == 0}


def time(i):
    return 1_700_000_000_000_000_000 + i * 1000


def batches(count):
    return (range(start, min(start + BATCH, count)) for start in range(0, count, BATCH))


def require(is_so, what):
    if not is_so:
        raise AssertionError(what)


def write_v1(url, token, topic, count):
    from influxdb import InfluxDBClient
    from influxdb.exceptions import InfluxDBClientError

    def client(password):
        return InfluxDBClient(url.hostname, url.port, "any", password, topic, gzip=True)

    def point(i):
        return {"measurement": "reading", "tags": tags(i), "fields": fields(i), "time": time(i)}

    def expect(status, text, write):
        try:
            write()
        except InfluxDBClientError as refused:
            require(refused.code == status and text in str(refused.content), refused)
        else:
            require(False, f"expected {status}")

    with client(token) as database:
        require(database.ping().startswith("waggle-gateway-"), "ping")
        database.create_database(topic)
        for batch in batches(count):
            database.write_points([point(i) for i in batch], time_precision="n")
        bad = "reading value="
        expect(400, "unable to parse 'reading value='", lambda: database.write_points([bad], protocol="line"))
        expect(400, "CREATE DATABASE", lambda: database.query("SHOW DATABASES", method="POST"))
    with client(UNKNOWN) as stranger:
        expect(401, "token", lambda: stranger.write_points([point(0)]))


def write_v2(url, token, topic, count):
    from influxdb_client import InfluxDBClient, Point
    from influxdb_client.client.write_api import SYNCHRONOUS
    from influxdb_client.rest import ApiException

    def client(secret):
        return InfluxDBClient(url.geturl(), secret, org="any", enable_gzip=True)

    def point(i):
        made = Point("reading").time(time(i))
        for name, value in tags(i).items():
            made = made.tag(name, value)
        for name, value in fields(i).items():
            made = made.field(name, value)
        return made

    def expect(status, code, write):
        try:
            write()
        except ApiException as refused:
            require(refused.status == status and f'"code":"{code}"' in str(refused.body), refused)
        else:
            require(False, f"expected {status}")

    with client(token) as database:
        require(database.ping(), "ping")
        require(database.version().startswith("waggle-gateway-"), "version")
        require(database.health().status == "pass", "health")
        write = database.write_api(write_options=SYNCHRONOUS).write
        for batch in batches(count):
            write(topic, record=[point(i) for i in batch])
        expect(400, "invalid", lambda: write(topic, record="reading value="))
    with client(UNKNOWN) as stranger:
        write = stranger.write_api(write_options=SYNCHRONOUS).write
        expect(401, "unauthorized", lambda: write(topic, record=point(0)))


def write_v3(url, token, topic, count):
    from influxdb_client_3 import InfluxDBClient3, InfluxDBError, Point, SYNCHRONOUS, WriteOptions

    def client(secret, **options):
        options = WriteOptions(write_type=SYNCHRONOUS, **options)
        return InfluxDBClient3(
            host=url.geturl(), token=secret, database=topic, enable_gzip=True, write_client_options={"write_options": options}
        )

    def point(i):
        made = Point("reading").time(time(i))
        for name, value in tags(i).items():
            made = made.tag(name, value)
        for name, value in fields(i).items():
            made = made.field(name, value)
        return made

    def expect(status, text, write):
        try:
            write()
        except InfluxDBError as refused:
            require(refused.response.status == status and text in str(refused), refused)
        else:
            require(False, f"expected {status}")

    with client(token, use_v2_api=False, no_sync=True) as database:
        require(database.get_server_version().startswith("waggle-gateway-"), "version")
        for batch in batches(count):
            database.write([point(i) for i in batch])
        expect(400, "line 1: column", lambda: database.write("reading value="))
    with client(UNKNOWN, use_v2_api=False) as stranger:
        expect(401, "token", lambda: stranger.write(point(0)))


warnings.simplefilter("ignore")
version, url, token, topic, count = sys.argv[1:]
{"v1": write_v1, "v2": write_v2, "v3": write_v3}[version](urlsplit(url), token, topic, int(count))
