# Functions of the scripts in this folder, which source it.
# shellcheck shell=bash

# The folder of the repository.
# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Scripts must not connect to the caller's own cluster.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS PGDATA PGAPPNAME

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
else
    bold='' green='' red='' dim='' plain=''
fi
export bold green red dim plain

say() { printf '%s\n' "$*"; }
heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
fail() {
    printf '%s%s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

# The folder of PostgreSQL's server programs. On Debian they are not in PATH; the newest version comes first.
postgres_bindir() {
    local candidate
    for candidate in "$(command -v initdb >/dev/null && dirname "$(readlink -f "$(command -v initdb)")")" \
        "$(command -v pg_config >/dev/null && pg_config --bindir)" \
        $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5,5 -rV); do
        if [[ -x $candidate/initdb && -x $candidate/pg_ctl ]]; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# Runs a command as the user who may run PostgreSQL: the caller, or an unprivileged user when that is root.
as_postgres() {
    if ((EUID == 0)); then
        runuser -u "$(postgres_user)" -- "$@"
    else
        "$@"
    fi
}

postgres_user() {
    if ((EUID != 0)); then
        id -un
    elif getent passwd postgres >/dev/null; then
        say postgres
    else
        say nobody
    fi
}
