import Postgres

/// The few events that a batch fails for, one by one.
///
/// A batch that is merged in parts keeps what each part has locked while the next one waits, in an order that no other batch keeps: several of
/// them at once do little but wait for each other. So culprits are looked for with probes that are rolled back, locks and all, and whatever
/// remains is merged in one go, in the order that all batches keep.
extension BatchIsolation {
    /// How many culprits are looked for.
    private static var maximumCulprits: Int { 4 }

    /// One settlement for each prepared event, in order: those that the batch fails for are merged after all others, each by itself. Nil, with
    /// nothing merged, when there are too many of them, or when an error is about time or locks.
    ///
    /// - Parameter error: what the batch as a whole failed with.
    mutating func settlementsApart(for prepared: ArraySlice<Prepared>, after error: any Error) async throws -> [Settlement]? {
        guard !Self.isOfTime(error) else { return nil }
        // Who failed before will most likely fail again.
        var culprits = prepared.indices.filter { events[$0].attempts > 0 }
        if culprits.count > Self.maximumCulprits { culprits = [] }
        while culprits.count <= Self.maximumCulprits {
            let others = prepared.indices.filter { !culprits.contains($0) }
            // Without culprits they are the batch, which is known to fail.
            let merged: Trial = culprits.isEmpty ? .failed(error) : try await merge(others, of: prepared)
            switch merged {
            case .passed(let settlements): return try await add(culprits, of: prepared, to: settlements, of: others)
            case .failed(let error) where Self.isOfTime(error): return nil
            case .failed: break
            }
            guard let culprit = try await culprit(among: others, of: prepared) else { return nil }
            culprits.append(culprit)
        }
        return nil
    }

    private func merge(_ indices: [Int], of prepared: ArraySlice<Prepared>) async throws -> Trial {
        try await trial { try await merging(indices.map { prepared[$0] }, of: indices.map { events[$0] }) }
    }

    /// Merges and takes it back.
    private func probe(_ indices: some Collection<Int>, of prepared: ArraySlice<Prepared>) async throws -> Trial {
        try await trial {
            do {
                return try await transaction.savepoint("probe") { _ -> [Settlement] in
                    throw ProbePassed(settlements: try await merging(indices.map { prepared[$0] }, of: indices.map { events[$0] }))
                }
            } catch let passed as ProbePassed {
                return passed.settlements
            }
        }
    }

    /// One of several that fail together: what remains when each half that passes by itself is left out. Nil when a probe decides nothing.
    private func culprit(among indices: [Int], of prepared: ArraySlice<Prepared>) async throws -> Int? {
        var rest = indices[...]
        while rest.count > 1 {
            let half = rest.prefix(rest.count / 2)
            switch try await probe(half, of: prepared) {
            case .passed: rest = rest.dropFirst(half.count)
            case .failed(let error) where Self.isOfTime(error): return nil
            case .failed: rest = half
            }
        }
        return rest.first
    }

    /// Merges culprits one by one, beside others that are merged; the settlements of all, in order.
    private mutating func add(
        _ culprits: [Int],
        of prepared: ArraySlice<Prepared>,
        to settlements: [Settlement],
        of others: [Int]
    ) async throws -> [Settlement] {
        try await hurry(.apart)
        var all = Dictionary(uniqueKeysWithValues: zip(others, settlements))
        try await merge(oneByOne: culprits.sorted(), of: prepared, into: &all)
        return prepared.indices.compactMap { all[$0] }
    }
}

/// Has a probe rolled back although nothing was wrong.
private struct ProbePassed: Error {
    let settlements: [Settlement]
}
