# Functions of `prove`: clients that post as Apple does, and what must be in the database afterwards.
# shellcheck shell=bash disable=SC2154

# post MACHINE FILE: prints the status of an answer, 000 where there is none.
post() {
    curl --silent --output /dev/null --connect-timeout 1 --max-time 5 --write-out '%{http_code}' --header 'Content-Type: application/json' \
        --data-binary "@$2" "http://$(address "$1"):$listen_port/apple/v2/notifications" || true
}
# Ingest says so on its admin listener.
takes_notifications() { inside "$1" curl --silent --fail --output /dev/null --max-time 2 http://127.0.0.1:9090/readyz; }

# One client. It takes the other ingest after each answer that is not 200, and one that did not answer at all only after ten seconds again, as
# nginx does. It writes a line for each answer: its time, status, UUID and machine. The forged notification has the UUID of a genuine one.
post_lives() {
    local client=$1 place=$folder/posts/$1 target=$((1 + $1 % 2)) line file uuid status rests=(0 0 0)
    mkdir -p "$place"
    while [[ ! -e $folder/stop ]]; do
        "$lab" demo --ca "$folder/ca" --out "$place" --order "$(uuid)" --account-order "$(uuid)" --account-order "$(uuid)" |
            grep -v forged | shuf >"$place/life"
        cat "$place/life" >>"$place/lives"
        while read -r line; do
            file=${line#*\"file\":\"} uuid=${line#*\"notificationUUID\":\"}
            file=${file%%\"*} uuid=${uuid%%\"*}
            while :; do
                status=$(post "$target" "$file")
                say "$(now_ms) $status $uuid $target" >>"$folder/posts/$client.log"
                if [[ $status == 200 ]]; then break; fi
                if [[ $status == 000 ]]; then rests[target]=$((SECONDS + 10)); fi
                if ((rests[3 - target] <= SECONDS)); then target=$((3 - target)); fi
                sleep 0.1
            done
            sleep 0.1
        done <"$place/life"
    done
}
uuid() { cat /proc/sys/kernel/random/uuid; }

poster_pids=()
start_posts() {
    local client
    mkdir -p "$folder/posts"
    for client in $(seq "$posters"); do
        post_lives "$client" &
        poster_pids+=($!)
    done
}
# A client ends with the life that it posts, unless there are no answers any more.
stop_posts() {
    touch "$folder/stop"
    within 60 posts_ended || kill "${poster_pids[@]}"
    wait "${poster_pids[@]}" || true
}
posts_ended() { ! kill -0 "${poster_pids[@]}"; }

# longest_gap FROM: the longest time in ms without a 200, from then until now.
longest_gap() {
    sort -n "$folder"/posts/*.log | awk -v last="$1" -v now="$(now_ms)" '
        $2 == 200 && $1 > last { if ($1 - last > gap) gap = $1 - last; last = $1 }
        END { if (now - last > gap) gap = now - last; print gap + 0 }'
}
refused_since() { cat "$folder"/posts/*.log | awk -v from="$1" '$1 >= from && $2 != 200' | wc -l; }

# How many periods the answered notifications grant.
granted_by_posts() {
    sed -nE 's/.*"type":"(SUBSCRIBED|DID_RENEW).*"notificationUUID":"([^"]*)".*/\2/p' "$folder"/posts/*/lives |
        sort | comm -12 - "$folder/answered" | wc -l
}
is_settled() { [[ $(led_sql "SELECT count(*) FROM appstore.inbox_queue") == 0 ]]; }

check_notifications() {
    local answered posts
    cat "$folder"/posts/*.log >"$folder/posts.txt"
    awk '$2 == 200 { print $3 }' "$folder/posts.txt" | sort >"$folder/answered"
    answered=$(wc -l <"$folder/answered") posts=$(wc -l <"$folder/posts.txt")
    say "  $posts posts, $answered of them answered with 200"
    check "no notification was answered with 200 twice by the clients' own mistake" 0 "$(uniq -d "$folder/answered" | wc -l)"
    led_sql "SELECT notification_uuid, count(*) FILTER (WHERE result = 'duplicate'), count(*) FILTER (WHERE result <> 'duplicate')
        FROM appstore.inbox_status WHERE notification_uuid IS NOT NULL GROUP BY 1" | tr '|' ' ' | sort >"$folder/stored"
    check "no event waits" 0 "$(led_sql "SELECT count(*) FROM appstore.inbox_queue")"
    check "every notification that was answered with 200 is in the inbox" 0 \
        "$(cut -d' ' -f1 "$folder/stored" | comm -23 "$folder/answered" - | wc -l)"
    check "each of them is settled exactly once, apart from duplicates" 0 "$(awk '$3 != 1' "$folder/stored" | wc -l)"
    check "each event is either queued or has one outcome" 0 "$(led_sql "SELECT count(*) FROM appstore.events_not_exactly_once()")"
    check "no event failed, was rejected or unhandled" 0 \
        "$(led_sql "SELECT count(*) FROM appstore.outcomes WHERE result IN ('failed', 'rejected', 'unhandled')")"
    check "no effect happened twice" 0 "$(led_sql "SELECT count(*) FROM (SELECT FROM appstore.effects
        GROUP BY kind, environment, original_transaction_id, transaction_id, occurred_at HAVING count(*) > 1) AS doubled")"
    check "each purchase and renewal was granted, once" "$(granted_by_posts)" \
        "$(led_sql "SELECT count(*) FROM appstore.effects WHERE kind = 'granted'")"
    check "all three servers have the same ledger" 1 "$(digests | sort -u | wc -l)"
    say "  $(awk '{ n += $2 } END { print n + 0 }' "$folder/stored") duplicates: commits whose answer was lost, so that the client posted again"
}
