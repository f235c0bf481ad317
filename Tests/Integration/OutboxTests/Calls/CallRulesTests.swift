import Testing

@testable import Outbox

/// The verdicts on calls after an attempt, without a clock.
struct CallRulesTests {
    /// Always the same number; not zero, which an unbiased draw from a range would reject for ever.
    private struct Constant: RandomNumberGenerator {
        let number: UInt64
        mutating func next() -> UInt64 { number }

        static let least = Constant(number: 1)
        static let greatest = Constant(number: .max)
    }

    private func call(attempts: Int = 0, lastReason: String? = nil, repeats: Int = 0, timeLeft: Duration = .seconds(86_400)) -> LeasedCall {
        LeasedCall(
            callID: 1,
            epoch: 1,
            kind: "verify_receipt",
            bundleID: "com.example.app",
            attempts: attempts,
            lastReason: lastReason,
            repeats: repeats,
            timeLeft: timeLeft
        )
    }

    private func verdict(
        _ result: CallResult,
        of call: LeasedCall,
        elapsed: Duration = .zero,
        _ generator: Constant = .greatest
    ) -> CallRules.Verdict {
        var generator = generator
        return CallRules().verdict(on: result, of: call, elapsed: elapsed, using: &generator)
    }

    private func later(_ reason: String = "timed_out", atMost: Int? = nil, notBefore: Duration? = nil) -> CallResult {
        .later(reason: reason, atMost: atMost, notBefore: notBefore)
    }

    private func delay(after failures: Int, _ generator: Constant) -> Duration? {
        guard case .postpone(_, let delay, _) = verdict(later(), of: call(attempts: failures - 1), generator) else { return nil }
        return delay
    }

    @Test func `an answer is accepted and a refusal is final, also after the deadline`() {
        let late = call(timeLeft: .seconds(-5))
        #expect(verdict(.answered([[1], [2]]), of: late) == .answer([[1], [2]]))
        #expect(verdict(.refused(reason: "status_21003"), of: late) == .refuse(reason: "status_21003"))
        #expect(verdict(.denied(reason: "status_21010"), of: late) == .deny(reason: "status_21010"))
    }

    @Test func `the pause doubles from two seconds to an hour, and half of it is random`() throws {
        let longest = try (1...13).map { try #require(delay(after: $0, .greatest)) }
        #expect(longest.prefix(4) == [.seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(longest[10] == .seconds(2048) && longest[11] == .seconds(3600) && longest[12] == .seconds(3600))
        for failures in 1...13 {
            let shortest = try #require(delay(after: failures, .least))
            #expect(shortest >= longest[failures - 1] / 2 && shortest < longest[failures - 1] * 0.51)
        }
        #expect(delay(after: 1_000_000, .greatest) == .seconds(3600))
    }

    @Test(arguments: [(60, 60), (3600, 3600), (7200, 3600), (1, 2)])
    func `the delay that the server asks for is kept, up to an hour`(asked: Int, given: Int) {
        let result = later("http_429", notBefore: .seconds(asked))
        #expect(verdict(result, of: call()) == .postpone(reason: "http_429", by: .seconds(given)))
    }

    @Test func `a limited reason refuses the call when it comes too often in a row`() {
        let result = later("status_21002", atMost: 2)
        #expect(verdict(result, of: call()) == .postpone(reason: "status_21002", by: .seconds(2)))
        #expect(
            verdict(result, of: call(attempts: 1, lastReason: "status_21002", repeats: 1))
                == .postpone(reason: "status_21002", by: .seconds(4))
        )
        #expect(verdict(result, of: call(attempts: 2, lastReason: "status_21002", repeats: 2)) == .refuse(reason: "status_21002"))
    }

    @Test func `a different reason in between resets the count`() {
        let result = later("status_21002", atMost: 2)
        #expect(
            verdict(result, of: call(attempts: 3, lastReason: "timed_out", repeats: 3))
                == .postpone(reason: "status_21002", by: .seconds(16))
        )
    }

    @Test func `the last pause ends at the deadline, and a call that fails then is given up`() {
        let nearTheEnd = call(attempts: 11, timeLeft: .seconds(100))
        #expect(verdict(later(), of: nearTheEnd, elapsed: .seconds(30)) == .postpone(reason: "timed_out", by: .seconds(70)))
        #expect(verdict(later(), of: nearTheEnd, elapsed: .seconds(100)) == .giveUp(reason: "timed_out"))
        #expect(verdict(later(), of: call(timeLeft: .zero)) == .giveUp(reason: "timed_out"))
        #expect(verdict(later(), of: call(timeLeft: .seconds(-90_000))) == .giveUp(reason: "timed_out"))
    }

    @Test func `a postponement that counts no attempt lasts as long as the server asks, a second at least, and a little more`() {
        func uncounted(_ notBefore: Duration?) -> CallResult { .later(reason: "budget", notBefore: notBefore, countsAttempt: false) }
        let call = call(attempts: 9, lastReason: "budget", repeats: 2, timeLeft: .seconds(5000))
        // The most that chance adds: those that wait for the same thing come back one after the other.
        for (asked, given) in [(.milliseconds(300), .milliseconds(1200)), (.seconds(7200), .seconds(3630)), (nil, .seconds(72))]
            as [(Duration?, Duration)]
        {
            #expect(verdict(uncounted(asked), of: call) == .postpone(reason: "budget", by: given, countsAttempt: false))
        }
        #expect(verdict(uncounted(.seconds(60)), of: self.call(timeLeft: .seconds(-1))) == .giveUp(reason: "budget"))
    }

    @Test func `descriptions of a call and its answer contain no byte of either`() {
        let call = LeasedCall(
            callID: 7,
            epoch: 3,
            kind: "verify_receipt",
            bundleID: "com.example.app",
            event: .init(source: "client_receipt", body: [201, 202]),
            payload: [203, 204],
            timeLeft: .zero
        )
        let answer: [UInt8] = [201, 202]
        let shown: [Any] = [
            call, call.event as Any, CallResult.answered([answer]),
            CallRules.Verdict.answer([answer]), HTTPAnswer(status: 200, body: answer),
            ExchangeOutcome.answer(HTTPAnswer(status: 200, body: answer)),
        ]
        for value in shown {
            var dumped = ""
            dump(value, to: &dumped)
            let text = "\(value) \(String(reflecting: value)) \(dumped)"
            #expect(!text.contains("201") && !text.contains("203"), "\(text)")
        }
    }
}
