# The run `browser` of deploy/prove, which sources this file: the pages of the console in Chromium, with the data of deploy/demo.
# shellcheck shell=bash disable=SC2154

readonly playwright_version=1.65.2 axe_version=0.1.8 chromium=/usr/bin/chromium

# Installs Playwright and axe into .build, unless they are there. The browser is Debian's: nothing else is downloaded.
install_playwright() {
    local venv=$1 wanted="axe-playwright-python==$axe_version playwright==$playwright_version"
    [[ -x $venv/bin/pip && $("$venv/bin/pip" --disable-pip-version-check list --format freeze | grep -i playwright | sort | xargs) == "$wanted" ]] && return
    # shellcheck disable=SC2086
    command -v python3 >/dev/null && python3 -m venv --clear "$venv" && "$venv/bin/pip" --quiet --disable-pip-version-check install $wanted
}

# Runs the demo with its console, then Tests/Browser/prove.py. It ends a demo that was left running.
run_browser() (
    local venv=$root/.build/playwright pictures=$root/.build/browser
    [[ -x $chromium ]] || fail "browser needs the package chromium"
    if ! install_playwright "$venv"; then
        say "skipped: playwright cannot be installed here"
        return 0
    fi
    trap '"$root/deploy/demo" --stop' EXIT
    "$root/deploy/demo" --console >"$root/.build/browser-demo.log" 2>&1 || { cat "$root/.build/browser-demo.log"; return 1; }
    "$venv/bin/python" -B Tests/Browser/prove.py --demo .demo --program "$(swift build --show-bin-path)/appstore-inbox" --chromium "$chromium" \
        --pictures "$pictures"
)
