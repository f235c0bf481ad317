# The run `api` of deploy/prove, which sources this file: the HTTP API against its own description.
# shellcheck shell=bash disable=SC2154

readonly schemathesis_version=4.32.5

# Installs schemathesis into .build, unless it is there. Fails where Python or its package index is not to be had.
install_schemathesis() {
    local venv=$1
    [[ -x $venv/bin/st && $("$venv/bin/st" --version) == *"$schemathesis_version" ]] && return
    command -v python3 >/dev/null && python3 -m venv --clear "$venv" &&
        "$venv/bin/pip" --quiet --disable-pip-version-check install "schemathesis==$schemathesis_version"
}

# Ends what run_api has started.
end_api() {
    local work=$1 pid
    for pid in "${@:2}"; do
        kill -TERM "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    "$root/deploy/cluster" stop "$work/cluster"
    rm -rf -- "$work"
}

# Starts a cluster, ingest with the API, and a worker, and sends what schemathesis makes of the description, right and wrong.
run_api() (
    local venv=$root/.build/schemathesis work socket program port key pids=()
    if ! install_schemathesis "$venv"; then
        say "skipped: schemathesis cannot be installed here"
        return 0
    fi
    swift build --product appstore-inbox
    program=$(swift build --show-bin-path)/appstore-inbox
    work=$(mktemp -d)
    chmod 711 "$work"
    trap 'end_api "$work" "${pids[@]}"' EXIT
    socket=$("$root/deploy/cluster" start "$work/cluster" fsync=off)
    "$program" migrate --database-url "host=$socket user=postgres dbname=postgres" >"$work/migrate.log" 2>&1 || { cat "$work/migrate.log"; return 1; }
    key=$("$program" key create schemathesis --environment Production --environment Sandbox --verb orders:create --verb orders:read \
        --verb transactions:submit --verb receipts:submit --verb events:read --verb entitlements:read --verb subscriptions:read \
        --verb contracts:link --verb feed:read --verb feed:consume --verb consumption:read --verb consumption:answer --verb inquiries:make \
        --verb consents:write --verb contracts:extend --verb contracts:set-token --database-url "host=$socket user=appstore_operator dbname=postgres" 2>/dev/null)
    port=$(shuf -i 20000-29999 -n 1)
    export APPSTORE_INBOX_APPS=com.example.shop:1234567890
    "$program" ingest --database-url "host=$socket user=appstore_ingest dbname=postgres" --listen "127.0.0.1:$((port + 1))" --admin-listen "127.0.0.1:$((port + 2))" \
        --api-listen "127.0.0.1:$port" --api-database-url "host=$socket user=appstore_api dbname=postgres" >"$work/ingest.log" 2>&1 &
    pids+=("$!")
    "$program" worker --database-url "host=$socket user=appstore_worker dbname=postgres" >"$work/worker.log" 2>&1 &
    pids+=("$!")
    # The key must not be in the arguments, which every user of the machine can read.
    # A body can be valid by its schema without Apple's signature: 422. A request may ask to wait for ten seconds.
    cat >"$work/schemathesis.toml" <<-CONFIG
		[headers]
		Authorization = "Bearer $key"
		[checks.positive_data_acceptance]
		expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "422", "429", "5xx"]
		# after and consumer exclude each other, which a description cannot say.
		[[operations]]
		include-path = "/v1/feed"
		checks.positive_data_acceptance.expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "410", "422", "429", "5xx"]
		# A member of details at any depth may hold U+0000 or a number beyond PostgreSQL's, which a description cannot say either.
		[[operations]]
		include-path = "/v1/consumption/{environment}/{transactionId}"
		checks.positive_data_acceptance.expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "422", "429", "5xx"]
	CONFIG
    cd "$work" || return 1
    "$venv/bin/st" --config-file "$work/schemathesis.toml" run "http://127.0.0.1:$port/openapi.json" --wait-for-schema 20 --checks all \
        --max-response-time 12 --request-timeout 20 --url "http://127.0.0.1:$port" --max-examples "${API_EXAMPLES:-200}" --continue-on-failure ||
        { tail -n 20 "$work/ingest.log"; return 1; }
)
