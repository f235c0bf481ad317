import Postgres

/// Which task is next, and when: soon while it has work, and at longer and longer intervals while it has none.
struct MaintenanceSchedule {
    /// How a step ended.
    enum Ending {
        case moreToDo
        case nothingToDo
        /// Another transaction holds a lock that it needs.
        case inTheWay
    }

    private struct Entry {
        var next: ContinuousClock.Instant
        var rest: Backoff
        /// A lock may be held for hours, and an attempt may keep others waiting for a moment.
        var blockade: Backoff
    }

    private var entries: [MaintenanceTask: Entry]

    /// Begins each task at a random moment of its first rest, so that workers that start together do not take their steps together.
    init(now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator) {
        entries = [:]
        for task in MaintenanceTask.allCases {
            let rest = min(task.longestRest, .seconds(5))
            entries[task] = Entry(
                next: now + rest * Double.random(in: 0...1, using: &generator),
                rest: Backoff(base: MaintenanceTask.pause * 2, cap: task.longestRest, jitter: 0.5),
                blockade: Backoff(base: .seconds(5), cap: max(task.longestRest, .seconds(5)), jitter: 0.5)
            )
        }
    }

    /// The task that is due first, and when.
    var next: (task: MaintenanceTask, at: ContinuousClock.Instant) {
        let first = entries.min { ($0.value.next, $0.key.rawValue) < ($1.value.next, $1.key.rawValue) }
        return first.map { ($0.key, $0.value.next) } ?? (.preparePartitions, .now)
    }

    /// Sets when a task comes again. Half of a rest is random.
    mutating func ended(
        _ task: MaintenanceTask,
        _ ending: Ending,
        at now: ContinuousClock.Instant,
        using generator: inout some RandomNumberGenerator
    ) {
        guard var entry = entries[task] else { return }
        switch ending {
        case .moreToDo:
            entry.rest.reset()
            entry.blockade.reset()
            entry.next = now + MaintenanceTask.pause
        case .nothingToDo:
            entry.blockade.reset()
            entry.next = now + entry.rest.next(using: &generator)
        case .inTheWay:
            entry.next = now + entry.blockade.next(using: &generator)
        }
        entries[task] = entry
    }
}
