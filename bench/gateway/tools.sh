# shellcheck shell=bash
# Sourced by `peers`: the gateways that are compared, the version of each, how it is had and started, and what its answer promises.

# shellcheck source-path=SCRIPTDIR source=measure.sh
. "${BASH_SOURCE[0]%/*}/measure.sh"

# As npm's package.json in peers.d/fastify has it, and as Go's modules have it.
fastify_version=5.12.8-kafkajs-2.2.4
benthos_version=4.24.0

all_gateways=(waggle waggle-by-batch waggle-lingering floor fastify-each fastify-gather benthos telegraf)

# What an answer of a gateway means for the record.
promise_of() { # GATEWAY
    case $1 in
        telegraf) echo "in its memory" ;;
        *) echo "acknowledged by the broker (acks=all)" ;;
    esac
}

folder_of() { # PEER VERSION
    echo "$cache/peers/$1-$2"
}

install_gateway() { # GATEWAY; each once, into the cache
    local folder
    case $1 in
        waggle | waggle-by-batch | waggle-lingering | floor) return ;;
        telegraf) server_of telegraf "$(version_of telegraf)" telegraf > /dev/null && return ;;
        fastify-*) folder=$(folder_of fastify "$fastify_version") ;;
        benthos) folder=$(folder_of benthos "$benthos_version") ;;
    esac
    [ ! -e "$folder/installed" ] || return 0
    echo "installing $1 into $folder" >&2
    mkdir -p "$folder"
    case $1 in
        fastify-*)
            "$root/scripts/needs" node=nodejs npm=npm
            cp "$here"/peers.d/fastify/package*.json "$folder"
            npm install --silent --no-audit --no-fund --prefix "$folder"
            ;;
        benthos)
            "$root/scripts/needs" go=golang
            install_benthos "$folder"
            ;;
    esac
    touch "$folder/installed"
}

# With the few parts that are needed: all of it takes a quarter of an hour to build.
install_benthos() ( # FOLDER
    module=$(mktemp -d)
    trap 'rm -rf "$module"' EXIT
    cp "$here/peers.d/benthos.go" "$module/main.go"
    cd "$module"
    go mod init peer 2> /dev/null
    go mod edit -require "github.com/benthosdev/benthos/v4@v$benthos_version"
    GOFLAGS=-mod=mod go build -o "$1/benthos" . > log 2>&1 || { tail -n 5 log >&2; exit 1; }
)

# The gateways of a list that can be had here; those that cannot are named.
available() { # GATEWAY…
    local gateway
    for gateway in "$@"; do
        [[ " ${all_gateways[*]} " == *" $gateway "* ]] || {
            echo "there is no gateway $gateway; there are: ${all_gateways[*]}" >&2
            return 2
        }
        if (install_gateway "$gateway") >&2; then
            echo "$gateway"
        else
            echo "left out, because it cannot be had here: $gateway" >&2
        fi
    done
}

# Starts a gateway for a topic; sets `url`.
start_gateway() { # GATEWAY TOPIC
    local port command
    port=$(free_port)
    url=http://127.0.0.1:$port/api/v1/topics/$2/records
    case $1 in
        waggle | waggle-by-batch | waggle-lingering)
            # shellcheck disable=SC2206 # several flags
            command=("$gateway" serve --listen "127.0.0.1:$port" --backend kafka --kafka-brokers "$brokers" --kafka-create-topics ${FLAGS:-})
            case $1 in
                waggle-by-batch) command+=(--kafka-partition-by batch) ;;
                waggle-lingering) command+=(--kafka-linger 1ms) ;;
            esac
            ;;
        floor) command=("$floor/gateway-floor" "127.0.0.1:$port" "$brokers" "$2") ;;
        fastify-*)
            cp "$here/peers.d/fastify/server.mjs" "$(folder_of fastify "$fastify_version")"
            command=(node "$(folder_of fastify "$fastify_version")/server.mjs" "$port" "$brokers" "${1#fastify-}")
            ;;
        benthos) command=("$(folder_of benthos "$benthos_version")/benthos" -c "$here/peers.d/benthos.yaml") ;;
        telegraf)
            command=("$(server_of telegraf "$(version_of telegraf)" telegraf)/bin/telegraf" --config "$here/peers.d/telegraf.conf")
            ;;
    esac
    PORT=$port BROKERS=$brokers TOPIC=$2 start gateway "${command[@]}"
    await_port gateway "$port"
}
