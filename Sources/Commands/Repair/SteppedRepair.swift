import Postgres

/// What a step of a repair returned.
struct RepairStep: Sendable {
    /// Events repaired so far, in all steps.
    let repaired: Int
    let isDone: Bool
    /// How long to wait before the next step, so that fresh events go first.
    let pause: Duration
    /// What the next step needs; text of the type `appstore.repair_progress`.
    let progress: String
}

/// A repair of any number of events, one committed step after the other.
struct SteppedRepair {
    /// Takes the step that follows this progress.
    let step: (_ progress: String?) async throws -> RepairStep
    let pause: (Duration) async throws -> Void
    /// Gets a step that repaired events, and the time since the beginning.
    let report: (RepairStep, Duration) -> Void

    /// How long to wait when another transaction holds events of the next step.
    static let lockPause: Duration = .seconds(5)
    /// How long a step may do nothing but wait before it is reported, too.
    private static let silence: Duration = .seconds(10)

    /// Takes all steps and returns how many events they repaired.
    ///
    /// - Throws: What a step throws; a repair is ended by it, and can be repeated. A conflict of locks is no error: the step is repeated.
    func run() async throws -> Int {
        let clock = ContinuousClock()
        let start = clock.now
        var last: RepairStep?
        var reported = start
        while true {
            let next: RepairStep
            do {
                next = try await step(last?.progress)
            } catch let error as PostgresError where error.isSerializationConflict {
                try await pause(Self.lockPause)
                continue
            }
            if next.isDone { return next.repaired }
            if next.repaired > last?.repaired ?? 0 || clock.now - reported >= Self.silence {
                report(next, clock.now - start)
                reported = clock.now
            }
            last = next
            try await pause(next.pause)
        }
    }
}
