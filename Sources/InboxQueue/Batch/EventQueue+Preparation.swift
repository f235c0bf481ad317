import Foundation
import Postgres
import Synchronization

/// The work on a batch's events that computes. ``ComputeWatchdog`` ends the process when it does not get on.
extension EventQueue {
    /// Prepares events on all cores; one value for each, in order.
    func prepareAll(_ events: [ClaimedEvent], of batch: Batch) async -> [Prepared] {
        guard !events.isEmpty else { return [] }
        let progress = Progress()
        watch(batch) { progress.ended.load(ordering: .relaxed) }
        defer { ComputeWatchdog.shared.end(batch.lane) }
        return await withTaskGroup(of: [(Int, Prepared)].self) { group in
            for _ in 0..<min(events.count, Self.cores) {
                group.addTask {
                    var done: [(Int, Prepared)] = []
                    while true {
                        let index = progress.begun.add(1, ordering: .relaxed).oldValue
                        guard index < events.count else { return done }
                        done.append((index, await prepare(events[index])))
                        progress.ended.add(1, ordering: .relaxed)
                    }
                }
            }
            var prepared = [Prepared?](repeating: nil, count: events.count)
            for await part in group {
                for (index, value) in part { prepared[index] = value }
            }
            return prepared.compactMap(\.self)
        }
    }

    /// Merges prepared events; one settlement for each, in order.
    func mergeAll(_ prepared: [Prepared], of batch: Batch, in transaction: Transaction) async throws -> [Settlement] {
        guard !prepared.isEmpty else { return [] }
        // While a statement is in flight its timeout counts.
        watch(batch) { transaction.exchanges }
        defer { ComputeWatchdog.shared.end(batch.lane) }
        return try await merge(prepared, transaction)
    }

    private func watch(_ batch: Batch, _ progress: @escaping @Sendable () -> Int?) {
        ComputeWatchdog.shared.watch(batch.lane, for: batch.computeTimeout, logger, progress)
    }

    private static var cores: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }
}

/// How many events of a batch have been taken up, and how many are prepared.
private final class Progress: Sendable {
    let begun = Atomic(0)
    let ended = Atomic(0)
}
