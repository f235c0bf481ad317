"""A viewer is offered no action, and refused each."""

from playwright.sync_api import Browser

from console import OPERATOR, VIEWER, Console, Results
from inspection import Inspection
from visitor import Visitor

# The last words of the paths of all actions that pages offer to an operator.
ACTIONS = {"requeue", "discard", "body", "repair", "link", "forget", "test", "pause", "enable", "stop", "end"}


def prove(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    results.heading("A viewer changes nothing")
    contract = console.value("SELECT original_transaction_id FROM appstore.contracts WHERE user_id = 'user-1'")
    places = (
        *("/", "/events", "/events/10100", "/customers/users/anna", f"/customers/contracts/{contract}", "/attention", "/outgoing"),
        *("/outgoing/shop", "/outgoing/of-mouse", "/repairs", "/repairs?before=10", "/sessions", "/audit", "/health", "/reports"),
    )
    operator, visitor = Visitor(browser, console, OPERATOR), Visitor(browser, console, VIEWER)
    offered = {form["path"]: form["fields"] for place in places for form in forms(operator, place)}
    missing = ACTIONS - {path.rpartition("/")[2] for path in offered}
    results.check(f"an operator is offered {len(offered)} forms", [f"none ends with {missing}"] if missing else [])
    to_viewer = [form["path"] for place in places for form in forms(visitor, place)]
    results.equal("a viewer is offered", to_viewer, [])

    before = state(console)
    for path, fields in offered.items():
        form = dict.fromkeys(fields, "x") | {
            "note": "as a viewer",
            "confirmed": "yes",
            "seen": "100",
            "q": "reason:signature_invalid",
            "event": "10100",
        }
        statuses = {visitor.post(path, form | {"do": do}) for do in ("requeue-selected", "discard-all")}
        results.equal(f"POST {path}", statuses, {403})
    results.equal("the database is as before", state(console), before)
    refuse(visitor, "/events/10100/requeue", {"note": "x"})
    inspection.look(visitor, "refused-viewer")
    visitor.close()
    refuse(operator, "/repairs/999999/stop", {})
    inspection.look(operator, "refused-conflict")
    operator.close()


def forms(visitor: Visitor, place: str) -> list[dict]:
    """The forms of a page that change something, with the names of their fields."""
    visitor.open(place)
    fields = "[...form.elements].map((e) => e.name).filter((name) => name)"
    return visitor.page.locator("form[method=post]:not([action='/logout'])").evaluate_all(
        f"(forms) => forms.map((form) => ({{ path: new URL(form.action).pathname, fields: {fields} }}))"
    )


def refuse(visitor: Visitor, path: str, form: dict[str, str]) -> None:
    """Posts by a form in the page, so that the browser shows the answer."""
    visitor.open("/")
    with visitor.page.expect_navigation():
        visitor.page.evaluate(
            """([path, fields]) => {
              const form = document.createElement("form");
              form.method = "post";
              form.action = path;
              for (const [name, value] of Object.entries(fields)) {
                form.append(Object.assign(document.createElement("input"), { name, value }));
              }
              document.body.append(form);
              form.submit();
            }""",
            [path, form],
        )


def state(console: Console) -> list[dict]:
    """What any action of a viewer could have changed."""
    return console.rows(
        """SELECT (SELECT count(*) FROM appstore.audit_log) AS audit,
                  (SELECT count(*) FROM appstore.repairs WHERE state = 'running') AS repairs,
                  (SELECT count(*) FROM appstore.inbox_queue) AS queue,
                  (SELECT count(*) FROM appstore.owner_links) AS links,
                  (SELECT string_agg(name || state, ' ' ORDER BY name) FROM appstore.endpoints) AS endpoints,
                  (SELECT position FROM appstore.feed_head) AS feed,
                  (SELECT count(*) FROM appstore.console_sessions WHERE ended_at IS NULL) AS sessions"""
    )
