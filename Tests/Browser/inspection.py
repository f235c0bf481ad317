"""What each page must be: in light, dark, narrow and print, and in its weight."""

import re
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error

from console import Results
from visitor import WIDE, Visitor

KIB = 1024
HTML_LIMIT, COLD_LIMIT, SCRIPT_LIMIT, STYLES_LIMIT = 40 * KIB, 60 * KIB, 4 * KIB, 12 * KIB
NARROW = {"width": 320, "height": 640}
# A4 with margins of one centimetre, at 96 dots an inch.
PAPER = {"width": 718, "height": 1000}
# All rules in light. What else can depend on the colours, and on the width.
RULES = {"dark": ["color-contrast"], "narrow": ["scrollable-region-focusable", "target-size"]}

# Widths in CSS pixels, and what reaches beyond.
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth, found = document.scrollingElement.scrollWidth;
  if (found <= width) return null;
  const wide = [...document.body.querySelectorAll("*")]
    .filter((e) => !e.closest(".scroll *") && e.getBoundingClientRect().right > width + 1);
  return `${found} px wide: ` + wide.slice(-3).map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40)).join(" | ");
}"""
# Tables, definitions and paragraphs that have a size.
CONTENT = """() => [...document.querySelectorAll("main table, main dl, main h1, main > p")]
  .filter((e) => !e.closest(".elsewhere") && e.getClientRects().length).length"""
ON_PAPER = (
    """() => [...document.querySelectorAll("button, input, select, nav, header, footer")].filter((e) => e.getClientRects().length).length"""
)
GROUND = "() => getComputedStyle(document.documentElement).backgroundColor"
# Characters that turn the direction of reading, or that HTML forbids.
FORBIDDEN = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Inspection:
    """Looks at pages, and keeps a picture of each."""

    def __init__(self, results: Results, pictures: Path) -> None:
        self.results = results
        self.pictures = pictures
        self.axe = Axe()
        # All that the pages have said, to look for what is stored.
        self.words = ""
        self.heaviest = 0

    def look(self, visitor: Visitor, name: str, with_axe: bool = True) -> None:
        """Inspects the page that the visitor is at."""
        try:
            problems, weight = self.problems(visitor, name, with_axe)
            self.results.check(name, problems, f"{weight:,} bytes")
        except Error as error:
            self.results.fails(name, str(error))

    def problems(self, visitor: Visitor, name: str, with_axe: bool = True) -> tuple[list[str], int]:
        page = visitor.page
        weight = len(visitor.document.body())
        self.heaviest = max(self.heaviest, weight)
        problems = [f"HTML of {weight} bytes"] if weight > HTML_LIMIT else []
        # A page that brings itself up to date would change while it is looked at.
        pause = page.get_by_role("button", name="Pause updates")
        if pause.count():
            pause.click()
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        words = page.locator("body").inner_text()
        self.words += words + page.title()
        if found := FORBIDDEN.search(words):
            problems.append(f"character U+{ord(found[0]):04X} is shown")

        for scheme in ("light", "dark"):
            page.emulate_media(media="screen", color_scheme=scheme)
            if with_axe:
                problems += self._violations(page, scheme)
            self._picture(page, f"{name}-{scheme}")
        on_screen = page.evaluate(CONTENT)

        page.set_viewport_size(NARROW)
        page.emulate_media(color_scheme="light")
        if wide := page.evaluate(OVERFLOW):
            problems.append(f"at {NARROW['width']} px: {wide}")
        if with_axe:
            problems += self._violations(page, "narrow")
        self._picture(page, f"{name}-narrow")

        page.set_viewport_size(PAPER)
        page.emulate_media(media="print", color_scheme="dark")
        if wide := page.evaluate(OVERFLOW):
            problems.append(f"on paper: {wide}")
        if controls := page.evaluate(ON_PAPER):
            problems.append(f"on paper: {controls} controls")
        if (printed := page.evaluate(CONTENT)) != on_screen:
            problems.append(f"on paper: {printed} tables, definitions and paragraphs of {on_screen}")
        if (ground := page.evaluate(GROUND)) != "rgb(255, 255, 255)":
            problems.append(f"on paper: the ground is {ground}")
        self._picture(page, f"{name}-print")

        page.set_viewport_size(WIDE)
        page.emulate_media(media="screen", color_scheme="light")
        return problems + visitor.take_faults(), weight

    def weigh(self, visitor: Visitor) -> None:
        """All that a browser without a cache fetches for the heaviest page."""
        files = visitor.page.locator("link[href], script[src]").evaluate_all("(all) => all.map((e) => new URL(e.href || e.src).pathname)")
        sizes = {path.rsplit(".", 1)[1]: len(visitor.get(path)) for path in files}
        self.results.check("files", [] if set(sizes) == {"css", "js", "svg"} else [f"{files}"])
        for kind, limit in ("js", SCRIPT_LIMIT), ("css", STYLES_LIMIT):
            self.results.check(
                kind, [] if sizes[kind] <= limit else [f"{sizes[kind]} bytes, of {limit}"], f"{sizes[kind]:,} bytes of {limit:,}"
            )
        cold = self.heaviest + sum(sizes.values())
        self.results.check("the heaviest page, cold", [] if cold <= COLD_LIMIT else [f"{cold} bytes"], f"{cold:,} bytes of {COLD_LIMIT:,}")

    def _violations(self, page, where: str) -> list[str]:
        rules = RULES.get(where)
        options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
        found = self.axe.run(page, options=options).response["violations"]
        return [f"axe, {where}: {v['id']}: {len(v['nodes'])} × {v['nodes'][0]['html'][:120]} {self._why(v)}" for v in found]

    @staticmethod
    def _why(violation: dict) -> str:
        node = violation["nodes"][0]
        return "; ".join(check["message"] for check in node["any"] + node["all"] + node["none"])

    def _picture(self, page, name: str) -> None:
        # Playwright would hide the caret by a style in the page, which the policy forbids.
        page.screenshot(path=self.pictures / f"{name}.png", full_page=True, caret="initial")
