import AppStore

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
