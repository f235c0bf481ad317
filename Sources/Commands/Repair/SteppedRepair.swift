import Postgres

/// The result of one step of a repair.
struct RepairStep: Sendable {
    /// Events repaired so far, in all steps.
    let repaired: Int
    let isDone: Bool
    /// The pause before the next step, so that fresh events go first.
    let pause: Duration
    /// The input of the next step: text of the type `appstore.repair_progress`.
    let progress: String
}

/// Repairs any number of events in committed steps.
struct SteppedRepair {
    /// Runs the step that follows this progress.
    let step: (_ progress: String?) async throws -> RepairStep
    let pause: (Duration) async throws -> Void
    /// Called with a step and the time since the beginning.
    let report: (RepairStep, Duration) -> Void

    /// The pause when another transaction holds events of the next step.
    static let lockPause: Duration = .seconds(5)
    /// The longest interval between reports, also while no step repairs an event.
    private static let reportInterval: Duration = .seconds(10)

    /// Runs all steps and returns the number of repaired events.
    ///
    /// - Throws: The error of a step, which ends the repair. A step that conflicts with another transaction is repeated instead.
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
            if next.repaired > last?.repaired ?? 0 || clock.now - reported >= Self.reportInterval {
                report(next, clock.now - start)
                reported = clock.now
            }
            last = next
            try await pause(next.pause)
        }
    }
}
