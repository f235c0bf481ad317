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
        var rest: Duration
    }

    private var entries: [MaintenanceTask: Entry]

    /// Begins each task at a random moment of its first rest, so that workers that start together do not take their steps together.
    init(now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator) {
        entries = [:]
        for task in MaintenanceTask.allCases {
            let rest = min(task.longestRest, .seconds(5))
            entries[task] = Entry(next: now + rest * Double.random(in: 0...1, using: &generator), rest: MaintenanceTask.pause)
        }
    }

    /// The task that is due first, and when.
    var next: (task: MaintenanceTask, at: ContinuousClock.Instant) {
        var first: (task: MaintenanceTask, at: ContinuousClock.Instant)?
        for task in MaintenanceTask.allCases {
            guard let entry = entries[task], first.map({ entry.next < $0.at }) ?? true else { continue }
            first = (task, entry.next)
        }
        return first ?? (.preparePartitions, .now)
    }

    /// Sets when a task comes again. Half of a rest is random.
    mutating func ended(
        _ task: MaintenanceTask,
        _ ending: Ending,
        at now: ContinuousClock.Instant,
        using generator: inout some RandomNumberGenerator
    ) {
        let rest: Duration
        switch ending {
        case .moreToDo:
            entries[task] = Entry(next: now + MaintenanceTask.pause, rest: MaintenanceTask.pause)
            return
        case .nothingToDo:
            rest = min((entries[task]?.rest ?? MaintenanceTask.pause) * 2, task.longestRest)
        case .inTheWay:
            // The lock may be held for hours, and an attempt may keep others waiting for a moment.
            rest = min(max((entries[task]?.rest ?? MaintenanceTask.pause) * 2, .seconds(5)), max(task.longestRest, .seconds(5)))
        }
        entries[task] = Entry(next: now + rest / 2 + rest / 2 * Double.random(in: 0...1, using: &generator), rest: rest)
    }
}
