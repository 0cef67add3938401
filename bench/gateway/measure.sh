# shellcheck shell=bash
# Sourced by the scripts of this folder: a broker of its own, topics, what a process has used, medians. Which gateways there are
# stands in tools.sh.
# shellcheck disable=SC2034 # what is set here is used by those that source it

set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
floor_target=${CARGO_TARGET_DIR:-$here/floor/target}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/waggle
records=$root/studies/data/host-metrics.lp
partitions=${PARTITIONS:-4}
hertz=$(getconf CLK_TCK)

work=$(mktemp -d)
url=
# By name: its process.
declare -A process=()
clean_up() {
    local name
    for name in "${!process[@]}"; do stop "$name"; done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# A virtual CPU that halts is given back to its host, and waits there for its turn when it is woken: with a few thousand short waits a
# second that is most of what one would measure. One loop per CPU, which anything else in here pushes aside, keeps the CPUs from halting.
keep_awake() {
    local cpu
    for cpu in $(seq "$(nproc)"); do
        start "awake-$cpu" chrt --idle 0 sh -c 'while :; do :; done'
    done
}

# What the host has taken of the CPUs so far, and all that has gone by, in ticks.
host_ticks() {
    awk '$1 == "cpu" { for (at = 2; at <= 9; at++) all += $at; print $9, all; exit }' /proc/stat
}

# The host's part between two of those, in percent.
host_part() { # BEFORE AFTER
    awk '{ printf "%.1f\n", ($4 > $2) ? ($3 - $1) * 100 / ($4 - $2) : 0 }' <<< "$1 $2"
}

# As many open files as allowed.
ulimit -n "$(ulimit -H -n)" 2> /dev/null || true

# Builds what is ours; GATEWAY, WAGGLE and FLOOR (a folder) name programs that are built already.
build() {
    local release=(cargo build --quiet --release --locked)
    [ -n "${GATEWAY:-}" ] || "${release[@]}" --manifest-path "$root/Cargo.toml" -p waggle-gateway
    [ -n "${WAGGLE:-}" ] || "${release[@]}" --manifest-path "$root/Cargo.toml" -p waggle-cli
    [ -n "${FLOOR:-}" ] || "${release[@]}" --manifest-path "$here/floor/Cargo.toml"
    gateway=${GATEWAY:-$target/release/waggle-gateway}
    waggle=${WAGGLE:-$target/release/waggle}
    floor=${FLOOR:-$floor_target/release}
}

# A real server of the system ingest, fetched if it is not there; prints its folder.
server_of() { # NAME VERSION
    local folder=$cache/servers/$1-$2
    if [ ! -x "$folder/bin/$3" ]; then
        echo "fetching $1 $2 into $folder" >&2
        mkdir -p "$folder.new"
        "$root/systems/ingest/fetch/$1" "$2" "$folder.new" >&2
        mv "$folder.new" "$folder"
    fi
    echo "$folder"
}

# The version that the system's file names.
version_of() { # NAME
    awk -v name="$1:" '$1 == name { found = 1 } found && $1 == "version:" { gsub(/"/, "", $2); print $2; exit }' \
        <(sed -n '/^artifacts:/,/^components:/p' "$root/systems/ingest/system.yaml")
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Starts a command whose output goes to $work/NAME.out.
start() { # NAME COMMAND…
    "${@:2}" > "$work/$1.out" 2>&1 < /dev/null &
    process[$1]=$!
}

stop() { # NAME
    local pid=${process[$1]:-}
    [ -n "$pid" ] || return 0
    kill "$pid" 2> /dev/null || true
    for _ in $(seq 100); do
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.1
    done
    kill -KILL "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
    unset "process[$1]"
}

# Waits until a port takes connections; prints the end of the process's output if it ends before.
await_port() { # NAME PORT
    for _ in $(seq 600); do
        (: < "/dev/tcp/127.0.0.1/$2") 2> /dev/null && return 0
        kill -0 "${process[$1]}" 2> /dev/null || break
        sleep 0.1
    done
    echo "$1 does not listen on port $2; its output ends so:" >&2
    tail -n 20 "$work/$1.out" >&2
    return 1
}

# One broker, configured as the system ingest has it, but with both of the JVM's compilers: what is measured stands before a broker that
# has run for long. Sets `brokers`.
start_kafka() {
    local folder port controller
    folder=$(server_of kafka "$(version_of kafka)" kafka-server-start.sh)
    port=$(free_port) controller=$(free_port)
    brokers=127.0.0.1:$port
    mkdir "$work/kafka"
    # The broker's settings stand in the system's file, and only there.
    sed -n '/^      server.properties: |/,/^    process:/p' "$root/systems/ingest/system.yaml" \
        | sed -e '1d;$d' -e 's/^ *//' -e "s/\${port.broker}/$port/; s/\${port.controller}/$controller/; s|\${dir}|$work/kafka|" \
            -e "s/\${replica}/0/; s/\${replication_factor}/1/; s/\${listen}/127.0.0.1/g; s/\${host}/127.0.0.1/g" \
            > "$work/kafka/server.properties"
    KAFKA_OPTS=${KAFKA_OPTS:- } KAFKA_HEAP_OPTS="-Xms512m -Xmx512m" start kafka "$root/systems/ingest/start-kafka" \
        "$folder/bin/kafka-storage.sh" "$folder/bin/kafka-server-start.sh" "$work/kafka/server.properties" \
        "127.0.0.1:$controller" 1
    await_port kafka "$port"
}

topic() { "$floor/topic" "$brokers" "$@"; }

# Waits until nothing more comes into a topic, a minute at most.
await_quiet() { # TOPIC
    local before=-1 now
    for _ in $(seq 120); do
        now=$(topic end "$1")
        [ "$now" != "$before" ] || return 0
        before=$now
        sleep 0.5
    done
}

# User and system time of a process so far, µs.
cpu_us() { # NAME
    awk -v hertz="$hertz" '{ sub(/^.*\) /, ""); printf "%.0f\n", ($12 + $13) * 1e6 / hertz }' "/proc/${process[$1]}/stat"
}

rss_mb() { # NAME
    awk '/^VmRSS:/ { printf "%.1f\n", $2 / 1024 }' "/proc/${process[$1]}/status"
}

# Load on `url` of records from the file, each with a time and a key of its own: the result as JSON into FILE. Exit codes say what waggle
# thinks of the load, not whether it ran.
load() { # FILE CONNECTIONS PIPELINING SECONDS [FLAG…]
    "$waggle" load "$url" -X PUT --records "$records" --expect 200,204 -t 1 -c "$2" -p "$3" -d "${4}s" --json --quiet "${@:5}" \
        > "$1" 2> "$work/load.err" || true
    [ -s "$1" ] || { cat "$work/load.err" >&2; return 1; }
}

# The middle of the numbers on standard input.
median() {
    sort -g | awk '{ value[NR] = $1 } END { if (NR) print (NR % 2) ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

# What a reader must know of the machine.
machine() {
    echo "$(nproc) CPUs, $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), Linux $(uname -r)," \
        "load average at the start $(cut -d ' ' -f 1 /proc/loadavg); nothing is pinned: load, gateway and broker share the CPUs, which are kept from halting"
}
