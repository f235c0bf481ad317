"""The pages of the console, with what they show of the demo and of the corpus."""

from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Browser

from console import OPERATOR, VIEWER, Console, Results
from inspection import Inspection
from visitor import Visitor

REPORTS = ("subscriptions", "mrr", "movement", "churn", "trials", "refunds", "renewal_status", "retention")


@dataclass(frozen=True)
class Address:
    name: str
    path: str
    status: int = 200


def hostile(console: Console, column: str, table: str) -> str:
    """A path's segment of something in the corpus."""
    value = console.value(f"SELECT {column} AS value FROM {table} WHERE {column} LIKE '<img%' LIMIT 1")
    return quote(value, safe="")


def addresses(console: Console) -> list[Address]:
    contract = console.value("SELECT original_transaction_id FROM appstore.contracts WHERE user_id = 'user-1'")
    forged = console.value("SELECT min(event_id) AS event FROM appstore.outcomes WHERE result = 'rejected'")
    refund = console.value("SELECT min(event_id) AS event FROM appstore.outcomes WHERE notification_type = 'REFUND'")
    first = console.value("SELECT min(event_id) AS event FROM appstore.outcomes")
    user = hostile(console, "user_id", "appstore.contracts")
    hostile_contract = hostile(console, "original_transaction_id", "appstore.contracts")
    pages = [
        Address("overview", "/"),
        Address("overview-sandbox", "/?environment=Sandbox"),
        Address("events", "/events"),
        Address("events-search", "/events?q=outcome%3Arejected"),
        Address("events-waiting", "/events?q=outcome%3Awaiting"),
        Address("events-none", "/events?q=type%3ANOTHING"),
        Address("events-wrong", "/events?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E"),
        Address("event-bought", f"/events/{first}"),
        Address("event-refund", f"/events/{refund}"),
        Address("event-forged", f"/events/{forged}"),
        Address("event-hostile", "/events/10000"),
        Address("event-waiting", "/events/10199"),
        Address("customers", "/customers"),
        Address("user", "/customers/users/user-1"),
        Address("user-two-accounts", "/customers/users/ben"),
        Address("user-hostile", f"/customers/users/{user}"),
        Address("contract", f"/customers/contracts/{contract}"),
        Address("contract-hostile", f"/customers/contracts/{hostile_contract}"),
        Address("contract-hostile-older", f"/customers/contracts/{hostile_contract}?before=20"),
        Address("attention", "/attention"),
        Address("attention-sandbox", "/attention?environment=Sandbox"),
        Address("outgoing", "/outgoing"),
        Address("endpoint", "/outgoing/shop"),
        Address("endpoint-hostile", "/outgoing/hostile"),
        Address("repairs", "/repairs"),
        Address("audit", "/audit"),
        Address("audit-search", "/audit?action=link_owner"),
        Address("health", "/health"),
        Address("sessions", "/sessions"),
        *(Address(f"report-{name.replace('_', '-')}", f"/reports?report={name}") for name in REPORTS),
        Address("report-by-storefront", "/reports?report=movement&by=storefront&every=week"),
        Address("report-by-offer", "/reports?report=movement&by=offer"),
        Address("report-by-product", "/reports?report=subscriptions&by=product"),
        Address("report-sandbox", "/reports?environment=Sandbox"),
        Address("refused-event", "/events/999999999", 404),
        Address("refused-user", f"/customers/users/{quote('<script>alert(1)</script>' + 'W' * 300, safe='')}", 404),
        Address("refused-contract", "/customers/contracts/0", 404),
        Address("refused-report", "/reports?report=nothing", 404),
        Address("refused-query", "/audit?before=x", 400),
        Address("refused-environment", "/?environment=Xcode", 400),
    ]
    return pages


# The fields of the corpus that a page shows, by their marks.
SHOWN = (
    "user ordered product app entitlement transaction contract storefront offer source poster reason error type "
    "subtype waiting replacer url why endpoint-error delivery-subject delivery-error answer attempt-error history "
    "budget asked file chunk actor action note details filter repair-note repairer repair-error session body "
).split()


