# Functions of `prove`: the faults, each with what ends it.
# shellcheck shell=bash disable=SC2154

# Each fault gets the number of the machine, and has an end_ of the same name.
fault_switchover() {
    curl --silent --max-time 60 --data "{\"leader\": \"machine$1\"}" \
    "http://$(address "$1"):8008/switchover" >>"$folder/switchover.log"
}
end_switchover() { :; }
fault_postgres() { kill -KILL "$(head -n 1 "$folder/$1/data/pg/postmaster.pid")"; }
end_postgres() { :; }
fault_crash() { signal_machine KILL "$1"; }
end_crash() { start_machine "$1"; }
fault_freeze() { signal_machine STOP "$1"; }
end_freeze() { signal_machine CONT "$1"; }
fault_cut() { ip link set "port$1" down; }
end_cut() { ip link set "port$1" up; }
fault_disk() { cat /dev/zero >"$folder/$1/data/filler" 2>/dev/null || true; }
end_disk() { rm "$folder/$1/data/filler"; }
fault_standby() { signal_machine STOP "$1"; }
end_standby() { signal_machine CONT "$1"; }
fault_etcd() {
    local machine
    for machine in 1 2 3; do stop_service "$machine" etcd; done
}
end_etcd() {
    local machine
    for machine in 1 2 3; do start_etcd "$machine"; done
}

sync_standby() { led_sql "SELECT right(application_name, 1) FROM pg_stat_replication WHERE sync_state = 'sync'" postgres; }

# The leader is to be a machine that has daemons, too: any other of the three does.
lead_with_daemons() {
    local machine
    machine=$(leader)
    [[ " $with_daemons " == *" $machine "* ]] || fault_switchover "$machine"
    wait_for 60 "a leader and two standbys" is_whole
}

# run_fault NAME: lets it last for as long as it may take to be overcome, ends it, waits until all is as before, and prints a line.
run_fault() {
    local fault=$1 target start ended gap new whole=yes
    lead_with_daemons
    if [[ $fault == standby ]]; then target=$(sync_standby); else target=$(leader); fi
    start=$(now_ms)
    "fault_$fault" "$target"
    sleep "$bound"
    new=$(leader || say none)
    "end_$fault" "$target"
    ended=$(now_ms)
    within 120 is_whole || whole=''
    gap=$(longest_gap "$start")
    printf '  %-11s %-8s %-8s %8d.%d s %10d %6d s' "$fault" "$target" "$new" $((gap / 1000)) $((gap % 1000 / 100)) "$(refused_since "$start")" \
        $((($(now_ms) - ended) / 1000))
    if [[ ! $whole ]]; then
        say "  ${red}not whole again after 120 s${plain}"
        failures=$((failures + 1))
    elif ((gap < bound * 1000)); then
        say ""
    else
        say "  ${red}more than $bound s${plain}"
        failures=$((failures + 1))
    fi
}
