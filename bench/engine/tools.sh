# shellcheck shell=bash
# Sourced by the scripts of this folder: the tools that are compared, the version of each, how it is installed and called, and
# how what it prints is read.
# shellcheck disable=SC2034 # what is set here is used by those that source it

# shellcheck source-path=SCRIPTDIR source=measure.sh
. "${BASH_SOURCE[0]%/*}/measure.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/waggle/peers
configs=$root/bench/engine/peers.d

# wrk, h2load and ab are Debian's. wrk2 is in no package registry: it takes part where it is on the PATH.
oha_version=1.16.0
autocannon_version=9.0.0
hey_version=0.1.5
vegeta_version=12.12.0
k6_version=1.8.1
locust_version=2.47.0

# `engine` is waggle's engine alone, `waggle` the command `waggle load`.
all_tools=(loop engine waggle wrk wrk2 h2load ab oha autocannon hey vegeta k6 locust)

folder_of() { # TOOL
    local version=${1}_version
    echo "$cache/$1-${!version}"
}

go_tool() { # TOOL PACKAGE MODULE VERSION: built in a module of its own, which pins the version
    local module
    module=$(mktemp -d)
    (
        cd "$module"
        go mod init peer 2> /dev/null
        go mod edit -require "$3@v$4"
        GOFLAGS=-mod=mod go build -o "$(folder_of "$1")/$1" "$2"
    ) > "$module/log" 2>&1 || {
        tail -n 5 "$module/log" >&2
        chmod -R u+w "$module" && rm -rf "$module"
        return 1
    }
    rm -rf "$module"
}

install_tool() { # TOOL; each once, into the cache
    local folder
    case $1 in
        loop | engine | wrk2) return 0 ;; # built already, or not to be had
        waggle) (cd "$root" && cargo build --quiet --release --locked -p waggle-cli) && return ;;
        wrk) "$root/scripts/needs" wrk=wrk && return ;;
        h2load) "$root/scripts/needs" h2load=nghttp2-client && return ;;
        ab) "$root/scripts/needs" ab=apache2-utils && return ;;
    esac
    folder=$(folder_of "$1")
    [ ! -e "$folder/installed" ] || return 0
    echo "installing $1 into $folder" >&2
    mkdir -p "$folder"
    case $1 in
        # A folder of its own to build in: oha is no part of this project.
        oha) env -u CARGO_TARGET_DIR cargo install --quiet --locked --version "$oha_version" --root "$folder" oha ;;
        autocannon)
            "$root/scripts/needs" node=nodejs npm=npm
            npm install --silent --no-audit --no-fund --prefix "$folder" "autocannon@$autocannon_version"
            ;;
        hey | vegeta | k6) "$root/scripts/needs" go=golang ;;&
        hey) go_tool hey github.com/rakyll/hey github.com/rakyll/hey "$hey_version" ;;
        vegeta) go_tool vegeta github.com/tsenart/vegeta/v12 github.com/tsenart/vegeta/v12 "$vegeta_version" ;;
        k6) go_tool k6 go.k6.io/k6 go.k6.io/k6 "$k6_version" ;;
        locust)
            "$root/scripts/needs" python3=python3-venv
            python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "locust==$locust_version"
            ;;
    esac
    touch "$folder/installed"
}

program_of() { # TOOL
    case $1 in
        loop) echo "$floor_target/release/floor" ;;
        engine) echo "$target/release/examples/engine_bench" ;;
        waggle) echo "$target/release/waggle" ;;
        wrk | wrk2 | h2load | ab) command -v "$1" ;;
        oha-corrected) program_of oha ;;
        oha | locust) echo "$(folder_of "$1")/bin/$1" ;;
        autocannon) echo "$(folder_of "$1")/node_modules/.bin/$1" ;;
        *) echo "$(folder_of "$1")/$1" ;;
    esac
}

# The tools of a list that can be had here; those that cannot are named.
available() { # TOOL…
    local tool
    for tool in "$@"; do
        [[ " ${all_tools[*]} " == *" $tool "* ]] || {
            echo "there is no tool $tool; there are: ${all_tools[*]}" >&2
            return 2
        }
        if (install_tool "$tool") >&2 && is_there "$tool"; then
            echo "$tool"
        else
            echo "left out, because it cannot be had here: $tool" >&2
        fi
    done
}

is_there() { # TOOL
    local program
    program=$(program_of "$1") && [ -x "$program" ] || return 1
    # A program that knows no `load` yet.
    [ "$1" != waggle ] || "$program" load --help > /dev/null 2>&1
}

# Sets `command` to what drives $url so; fails where the tool cannot do that.
#   closed CONNECTIONS PIPELINING SECONDS · open|latencies CONNECTIONS RATE SECONDS
command_of() { # TOOL closed|open|latencies …
    local program
    program=$(program_of "$1")
    command=()
    "command_$2" "$1" "$program" "${@:3}"
}