def prove(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    results.heading("Pages, as a viewer and as an operator")
    known = addresses(console)
    viewer, operator = Visitor(browser, console, VIEWER), Visitor(browser, console, OPERATOR)
    for address in known:
        for role, visitor in (("viewer", viewer), ("operator", operator)):
            # A page that refuses is the same for both. Others have the same for a viewer, but for the forms.
            if role == "operator" or address.status == 200:
                visitor.open(address.path, address.status)
                inspection.look(visitor, f"{address.name}-{role}", with_axe=role == "operator")
    operator.open("/events")
    inspection.weigh(operator)
    keys(viewer, results)
    updates(viewer, results)
    viewer.close()
    operator.close()
    stranger(browser, console, results, inspection)


def keys(visitor: Visitor, results: Results) -> None:
    """The keys of console.js, which README.md lists."""
    page = visitor.page
    visitor.open("/events")
    page.keyboard.press("/")
    results.equal("/ goes to the search", page.evaluate("document.activeElement.name"), "q")
    visitor.open("/events")
    page.keyboard.press("j")
    page.keyboard.press("j")
    results.equal("j goes down the rows", page.locator("tbody tr.chosen").evaluate("(row) => row.rowIndex"), 2)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    results.equal("Enter opens the event", page.url.startswith(visitor.console.origin + "/events/"), True)
    visitor.open("/events")
    first = page.locator("tbody a").first.inner_text()
    page.keyboard.press("n")
    page.wait_for_url("**after=**")
    results.equal("n turns the page without loading it anew", page.locator("tbody a").first.inner_text() != first, True)
    page.keyboard.press("p")
    page.wait_for_url(lambda url: "after=" not in url)
    page.keyboard.press("g")
    with page.expect_navigation():
        page.keyboard.press("h")
    results.equal("g h goes to Health", page.title(), "Health · appstore-inbox")
    results.equal("the keys are hidden", page.get_by_text("j k rows").is_visible(), False)
    page.keyboard.press("?")
    results.equal("? shows the keys", page.get_by_text("j k rows").is_visible(), True)
    results.check("the keys", visitor.take_faults())


def updates(visitor: Visitor, results: Results) -> None:
    """Overview is brought up to date, but not while it is paused or has the focus."""
    page = visitor.page
    page.clock.install()
    visitor.open("/")
    link = page.get_by_role("link", name="discarded", exact=True)

    def settle() -> None:
        """Settles an event, and lets a minute pass for the page."""
        visitor.console.run(
            """INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
               VALUES (nextval('appstore.inbox_event_id'), 'notification_v2', now(), now(), 1, 1, 'discarded', 'x')"""
        )
        with page.expect_response("**/") if is_live else nullcontext():
            page.clock.run_for(60_000)
        page.wait_for_load_state("networkidle")

    is_live = True
    settle()
    link.wait_for()
    results.passes("Overview is brought up to date")
    is_live = False
    link.focus()
    settle()
    results.equal("the focus stays where it is", link.evaluate("(e) => e === document.activeElement"), True)
    link.blur()
    page.get_by_role("button", name="Pause updates").click()
    shown = page.locator("main").inner_text()
    settle()
    results.equal(
        "a page that is paused stays as it is", page.locator("main").inner_text(), shown.replace("Pause updates", "Resume updates")
    )
    results.check("the updates", visitor.take_faults())


def stranger(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    """The pages that need no session."""
    visitor = Visitor(browser, console, None)
    visitor.open("/", 401)
    inspection.look(visitor, "refused-stranger")
    visitor.page.goto(console.login_link(VIEWER))
    inspection.look(visitor, "login")
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Log in").click()
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("button", name="Log out").click()
    inspection.look(visitor, "logged-out")
    visitor.close()


def prove_corpus(console: Console, results: Results, inspection: Inspection) -> None:
    """Each field of the corpus was on a page, as text."""
    results.heading("What is stored is shown as text")
    # A URL has no spaces, and quotation marks in JSON have a backslash.
    words = inspection.words.replace("+", " ").replace('\\"', '"')
    missing = [field for field in SHOWN if f'<img src=x onerror=alert("{field}")>' not in words]
    results.check(f"{len(SHOWN)} fields of the corpus", [f"not seen: {', '.join(missing)}"] if missing else [])
    for person in (OPERATOR, VIEWER):
        results.equal(f"the name of a person {person!r}", person.replace("\u202e", "\ufffd") in inspection.words, True)
