import Prometheus

extension MetricCatalogue {
    /// What runs, and what it uses; the names without this program's prefix are Prometheus' own, the same for every program.
    static let process = [
        MetricDescription(
            "appstore_inbox_build_info",
            .gauge,
            "Always 1, with the program's version, its commit and the version of the schema that it makes as labels."
        ),
        MetricDescription("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970."),
        MetricDescription("process_cpu_seconds_total", .counter, "Processor time that the process has used, in user and system mode."),
        MetricDescription("process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM."),
        MetricDescription("process_open_fds", .gauge, "Open file descriptors of the process."),
        MetricDescription("process_max_fds", .gauge, "The most file descriptors that the process may open."),
    ]

    /// Exposes the metrics of this process.
    static func exposeProcess(in registry: MetricRegistry) {
        let labels = [("version", Build.version), ("commit", Build.commit), ("schema", "\(Build.schema)")]
        registry.observe("appstore_inbox_build_info", labels) { 1 }
        let start = ProcessUsage.startTime
        registry.observe("process_start_time_seconds") { start }
        registry.observe("process_cpu_seconds_total") { ProcessUsage.processorTime }
        registry.observe("process_resident_memory_bytes") { ProcessUsage.residentMemory }
        registry.observe("process_open_fds") { ProcessUsage.openDescriptors }
        registry.observe("process_max_fds") { ProcessUsage.maximumDescriptors }
    }
}
