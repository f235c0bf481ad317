/// The prepared statements of one connection, by text and types. At the limit the least recently used one is evicted.
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

    /// - Parameter limit: The number of plans to keep; 0 prepares none.
    init(limit: Int) {
        self.limit = limit
    }

    /// The steps that run `statement`: Parse and execute if its plan is missing, otherwise one.
    mutating func steps(for statement: Statement) -> [PipelineStep] {
        guard limit > 0 else { return [PipelineStep(command: .query, statement: statement, purpose: .answer)] }
        let key = Key(sql: statement.sql, types: statement.binds.types)
        clock += 1
        if let name = entries[key]?.name {
            entries[key]?.lastUse = clock
            return [PipelineStep(command: .execute(name), statement: statement, purpose: .answer, plan: key, usesOlderPlan: true)]
        }
        evictIfFull()
        let name = "s\(clock)"
        entries[key] = Entry(name: name, lastUse: clock)
        return [
            PipelineStep(command: .prepare(name), statement: statement, purpose: .control, plan: key),
            PipelineStep(command: .execute(name), statement: statement, purpose: .answer, plan: key),
        ]
    }

    /// Removes a plan that the server did not create.
    mutating func remove(_ key: Key) {
        entries[key] = nil
    }

    /// Removes a stale plan, to be deallocated on the server; the next use prepares it again.
    mutating func retire(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        retired.append(entry.name)
    }

    /// Stops preparing on this connection: the server lost a plan, so a pooler between may change servers.
    mutating func disable() {
        self = PreparedStatements(limit: 0)
    }

    /// The steps that deallocate retired plans. Only for use outside a transaction, where a failure has no effect.
    mutating func takeHousekeeping() -> [PipelineStep] {
        defer { retired.removeAll() }
        return retired.flatMap { name in
            [
                PipelineStep(command: .query, statement: "DEALLOCATE \(identifier: name)", purpose: .housekeeping),
                .synchronize(.housekeeping),
            ]
        }
    }

    private mutating func evictIfFull() {
        guard entries.count >= limit, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key else { return }
        retire(oldest)
    }
}

/// One message of a pipeline, and the purpose of its answer.
struct PipelineStep: Sendable {
    enum Command: Sendable {
        case prepare(String)
        case execute(String)
        /// Executes without a prepared name.
        case query
        /// Has the server send its answers so far. It has no answer of its own.
        case flush
        case synchronize
    }

    enum Purpose {
        /// A caller's statement, whose rows the caller gets.
        case answer
        /// Sent before the caller's statement: BEGIN, or a Parse message.
        case control
        /// The end of an implicit transaction: its answer comes after the commit.
        case commit
        /// Unrelated to the caller's statements; a failure is only logged.
        case housekeeping
    }

    let command: Command
    let statement: Statement
    let purpose: Purpose
    /// The cached plan that this step creates or uses.
    var plan: PreparedStatements.Key?
    /// Whether an earlier pipeline created the plan, so that the schema may have changed since.
    var usesOlderPlan = false

    var isFlush: Bool {
        if case .flush = command { true } else { false }
    }

    static func synchronize(_ purpose: Purpose) -> PipelineStep {
        PipelineStep(command: .synchronize, statement: "", purpose: purpose)
    }

    static let flush = PipelineStep(command: .flush, statement: "", purpose: .control)

    static func control(_ statement: Statement) -> PipelineStep {
        PipelineStep(command: .query, statement: statement, purpose: .control)
    }
}
