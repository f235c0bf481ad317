import Logging

/// What the tasks say that prepare a batch.
enum Preparation: Sendable {
    case workIsDone
    case solitudeIsOver
    case timeIsOver
}

extension InboxQueue {
    /// Prepares events on all cores, and says how far each has come.
    func prepareAll(
        _ events: [ClaimedEvent],
        of batch: Batch,
        in group: inout ThrowingTaskGroup<Preparation, any Error>
    ) async throws -> [Workbench<Prepared>.Stage] {
        let isAlone = batch.kind == .alone
        let usual = memory.bound(for: events.count)
        let bound = isAlone ? max(usual, configuration.suspectPatience(afterFailures: events[0].attempts)) : usual
        // If all threads are kept, nothing below happens in time.
        expect(batch, within: bound + configuration.hangPatience * 2)
        let start = ContinuousClock.now
        let workbench = Workbench(events, prepare: prepare)
        let workers = min(events.count, Workbench<Prepared>.places)
        for _ in 0..<workers {
            group.addTask {
                await workbench.work()
                return .workIsDone
            }
        }
        group.addTask {
            try await HangWatch.shared.sleep(for: bound)
            return .timeIsOver
        }
        if let end = batch.stay.solitudeEnds, batch.stay.isAlone, !events[0].hasToStayAlone {
            group.addTask {
                try await HangWatch.shared.sleep(for: end - .now)
                return .solitudeIsOver
            }
        }
        let isDone = try await awaitPreparation(by: workers, of: batch, in: &group)
        // Before they are cancelled: what ends only then has taken too long.
        let stages = workbench.close()
        group.cancelAll()
        if isDone {
            if !isAlone { memory.took(.now - start, events: events.count) }
        } else {
            report(stages, of: batch, bound: bound)
        }
        return stages
    }

    /// Waits until all of them are done, or their time is over; says whether they are done.
    private func awaitPreparation(
        by workers: Int,
        of batch: Batch,
        in group: inout ThrowingTaskGroup<Preparation, any Error>
    ) async throws -> Bool {
        var atWork = workers
        while atWork > 0 {
            switch try await group.next() {
            case .workIsDone: atWork -= 1
            // Its marker goes on to accuse it: if the process dies now, hardly for another one.
            case .solitudeIsOver: batch.stay.letOthersIn()
            case .timeIsOver, nil: return false
            }
        }
        return true
    }

    private func report(_ stages: [Workbench<Prepared>.Stage], of batch: Batch, bound: Duration) {
        let overdue = stages.count { if case .begun = $0 { true } else { false } }
        logger.warning(
            "events are given up, their preparation takes too long",
            metadata: ["batch.events": "\(stages.count)", "batch.overdue": "\(overdue)", "batch.bound": "\(bound)"]
        )
        if batch.kind != .alone { memory.exceeded(bound) }
    }
}
