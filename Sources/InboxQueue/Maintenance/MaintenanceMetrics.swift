import Metrics

/// What maintenance counts, by task.
struct MaintenanceMetrics: Sendable {
    private let steps: [MaintenanceTask: Counter]
    private let rows: [MaintenanceTask: Counter]
    private let failures: [MaintenanceTask: Counter]

    init(factory: any MetricsFactory) {
        steps = Self.counters("appstore_inbox_maintenance_steps_total", factory)
        rows = Self.counters("appstore_inbox_maintenance_rows_total", factory)
        failures = Self.counters("appstore_inbox_maintenance_failures_total", factory)
    }

    func record(_ step: MaintenanceTask.Step, of task: MaintenanceTask) {
        steps[task]?.increment()
        rows[task]?.increment(by: step.rows)
    }

    func recordFailure(of task: MaintenanceTask) {
        failures[task]?.increment()
    }

    private static func counters(_ label: String, _ factory: any MetricsFactory) -> [MaintenanceTask: Counter] {
        let tasks = MaintenanceTask.allCases
        return Dictionary(
            uniqueKeysWithValues: tasks.map { ($0, Counter(label: label, dimensions: [("task", $0.rawValue)], factory: factory)) }
        )
    }
}
