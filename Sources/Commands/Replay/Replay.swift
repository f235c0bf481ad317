import AppStore
import Postgres
import ServiceSupport

/// Posts bodies concurrently, each until it has a final answer. When one runs out of time, no further body is started.
struct Replay: Sendable {
    let post: NotificationPost
    /// Bodies in flight, at least 1.
    let parallel: Int
    /// How long one body is retried.
    let timeLimit: Duration
    /// Whether nothing is posted.
    let isDryRun: Bool

    struct Report: Sendable {
        let origin: ReplayItem.Origin
        let outcome: ReplayOutcome
        let attempts: Int
        /// Why the last attempt got no answer.
        let problem: String?
    }

    /// Posts all `bodies` and calls `report` for each as it finishes.
    func run(_ bodies: inout some ReplayBodies, report: (Report) -> Void) async throws -> ReplayTally {
        var tally = ReplayTally()
        func take(_ done: Report) {
            tally.add(done.outcome, of: done.origin)
            report(done)
        }
        try await withThrowingTaskGroup(of: Report.self) { group in
            var inFlight = 0
            func awaitOne() async throws {
                guard let done = try await group.next() else { return }
                inFlight -= 1
                take(done)
                // The server is unreachable for the other bodies as well: cancel their retries.
                if tally.resumeAt != nil { group.cancelAll() }
            }
            while let item = try await bodies.next() {
                guard case .body(let body, let kind) = item.content, !isDryRun else {
                    take(Report(origin: item.origin, outcome: item.unposted, attempts: 0, problem: nil))
                    continue
                }
                if inFlight >= parallel { try await awaitOne() }
                guard tally.resumeAt == nil else {
                    tally.leave(item.origin)
                    break
                }
                inFlight += 1
                group.addTask { await send(body, as: kind, from: item.origin) }
            }
            while inFlight > 0 { try await awaitOne() }
        }
        return tally
    }

    private func send(_ body: [UInt8], as kind: NotificationV1Body.Kind, from origin: ReplayItem.Origin) async -> Report {
        var attempts = PostAttempts(timeLimit: timeLimit)
        var generator = SystemRandomNumberGenerator()
        let start = ContinuousClock.now
        while true {
            var problem: String?
            var answer: NotificationPost.Answer?
            do {
                answer = try await post.send(body, as: kind)
            } catch {
                problem = error.description
            }
            switch attempts.next(after: answer, elapsed: start.duration(to: .now), using: &generator) {
            case .end(let outcome): return Report(origin: origin, outcome: outcome, attempts: attempts.count, problem: problem)
            case .wait(let pause):
                do {
                    try await Task.sleep(for: pause)
                } catch {
                    // Another body has run out of time: the next run posts this one.
                    let outcome = ReplayOutcome.unanswered(status: answer?.status)
                    return Report(origin: origin, outcome: outcome, attempts: attempts.count, problem: problem)
                }
            }
        }
    }
}

extension ReplayItem {
    /// The outcome of a body that is not posted.
    fileprivate var unposted: ReplayOutcome {
        switch content {
        case .none(let reason): .notPosted(reason: reason)
        case .body: .ready
        }
    }
}

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

/// The outcome of one body.
enum ReplayOutcome: Hashable, Sendable {
    /// Answered with 200.
    case taken
    /// A dry run: it would have been posted.
    case ready
    /// Answered with a status that a retry would not change.
    case refused(status: Int)
    /// The body cannot be posted.
    case notPosted(reason: String)
    /// The time limit has passed; the status is that of the last attempt, nil when it got no answer.
    case unanswered(status: Int?)

    /// The name in the JSON that `replay` prints.
    var name: String {
        switch self {
        case .taken: "taken"
        case .ready: "ready"
        case .refused: "refused"
        case .notPosted: "not_posted"
        case .unanswered: "unanswered"
        }
    }

    var status: Int? {
        switch self {
        case .taken: 200
        case .refused(let status): status
        case .unanswered(let status): status
        case .ready, .notPosted: nil
        }
    }
}

/// Counts the outcomes of all bodies and remembers where an unfinished replay can continue.
struct ReplayTally: Equatable {
    private(set) var counts: [String: Int] = [:]
    /// The first body that still has to be posted; nil when none has. Later ones may have been taken; posting them again does no harm.
    private(set) var resumeAt: ReplayItem.Origin?

    /// Whether there was a body, and all were taken (in a dry run: could be posted).
    var isComplete: Bool {
        let (done, all) = (counts["taken", default: 0] + counts["ready", default: 0], counts.values.reduce(0, +))
        return all > 0 && done == all && resumeAt == nil
    }

    mutating func add(_ outcome: ReplayOutcome, of origin: ReplayItem.Origin) {
        counts[outcome.name, default: 0] += 1
        if case .unanswered = outcome { leave(origin) }
    }

    /// Records a body that still has to be posted.
    mutating func leave(_ origin: ReplayItem.Origin) {
        resumeAt = min(resumeAt ?? origin, origin)
    }
}
