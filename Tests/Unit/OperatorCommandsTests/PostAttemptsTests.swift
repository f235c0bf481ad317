import Randomness
import Testing

@testable import Commands

struct PostAttemptsTests {
    private typealias Answer = NotificationPost.Answer

    @Test func `200 ends the attempts`() {
        #expect(next(Answer(status: 200, retryAfter: nil)) == .end(.taken))
    }

    @Test(arguments: [201, 301, 400, 404, 405, 411, 413, 415])
    func `a status that a retry would not change is refused at once`(status: Int) {
        #expect(next(Answer(status: status, retryAfter: nil)) == .end(.refused(status: status)))
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504])
    func `a status that a retry may change is retried`(status: Int) {
        guard case .wait = next(Answer(status: status, retryAfter: nil)) else {
            Issue.record("\(status) is not tried again")
            return
        }
    }

    @Test func `no answer is retried with back-off until the time limit`() {
        var attempts = PostAttempts(timeLimit: .seconds(60))
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

    @Test func `Retry-After is honoured`() {
        #expect(next(Answer(status: 503, retryAfter: .seconds(30))) == .wait(.seconds(30)))
        #expect(next(Answer(status: 503, retryAfter: .seconds(61))) == .end(.unanswered(status: 503)), "longer than the time limit")
    }

    private func next(_ answer: Answer?) -> PostAttempts.Next {
        var attempts = PostAttempts(timeLimit: .seconds(60))
        var generator = SeededGenerator(seed: 1)
        return attempts.next(after: answer, elapsed: .zero, using: &generator)
    }
}
