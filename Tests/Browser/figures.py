"""The numbers on the pages equal those of SQL."""

import csv
import io

from playwright.sync_api import Browser

from console import OPERATOR, VIEWER, Console, Results, text
from inspection import Inspection
from pages import REPORTS
from visitor import Visitor


def table(visitor: Visitor, caption: str) -> list[list[str]]:
    """The cells of a table, by the begin of its caption."""
    found = visitor.page.locator("table").filter(has=visitor.page.locator("caption").filter(has_text=caption)).last
    return found.locator("tbody tr").evaluate_all("(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))")


def number(words: str) -> int:
    return int(words.replace(",", "").replace("−", "-"))


def prove(browser: Browser, console: Console, results: Results, _: Inspection) -> None:
    results.heading("Numbers on pages and in SQL")
    visitor = Visitor(browser, console, VIEWER, has_script=False)

    visitor.open("/")
    shown = {row[0]: number(row[1]) for row in table(visitor, "Events by result")}
    counted = console.rows("SELECT result, count(*) FROM appstore.outcomes WHERE settled_at > now() - interval '24 hours' GROUP BY result")
    results.equal("Overview: events by result", shown, {row["result"]: row["count"] for row in counted})
    well = "count(*) FILTER (WHERE state = 'enabled' AND breaker = 'closed' AND given_up = 0)"
    (endpoints,) = console.rows(f"SELECT count(*) AS all, {well} AS well FROM appstore.endpoint_status")
    results.equal(
        "Overview: endpoints",
        f"{endpoints['well']} of {endpoints['all']} endpoints are well" in visitor.page.locator("main").inner_text(),
        True,
    )

    results.equal(
        "Events: all pages of the list",
        listed(visitor, "/events?q=env%3AProduction", 1),
        column(console, "SELECT event_id FROM appstore.outcomes WHERE environment = 'Production' ORDER BY settled_at DESC, event_id DESC"),
    )
    results.equal(
        "Events: a search",
        listed(visitor, "/events?q=outcome%3Afailed", 1),
        column(console, "SELECT event_id FROM appstore.outcomes WHERE result = 'failed' ORDER BY settled_at DESC, event_id DESC"),
    )
    results.equal(
        "Audit: all pages of the list",
        listed(visitor, "/audit", 1),
        column(console, "SELECT audit_id FROM appstore.audit_log ORDER BY audit_id DESC"),
    )
    results.equal(
        "Repairs: all pages of the list",
        listed(visitor, "/repairs", 1),
        column(console, "SELECT repair_id FROM appstore.repairs ORDER BY repair_id DESC"),
    )
    results.equal(
        "Endpoint: all pages of its attempts",
        len(listed(visitor, "/outgoing/hostile", 3, "Attempts")),
        console.value("SELECT count(*) FROM appstore.delivery_attempts WHERE endpoint = 'hostile'"),
    )

    visitor.open("/attention")
    headings = visitor.page.locator("h2").all_inner_texts()
    failed = capped(console, "SELECT count(*) FROM appstore.failed")
    unmatched = capped(console, "SELECT count(*) FROM appstore.unmatched WHERE environment = 'Production'")
    asked = capped(
        console, "SELECT count(*) FROM appstore.consumption_requests WHERE state IN ('waiting', 'refused') AND environment = 'Production'"
    )
    tokens = capped(console, "SELECT count(*) FROM appstore.external_purchase_tokens_due WHERE environment = 'Production'")
    expected = [
        f"Failed events ({failed})",
        f"Purchases without a clear owner ({unmatched})",
        f"Consumption requests ({asked})",
        f"External purchase tokens ({tokens})",
        f"Endpoints ({endpoints['all'] - endpoints['well']})",
    ]
    results.equal("Attention: counts", headings, expected)

    customers(visitor, console, results)
    visitor.open("/outgoing")
    shown = {row[0]: [number(row[4]), number(row[6]), number(row[7])] for row in table(visitor, "Endpoints")}
    counted = console.rows("SELECT name, lag, open, given_up FROM appstore.endpoint_status")
    results.equal("Outgoing: lag, open and given up", shown, {row["name"]: [row["lag"], row["open"], row["given_up"]] for row in counted})
    visitor.open("/sessions")
    living = sum(row[5].endswith("living") for row in table(visitor, "Sessions"))
    results.equal(
        "Sessions: living ones",
        living,
        console.value("SELECT count(*) FROM appstore.console_sessions WHERE ended_at IS NULL AND expires_at > now()"),
    )
    reports(visitor, console, results)
    results.check("these pages", visitor.take_faults())
    visitor.close()

    operator = Visitor(browser, console, OPERATOR, has_script=False)
    operator.open("/audit?action=begin_console_session")
    results.equal("Audit: the person who looks", table(operator, "Repairs")[0][2], OPERATOR.replace("\u202e", "\ufffd"))
    operator.close()


