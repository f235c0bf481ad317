"""A browser of one person, which notes what the console must never do."""

from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Browser, Page, Response

from console import Console

WIDE = {"width": 1280, "height": 900}
# Milliseconds: other work may share the machine.
TIMEOUT = 120_000
# A violation of the policy is told to the page only; the console of the browser is heard outside.
WATCH = 'addEventListener("securitypolicyviolation", (e) => console.error(`policy ${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));'


class Visitor:
    """Its faults are violations of the policy, errors of scripts, dialogs, and requests to other places."""

    def __init__(self, browser: Browser, console: Console, person: str | None, has_script: bool = True) -> None:
        self.console = console
        self.person = person
        self.faults: list[str] = []
        self.document: Response | None = None
        self._refused: set[str] = set()
        self.context = browser.new_context(java_script_enabled=has_script, base_url=console.origin, viewport=WIDE)
        self.context.set_default_timeout(TIMEOUT)
        self.context.add_init_script(WATCH)
        self.context.on("request", lambda request: self._requested(request.url))
        self.page: Page = self.context.new_page()
        self.page.on("response", self._answered)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.page.on("console", lambda message: self._said(message.type, message.text, message.location.get("url", "")))
        self.page.on("dialog", self._asked)
        if person:
            self.log_in()

    def log_in(self) -> None:
        self.page.goto(self.console.login_link(self.person))
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Log in").click()
        assert self.page.url == self.console.origin + "/", f"{self.person!r} is at {self.page.url}"

    def open(self, path: str, status: int = 200) -> None:
        """Opens a page of the console, which must have that status."""
        self.page.goto(path)
        assert self.document and self.document.status == status, f"{path} has status {self.document and self.document.status}, not {status}"

    @property
    def cookie(self) -> dict[str, str]:
        """The header field with the cookies of the visitor."""
        return {"Cookie": "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.context.cookies())}

    def get(self, path: str) -> bytes:
        status, _, content = self.console.request("GET", path, self.cookie)
        assert status == 200, f"{path} has status {status}"
        return content

    def post(self, path: str, form: dict[str, str]) -> int:
        """Posts a form as a page of the console would, and returns the status."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.console.origin}
        return self.console.request("POST", path, headers | self.cookie, urlencode(form))[0]

    def take_faults(self) -> list[str]:
        faults, self.faults = self.faults, []
        return faults

    def close(self) -> None:
        self.context.close()

    def _answered(self, response: Response) -> None:
        if response.request.is_navigation_request() and response.frame == self.page.main_frame:
            self.document = response
            if response.status >= 400:
                self._refused.add(response.url)

    def _requested(self, url: str) -> None:
        place = urlsplit(url)
        if place.scheme in ("http", "https") and f"{place.scheme}://{place.netloc}" != self.console.origin:
            self.faults.append(f"request to {url}")

    def _said(self, kind: str, words: str, url: str) -> None:
        # The browser reports the status of a page that refuses, too.
        if kind == "error" and not (words.startswith("Failed to load resource") and url in self._refused):
            self.faults.append(f"{words} at {url}")

    def _asked(self, dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()
