# Functions of `prove`: three machines, which are network namespaces on a bridge, and what runs on each.
# shellcheck shell=bash disable=SC2154

readonly network=10.77.0 database=shop
readonly proxy_port=5000 listen_port=8080
# What a machine's daemons are called, by its number. Only two of the machines run ingest and a worker.
readonly with_daemons='1 2'

address() { say "$network.$1"; }
# inside MACHINE COMMAND…: runs a command on a machine, as the unprivileged user of PostgreSQL.
inside() {
    local machine=$1
    shift
    nsenter --net="/run/netns/machine$machine" setpriv --reuid="$(postgres_user)" --regid="$(id -g "$(postgres_user)")" --clear-groups -- "$@"
}

# The bridge has the address of the world outside, from which Apple posts.
make_network() {
    local machine
    mkdir -p /run/netns
    mount -t tmpfs tmpfs /run/netns
    ip link set lo up
    ip link add outside type bridge
    ip address add "$network.254/24" dev outside
    ip link set outside up
    for machine in 1 2 3; do
        ip netns add "machine$machine"
        ip link add "port$machine" type veth peer name eth0 netns "machine$machine"
        ip link set "port$machine" master outside up
        ip -n "machine$machine" link set lo up
        ip -n "machine$machine" address add "$(address "$machine")/24" dev eth0
        ip -n "machine$machine" link set eth0 up
    done
}

