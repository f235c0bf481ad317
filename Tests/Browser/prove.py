"""Looks at every page of a running console with Chromium, and uses every action. deploy/prove browser runs it."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Route, sync_playwright

import actions
import figures
import pages
import security
import times
import viewer
from console import GUEST, OPERATOR, VIEWER, Console, Results
from inspection import Inspection
from visitor import Visitor

# How a page can be broken, and the word by which that must be found.
BROKEN = {
    "script in the page": ("<h1>", "<script>document.title</script><h1>", "policy script-src"),
    "style in the page": ("<h1>", '<h1 style="color: red">', "policy style-src"),
    "event handler": ("<h1>", '<img src="/none" alt="" onerror="alert(1)"><h1>', "policy script-src"),
    "picture of another site": ("<h1>", '<img src="http://localhost:1/x" alt=""><h1>', "policy img-src"),
    "field without label": ("<h1>", '<input type="text"><h1>', "axe, light: label"),
    "word without end": ("<h1>", '<p class="badge">' + "W" * 200 + "</p><h1>", "at 320 px"),
    "heavy page": ("<h1>", f"<p>{'word ' * 9000}</p><h1>", "HTML of"),
    "direction of reading": ("<h1>", "<h1>\u202e", "character U+202E"),
    "picture that is not there": ("<h1>", '<img src="/assets/none" alt=""><h1>', "Failed to load"),
}


def prove_inspection(browser: Browser, console: Console, results: Results, inspection: Inspection) -> None:
    """A page that is broken on purpose must be found."""
    results.heading("What the inspection finds in broken pages")
    visitor = Visitor(browser, console, VIEWER)
    for what, (old, new, found) in BROKEN.items():
        visitor.context.route("**/customers", spoiled(visitor, old, new))
        visitor.open("/customers")
        problems, _ = inspection.problems(visitor, "broken")
        results.check(what, [] if any(found in problem for problem in problems) else [f"not found: {problems}"], found)
        visitor.context.unroute("**/customers")
    visitor.close()
    inspection.words, inspection.heaviest = "", 0


def spoiled(visitor: Visitor, old: str, new: str) -> Callable[[Route], None]:
    """Answers with the page of the console, with a change."""

    def answer(route: Route) -> None:
        _, fields, content = visitor.console.request("GET", "/customers", visitor.cookie)
        fields.pop("content-length")
        route.fulfill(headers=fields, body=content.decode().replace(old, new))

    return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", type=Path, required=True, help="the folder of deploy/demo --console")
    parser.add_argument("--program", type=Path, required=True, help="appstore-inbox")
    parser.add_argument("--pictures", type=Path, required=True, help="where pictures of the pages go")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()

    options.pictures.mkdir(parents=True, exist_ok=True)
    console, results = Console(options.demo, options.program), Results()
    inspection = Inspection(results, options.pictures)
    corpus = Path(__file__).with_name("corpus.sql").read_text()
    console.run(corpus, operator=OPERATOR, viewer=VIEWER, guest=GUEST)
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=options.chromium, args=arguments)
        prove_inspection(browser, console, results, inspection)
        for part in (pages, figures, security, actions, viewer, times):
            try:
                part.prove(browser, console, results, inspection)
            except Exception as error:
                results.fails(part.__name__, "".join(traceback.format_exception(error)))
        pages.prove_corpus(console, results, inspection)
        browser.close()

    results.heading(f"{results.checks} checks, {len(results.failures)} failed. Pictures: {options.pictures}")
    for failure in results.failures:
        print(f"  {failure}")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
