# shellcheck shell=bash
# Sourced by the scripts of this folder: builds what is measured, starts the null server on its CPU, runs a command on the
# other one and says what it cost. What is run stands in tools.sh.
# shellcheck disable=SC2034 # what is set here is used by those that source it

set -euo pipefail
root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
floor_target=${CARGO_TARGET_DIR:-$root/bench/engine/floor/target}
client_cpu=0
server_cpu=$(($(nproc) > 1 ? 1 : 0))
# A command that does not end by itself is ended this long after its time.
late_seconds=30

work=$(mktemp -d)
server=
clean_up() {
    stop_server
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

build() {
    (
        cd "$root" || exit
        cargo build --quiet --release --locked -p waggle-load --examples
        cargo build --quiet --release --locked --manifest-path bench/engine/floor/Cargo.toml
    )
}

# As many open files as allowed: a thousand connections need more than the usual limit.
ulimit -n "$(ulimit -H -n)" 2> /dev/null || true

start_server() {
    launch_server 127.0.0.1:0
}

# Stands still for LENGTH seconds, first AFTER its first request, then once EVERY so long.
start_stalling_server() { # AFTER LENGTH EVERY
    launch_server 127.0.0.1:0 stall "$@"
}

launch_server() { # its arguments
    : > "$work/address"
    taskset -c "$server_cpu" "$target/release/examples/null_server" "$@" > "$work/address" &
    server=$!
    until [ -s "$work/address" ]; do
        kill -0 "$server"
        sleep 0.05
    done
    address=$(cat "$work/address")
    url=http://$address/
}

stop_server() {
    [ -n "$server" ] || return 0
    kill "$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
    server=
}

# Bytes of one answer, head and body: the bare loop tells answers apart by their length.
answer_bytes() {
    curl --silent --max-time 5 --include "$url" | wc -c
}

# Runs a command on the client's CPU, its output in $work/out; sets cpu_us (user and system of the whole process tree, from
# start to end) and peak_mb (of its largest process). How it ends is not looked at: what it printed is.
TIMEFORMAT='%U %S'
cost() { # SECONDS COMMAND…
    local bound=$(($1 + late_seconds))
    shift
    {
        time /usr/bin/time --quiet --output "$work/peak" --format %M \
            timeout --foreground --kill-after 5 "$bound" taskset -c "$client_cpu" "$@" \
            > "$work/out" 2> "$work/err" < /dev/null || true
    } 2> "$work/cpu"
    cpu_us=$(awk '{ printf "%.0f", ($1 + $2) * 1e6 }' "$work/cpu")
    peak_mb=$(awk '{ printf "%.1f", $1 / 1024 }' "$work/peak")
}

# The middle of the numbers on standard input.
median() {
    sort -g | awk '{ value[NR] = $1 } END { if (NR) print (NR % 2) ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

median_of() { # FILE COLUMN
    awk -v column="$2" '{ print $column }' "$1" | median
}

# Median over the rounds of one tool's figure over another's of the same round, each file with one line a round.
ratio_of() { # FILE FILE COLUMN
    paste -d ' ' <(awk -v column="$3" '{ print $column }' "$1") <(awk -v column="$3" '{ print $column }' "$2") \
        | awk 'NF == 2 && $2 > 0 { print $1 / $2 }' | median
}

# Says whether a limit holds; a figure that is not there is not compared.
limit() { # WHAT FIGURE "<="|"<"|">=" BOUND
    if [ -z "$2" ]; then
        echo "- $1: not measured"
    else
        awk -v what="$1" -v figure="$2" -v sign="$3" -v bound="$4" 'BEGIN {
            holds = sign == ">=" ? figure >= bound : sign == "<" ? figure < bound : figure <= bound
            printf "- %s: %.3g %s\n", what, figure, holds ? "holds" : "**does not hold**"
        }'
    fi
}

# What a reader must know of the machine.
machine() {
    echo "$(nproc) CPUs, $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), Linux $(uname -r)," \
        "load average at the start $(cut -d ' ' -f 1 /proc/loadavg); generator on CPU $client_cpu, server on CPU $server_cpu"
}
