# shellcheck shell=bash disable=SC2154,SC2034
# The demo of deploy/demo --history: a shop that was down for a day reads from Apple's notification history what it missed, and answers a
# refund request in time. Sourced by deploy/demo, whose functions and variables it uses.

store_is_served() { grep -q '^Sandbox ' "$folder/store.log"; }
history_is_read() {
    [[ $(sql "SELECT coalesce(bool_and(state = 'done'), false) FROM appstore.history_windows") == t ]] && is_settled
}
# state_of TRANSACTION: the state of Apple's request about it.
state_of() { sql "SELECT state FROM appstore.consumption_requests WHERE transaction_id = '$1'"; }
is_answered() { [[ $(state_of "$asked") == answered ]]; }
# access_of USER: whether the user may use what was bought, and whether it will renew.
access_of() { sql "SELECT concat_ws(' ', access_until > now(), will_renew) FROM appstore.contracts WHERE user_id = '$1'"; }
classes() { sql "SELECT string_agg(class || ' ' || n, ', ' ORDER BY class) FROM (SELECT class, count(*) AS n FROM appstore.history_records GROUP BY class) AS c"; }

run_history_demo() {
    local buyer orders=() before events operator key_lines file

    heading "Four orders, and a simulated App Store whose notifications of the last day failed"
    for buyer in anna ben clara dora; do
        orders+=(--order "$(sql "SELECT appstore.create_order('$buyer', '$(if [[ $buyer == clara ]]; then echo coins.100; else echo "$product"; fi)')")")
    done
    sql "INSERT INTO appstore.products (bundle_id, product_id, entitlement) VALUES ('$bundle', '$product', 'pro')"
    sql "INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('$bundle', 'backend')"
    "$lab" demo history --folder "$folder/ca" --out "$folder/life" "${orders[@]}" >"$folder/store.log" 2>"$folder/lab.log" &
    say "$!" >>"$pids"
    wait_for 30 "the simulated App Store Server API" store_is_served
    asked=$(grep '"clara-wants-a-refund"' "$folder/store.log" | member transactionId)
    sed -n 's/^{"name":"\([^"]*\)","file":null.*/  missed: \1/p' "$folder/store.log"

    heading "Two daemons, and a key to ask Apple"
    listen_port=$(free_port) admin_port=$(free_port)
    url=http://127.0.0.1:$listen_port/apple/v2/notifications
    start ingest appstore_ingest --listen "127.0.0.1:$listen_port" --admin-listen "127.0.0.1:$admin_port"
    wait_for 20 "ingest to be ready" is_ready
    for file in anna-subscribed anna-renewed dora-subscribed clara-bought-coins; do post "$file.json" "delivered before the shop failed"; done
    start worker appstore_worker --apps "$bundle" --environments "$environment" --extra-roots "$folder/ca/root.pem:$environment" \
        --api-keys-directory "$folder/ca/api-keys" --api-production-url "$(sed -n 's/^Production *//p' "$folder/store.log")" \
        --outbound-roots "$folder/ca/host.pem"
    wait_for 60 "the history to be read" history_is_read
    wait_for 30 "each record to have its class" no_record_is_open

    heading "What Apple lists, and where it came from"
    table "SELECT r.signed_at::timestamp(0) AS signed, o.notification_type AS notification, r.attempts, r.last_result, r.class, o.result
           FROM appstore.history_records AS r
           LEFT JOIN appstore.outcomes AS o ON o.notification_uuid = r.notification_uuid AND o.result <> 'duplicate' ORDER BY r.signed_at"
    heading "appstore-inbox history status"
    APPSTORE_INBOX_DATABASE_URL="host=$socket user=appstore_viewer dbname=postgres" "$program" history status | sed 's/^/  /'

    heading "Clara wants her money back, and Apple asks what became of the coins"
    operator="host=$socket user=appstore_operator dbname=postgres"
    APPSTORE_INBOX_DATABASE_URL=$operator "$program" consumption list | sed 's/^/  /'
    must_be "the request waits for a decision" waiting "$(state_of "$asked")"
    say "  appstore-inbox consumption answer $asked --consented --delivery DELIVERED --no-sample --percentage 80000 --preference DECLINE --evidence 'terms 7'"
    APPSTORE_INBOX_DATABASE_URL=$operator "$program" consumption answer "$asked" --consented --delivery DELIVERED --no-sample \
        --percentage 80000 --preference DECLINE --evidence 'terms 7' >"$folder/answer.log"
    wait_for 60 "Apple to take the answer" is_answered

    heading "Checks"
    must_be "what failed is recovered, what another server took is named" "confirmed 3, recovered 4, taken_elsewhere 1" "$(classes)"
    must_be "Anna has unsubscribed" "t f" "$(access_of anna)"
    must_be "Ben has what was paid for" "t t" "$(access_of ben)"
    must_be "Dora's refund ended her access" "f f" "$(access_of dora)"
    must_be "Erik's purchase is known, without a user" "no_user" "$(sql "SELECT string_agg(reason, ' ') FROM appstore.unmatched")"
    must_be "Apple took the answer within its twelve hours" t \
        "$(sql "SELECT answered_at < due_at FROM appstore.consumption_requests WHERE transaction_id = '$asked'")"
    must_be "the App Store was told once" 1 "$(grep -c '^202  consumption ' "$folder/store.log" || true)"
    must_be "the last thirty days are read without a hole" "t 0" \
        "$(sql "SELECT concat_ws(' ', covered_to - covered_from > interval '29 days' AND age < interval '30 minutes', open_windows) FROM appstore.history_coverage")"
    key_lines=$(grep -v -- ----- "$folder"/ca/api-keys/*/*.p8)
    must_be "no log has the key or a token" 0 "$(cat "$folder"/{ingest,worker}.log | grep -c -F -e "$key_lines" -e eyJ || true)"

    heading "The whole history again, and two months more"
    before=$(sql "SELECT appstore.state_digest('$environment')")
    # Not only duplicates: the first walk may list a notification whose push still waits in the queue.
    events=$(sql "SELECT count(*) FROM appstore.outcomes")
    APPSTORE_INBOX_DATABASE_URL=$operator "$program" history walk --app "$bundle" --since "$(date -u -d '-90 days' +%FT%TZ)" | sed 's/^/  /'
    sql "UPDATE appstore.history_cursors SET near_until = near_until - interval '40 days', second_until = second_until - interval '40 days'"
    wait_for 20 "windows to be made" windows_are_open
    wait_for 120 "the history to be read" history_is_read
    must_be "nothing was stored again" "$events" "$(sql "SELECT (SELECT count(*) FROM appstore.outcomes) + (SELECT count(*) FROM appstore.inbox_queue)")"
    must_be "the ledger is unchanged" "$before" "$(sql "SELECT appstore.state_digest('$environment')")"
}

no_record_is_open() { [[ $(sql "SELECT count(*) FROM appstore.history_records WHERE is_open") == 0 ]]; }
windows_are_open() { [[ $(sql "SELECT count(*) FROM appstore.history_windows WHERE state = 'open'") != 0 ]] || history_is_read; }

suggest_history() {
    heading "Left running; deploy/demo --stop ends it"
    cat <<TEXT
  Settings for the commands below:
    export PATH=$(quoted "$binaries"):\$PATH
    export APPSTORE_INBOX_DATABASE_URL="host=$socket user=appstore_operator dbname=postgres"

  Until when the history is read, and what it had:
    appstore-inbox history status --json
    appstore-inbox history gaps
  Apple's requests and the answers:
    appstore-inbox consumption list --state answered
  SQL:
    psql "host=$socket user=appstore_viewer dbname=postgres"
      SELECT * FROM appstore.history_records ORDER BY signed_at;
      SELECT * FROM appstore.api_budget_status;
  Logs: $folder/ingest.log $folder/worker.log $folder/store.log
TEXT
}
