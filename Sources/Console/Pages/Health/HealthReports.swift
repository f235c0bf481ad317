import Synchronization

/// Makes one report at a time. A request that comes meanwhile gets the findings of that report, so that many take no more connections than one.
final class HealthReports: Sendable {
    private let report: HealthReport
    /// The requests that wait for the report in flight; nil while there is none.
    private let waiters = Mutex<[CheckedContinuation<[HealthFinding]?, Never>]?>(nil)

    init(_ report: @escaping HealthReport) {
        self.report = report
    }

    /// How many requests wait for the report in flight.
    var waiterCount: Int { waiters.withLock { $0?.count ?? 0 } }

    func findings() async -> [HealthFinding] {
        let shared: [HealthFinding]? = await withCheckedContinuation { continuation in
            let isFirst = waiters.withLock { waiters in
                defer { waiters = waiters.map { $0 + [continuation] } ?? [] }
                return waiters == nil
            }
            if isFirst { continuation.resume(returning: nil) }
        }
        if let shared { return shared }
        let findings = await report()
        let waiting = waiters.withLock { waiters in
            defer { waiters = nil }
            return waiters ?? []
        }
        for continuation in waiting { continuation.resume(returning: findings) }
        return findings
    }
}
