# shellcheck shell=bash disable=SC2154
# The console of deploy/demo --console, which shows what the demo has done. Sourced by deploy/demo, whose functions and variables it uses.

# Without a session the page that logs in refuses.
console_answers() { [[ $(curl --silent --output /dev/null --max-time 2 --write-out '%{http_code}' "http://$console/login") == 401 ]]; }

# open_console USER ROOTS: starts the console, and prints a link to log in and where the story of the user is. With the settings of the worker it
# verifies bodies, too.
open_console() {
    local console link origin login
    console=127.0.0.1:$(free_port)
    login="host=$socket user=alice dbname=postgres"
    sql "CREATE ROLE alice LOGIN IN ROLE appstore_operator, appstore_bodies"
    APPSTORE_INBOX_APPS=$bundle APPSTORE_INBOX_ENVIRONMENTS=$environment APPSTORE_INBOX_EXTRA_ROOTS=$2 \
        start console appstore_console --console-listen "$console"
    wait_for 20 "the console to answer" console_answers
    link=$("$program" console login --console-listen "$console" --database-url "$login" 2>"$folder/login.log")
    origin=${link%%/login*}
    printf '%s\n' "$origin" >"$folder/console"

    heading "The console is left running; deploy/demo --stop ends it"
    cat <<TEXT
  Open this link within 60 seconds. It logs you in as alice, who may use every action, and works once:
    $link
  Then look at
    $origin/customers/users/$1   what happened to a customer, by two clocks
    $origin/events                    each event, and what became of it
    $origin/attention                 what waits for a person
  Another link:
    $(quoted "$program") console login --console-listen $console --database-url "$login"
TEXT
}
