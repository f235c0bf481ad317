import AppStore
import Testing

@testable import Commands
@testable import Postgres

/// Which events a tail reads again, and the lines that it prints.
struct TailTests {
    private static let now = Timestamp(millisecondsSince1970: 1_767_258_344_000)  // 2026-01-01T09:05:44Z

    private func instant(_ second: Int64) -> PostgresTimestamp { PostgresTimestamp(microsecondsSince2000: second * 1_000_000) }

    private func position(at second: Int64, next: Int64, oldest: Int64) -> TailWindow.Position {
        TailWindow.Position(readAt: instant(second), nextTransaction: next, oldestTransaction: oldest)
    }

    @Test func `a window begins at the latest poll before which no running transaction began`() {
        var window = TailWindow(start: instant(0))
        window.advance(past: position(at: 10, next: 100, oldest: 100))
        #expect(window.start == instant(10))
        // Transaction 101 runs on: it may have settled events since the poll at 10.
        for (second, next) in [(11, 103), (12, 106), (13, 109)] as [(Int64, Int64)] {
            window.advance(past: position(at: second, next: next, oldest: 101))
        }
        #expect(window.start == instant(10))
        window.advance(past: position(at: 14, next: 112, oldest: 107))
        #expect(window.start == instant(12))
        window.advance(past: position(at: 15, next: 112, oldest: 112))
        #expect(window.start == instant(15))
    }

    @Test func `a transaction that runs for more than a minute is not waited for`() {
        var window = TailWindow(start: instant(0))
        for second in 1...200 { window.advance(past: position(at: Int64(second), next: 100 + Int64(second), oldest: 50)) }
        #expect(window.start == instant(139))
    }

    @Test func `an event is seen once in a window, and each of its runs`() {
        var window = TailWindow(start: instant(0))
        let key = SettledEvent.Key(eventID: 7, run: 1)
        let isSeen = [
            window.admit(key, settledAt: instant(5)), window.admit(key, settledAt: instant(5)),
            window.admit(SettledEvent.Key(eventID: 7, run: 2), settledAt: instant(6)),
        ]
        #expect(isSeen == [true, false, true])
    }

    private func event(_ id: Int64, _ result: String, reason: String? = nil, settled: Int64 = 0) -> SettledEvent {
        let settled = Self.now.millisecondsSince1970 + settled
        return SettledEvent(
            key: SettledEvent.Key(eventID: id, run: 1),
            settledAt: PostgresTimestamp(millisecondsSince1970: settled),
            receivedAt: Timestamp(millisecondsSince1970: settled - 38),
            source: "notification_v2",
            result: result,
            reason: reason
        )
    }

    private var purchase: SettledEvent {
        var event = event(122, "applied")
        (event.type, event.subtype, event.bundleID, event.originalTransactionID) = ("SUBSCRIBED", "INITIAL_BUY", "com.example.shop", "1000")
        (event.user, event.entitlements, event.isActive) = ("user-1", ["pro"], true)
        event.until = Timestamp(millisecondsSince1970: 1_769_936_744_000)
        return event
    }

    @Test func `a line names type, app, outcome, user and what the user may use`() {
        var printer = TailPrinter(isJSON: false, isColoured: false)
        #expect(
            printer.line(purchase, now: Self.now)
                == "09:05:44  SUBSCRIBED/INITIAL_BUY  com.example.shop  applied  user-1 pro until 2026-02-01  #122  38 ms\n"
        )
        #expect(
            printer.line(event(123, "rejected", reason: "untrusted_root"), now: Self.now)
                == "09:05:44  notification_v2         -                 rejected untrusted_root                               #123  38 ms  explain 123\n"
        )
        #expect(printer.line(event(1, "applied", settled: -86_400_000), now: Self.now).hasPrefix("2025-12-31 09:05:44  notification_v2 "))
    }

    @Test func `the end of an entitlement is told as it is`() {
        var (ended, endless, consumable, ownerless) = (purchase, purchase, purchase, purchase)
        ended.isActive = false
        (endless.isEndless, endless.until) = (true, nil)
        (consumable.entitlements, consumable.product) = ([], "coins.100")
        ownerless.user = nil
        var printer = TailPrinter(isJSON: false, isColoured: false)
        for (event, words) in [
            (ended, "user-1 pro ended 2026-02-01"), (endless, "user-1 pro without end"), (consumable, "user-1 coins.100 "),
            (ownerless, "no user pro until 2026-02-01"),
        ] {
            let line = printer.line(event, now: Self.now)
            #expect(line.contains("  \(words)"), "\(line)")
        }
    }

    @Test func `a user's name cannot begin another line or colour it`() {
        var forged = purchase
        forged.user = "x\n09:05:44  \u{1B}[32m"
        var printer = TailPrinter(isJSON: false, isColoured: false)
        #expect(printer.line(forged, now: Self.now).contains(#"x\n09:05:44  \u001b[32m pro"#))
        var coloured = TailPrinter(isJSON: false, isColoured: true)
        #expect(coloured.line(purchase, now: Self.now).contains("\u{1B}[32mapplied\u{1B}[0m"))
    }

    @Test func `a word that is not known is answered with the most similar one`() throws {
        let words = KnownWords(option: "--outcome", words: ["applied", "rejected", "no_effect"])
        try words.check("applied")
        for (text, message) in [
            ("aplied", #"--outcome does not know "aplied": did you mean applied?"#),
            ("REJECTED", #"--outcome does not know "REJECTED": did you mean rejected?"#),
            ("lost", #"--outcome does not know "lost": it must be applied, rejected, no_effect"#),
        ] {
            #expect(message == refusal { try words.check(text) })
        }
    }

    private func refusal(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "accepted"
        } catch {
            return "\(error)"
        }
    }
}
