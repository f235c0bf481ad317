# shellcheck shell=bash disable=SC2154
# The demo of deploy/demo --legacy: a customer of an app with StoreKit 1, known by receipts and notifications V1 only, and a second account
# on the same Apple ID. Sourced by deploy/demo, whose functions and variables it uses.

# post_receipt FILE USER TRANSACTION: posts a receipt as the user's app does; prints the answer's body, and its status on another line.
post_receipt() {
    printf '{"receiptData":"%s","user":"%s","transactionId":"%s"}' "$(<"$folder/life/$1")" "$2" "$3" >"$folder/submission.json"
    curl --silent --max-time 15 --write-out '\n%{http_code}' --header "@$folder/headers" --data-binary "@$folder/submission.json" \
        "http://127.0.0.1:$api_port/v1/receipts?wait=10"
}

# show_answer WHAT ANSWER COMMENT: prints the status of an answer to an app.
show_answer() { printf '  POST /v1/receipts %-18s %s  %s\n' "$1" "${2##*$'\n'}" "$3"; }

no_call_is_open() { [[ $(sql "SELECT count(*) FROM appstore.outbox_status WHERE state = 'open'") == 0 ]] && is_settled; }
user_of() { sql "SELECT coalesce(user_id, 'no user') || ' ' || status FROM appstore.orders WHERE transaction_id = '$1'"; }
addresses_are_known() { [[ -s $folder/store.jsonl ]] && grep -q '"sandbox"' "$folder/store.jsonl"; }

run_legacy_demo() {
    local secret order charges anna_first anna_renewed anna_recovered ben_bought answer status before file key

    heading "An order, and a simulated verifyReceipt"
    order=$(sql "SELECT appstore.create_order('anna', '$product')")
    say "  SELECT appstore.create_order('anna', '$product')  ->  $order"
    say "  The app passes that UUID to StoreKit 1 as applicationUsername."
    sql "INSERT INTO appstore.products (bundle_id, product_id, entitlement) VALUES ('$bundle', '$product', 'pro')"
    secret=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
    mkdir -p "$folder/secrets"
    (umask 077 && printf '%s\n' "$secret" >"$folder/secrets/$bundle")
    "$lab" demo legacy --ca "$folder/ca" --out "$folder/life" --secret-file "$folder/secrets/$bundle" --order "$order" >"$folder/store.jsonl" 2>"$folder/store.log" &
    say "$!" >>"$pids"
    wait_for 30 "the simulated verifyReceipt" addresses_are_known
    mapfile -t charges < <(member transactionId <"$folder/store.jsonl")
    anna_first=${charges[0]} anna_renewed=${charges[1]} anna_recovered=${charges[3]} ben_bought=${charges[5]}
    contract=$anna_first

    heading "Two daemons with the app's shared secret"
    listen_port=$(free_port) admin_port=$(free_port) api_port=$(free_port)
    url=http://127.0.0.1:$listen_port/apple/v1/notifications
    export APPSTORE_INBOX_API_DATABASE_URL="host=$socket user=appstore_api dbname=postgres"
    "$lab" trigger --root-only --ca "$folder/ca" >"$folder/lab.log"
    start ingest appstore_ingest --listen "127.0.0.1:$listen_port" --admin-listen "127.0.0.1:$admin_port" \
        --api-listen "127.0.0.1:$api_port" --shared-secrets-directory "$folder/secrets"
    start worker appstore_worker --apps "$bundle" --environments "$environment" --extra-roots "$roots" \
        --shared-secrets-directory "$folder/secrets" --verify-receipt-url "$(tail -n 1 "$folder/store.jsonl" | member production)" \
        --verify-receipt-sandbox-url "$(tail -n 1 "$folder/store.jsonl" | member sandbox)"
    wait_for 20 "ingest to be ready" is_ready
    say "  ingest at $url"
    key=$(APPSTORE_INBOX_DATABASE_URL=$database "$program" key create demo --verb receipts:submit --verb entitlements:read 2>"$folder/key.log")
    keep_key "$key"

    heading "Anna's subscription"
    answer=$(post_receipt 1-anna-bought.receipt anna "$anna_first")
    show_answer "by Anna's app" "$answer" "her purchase, four months ago"
    must_be "the app may finish the transaction" "200 $anna_first" "${answer##*$'\n'} $(sed -n 's/.*"finish":\["\([0-9]*\)"\].*/\1/p' <<<"$answer")"
    post 3-anna-failed-to-renew.json "a charge fails; a grace period begins"
    post 4-anna-recovered.json "the charge succeeds five days later"
    post 5-anna-turned-renewal-off.json "she unsubscribes"
    sed "s/$secret/0000/g" "$folder/life/2-anna-renewed.json" >"$folder/life/wrong-secret.json"
    status=$(curl --silent --output /dev/null --write-out '%{http_code}' --header 'Content-Type: application/json' \
        --data-binary "@$folder/life/wrong-secret.json" "$url")
    must_be "a notification with a wrong secret is refused" 401 "$status"
    wait_for 60 "verifyReceipt to have answered" no_call_is_open

    heading "Ben, another account of the shop, buys with the same Apple ID"
    answer=$(post_receipt 6-ben-bought.receipt ben "$ben_bought")
    show_answer "by Ben's app" "$answer" "his purchase, yesterday"
    must_be "the app may finish the transaction" 200 "${answer##*$'\n'}"
    answer=$(post_receipt 6-ben-bought.receipt clara "$ben_bought")
    must_be "another user cannot claim Ben's purchase with a copy of his receipt" "409 urn:appstore-inbox:problem:owner-conflict" \
        "${answer##*$'\n'} $(member type <<<"$answer")"
    post 2-anna-renewed.json "Anna's first renewal, months late"
    post 7-anna-refunded.json "Apple refunds Anna's last period"
    post 7-anna-refunded.json "the same again"
    wait_for 60 "verifyReceipt to have answered" no_call_is_open

    heading "The outcome of each event"
    table "SELECT event_id AS event, source, coalesce(notification_type, '') AS notification, result, coalesce(reason, '') AS reason
           FROM appstore.inbox_status ORDER BY event_id"
    heading "The calls of verifyReceipt"
    table "SELECT call_id AS call, kind, event_id AS event, state, attempts, answer_event_id AS answer FROM appstore.outbox_status ORDER BY 1"
    heading "The timeline of the contract"
    table "SELECT to_char(occurred_at, 'YYYY-MM-DD HH24:MI') AS happened, what, product_id AS product, transaction_id AS transaction,
                  event_id AS event, user_id AS user
           FROM appstore.timeline('$environment', '$contract')"
    heading "Orders and entitlements"
    table "SELECT user_id AS user, status, transaction_id AS transaction, to_char(paid_at, 'YYYY-MM-DD') AS paid
           FROM appstore.orders WHERE original_transaction_id = '$contract' ORDER BY paid_at"
    table "SELECT user_id AS user, entitlement, active, to_char(until, 'YYYY-MM-DD HH24:MI') AS until, why
           FROM appstore.entitlements WHERE original_transaction_id = '$contract'"

    heading "Checks"
    must_be "Anna's order is paid by her purchase" "$order anna paid" \
        "$(sql "SELECT order_no FROM appstore.orders WHERE transaction_id = '$anna_first'") $(user_of "$anna_first")"
    must_be "the renewal that came late belongs to Anna" "anna paid" "$(user_of "$anna_renewed")"
    must_be "the period that Apple refunded belongs to Anna" "anna refunded" "$(user_of "$anna_recovered")"
    must_be "Ben's purchase belongs to Ben" "ben paid" "$(user_of "$ben_bought")"
    must_be "each period is granted once" "4 4" \
        "$(sql "SELECT count(*) || ' ' || count(DISTINCT transaction_id) FROM appstore.effects WHERE kind = 'granted' AND original_transaction_id = '$contract'")"
    must_be "the refund has its effect once" 1 \
        "$(sql "SELECT count(*) FROM appstore.effects WHERE kind = 'refunded' AND original_transaction_id = '$contract'")"
    must_be "Ben may use it, Anna may not" "ben pro t" \
        "$(sql "SELECT string_agg(concat_ws(' ', user_id, entitlement, active), ', ') FROM appstore.entitlements WHERE original_transaction_id = '$contract'")"
    must_be "the second copy of the refund is a duplicate" 1 \
        "$(sql "SELECT count(*) FROM appstore.inbox_status WHERE result = 'duplicate' AND notification_type = 'REFUND'")"
    must_be "the secret is not in the database" 0 \
        "$("$(postgres_bindir)/pg_dump" --dbname="$database" --data-only --inserts | grep -c -e "$secret" -e "$(printf '%s' "$secret" | od -An -tx1 | tr -d ' \n')" || true)"
    must_be "the secret is not in a log" 0 "$(cat "$folder"/*.log | grep -c "$secret" || true)"

    heading "All of Apple's notifications again"
    before=$(sql "SELECT appstore.state_digest('$environment')")
    for file in 2-anna-renewed 3-anna-failed-to-renew 4-anna-recovered 5-anna-turned-renewal-off 7-anna-refunded; do
        post "$file.json" "again"
    done
    wait_for 60 "every event to be settled" is_settled
    must_be "the ledger is unchanged" "$before" "$(sql "SELECT appstore.state_digest('$environment')")"
}

