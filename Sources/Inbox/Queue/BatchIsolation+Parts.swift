import Postgres

/// The events of a batch that take too long, or wait for locks that others keep, are looked for in two steps: parts first, then the events of
/// the parts that were not merged, one by one. So one of a hundred is found after two more waits, and not after seven.
///
/// Where more of them wait in vain than a few, it is not their fault: the server stalls, or others keep what they need.
extension BatchIsolation {
    /// How often a step waits in vain.
    private static var maximumWaits: Int { 3 }

    /// Some events of a batch, by their indices, and what they could not be merged for.
    private typealias Unmerged = (indices: Range<Int>, error: any Error)

    /// One settlement for each prepared event, in order.
    ///
    /// - Parameters:
    ///   - error: what the batch as a whole failed with.
    ///   - isSlow: whether it took long to fail.
    mutating func settlementsInParts(
        for prepared: ArraySlice<Prepared>,
        after error: any Error,
        isSlow: Bool
    ) async throws -> [Settlement] {
        try await hurry(isSlow || Self.isOfTime(error) ? .waited : .apart)
        var all: [Int: Settlement] = [:]
        let parts = try await merge(Self.parts(of: prepared.indices), of: prepared, into: &all)
        if Self.isTimeout(error), parts.isEmpty { learn(exceeding: bound) }
        for (indices, error) in parts where indices.count == 1 {
            all[indices.lowerBound] = try await settlement(of: indices.lowerBound, after: error)
        }
        let rest = parts.filter { $0.indices.count > 1 }.flatMap(\.indices)
        try await merge(oneByOne: rest, of: prepared, into: &all)
        return prepared.indices.compactMap { all[$0] }
    }

    /// Merges events one by one, after others.
    mutating func merge(oneByOne indices: [Int], of prepared: ArraySlice<Prepared>, into all: inout [Int: Settlement]) async throws {
        for (indices, error) in try await merge(indices.map { $0..<$0 + 1 }, of: prepared, into: &all) {
            all[indices.lowerBound] = try await settlement(of: indices.lowerBound, after: error)
        }
    }

    /// About as many parts as each has events.
    private static func parts(of indices: Range<Int>) -> [Range<Int>] {
        let size = max(1, Int(Double(indices.count).squareRoot()))
        return stride(from: indices.lowerBound, to: indices.upperBound, by: size).map { start in
            start..<min(start + size, indices.upperBound)
        }
    }

    /// Merges parts one after the other, and returns those that have to be looked at more closely.
    private mutating func merge(
        _ parts: [Range<Int>],
        of prepared: ArraySlice<Prepared>,
        into all: inout [Int: Settlement]
    ) async throws -> [Unmerged] {
        let isFirst = all.isEmpty
        var unmerged: [Unmerged] = []
        var (waits, passed) = (0, 0)
        for part in parts {
            guard waits <= Self.maximumWaits else {
                for index in part { all[index] = blocked(index, "not tried: the batch waited in vain too often") }
                continue
            }
            switch try await trial({ try await merging(prepared[part]) }) {
            case .passed(let settlements):
                passed += 1
                for (index, settlement) in zip(part, settlements) { all[index] = settlement }
            case .failed(let error):
                unmerged.append((part, error))
                guard Self.isOfTime(error) else { continue }
                waits += 1
                try await hurry(.waited)
            }
        }
        // Where others pass, or wait for locks, it is not the bound.
        if isFirst, passed == 0, unmerged.contains(where: { Self.isTimeout($0.error) }) { learn(exceeding: bound) }
        guard waits > Self.maximumWaits else { return unmerged }
        hasStalled = true
        for (part, error) in unmerged where Self.isOfTime(error) {
            for index in part { all[index] = blocked(index, "\(error)") }
        }
        return unmerged.filter { !Self.isOfTime($0.error) }
    }
}
