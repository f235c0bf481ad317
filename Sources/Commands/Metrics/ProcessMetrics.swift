import AppStoreVerification
import Glibc
import Postgres
import ServiceSupport

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

/// What the kernel knows of this process; nil where it does not tell.
private enum ProcessUsage {
    /// Seconds since 1970. The kernel counts from the boot of the machine.
    static var startTime: Double? {
        // After the name in parentheses: the 22nd field of proc(5)'s stat is the 20th.
        guard let ticks = fields(of: "/proc/self/stat", after: ")")?.dropFirst(19).first.flatMap(Double.init) else { return nil }
        return time(CLOCK_REALTIME) - time(CLOCK_BOOTTIME) + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    static var processorTime: Double? { time(CLOCK_PROCESS_CPUTIME_ID) }

    static var residentMemory: Double? {
        guard let pages = fields(of: "/proc/self/statm", after: nil)?.dropFirst().first.flatMap(Double.init) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static var openDescriptors: Double? {
        do throws(ReadableFile.Unreadable) {
            // One of them reads the folder.
            return Double(try ReadableFile.names(in: "/proc/self/fd").count - 1)
        } catch {
            return nil
        }
    }

    static var maximumDescriptors: Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Double(limit.rlim_cur)
    }

    private static func fields(of path: String, after separator: Character?) -> [Substring]? {
        do throws(ReadableFile.Unreadable) {
            let text = String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self)
            let start = separator.flatMap { text.lastIndex(of: $0) }.map { text.index(after: $0) } ?? text.startIndex
            return text[start...].split { $0.isWhitespace }
        } catch {
            return nil
        }
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

extension MetricRegistry {
    /// Exposes the connections of a pool by state, and how many it opened and lost.
    func observe(_ pool: ConnectionPool, as name: String) {
        let dimensions = [("pool", name)]
        observe("appstore_inbox_database_connections", dimensions + [("state", "idle")]) { Double(pool.slots.idle) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "leased")]) { Double(pool.slots.leased) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "opening")]) { Double(pool.slots.opening) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "unanswered")]) { Double(pool.slots.unanswered) }
        observe("appstore_inbox_database_connections_opened_total", dimensions) { Double(pool.counts.opened) }
        observe("appstore_inbox_database_connections_lost_total", dimensions) { Double(pool.counts.lost) }
        observe("appstore_inbox_database_connection_failures_total", dimensions) { Double(pool.counts.failed) }
    }

    /// Exposes the hits and misses of the current verifier's cache of chains.
    func observe(_ verifier: @escaping @Sendable () -> Verifier) {
        observe("appstore_inbox_worker_chain_cache_hits_total") { Double(verifier().chainCacheCounts.hits) }
        observe("appstore_inbox_worker_chain_cache_misses_total") { Double(verifier().chainCacheCounts.misses) }
    }
}