suggest_legacy() {
    suggest_settings
    cat <<TEXT
  Ben's subscription goes on, told by notifications V1. Each line waits and prints what became of it:
    appstore-inbox-lab trigger DID_CHANGE_RENEWAL_STATUS --v1 --secret-file $(quoted "$folder/secrets/$bundle") --wait --user ben \\
        --ca $(quoted "$folder/ca")
    appstore-inbox-lab trigger REFUND --v1 --secret-file $(quoted "$folder/secrets/$bundle") --wait --user ben \\
        --ca $(quoted "$folder/ca")
  The first refund once more; it becomes a duplicate:
    curl -i -H 'Content-Type: application/json' --data-binary @$(quoted "$folder/life/7-anna-refunded.json") $url
  What is in event 1, Anna's receipt:
    appstore-inbox explain 1 --shared-secrets-directory $(quoted "$folder/secrets")
  What your backend asks:
    curl -H @$(quoted "$folder/headers") http://127.0.0.1:$api_port/v1/users/ben/entitlements
  Health of ingest:
    curl -i http://127.0.0.1:$admin_port/readyz
  SQL, as a role that may read everything but bodies:
    psql "host=$socket user=appstore_viewer dbname=postgres"
      SELECT event_id, source, notification_type, result, reason FROM appstore.inbox_status ORDER BY event_id;
      SELECT * FROM appstore.outbox_status ORDER BY call_id;
      SELECT * FROM appstore.timeline('$environment', '$contract');
  Logs: $folder/ingest.log $folder/worker.log
TEXT
}
