import AppStore
import Outbox
import Testing

@testable import ServerAPI

/// Retry-After in all forms.
struct RetryAfterTests {
    private let now = ScriptedAPI.start

    private func delay(_ text: String?, date: String? = nil) -> Duration? {
        RetryAfter.delay(HTTPAnswer(status: 429, retryAfter: text, date: date), now: now)
    }

    @Test func `Apple's form is an instant in milliseconds since 1970`() {
        #expect(delay("\(now.millisecondsSince1970 + 12_345)") == .milliseconds(12_345))
        #expect(delay("\(now.millisecondsSince1970 - 1)") == .zero)
        // Nothing waits for longer than Apple counts.
        #expect(delay("4102444800000") == .seconds(3600))
    }

    @Test func `the delay is measured from the answer's Date where there is one`() throws {
        let date = "Mon, 21 Sep 2026 14:13:20 GMT"
        let sent = try #require(HTTPDate.parse(date))
        #expect(sent == now)
        #expect(delay("\(sent.millisecondsSince1970 + 5000)", date: "Mon, 21 Sep 2026 14:13:18 GMT") == .seconds(7))
        #expect(delay("\(sent.millisecondsSince1970 + 5000)", date: "yesterday") == .seconds(5))
    }

    @Test(arguments: [("0", 0), ("7", 7), ("3600", 3600), ("86400", 3600), ("999999999", 3600)])
    func `small numbers are seconds, an hour at most`(text: String, seconds: Int) {
        #expect(delay(text) == .seconds(seconds))
    }

    @Test func `numbers of ten and eleven digits are an instant in seconds since 1970`() {
        let now = now.millisecondsSince1970 / 1000
        #expect(delay("\(now + 42)") == .seconds(42) && delay("\(now - 42)") == .zero && delay("1000000000") == .zero)
        #expect(delay("\(now + 42)", date: "Mon, 21 Sep 2026 14:13:18 GMT") == .seconds(44))
        #expect(delay("99999999999") == .seconds(3600) && delay("100000000000") == .zero)
    }

    @Test func `the greatest number is no overflow, whatever the answer's Date`() {
        #expect(delay("\(Int64.max)", date: "Sun, 06 Nov 1003 08:49:37 GMT") == .seconds(3600))
    }

    @Test func `a date is an instant`() {
        #expect(delay("Mon, 21 Sep 2026 14:13:50 GMT") == .seconds(30))
        #expect(delay("Mon, 21 Sep 2020 14:13:50 GMT") == .zero)
    }

    @Test(arguments: [
        "", "soon", "-5", "1.5", " 7", "+7", "99999999999999999999", "٧", "Mon, 21 Sep 2026 14:13:50", "Mon, 31 Feb 2026 14:13:50 GMT",
        "Mon, 21 Xyz 2026 14:13:50 GMT",
    ])
    func `nonsense asks for nothing`(text: String) {
        #expect(delay(text) == nil)
    }

    @Test func `without the field there is no delay`() {
        #expect(delay(nil) == nil)
    }
}
