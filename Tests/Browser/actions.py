"""Every action of the console, by mouse without JavaScript and by keyboard alone."""

import time
from collections.abc import Callable
from urllib.parse import quote

from playwright.sync_api import Browser, Error

from console import OPERATOR, Console, Results, shortened, text
from hands import Keys, Mouse
from inspection import Inspection
from visitor import Visitor

# A reason, which the audit keeps and shows.
NOTE = "because </td><script>alert(\"reason\")</script> 'it' had to be"
# The events of the corpus, of which each hand has its own.
EVENTS = {"mouse": 10040, "keys": 10060}


class Scene:
    """One hand, and what it did."""

    def __init__(self, hand: Mouse, console: Console, results: Results, inspection: Inspection) -> None:
        self.hand, self.console, self.results, self.inspection = hand, console, results, inspection
        self.event = EVENTS[hand.name]
        self.note = f"{NOTE} by {hand.name}"

    def open(self, path: str) -> None:
        self.hand.visitor.open(path)

    def notice(self, words: str) -> None:
        self.equal("the notice", self.hand.notice(), words)

    def confirm(self, button: str) -> None:
        """Looks at the question, and says yes."""
        if self.hand.has_script:
            self.inspection.look(self.hand.visitor, f"confirm-{button}".lower().replace(" ", "-")[:60])
        self.hand.send(button)

    def equal(self, what: str, found, expected) -> None:
        if found != expected:
            raise AssertionError(f"{what}: found {shortened(found)}, expected {shortened(expected)}")

    def audit(self, action: str, note: str | None = None, actor: str = OPERATOR) -> None:
        """The last entry of the audit names the person and the reason."""
        row = self.console.rows(f"SELECT actor, note FROM appstore.audit_log WHERE action = {text(action)} ORDER BY audit_id DESC LIMIT 1")
        self.equal(f"the audit of {action}", row, [{"actor": actor, "note": note or self.note}])

    def result(self, event: int) -> str:
        return self.console.value(
            f"SELECT coalesce((SELECT result::text FROM appstore.outcomes WHERE event_id = {event}), 'queued') AS result"
        )

    def wait_for(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not is_so():
            assert time.monotonic() < deadline, f"timed out waiting for {what}"
            time.sleep(0.1)


def requeue_event(scene: Scene) -> None:
    scene.open(f"/events/{scene.event}")
    scene.hand.send("Requeue", {"Reason": scene.note})
    scene.notice(f"Event {scene.event} is requeued.")
    scene.audit("requeue")
    # Its body is no JSON of Apple's: the worker rejects it again.
    scene.wait_for(
        "the second run", lambda: scene.console.value(f"SELECT max(run) AS run FROM appstore.outcomes WHERE event_id = {scene.event}") == 2
    )


def discard_event(scene: Scene) -> None:
    event = scene.event + 1
    scene.open(f"/events/{event}")
    scene.hand.send("Discard…", {"Reason": scene.note})
    scene.equal("before the yes", scene.result(event), "rejected")
    scene.confirm(f"Discard event {event}")
    scene.notice(f"Event {event} is discarded.")
    scene.equal("the event", scene.result(event), "discarded")
    scene.audit("discard")


def show_body(scene: Scene) -> None:
    scene.open(f"/events/{scene.event + 2}")
    scene.hand.send("Show the body", {"Why do you read it?": scene.note})
    # It is folded.
    scene.equal("the body is shown", "signedPayload" in scene.hand.page.locator("main").text_content(), True)
    if scene.hand.has_script:
        scene.inspection.look(scene.hand.visitor, "body")
    scene.audit("show_body")


def verify_body(scene: Scene) -> None:
    """The checks of a signature, where the console has the settings for them."""
    scene.open("/events/1")
    button = "Verify the body"
    if scene.hand.page.get_by_role("button", name=button).count():
        scene.hand.send(button, {"Why do you need it?": scene.note})
        words = scene.hand.page.locator("main").inner_text()
        scene.equal("what is verified", "signedPayload" in words and "✗" not in words, True)
        if scene.hand.has_script:
            scene.inspection.look(scene.hand.visitor, "checks")
        scene.audit("show_body")


def repair_selected(scene: Scene) -> None:
    for word, result in (("Requeue", None), ("Discard", "discarded")):
        events = [scene.event + (4 if result else 6), scene.event + (5 if result else 7)]
        scene.open("/events?q=" + quote("reason:signature_invalid"))
        while not scene.hand.page.get_by_label(f"Select event {events[0]}", exact=True).count():
            scene.hand.turn("older ›")
        scene.hand.send(f"{word} selected…", {"Reason": scene.note}, [f"Select event {event}" for event in events])
        scene.confirm(f"{word} 2 events")
        scene.notice(f"2 events are {word.lower().rstrip('e')}ed.")
        for event in events:
            if result:
                scene.equal(f"event {event}", scene.result(event), result)
            else:
                runs = f"SELECT coalesce(max(run), 1) AS run FROM appstore.outcomes WHERE event_id = {event}"
                scene.wait_for("the second run", lambda runs=runs: scene.console.value(runs) == 2)
        scene.audit(word.lower())


def repair_all(scene: Scene) -> None:
    """All that match a search, in steps that a worker takes."""
    reason = f"of_{scene.hand.name}"
    for word in ("Requeue", "Discard"):
        if word == "Discard":
            # The second run gave them another reason, and no environment.
            runs = f"SELECT event_id FROM appstore.outcome_history WHERE reason = '{reason}'"
            scene.console.run(f"UPDATE appstore.outcomes SET reason = '{reason}', environment = 'Production' WHERE event_id IN ({runs})")
        found = f"SELECT count(*) FROM appstore.outcomes WHERE reason = '{reason}' AND result = 'rejected'"
        count = scene.console.value(found)
        scene.equal("events of the search", count > 5, True)
        scene.open("/events?q=" + quote(f"reason:{reason} outcome:rejected"))
        scene.hand.send(f"{word} all that match…", {"Reason": scene.note})
        scene.confirm(f"{word} {count} events")
        repair = scene.console.value("SELECT max(repair_id) AS id FROM appstore.repairs")
        scene.notice(f"Repair {repair} has begun: {count} events.")
        state = f"SELECT state FROM appstore.repairs WHERE repair_id = {repair}"
        scene.wait_for("the repair to end", lambda state=state: scene.console.value(state) == "done")
        scene.equal("what is left of the search", scene.console.value(found) if word == "Discard" else 0, 0)
        settled = "SELECT count(*) = 0 AS is_settled FROM appstore.inbox_queue WHERE event_id < 10199"
        scene.wait_for("the events to be settled", lambda settled=settled: scene.console.value(settled))


def stop_repair(scene: Scene) -> None:
    repair = scene.console.value("SELECT min(repair_id) AS id FROM appstore.repairs WHERE state = 'running'")
    scene.open("/repairs?before=10")
    row = scene.hand.page.get_by_role("row").filter(has=scene.hand.page.get_by_role("cell", name=str(repair), exact=True))
    scene.hand.send("Stop", within=row)
    scene.notice(f"Repair {repair} is stopped. What it has repaired stays repaired.")
    scene.equal("the repair", scene.console.value(f"SELECT state FROM appstore.repairs WHERE repair_id = {repair}"), "stopped")


def link_owner(scene: Scene) -> None:
    """From the page of the user, and from that of the contract."""
    contract = scene.console.value(
        "SELECT original_transaction_id FROM appstore.contracts WHERE user_id = 'clara' OR user_id LIKE 'clara%'"
    )
    owner = f"SELECT user_id FROM appstore.contracts WHERE original_transaction_id = {text(contract)}"
    scene.open("/customers/users/anna")
    scene.hand.send("Link owner…", {"Contract (originalTransactionId)": contract, "Reason": scene.note})
    scene.confirm(f"Link {contract} to anna")
    scene.notice("anna owns the contract from now on.")
    scene.equal("the owner", scene.console.value(owner), "anna")
    user = f"clara <b onclick=alert(1)> {scene.hand.name}"
    scene.open(f"/customers/contracts/{contract}")
    scene.hand.send("Link owner…", {"User who becomes the owner": user, "Reason": scene.note})
    scene.confirm(f"Link {contract} to {user}")
    scene.notice(f"{user} owns the contract from now on.")
    scene.equal("the owner", scene.console.value(owner), user)
    scene.audit("link_owner")


def forget_user(scene: Scene) -> None:
    user = f"forgotten by {scene.hand.name}"
    scene.open(f"/customers/users/{quote(user)}")
    scene.hand.send("Forget this user…", {"Reason, without the user’s name": scene.note})
    scene.confirm(f"Forget {user} for ever")
    scene.notice("The user is forgotten: 1 orders, 0 contracts, 0 posts, 0 bodies.")
    scene.equal("orders of the user", scene.console.value(f"SELECT count(*) FROM appstore.orders WHERE user_id = {text(user)}"), 0)
    scene.audit("forget")


def change_endpoint(scene: Scene) -> None:
    name = f"of-{scene.hand.name}"
    state = f"SELECT state || coalesce(' ' || why, '') AS state FROM appstore.endpoints WHERE name = '{name}'"
    scene.open(f"/outgoing/{name}")
    scene.hand.send("Enable")
    scene.notice(f"Endpoint {name} is enabled and goes on where it was.")
    scene.equal("the endpoint", scene.console.value(state), "enabled")
    scene.hand.send("Pause", {"Reason": scene.note})
    scene.notice(f"Endpoint {name} is paused.")
    scene.equal("the endpoint", scene.console.value(state), f"paused {scene.note}")
    scene.open("/outgoing/shop")
    feed = "appstore.delivery_attempts AS a JOIN appstore.feed AS f USING (position)"
    tests = f"SELECT count(*) FROM {feed} WHERE f.type = 'test' AND a.result = 'delivered'"
    before = scene.console.value(tests)
    scene.hand.send("Send a test")
    scene.notice("A test is on its way: its attempt appears below.")
    scene.wait_for("the test to be delivered", lambda: scene.console.value(tests) == before + 1)


def end_session(scene: Scene) -> None:
    session = scene.console.value(f"SELECT session_id FROM appstore.console_sessions WHERE session_hash = sha256('of {scene.hand.name}')")
    scene.open("/sessions")
    row = scene.hand.page.get_by_role("row").filter(has=scene.hand.page.get_by_role("cell", name=str(session), exact=True))
    scene.hand.send("End…", within=row)
    scene.confirm("End session")
    scene.notice(f"Session {session} has ended.")
    ended = scene.console.value(f"SELECT ended_by FROM appstore.console_sessions WHERE session_id = {session}")
    scene.equal("the session was ended by", ended, OPERATOR)


def search(scene: Scene) -> None:
    """The searches, which are forms by GET."""
    page = scene.hand.page
    scene.open("/events")
    scene.hand.send("Search", {"Search events": "outcome:failed"})
    results = {cell.split(" ")[1] for cell in page.locator("tbody tr td:nth-child(5)").all_inner_texts()}
    scene.equal("results of a search for failed events", results, {"failed"})
    scene.open("/customers")
    scene.hand.send("Search", {"A user, or a contract (originalTransactionId)": "user-1"})
    scene.equal("the customer that was searched", page.locator("h1").inner_text(), "User user-1")
    scene.open("/audit")
    scene.hand.send("Search", {"What": "begin_console_session"})
    scene.equal("what was searched", set(page.locator("tbody tr td:nth-child(4)").all_inner_texts()), {"begin_console_session"})
    scene.open("/reports?report=movement")
    scene.hand.send("Show")
    scene.equal("the report", page.locator("h1").inner_text().split("\n")[0], "Movement")


def log_out(scene: Scene) -> None:
    scene.open("/")
    scene.hand.send("Log out")
    scene.equal("the page", scene.hand.page.locator("h1").inner_text(), "Logged out")
    scene.hand.visitor.open("/", 401)


SCENES = (
    requeue_event,
    discard_event,
    show_body,
    verify_body,
    repair_selected,
    repair_all,
    stop_repair,
    link_owner,
    forget_user,
    change_endpoint,
    end_session,
    search,
    log_out,
)


def prove(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    for kind in (Mouse, Keys):
        results.heading("Actions by keyboard alone" if kind.has_script else "Actions without JavaScript")
        visitor = Visitor(browser, console, OPERATOR, has_script=kind.has_script)
        scene = Scene(kind(visitor), console, results, inspection)
        for act in SCENES:
            name = act.__name__.replace("_", " ")
            try:
                act(scene)
                results.check(name, visitor.take_faults())
            except (AssertionError, Error) as error:
                results.fails(name, f"{error} (at {visitor.page.url})")
        visitor.close()