command_closed() { # TOOL PROGRAM CONNECTIONS PIPELINING SECONDS
    local program=$2 connections=$3 pipelining=$4 seconds=$5
    case $1 in
        loop) command=("$program" "$address" "$connections" "$pipelining" "$seconds" "$(answer_bytes)") ;;
        engine) command=("$program" "$address" "$connections" "$pipelining" "$seconds") ;;
        waggle) command=("$program" load --json -t 1 -c "$connections" -p "$pipelining" -d "${seconds}s" "$url") ;;
        wrk)
            command=("$program" -t1 -c"$connections" -d"${seconds}s" "$url")
            [ "$pipelining" = 1 ] || command+=(-s "$configs/pipeline.lua" -- "$pipelining")
            ;;
        h2load) command=("$program" --h1 -t1 -c"$connections" -m"$pipelining" -D"$seconds" "$url") ;;
        autocannon) command=("$program" --json -c "$connections" -p "$pipelining" -d "$seconds" "$url") ;;
        *) [ "$pipelining" = 1 ] || return 1 ;;&
        ab) command=("$program" -q -k -c "$connections" -t "$seconds" -n 20000000 "$url") ;;
        oha) command=("$program" --no-tui --output-format json -c "$connections" -z "${seconds}s" "$url") ;;
        hey) command=("$program" -c "$connections" -z "${seconds}s" "$url") ;;
        vegeta) vegeta_command "$program" report "-rate=0 -max-workers=$connections -workers=$connections -duration=${seconds}s" ;;
        k6) k6_command "$program" -e "CONNECTIONS=$connections" -e "SECONDS=$seconds" ;;
        locust) locust_command "$program" "$connections" "$seconds" ;;
    esac
    [ "${#command[@]}" -gt 0 ]
}

command_open() { # TOOL PROGRAM CONNECTIONS RATE SECONDS
    local program=$2 connections=$3 rate=$4 seconds=$5
    local each=$((rate / connections))
    case $1 in
        engine) command=("$program" "$address" "$connections" 1 "$seconds" "$client_cpu" "$rate") ;;
        waggle) command=("$program" load --json -t 1 -c "$connections" --rate "$rate" -d "${seconds}s" "$url") ;;
        wrk2) command=("$program" -t1 -c"$connections" -R"$rate" -d"${seconds}s" "$url") ;;
        h2load) command=("$program" --h1 -t1 -c"$connections" --rps "$each" -D"$seconds" "$url") ;;
        autocannon) command=("$program" --json -c "$connections" -R "$rate" -d "$seconds" "$url") ;;
        oha) command=("$program" --no-tui --output-format json -c "$connections" -q "$rate" -z "${seconds}s" "$url") ;;
        oha-corrected) command=("$program" --no-tui --output-format json -c "$connections" -q "$rate" --latency-correction -z "${seconds}s" "$url") ;;
        hey) command=("$program" -c "$connections" -q "$each" -z "${seconds}s" "$url") ;;
        vegeta) vegeta_command "$program" report "-rate=$rate/1s -duration=${seconds}s" ;;
        k6) k6_command "$program" -e "CONNECTIONS=$connections" -e "RATE=$rate" -e "SECONDS=$seconds" ;;
        locust) locust_command "$program" "$connections" "$seconds" "$each" ;;
    esac
    [ "${#command[@]}" -gt 0 ]
}

# An open load of which latencies_in can read the latencies: some tools must be told to print or to list them. With wrk and ab,
# which hold no rate, it is a closed one.
command_latencies() { # TOOL PROGRAM CONNECTIONS RATE SECONDS
    case $1 in
        wrk | ab) command_closed "$1" "$2" "$3" 1 "$5" ;;
        *) command_open "$@" ;;
    esac
    case $1 in
        wrk | wrk2) command+=(-s "$configs/percentiles.lua") ;;
        h2load) command+=(--log-file "$work/h2load.log") ;;
        hey) command=("$2" -c "$3" -q "$(($4 / $3))" -z "${5}s" -o csv "$url") ;;
        vegeta) vegeta_command "$2" "encode -to csv" "-rate=$4/1s -duration=${5}s" ;;
    esac
    [ "${#command[@]}" -gt 0 ]
}

# vegeta is two programs in a pipe, and its figures need both.
vegeta_command() { # PROGRAM LAST FLAGS
    local last=$2
    [ "$last" != report ] || last="report -type=json"
    command=(bash -c "echo 'GET $url' | '$1' attack $3 | '$1' $last")
}

