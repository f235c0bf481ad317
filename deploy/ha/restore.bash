# Functions of `prove`: what it posted, from backups, in clusters of their own. The commands are those of deploy/README.md.
# shellcheck shell=bash disable=SC2154

digest_of() { as_postgres psql -XqAt -h "$1" -U postgres -d "$2" -c "SELECT appstore.state_digest('Production')"; }

# As files, from a standby. The copy has the settings of Patroni: it must not wait for standbys, nor be one.
restore_files() {
    local data=$folder/files/data
    PGPASSWORD=${passwords[replicator]} inside 3 "$bindir/pg_basebackup" --host "$(address "$1")" --username replicator --pgdata "$data" \
        --wal-method stream --checkpoint fast
    rm -f "$data/standby.signal"
    as_postgres "$bindir/pg_ctl" start --pgdata "$data" --wait --silent --log "$folder/files/postgresql.log" \
        -o "-c listen_addresses= -c unix_socket_directories=$data" -o '-c synchronous_standby_names= -c primary_conninfo=' >/dev/null
    digest_of "$data" "$database"
    as_postgres "$bindir/pg_ctl" stop --pgdata "$data" --mode fast --silent
}

# As a dump of the schemas, into a cluster that never had it.
restore_dump() {
    local from=$folder/$1/socket to
    to=$(deploy/cluster start "$folder/other")
    as_postgres pg_dump -h "$from" -U postgres --format=custom --schema=appstore --schema=appstore_reports "$database" >"$folder/appstore.dump"
    as_postgres createdb -h "$to" -U postgres "$database"
    as_postgres psql -Xq -h "$to" -U postgres -d "$database" <sql/roles.sql
    as_postgres pg_restore -h "$to" -U postgres --exit-on-error --dbname="$database" <"$folder/appstore.dump"
    as_postgres "$program" migrate --database-url "host=$to user=postgres dbname=$database" >&2
    as_postgres "$program" migrate --check --database-url "host=$to user=postgres dbname=$database" >&2 && digest_of "$to" "$database"
    deploy/cluster stop "$folder/other"
}

check_restores() {
    local source digest
    source=$(leader)
    digest=$(digest_of "$folder/$source/socket" "$database")
    install -d -o "$(postgres_user)" -m 700 "$folder/files"
    check "a copy of the files has the same ledger" "$digest" "$(restore_files $((source % 3 + 1)) 2>>"$folder/restore.log")"
    check "a dump, restored into another cluster, has the same ledger" "$digest" "$(restore_dump "$source" 2>>"$folder/restore.log")"
}
