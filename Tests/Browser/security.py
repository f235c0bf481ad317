"""Who may not use the console: other origins, used links, ended sessions."""

import re
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from playwright.sync_api import Browser

from console import GUEST, OPERATOR, Console, Results, request, text
from inspection import Inspection
from visitor import Visitor

COOKIE = "appstore-console"


def prove(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    results.heading("Links, sessions and cookies")
    links(browser, console, results, inspection)
    sessions(browser, console, results, inspection)
    results.heading("Other origins")
    origins(browser, console, results, inspection)
    raw(browser, console, results)
    behind_proxy(console, results)


def links(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    visitor = Visitor(browser, console, None)
    link = console.login_link(GUEST)
    for _ in range(2):
        visitor.page.goto(link)
    results.equal("looking at a link does not use it up", visitor.context.cookies(), [])
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Log in").click()
    (cookie,) = visitor.context.cookies()
    flags = {name: cookie[name] for name in ("name", "httpOnly", "sameSite", "secure", "path", "domain")}
    expected = {
        "name": COOKIE,
        "httpOnly": True,
        "sameSite": "Strict",
        "secure": False,
        "path": "/",
        "domain": console.host.partition(":")[0],
    }
    results.equal("the cookie of the session, by plain http", flags, expected)
    hours = (cookie["expires"] - console.value("SELECT extract(epoch FROM now())::float8 AS now")) / 3600
    results.equal("the session lasts 12 hours", round(hours, 1), 12.0)
    results.equal("scripts see no cookie", visitor.page.evaluate("document.cookie"), "")
    visitor.page.goto(link)
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Log in").click()
    results.equal("a link works once", (visitor.document.status, visitor.page.locator("h1").inner_text()), (403, "The link does not work"))
    inspection.look(visitor, "refused-link")
    late = console.login_link(GUEST)
    console.run("UPDATE appstore.console_logins SET expires_at = now()")
    visitor.page.goto(late)
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Log in").click()
    results.equal("a link works for 60 seconds", visitor.document.status, 403)
    visitor.close()


def sessions(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    mine = f"person = {text(GUEST)} AND ended_at IS NULL"
    ends = (
        ("a session that has expired", f"UPDATE appstore.console_sessions SET expires_at = now() WHERE {mine}", ""),
        ("a session that was ended", f"UPDATE appstore.console_sessions SET ended_at = now(), ended_by = 'x' WHERE {mine}", ""),
        ("a person who lost the role", f"REVOKE appstore_viewer FROM {GUEST}", f"GRANT appstore_viewer TO {GUEST}"),
        ("a login that expired", f"ALTER ROLE {GUEST} VALID UNTIL '2020-01-01'", f"ALTER ROLE {GUEST} VALID UNTIL 'infinity'"),
    )
    for what, statement, undo in ends:
        visitor = Visitor(browser, console, GUEST)
        visitor.open("/events")
        console.run(statement)
        visitor.open("/events", 401)
        results.equal(f"{what} is sent to the login", visitor.page.locator("h1").inner_text(), "Log in")
        console.run(undo)
        visitor.close()
    visitor = Visitor(browser, console, GUEST)
    visitor.context.clear_cookies()
    visitor.context.add_cookies([{"name": COOKIE, "value": "A" * 43, "url": console.origin}])
    visitor.open("/events", 401)
    inspection.look(visitor, "refused-session")
    visitor.close()


class Attack(BaseHTTPRequestHandler):
    """A site that sends a form to the console as soon as it is opened."""

    target = ""

    def do_GET(self) -> None:
        body = f"""<!doctype html><title>x</title><iframe src="{self.target}/"></iframe>
          <form method="post" action="{self.target}/outgoing/of-mouse/enable"></form>
          <script>if (location.search) document.forms[0].submit();</script>""".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@contextmanager
def attacker(console: Console):
    Attack.target = console.origin
    server = HTTPServer(("127.0.0.1", 0), Attack)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()


def origins(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    visitor = Visitor(browser, console, OPERATOR)
    before = console.value("SELECT string_agg(name || state, ' ' ORDER BY name) FROM appstore.endpoints")
    with attacker(console) as port:
        # Another port of the same name is the same site, so that the browser sends the cookie.
        for host in (console.host.partition(":")[0], "localhost"):
            visitor.page.goto(f"http://{host}:{port}/?send")
            visitor.page.wait_for_url(f"{console.origin}/outgoing/**")
            title = visitor.page.locator("h1").inner_text()
            results.equal(f"a form of http://{host}:{port}", (visitor.document.status, title), (403, "Not permitted"))
        visitor.take_faults()
        inspection.look(visitor, "refused-origin")
        visitor.page.goto(f"http://127.0.0.1:{port}/")
        results.equal("another site cannot frame a page", "Overview" in visitor.page.frames[-1].content(), False)
    results.equal("nothing was done", console.value("SELECT string_agg(name || state, ' ' ORDER BY name) FROM appstore.endpoints"), before)
    visitor.close()


def raw(browser: Browser, console: Console, results: Results) -> None:
    """What no browser sends, with the cookie of an operator."""
    visitor = Visitor(browser, console, OPERATOR)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    mine = form | {"Origin": console.origin}
    for what, headers, status in (
        ("without Origin and Sec-Fetch-Site", form, 403),
        ("from another origin", form | {"Origin": "http://evil.example"}, 403),
        ("from the same site", mine | {"Sec-Fetch-Site": "same-site"}, 403),
        ("from no page", form | {"Sec-Fetch-Site": "none"}, 403),
        ("from the origin, with two cookies", mine | {"Cookie": f"{visitor.cookie['Cookie']}; {COOKIE}={'A' * 43}"}, 401),
        ("from the origin, for another host", mine | {"Host": "evil.example"}, 400),
        ("from the origin, as JSON", mine | {"Content-Type": "application/json"}, 400),
        ("from the origin", mine, 303),
    ):
        results.equal(f"POST {what}", console.request("POST", "/outgoing/shop/test", visitor.cookie | headers)[0], status)
    status, fields, _ = console.request("GET", "/", visitor.cookie)
    results.equal("GET with the cookie", status, 200)
    expected = {
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
    }
    results.equal("header fields of a page", {name: fields.get(name) for name in expected}, expected)
    policy = dict(rule.strip().split(" ", 1) for rule in fields["content-security-policy"].split(";"))
    results.equal(
        "the policy permits nothing inline", [rule for rule in policy.values() if "unsafe" in rule or "*" in rule or "data:" in rule], []
    )
    results.equal("the policy begins with nothing", policy["default-src"], "'none'")
    visitor.close()


def behind_proxy(console: Console, results: Results) -> None:
    """The cookie of a console that browsers reach by https."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    origin = "https://console.example.com"
    flags = ["--console-listen", address, "--console-origin", origin]
    command = [console.program, "console", *flags, "--database-url", console.connection("appstore_console")]
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        link = console.login_link(GUEST, *flags)
        results.equal("a link of a console behind a proxy", link.startswith(f"{origin}/login?token="), True)
        body = link.partition("?")[2]
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin}
        deadline = time.monotonic() + 20
        while True:
            try:
                status, fields, _ = request(address, "POST", "/login", headers, body)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "the second console does not listen"
                time.sleep(0.1)
        results.equal("its login", status, 303)
        cookie = re.sub("=[^;]{43};", "=…;", fields["set-cookie"])
        results.equal(
            "the cookie of the session, by https",
            cookie,
            "__Host-appstore-console=…; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict; Secure",
        )
        results.equal("browsers keep to https", fields["strict-transport-security"], "max-age=31536000")
        results.equal("a form of its address", request(address, "POST", "/login", headers | {"Origin": f"http://{address}"}, body)[0], 403)
    finally:
        daemon.terminate()
        daemon.wait()
