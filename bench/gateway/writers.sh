# shellcheck shell=bash
# Sourced by `delay` and `memory`: InfluxDB, and what moves readings from Kafka to it.

# shellcheck source-path=SCRIPTDIR source=measure.sh
. "${BASH_SOURCE[0]%/*}/measure.sh"

# For a server that lives as long as this script.
export INFLUX_TOKEN=bench-bench-bench

# Sets `influxdb`, its address.
start_influxdb() {
    local folder
    folder=$(server_of influxdb "$(version_of influxdb)" influxd)
    influxdb=127.0.0.1:$(free_port)
    mkdir "$work/influxdb"
    echo "{}" > "$work/influxdb/none.yaml"
    HOME=$work/influxdb INFLUXD_CONFIG_PATH=$work/influxdb/none.yaml start influxdb "$folder/bin/influxd" \
        "--http-bind-address=$influxdb" "--bolt-path=$work/influxdb/influxd.bolt" "--sqlite-path=$work/influxdb/influxd.sqlite" \
        "--engine-path=$work/influxdb/engine" --reporting-disabled --log-level=warn
    await_port influxdb "${influxdb#*:}"
    curl --silent --show-error --fail --max-time 30 --output "$work/setup" "http://$influxdb/api/v2/setup" --data \
        '{"username":"lab","password":"bench-bench","org":"lab","bucket":"readings","token":"'"$INFLUX_TOKEN"'","retentionPeriodSeconds":0}'
}

# What moves a topic's readings: `sink` with FLAGS, or `telegraf-INTERVAL` with that flush interval, `telegraf-gzip-INTERVAL` with
# compression, which it has by default.
start_writer() { # WRITER TOPIC
    local port flush=${1##*-} encoding=identity
    [[ $1 != *-gzip-* ]] || encoding=gzip
    case $1 in
        sink)
            port=$(free_port)
            # shellcheck disable=SC2086 # several flags
            start writer "$gateway" sink --kafka-brokers "$brokers" --topic "$2" --group "$2" --influxdb-url "http://$influxdb" \
                --influxdb-org lab --influxdb-bucket readings --admin-listen "127.0.0.1:$port" ${FLAGS:-}
            await_port writer "$port"
            ;;
        telegraf-*)
            BROKERS=$brokers TOPIC=$2 INFLUXDB=$influxdb FLUSH=$flush ENCODING=$encoding start writer \
                "$(server_of telegraf "$(version_of telegraf)" telegraf)/bin/telegraf" --config "$here/peers.d/telegraf-to-influxdb.conf"
            ;;
        *)
            echo "there is no writer $1; there are: sink, telegraf-INTERVAL, telegraf-gzip-INTERVAL" >&2
            return 2
            ;;
    esac
}
