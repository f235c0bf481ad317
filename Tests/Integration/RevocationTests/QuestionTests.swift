import OpenSSL
import Testing

@testable import Revocation

/// Whom to ask, and when again.
struct QuestionTests {
    @Test(arguments: [
        ("http://ocsp.apple.com/ocsp03-wwdrg602", true), ("http://OCSP.Apple.com/x", true),
        ("https://ocsp.apple.com/x", false), ("http://ocsp.apple.com:8080/x", false), ("http://ocsp.apple.com.example.com/x", false),
        ("http://notapple.com/x", false), ("http://127.0.0.1/ocsp.apple.com", false), ("http://ocsp.apple.com@127.0.0.1/x", false),
        ("http://127.0.0.1/#.apple.com", false), ("http://127.0.0.1\\.apple.com/x", false), ("http:///x", false),
        ("http://ocsp.apple.com /x", false), ("ldap://ocsp.apple.com/x", false), ("", false),
    ])
    func `only Apple's responders are asked, over http on port 80`(address: String, isAsked: Bool) {
        #expect(ResponderHosts.apple.first(of: [address]) == (isAsked ? address : nil))
        #expect(ResponderHosts.apple.first(of: [address, "http://ocsp.apple.com/y"]) != nil)
    }

    @Test func `with extra roots any responder may be asked, but no name that cannot exist`() {
        #expect(ResponderHosts.any.first(of: ["ftp://x/", "http://127.0.0.1:8888/ocsp"]) == "http://127.0.0.1:8888/ocsp")
        for address in ["http://simulated.invalid/x", "http://simulated.INVALID:80/x", "https://127.0.0.1/", "http://u@127.0.0.1/"] {
            #expect(ResponderHosts.any.first(of: [address]) == nil, "\(address)")
        }
    }

    @Test(
        arguments: [
            (-60, 4 * 3600, 2 * 3600 - 30), (0, 60, 3600), (0, 30 * 86_400, 86_400), (-86_400, 3600, 3600),
        ] as [(Int64, Int64, Int64)]
    )
    func `the next question comes at half of the answer's lifetime, after an hour to a day`(begin: Int64, end: Int64, wait: Int64) {
        let now: Int64 = 1_750_000_000
        let answer = QuestionResult.answered(OCSPValidity(thisUpdate: now + begin, nextUpdate: now + end), nil)
        var generator = SystemRandomNumberGenerator()
        #expect(QuestionSchedule().wait(after: answer, failures: 7, at: now, using: &generator) == .seconds(wait))
    }

    @Test func `failures are repeated after five minutes to six hours, a missing address after a day`() {
        var generator = SystemRandomNumberGenerator()
        let schedule = QuestionSchedule()
        for (failures, bound) in [(0, 300), (1, 600), (3, 2400), (20, 21_600)] {
            let wait = schedule.wait(after: .unanswered("timed_out"), failures: failures, at: 0, using: &generator)
            #expect(wait >= .seconds(bound) / 2 && wait <= .seconds(bound))
        }
        #expect(schedule.wait(after: .noAddress, failures: 0, at: 0, using: &generator) == .seconds(86_400))
    }
}
