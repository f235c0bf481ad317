/// What one connection has prepared on its server, by text and types; the least recently used gives way at the limit.
struct PreparedStatements {
    struct Key: Hashable, Sendable {
        let sql: String
        let types: [UInt32]
    }

    private struct Entry {
        let name: String
        var lastUse: Int
    }

    private let limit: Int
    private var entries: [Key: Entry] = [:]
    private var retired: [String] = []
    private var clock = 0

    /// - Parameter limit: The number of plans to keep; with 0 nothing is ever prepared.
    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.count }

    /// The steps that run `statement`: one if its plan is there or is not to be kept, else two.
    mutating func steps(for statement: Statement) -> [PipelineStep] {
        guard limit > 0 else { return [PipelineStep(command: .query, statement: statement, purpose: .answer)] }
        let key = Key(sql: statement.sql, types: statement.binds.types)
        clock += 1
        if let name = entries[key]?.name {
            entries[key]?.lastUse = clock
            return [PipelineStep(command: .execute(name), statement: statement, purpose: .answer, plan: key, usesOlderPlan: true)]
        }
        makeRoom()
        let name = "s\(clock)"
        entries[key] = Entry(name: name, lastUse: clock)
        return [
            PipelineStep(command: .prepare(name), statement: statement, purpose: .control, plan: key),
            PipelineStep(command: .execute(name), statement: statement, purpose: .answer, plan: key),
        ]
    }

    /// The server never made this plan.
    mutating func forget(_ key: Key) {
        entries[key] = nil
    }

    /// The plan no longer fits; it is made anew at its next use.
    mutating func retire(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        retired.append(entry.name)
    }

    /// The server does not keep what was prepared, so something between us changes servers: prepare no more on this connection.
    mutating func giveUp() {
        self = PreparedStatements(limit: 0)
    }

    /// The steps that free retired plans. To be sent outside a transaction only, where a failure has no effect.
    mutating func takeHousekeeping() -> [PipelineStep] {
        defer { retired.removeAll() }
        return retired.flatMap { name in
            [
                PipelineStep(command: .query, statement: "DEALLOCATE \(identifier: name)", purpose: .housekeeping),
                .synchronize(.housekeeping),
            ]
        }
    }

    private mutating func makeRoom() {
        guard entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key else { return }
        retire(oldest)
    }
}
