import Metrics

/// What maintenance counts.
enum MaintenanceMetrics {
    static func record(_ step: MaintenanceTask.Step, of task: MaintenanceTask) {
        Counter(label: "appstore_inbox_maintenance_steps", dimensions: [("task", task.rawValue)]).increment()
        Counter(label: "appstore_inbox_maintenance_rows", dimensions: [("task", task.rawValue)]).increment(by: step.rows)
    }

    static func recordFailure(of task: MaintenanceTask) {
        Counter(label: "appstore_inbox_maintenance_failures", dimensions: [("task", task.rawValue)]).increment()
    }
}
