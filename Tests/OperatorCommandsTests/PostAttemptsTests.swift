import Randomness
import Testing

@testable import Commands

struct PostAttemptsTests {
    private typealias Answer = NotificationPost.Answer

    @Test func `200 is the end of it`() {
        #expect(next(Answer(status: 200, retryAfter: nil)) == .end(.taken))
    }

    @Test(arguments: [201, 301, 400, 404, 405, 411, 413, 415])
    func `what another attempt would not change is refused at once`(status: Int) {
        #expect(next(Answer(status: status, retryAfter: nil)) == .end(.refused(status: status)))
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504])
    func `what may change is tried again`(status: Int) {
        guard case .wait = next(Answer(status: status, retryAfter: nil)) else {
            Issue.record("\(status) is not tried again")
            return
        }
    }

    @Test func `no answer is tried again, later and later, until patience ends`() {
        var attempts = PostAttempts(patience: .seconds(60))
        var generator = SeededGenerator(seed: 7)
        var elapsed = Duration.zero
        var longest = Duration.zero
        while case .wait(let pause) = attempts.next(after: nil, elapsed: elapsed, using: &generator) {
            longest = max(longest, pause)
            elapsed += pause
        }
        #expect(elapsed <= .seconds(60) && elapsed > .seconds(20))
        #expect(longest > .seconds(1) && longest <= .seconds(15))
        #expect((6...60).contains(attempts.count), "\(attempts.count)")
        #expect(attempts.next(after: nil, elapsed: .seconds(61), using: &generator) == .end(.unanswered(status: nil)))
    }

    @Test func `the server's word for how long to wait is honoured`() {
        #expect(next(Answer(status: 503, retryAfter: .seconds(30))) == .wait(.seconds(30)))
        #expect(next(Answer(status: 503, retryAfter: .seconds(61))) == .end(.unanswered(status: 503)), "longer than patience lasts")
    }

    private func next(_ answer: Answer?) -> PostAttempts.Next {
        var attempts = PostAttempts(patience: .seconds(60))
        var generator = SeededGenerator(seed: 1)
        return attempts.next(after: answer, elapsed: .zero, using: &generator)
    }
}
