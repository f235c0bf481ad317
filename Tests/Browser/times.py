"""How long the pages take."""

import http.client
import statistics
import time

from playwright.sync_api import Browser

from console import OPERATOR, Console, Results
from inspection import Inspection
from pages import addresses
from visitor import Visitor

ROUNDS = 40
# The browser measures it some time after the page is loaded.
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def prove(browser: Browser, console: Console, results: Results, _: Inspection) -> None:
    results.heading(f"Milliseconds for a page, of {ROUNDS} requests over one connection, and until its first paint")
    visitor = Visitor(browser, console, OPERATOR)
    connection = http.client.HTTPConnection(console.address, timeout=30)
    all_times = []
    for address in addresses(console):
        if address.status != 200:
            continue
        times = sorted(timed(connection, address.path, visitor.cookie) for _ in range(ROUNDS))
        all_times += times
        p50, p95 = statistics.median(times), times[int(ROUNDS * 0.95) - 1]
        visitor.open(address.path)
        paint = visitor.page.wait_for_function(PAINT).json_value()
        print(f"  {address.name:28} p50 {p50:6.1f}   p95 {p95:6.1f}   paint {paint:6.0f}")
    all_times.sort()
    p50, p95 = statistics.median(all_times), all_times[int(len(all_times) * 0.95)]
    results.passes("all pages", f"p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    visitor.close()


def timed(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> float:
    start = time.perf_counter()
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.read()
    assert response.status == 200, f"{path} has status {response.status}"
    return (time.perf_counter() - start) * 1000
