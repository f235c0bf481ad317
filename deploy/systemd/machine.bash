# Functions of the scripts that run inside deploy/systemd/namespace, which set $root and $binaries and source it: the machine around the daemons,
# the commands of the README, and notifications.
# shellcheck shell=bash disable=SC2034,SC2154

readonly ingest=appstore-inbox-ingest worker=appstore-inbox-worker
readonly notifications=http://127.0.0.1:8080/apple/v2/notifications
readonly lab=$binaries/appstore-inbox-lab
samples=${APPSTORE_INBOX_SAMPLES:-}
work=$(mktemp -d)
chmod 755 "$work"
cd "$work" || exit
if [[ ! $samples ]]; then
    samples=$work
    echo '[]' >index.json
fi

# The code block of a step of "Install on one server", or of another heading; shells get it as it is printed.
block() {
    sed -n "/^\*\*$1\. /,/^\*\*$(($1 + 1))\. /p" "$root/README.md" | awk -v fence="\`\`\`$2" '
        open && /^```/ { exit }
        open
        $0 == fence { open = 1 }'
}

# The shell commands of a section of the README, as they are printed.
commands() {
    sed -n "/^## $1\$/,/^## /p" "$root/README.md" | awk '
        /^```/ { open = $0 == "```sh" && !open; next }
        open'
}

# follow STEP EXPECTED [LEFT-OUT]: runs the commands of a step, whose output must match an extended regular expression, without the lines that match
# another.
follow() {
    local log=$work/step-$1.log
    (cd "$root" && bash -euo pipefail) < <(block "$1" sh | grep -vE "apt-get|swift build${3:+|$3}" | sed "s|\.build/release|$binaries|") >"$log" 2>&1 ||
        { cat "$log"; fail "step $1 of the README failed"; }
    grep -qE "$2" "$log" || { cat "$log"; fail "step $1 of the README did not print '$2'"; }
}

sql() { runuser -u postgres -- psql -XqAt -h /run/postgresql -d shop -v ON_ERROR_STOP=1 -c "$1"; }
journal() { journalctl -q -u "$1" _TRANSPORT=stdout -o cat "${@:2}"; }
main_pid() { systemctl show -P MainPID "$1"; }
now_ms() { date +%s%3N; }

# wait_for WHAT COMMAND…: repeats the command until it succeeds. Three minutes are more than a slow machine needs: they end what would hang.
wait_for() {
    local deadline=$(($(now_ms) + 180000)) what=$1
    shift
    until "$@" 2>/dev/null; do
        (($(now_ms) < deadline)) || fail "timed out waiting for $what"
        sleep 0.05
    done
}
ready() { [[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$(port "$1")/readyz") == 200 ]]; }
port() { [[ $1 == "$ingest" ]] && echo 9090 || echo 9091; }

# What the installation needs around it: PostgreSQL where Debian has it, the users, and sudo and an editor that no one has to operate.
prepare() {
    local bindir folder=/etc/postgresql/15/main
    bindir=$(postgres_bindir)
    install -d -o postgres -g postgres /srv/postgresql /run/postgresql
    install -d "$folder"
    runuser -u postgres -- "$bindir/initdb" -D /srv/postgresql -A peer -E UTF8 --no-sync >/dev/null
    mv /srv/postgresql/pg_hba.conf /srv/postgresql/pg_ident.conf "$folder/"
    cat >/etc/systemd/system/postgresql.service <<-UNIT
		[Service]
		Type=notify
		User=postgres
		RuntimeDirectory=postgresql
		ExecStart=$bindir/postgres -D /srv/postgresql -k /run/postgresql -c listen_addresses= -c fsync=off \
		-c hba_file=$folder/pg_hba.conf -c ident_file=$folder/pg_ident.conf
		ExecReload=/bin/kill -HUP \$MAINPID
	UNIT
    # The machine's own clusters are wanted by a unit of the same name.
    ln -s /dev/null /etc/systemd/system/postgresql@.service
    systemctl daemon-reload
    systemctl start postgresql || { journalctl -u postgresql -o cat; exit 1; }
    useradd alice
    useradd backend
    cat >/usr/local/bin/editor <<-'SCRIPT'
		#!/bin/sh
		. /srv/editor
	SCRIPT
    chmod 755 /usr/local/bin/editor
    if ! command -v sudo >/dev/null; then
        cat >/usr/local/bin/sudo <<-'SCRIPT'
			#!/bin/bash
			if [[ $1 == -u ]]; then exec runuser -u "$2" -- "${@:3}"; fi
			exec "$@"
		SCRIPT
        chmod 755 /usr/local/bin/sudo
    fi
    "$lab" trigger --ca /srv/ca --root-only >/dev/null
    install -m 644 /srv/ca/root.pem /srv/root.pem
}

# The lines for pg_ident.conf and pg_hba.conf that step 4 shows, which must stand above all others.
map_users() {
    local name file
    for name in pg_ident pg_hba; do
        file=/etc/postgresql/15/main/$name.conf
        { block 4 '' | awk -v name="$name" '/^# / { on = index($0, name) } on'; cat "$file"; } >"$work/$name"
        cat "$work/$name" >"$file"
    done
}

apps() { { echo com.example.app; sample_apps; } | paste -sd,; }
sample_apps() { sed -n 's/.*"bundleId": "\(.*\)".*/\1/p' "$samples/index.json" | sort -u; }
sample_notifications() {
    grep -B 1 '"kind": "notification"' "$samples/index.json" | sed -n "s|.*\"file\": \"\(.*\)\".*|$samples/\1|p"
}

post() { curl -s -o /dev/null -w '%{http_code} %{errormsg}\n' -H 'Content-Type: application/json' -H 'Connection: close' --data-binary "@$1" "${@:2}"; }
settled() { [[ $(sql 'SELECT NOT EXISTS (SELECT FROM appstore.inbox_queue)') == t ]]; }

# under_load WHAT COMMAND…: four clients post work/body.json while it runs. Each post must be answered with 200, be in the inbox, and be settled.
under_load() {
    local what=$1 before number clients=() refused accepted
    shift
    before=$(sql 'SELECT count(*) FROM appstore.inbox')
    rm -f "$work/stop"
    for number in 1 2 3 4; do
        (while [[ ! -e $work/stop ]]; do post "$work/body.json" "$notifications?[1-20]" || true; done) >"$work/client-$number" &
        clients+=($!)
    done
    "$@"
    touch "$work/stop"
    wait "${clients[@]}"
    accepted=$(cat "$work"/client-* | grep -c '^200 $' || true)
    refused=$(cat "$work"/client-* | grep -vc '^200 $' || true)
    ((refused == 0)) || {
        sort "$work"/client-* | uniq -c
        fail "$refused of $((accepted + refused)) posts were refused in $what"
    }
    (($(sql 'SELECT count(*) FROM appstore.inbox') == before + accepted)) || fail "not every accepted notification is in the inbox"
    wait_for "the outcomes" settled
    say "$accepted posts in $what, none refused or lost"
}