def customers(visitor: Visitor, console: Console, results: Results) -> None:
    for user in ("user-1", "ben"):
        visitor.open(f"/customers/users/{user}")
        orders = console.rows(f"SELECT order_no, status, price, currency FROM appstore.user_orders WHERE user_id = {text(user)}")
        shown = {row[0]: (row[1].split()[-1], row[5]) for row in table(visitor, "Orders")}
        expected = {
            row["order_no"]: (row["status"], f"{row['price'] / 1000:.2f} {row['currency']}" if row["price"] else "–") for row in orders
        }
        results.equal(f"{user}: orders and prices", shown, expected)
        contract = console.value(f"SELECT min(original_transaction_id) AS contract FROM appstore.contracts WHERE user_id = {text(user)}")
        visitor.open(f"/customers/contracts/{contract}")
        story = console.rows(
            f"SELECT what, coalesce(transaction_id, '–') AS transaction FROM appstore.timeline('Production', {text(contract)})"
        )
        shown = [(row[2], row[6]) for row in reversed(table(visitor, "What happened"))]
        results.equal(f"{user}: the timeline of the contract", shown, [(entry["what"], entry["transaction"]) for entry in story])


def reports(visitor: Visitor, console: Console, results: Results) -> None:
    months = "(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '11 months')::date"
    today = "(now() AT TIME ZONE 'UTC')::date"
    calls = {
        "subscriptions": f"subscriptions_daily({today} - 59, {today}, NULL, false)",
        "mrr": f"mrr_by_month({months}, {today}, NULL, false)",
        "renewal_status": f"renewal_status_at({today}, NULL, false)",
        "retention": "retention(NULL, 'month', NULL, NULL, false)",
    }
    for report in REPORTS:
        call = calls.get(report, f"{report}({months}, {today}, NULL, 'month', false)")
        expected = console.rows(f"SELECT * FROM appstore_reports.{call}")
        file = visitor.get(f"/reports/file?report={report}").decode()
        found = list(csv.DictReader(io.StringIO(file)))
        results.equal(f"Reports: {report} as a file", sorted(map(values, found)), sorted(map(values, expected)))
        visitor.open(f"/reports?report={report}")
        caption = visitor.page.locator("h1").inner_text()
        results.equal(f"Reports: rows of {report}", len(table(visitor, caption)) if expected else 0, min(len(expected), 60))


def values(row: dict) -> list[str]:
    """The values of a row as the file writes them."""
    written = {None: "", True: "true", False: "false"}
    return [written.get(value, str(value)) if value is None or isinstance(value, bool) else number_text(value) for value in row.values()]


def number_text(value) -> str:
    """A number without the zeros at its end, which JSON may lose."""
    try:
        return str(float(value))
    except ValueError:
        # The file marks what a spreadsheet would take for a formula.
        return str(value).removeprefix("'")


def listed(visitor: Visitor, path: str, column: int, caption: str = "") -> list[int]:
    """A column of numbers on all pages of a list."""
    visitor.open(path)
    found: list[int] = []
    while True:
        cells = visitor.page.locator("table").filter(has=visitor.page.locator("caption").filter(has_text=caption)).last
        found += [number(words) for words in cells.locator(f"tbody tr td:nth-child({column})").all_inner_texts()]
        older = visitor.page.get_by_role("link", name="older ›")
        if not older.count():
            return found
        with visitor.page.expect_navigation():
            older.click()


def column(console: Console, query: str) -> list[int]:
    return [next(iter(row.values())) for row in console.rows(query)]


def capped(console: Console, query: str) -> str:
    count = console.value(query)
    return "20+" if count > 20 else str(count)