k6_command() { # PROGRAM FLAG…
    command=("$1" run --quiet --no-usage-report --no-color --address 127.0.0.1:0 -e "URL=$url" "${@:2}" "$configs/k6.js")
}

locust_command() { # PROGRAM USERS SECONDS [EACH]: requests per second of each user; none: as fast as they can
    command=(env "EACH=${4:-0}" "$1" --locustfile "$configs/locustfile.py" --host "${url%/}" --headless --only-summary --json
        --users "$2" --spawn-rate "$2" --run-time "${3}s")
}

# What a tool needs to start, without any load: sets `command`.
command_start() { # TOOL
    command=("$(program_of "$1")")
    case $1 in
        oha | autocannon | waggle) command+=(--version) ;;
        k6) command+=(version) ;;
        locust) command+=(-V) ;;
        vegeta) command+=(-version) ;;
        wrk | wrk2 | ab | hey | h2load | loop | engine) command+=(-h) ;;
    esac
}

# Requests answered well, by what the tool printed.
requests_in() { # TOOL closed|open|latencies FILE
    case $1-$2 in
        loop-* | engine-*) sed -nE 's/.*requests=([0-9]+).*/\1/p' "$3" ;;
        waggle-*) jq .succeeded "$3" ;;
        wrk-* | wrk2-*) sed -nE 's/^ *([0-9]+) requests in .*/\1/p' "$3" ;;
        h2load-*) sed -nE 's/^requests: .* ([0-9]+) succeeded.*/\1/p' "$3" ;;
        ab-*) sed -nE 's/^Complete requests: +([0-9]+).*/\1/p' "$3" ;;
        oha*) jq '[.statusCodeDistribution[]] | add' "$3" ;;
        autocannon-*) jq '."2xx"' "$3" ;;
        hey-latencies) awk -F , 'NR > 1 && $7 == 200' "$3" | wc -l ;;
        hey-*) sed -nE 's/^ *\[200\][ \t]+([0-9]+) responses/\1/p' "$3" ;;
        vegeta-latencies) awk -F , '$2 == 200' "$3" | wc -l ;;
        vegeta-*) jq '.status_codes."200"' "$3" ;;
        k6-*) jq .succeeded "$3" ;;
        locust-*) jq '[.[] | .num_requests - .num_failures] | add' "$3" ;;
    esac
}

# The percentiles 50, 90, 99, 99.9 and the maximum, in ms, of the latencies on standard input, in ms; nearest rank.
percentiles() {
    sort -g | awk '
        function rank(share, place) { place = share * NR; return place == int(place) ? place : int(place) + 1 }
        { value[NR] = $1 }
        END { if (NR) print value[rank(0.5)], value[rank(0.9)], value[rank(0.99)], value[rank(0.999)], value[NR] }'
}

# The same of what a tool says of the latencies of an open load, or of wrk's closed one: as it prints them where it prints
# percentiles (– where it has not that one), else of the single latencies that it lists.
latencies_in() { # TOOL FILE
    case $1 in
        engine) sed -nE 's/.* p50_us=([0-9]+) p90_us=([0-9]+) p99_us=([0-9]+) p99_9_us=([0-9]+) max_us=([0-9]+) .*/\1 \2 \3 \4 \5/p' "$2" | from_us ;;
        waggle) jq -r '.response_time_us | "\(.p50) \(.p90) \(.p99) \(.p99_9) \(.max)"' "$2" | from_us ;;
        wrk | wrk2) sed -n 's/^latency_us //p' "$2" | from_us ;;
        ab) awk '/^ +[0-9]+%/ { at[$1] = $2 } END { print at["50%"], at["90%"], at["99%"], "–", at["100%"] }' "$2" ;;
        h2load) awk '{ print $3 / 1000 }' "$work/h2load.log" | percentiles ;;
        autocannon) jq -r '.latency | "\(.p50) \(.p90) \(.p99) \(.p99_9) \(.max)"' "$2" ;;
        oha*) jq -r '[.latencyPercentiles["p50", "p90", "p99", "p99.9"], .summary.slowest | . * 1000 | tostring] | join(" ")' "$2" ;;
        hey) awk -F , 'NR > 1 { print $1 * 1000 }' "$2" | percentiles ;;
        vegeta) awk -F , '{ print $3 / 1e6 }' "$2" | percentiles ;;
        k6) jq -r '.latency_ms | map(tostring) | join(" ")' "$2" ;;
        # Locust keeps rounded latencies, each with its count.
        locust) jq -r '.[] | .response_times | to_entries[] | "\(.key) \(.value)"' "$2" \
            | awk '{ for (i = 0; i < $2; i++) print $1 }' | percentiles ;;
    esac
}

from_us() {
    awk '{ for (i = 1; i <= NF; i++) printf "%s%s", $i / 1000, i < NF ? " " : "\n" }'
}
