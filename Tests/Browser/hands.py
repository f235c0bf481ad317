"""Two ways to fill in a form: by mouse in a browser without JavaScript, and by keyboard alone."""

from playwright.sync_api import Locator

from visitor import Visitor


class Mouse:
    name = "mouse"
    has_script = False

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page

    def send(self, button: str, texts: dict[str, str] | None = None, boxes: list[str] | None = None, within: Locator | None = None) -> None:
        """Fills in the form that has the button, sends it, and waits for the next page."""
        named = self.page.get_by_role("button", name=button, exact=True)
        form = (within or self.page.locator("body")).locator("form").filter(has=named)
        for box in boxes or []:
            self.tick(form.get_by_label(box, exact=True))
        for label, words in (texts or {}).items():
            self.write(form.get_by_label(label, exact=True), words)
        with self.page.expect_navigation():
            self.press(form.get_by_role("button", name=button, exact=True))

    def turn(self, link: str) -> None:
        """Goes to the page of a list before or after, which a browser with JavaScript does not load anew."""
        before = self.page.url
        self.press(self.page.get_by_role("link", name=link, exact=True).first)
        self.page.wait_for_url(lambda url: url != before)

    def notice(self) -> str:
        """What the page says about the action."""
        notice = self.page.locator("main p[role=status]")
        return notice.inner_text() if notice.count() else f"no notice at {self.page.url}: " + self.page.locator("main").inner_text()[:300]

    def tick(self, box: Locator) -> None:
        box.check()

    def write(self, field: Locator, words: str) -> None:
        field.fill(words)

    def press(self, button: Locator) -> None:
        button.click()


class Keys(Mouse):
    name = "keys"
    has_script = True
    # Tabs from the begin of a page to the end of the longest.
    limit = 400

    def tick(self, box: Locator) -> None:
        self.reach(box)
        self.page.keyboard.press("Space")

    def write(self, field: Locator, words: str) -> None:
        self.reach(field)
        self.page.keyboard.insert_text(words)

    def press(self, button: Locator) -> None:
        self.reach(button)
        self.page.keyboard.press("Enter")

    def reach(self, element: Locator) -> None:
        """Presses Tab until the element has the focus, which must be seen."""
        for _ in range(self.limit):
            if element.evaluate("(e) => e === document.activeElement"):
                outline = element.evaluate("(e) => getComputedStyle(e).outlineStyle")
                assert outline != "none", f"the focus of {element} is not seen"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {element}")
