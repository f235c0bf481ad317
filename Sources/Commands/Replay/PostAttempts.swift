import Postgres

/// How often one body is tried, and when it is enough. Time and chance are the caller's.
struct PostAttempts {
    /// What to do after an attempt.
    enum Next: Hashable {
        case end(ReplayOutcome)
        case wait(Duration)
    }

    private let patience: Duration
    private var backoff = Backoff(base: .milliseconds(250), cap: .seconds(15))
    private(set) var count = 0

    /// - Parameter patience: how long after the first attempt the last one may begin.
    init(patience: Duration) {
        self.patience = patience
    }

    /// Decides after an attempt: what was answered (nil: nothing, or not in time) and how long it is since the first began.
    mutating func next(
        after answer: NotificationPost.Answer?,
        elapsed: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Next {
        count += 1
        if answer?.status == 200 { return .end(.taken) }
        if let status = answer?.status, !Self.mayChange(status) { return .end(.refused(status: status)) }
        let pause = max(backoff.next(using: &generator), answer?.retryAfter ?? .zero)
        return elapsed + pause > patience ? .end(.unanswered(status: answer?.status)) : .wait(pause)
    }

    /// Whether the same body may be answered otherwise later.
    private static func mayChange(_ status: Int) -> Bool {
        status >= 500 || status == 408 || status == 429
    }
}
