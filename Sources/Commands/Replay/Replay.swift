import AppStore

/// Posts bodies, several at a time, each until it is answered for good or patience ends; then no further one is begun.
struct Replay: Sendable {
    let post: NotificationPost
    /// Bodies in flight, at least 1.
    let parallel: Int
    /// For one body.
    let patience: Duration
    /// Whether nothing is posted.
    let isDryRun: Bool

    struct Report: Sendable {
        let origin: ReplayItem.Origin
        let outcome: ReplayOutcome
        let attempts: Int
        /// Why there was no answer at last.
        let problem: String?
    }

    /// Posts all that `bodies` hands out; `report` is called for each in the order in which they are done.
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
                // Who cannot be reached by one is not reached by the others: their waiting ends too.
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
        var attempts = PostAttempts(patience: patience)
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
                    // Another body's patience has ended: this one is left for the next time.
                    let outcome = ReplayOutcome.unanswered(status: answer?.status)
                    return Report(origin: origin, outcome: outcome, attempts: attempts.count, problem: problem)
                }
            }
        }
    }
}

extension ReplayItem {
    /// What becomes of it when it is not posted.
    fileprivate var unposted: ReplayOutcome {
        switch content {
        case .none(let reason): .notPosted(reason: reason)
        case .body: .ready
        }
    }
}
