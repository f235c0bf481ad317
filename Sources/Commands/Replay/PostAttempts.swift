import Postgres

/// Decides after each attempt to post a body whether and when to retry. The caller provides time and randomness.
struct PostAttempts {
    /// What to do after an attempt.
    enum Next: Hashable {
        case end(ReplayOutcome)
        case wait(Duration)
    }

    private let timeLimit: Duration
    private var backoff = Backoff(base: .milliseconds(250), cap: .seconds(15))
    private(set) var count = 0

    /// - Parameter timeLimit: how long after the first attempt the last one may begin.
    init(timeLimit: Duration) {
        self.timeLimit = timeLimit
    }

    /// The next action after an attempt.
    ///
    /// - Parameters:
    ///   - answer: nil when there was none in time.
    ///   - elapsed: the time since the first attempt began.
    mutating func next(
        after answer: NotificationPost.Answer?,
        elapsed: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Next {
        count += 1
        if answer?.status == 200 { return .end(.taken) }
        if let status = answer?.status, !Self.mayChange(status) { return .end(.refused(status: status)) }
        let pause = max(backoff.next(using: &generator), answer?.retryAfter ?? .zero)
        return elapsed + pause > timeLimit ? .end(.unanswered(status: answer?.status)) : .wait(pause)
    }

    /// Whether a retry of the same body may get another answer.
    private static func mayChange(_ status: Int) -> Bool {
        status >= 500 || status == 408 || status == 429
    }
}
