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
# What the leader commits before its end is sent to no standby. That its processes ended alone would not do: the kernel sends what they wrote.
fault_lag() {
    local machine
    for machine in 1 2 3; do [[ $machine == "$1" ]] || ip link set "port$machine" down; done
    sleep 2
    ip link set "port$1" down
    signal_machine KILL "$1"
    for machine in 1 2 3; do [[ $machine == "$1" ]] || ip link set "port$machine" up; done
}
end_lag() {
    ip link set "port$1" up
    start_machine "$1"
}
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

seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# hold FAULT MACHINE START: lets a fault last as long as it may take to be overcome. Prints the leader, and when it led, in ms after START:
# where another machine has to lead, from when one did.
hold() {
    local new='' after=0 besides=none
    case $1 in switchover | crash | freeze | cut | lag | disk) besides=$2 ;; esac
    while (($(now_ms) < $3 + bound * 1000)); do
        if [[ ! $new ]] && new=$(leader_besides "$besides"); then after=$(($(now_ms) - $3)); fi
        sleep 0.1
    done
    say "${new:-none} $after"
}

# run_fault NAME: makes a fault, ends it, waits until all is as before, and prints a line.
run_fault() {
    local fault=$1 target start ended gap new after whole=yes
    lead_with_daemons
    if [[ $fault == standby ]]; then target=$(sync_standby); else target=$(leader); fi
    start=$(now_ms)
    "fault_$fault" "$target"
    read -r new after < <(hold "$fault" "$target" "$start")
    "end_$fault" "$target"
    ended=$(now_ms)
    within 120 is_whole || whole=''
    gap=$(longest_gap "$start")
    printf '  %-11s %-5s %-7s %8s s %9s s %8d %7d s' "$fault" "$target" "$new" "$(seconds "$after")" "$(seconds "$gap")" \
        "$(refused_since "$start")" $((($(now_ms) - ended) / 1000))
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