random_password() { head -c 18 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# filled EXAMPLE MACHINE: an example file with a machine's name and the addresses of all.
filled() {
    sed -e "s/ADDRESS\([123]\)/$network.\1/g; s/ADDRESS/$(address "$2")/g; s/NAME/machine$2/g" "$root/deploy/ha/$1"
}

# Before 3.0.3, Patroni overwrites the leader key of another machine in version 3 of etcd's API, when it was cut off:
# https://github.com/patroni/patroni/pull/2689
etcd_section() {
    if [[ $(printf '%s\n' 3.0.3 "$(patroni --version | sed 's/.* //')" | sort -V | head -n 1) == 3.0.3 ]]; then say etcd3; else say etcd; fi
}

# The files of a machine, below FOLDER/NUMBER. The data are in a file system of their own, which a fault fills.
make_machine() {
    local machine=$1 place=$folder/$1 role
    mkdir -p "$place"/{etcd,data,socket}
    mount -t tmpfs -o "size=$disk_size,mode=700" tmpfs "$place/data"
    filled patroni.yml.example "$machine" |
        sed -e "s|^etcd3:|$(etcd_section):|" \
            -e "s|^  bin_dir: .*|  bin_dir: $bindir|; s|^  data_dir: .*|  data_dir: $place/data/pg|; s|^  pgpass: .*|  pgpass: $place/pgpass|" \
            -e "s|unix_socket_directories: .*|unix_socket_directories: $place/socket|" \
            -e "s|max_slot_wal_keep_size: .*|max_slot_wal_keep_size: 256MB|; s|^\(        \)max_connections.*|&\n\1max_wal_size: 128MB|" \
            -e "s|SUPERUSER_PASSWORD|${passwords[postgres]}|; s|REPLICATION_PASSWORD|${passwords[replicator]}|" \
            -e "s|synchronous_mode: .*|synchronous_mode: $synchronous|" \
            -e "s|synchronous_mode_strict: .*|synchronous_mode_strict: $strict|" >"$place/patroni.yml"
    filled haproxy.cfg.example "$machine" >"$place/haproxy.cfg"
    for role in ingest worker; do
        if [[ $connect == proxy ]]; then
            printf 'host=127.0.0.1 port=%s ' "$proxy_port"
        else
            printf 'host=%s,%s,%s target_session_attrs=read-write connect_timeout=2 ' "$(address 1)" "$(address 2)" "$(address 3)"
        fi >"$place/$role.database-url"
        printf 'dbname=%s user=appstore_%s password=%s\n' "$database" "$role" "${passwords[$role]}" >>"$place/$role.database-url"
    done
    chmod 600 "$place"/{patroni.yml,haproxy.cfg,*.database-url}
    chown -R "$(postgres_user)" "$place"
    chmod 700 "$place/data"
}

# service MACHINE NAME COMMAND…: runs a command on a machine, and again when it ends, as systemd does.
service() {
    local machine=$1 name=$2
    shift 2
    # shellcheck disable=SC2016
    inside "$machine" bash -c 'while :; do "$@"; printf "%s ended with %s\n" "$(date -u +%T.%3N)" "$?"; sleep 1; done' "$name" "$@" \
        >>"$folder/$machine/$name.log" 2>&1 &
    say "$!" >"$folder/$machine/$name.pid"
    # The shell is not to report how it ends.
    disown
}
stop_service() {
    local pid
    pid=$(<"$folder/$1/$2.pid")
    kill -STOP "$pid"
    pkill -KILL -P "$pid" || true
    kill -KILL "$pid"
}

start_etcd() {
    local machine=$1 place=$folder/$1 own
    own=$(address "$machine")
    service "$machine" etcd etcd --enable-v2 --name "machine$machine" --data-dir "$place/etcd" --log-level warn \
        --listen-peer-urls "http://$own:2380" --initial-advertise-peer-urls "http://$own:2380" \
        --listen-client-urls "http://$own:2379" --advertise-client-urls "http://$own:2379" \
        --initial-cluster "machine1=http://$(address 1):2380,machine2=http://$(address 2):2380,machine3=http://$(address 3):2380"
}

start_machine() {
    local machine=$1 place=$folder/$1
    start_etcd "$machine"
    service "$machine" patroni patroni "$place/patroni.yml"
    service "$machine" disk-guard env FREE_MEGABYTES=64 "$folder/disk-guard" "machine$machine" \
        "http://$(address "$machine"):8008" "$place/data"
    if [[ " $with_daemons " == *" $machine "* ]]; then
        service "$machine" haproxy haproxy -db -f "$place/haproxy.cfg"
        if [[ -e $folder/schema ]]; then start_daemons "$machine"; fi
    fi
}

start_daemons() {
    local machine=$1 place=$folder/$1
    service "$machine" ingest "$program" ingest --listen "$(address "$machine"):$listen_port" --admin-listen "127.0.0.1:9090" \
        --database-url-file "$place/ingest.database-url"
    service "$machine" worker env APPSTORE_INBOX_OCSP=off "$program" worker --apps com.example.shop --environments Production \
        --extra-roots "$folder/ca/root.pem:Production" --database-url-file "$place/worker.database-url"
}

# signal_machine SIGNAL MACHINE: sends a signal to every process of a machine, twice for those that begin meanwhile.
signal_machine() {
    local pids _
    for _ in 1 2; do
        mapfile -t pids < <(ip netns pids "machine$2")
        if ((${#pids[@]})); then kill "-$1" "${pids[@]}" 2>/dev/null || true; fi
    done
}

# What Patroni's REST API says: status_of MACHINE PATH prints the HTTP status.
status_of() { curl --silent --output /dev/null --max-time 1 --write-out '%{http_code}' "http://$(address "$1"):8008/$2" || true; }

# The number of the machine that leads; fails while there is none.
leader() { leader_besides none; }
leader_besides() {
    local machine
    for machine in 1 2 3; do
        if [[ $machine != "$1" && $(status_of "$machine" primary) == 200 ]]; then
            say "$machine"
            return 0
        fi
    done
    return 1
}

# sql MACHINE STATEMENT: as PostgreSQL's superuser, over the socket of a machine.
sql() { as_postgres psql -XqAt -v ON_ERROR_STOP=1 -h "$folder/$1/socket" -U postgres -d "${3:-$database}" -c "$2"; }
led_sql() { sql "$(leader)" "$@"; }

# Whether one machine leads, both others stream from it, and Patroni knows one of them as synchronous: only that one may take over.
is_whole() {
    local machine
    machine=$(leader) || return 1
    [[ $(sql "$machine" "SELECT count(*) FROM pg_stat_replication
        WHERE state = 'streaming' AND application_name LIKE 'machine%' AND replay_lsn > pg_current_wal_lsn() - 1048576" postgres) == 2 ]] &&
        [[ $synchronous == false || $(curl --silent --max-time 1 "http://$(address "$machine"):8008/cluster") == *'"sync_standby"'* ]]
}

digests() {
    local machine
    for machine in 1 2 3; do sql "$machine" "SELECT appstore.state_digest('Production')"; done
}
