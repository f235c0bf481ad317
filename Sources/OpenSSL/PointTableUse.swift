/// When a key gets its ``PointTable``, and which of the table's answers libcrypto confirms. ``PublicKey`` holds it under a lock.
struct PointTableUse: Sendable {
    /// How often a key is used before its table is built; fewer uses do not recover the cost.
    static let usesBeforeTable = 1000
    /// The number of uses of a table of which libcrypto confirms one.
    static let usesPerConfirmation = 1000

    /// How to verify one signature.
    enum Step {
        /// Without a table.
        case libcrypto
        /// Build the table, tell ``finishBuilding(_:)``, and use it.
        case build
        /// With the table. When libcrypto confirms, what the table accepts counts only if libcrypto accepts it, too.
        case table(PointTable, isConfirmed: Bool)
    }

    private enum State {
        /// Can transition to: building.
        case unbuilt
        /// One thread builds the table; the others verify without it. Can transition to: built, without.
        case building
        /// Can transition to: without.
        case built(PointTable)
        /// This libcrypto builds no tables, or the table failed its test or contradicted libcrypto. Final.
        case without
    }

    private var state = State.unbuilt
    /// Since the last change of the state.
    private var uses = 0

    /// Counts a use.
    mutating func next() -> Step {
        uses += 1
        switch state {
        case .unbuilt where uses > Self.usesBeforeTable:
            state = .building
            return .build
        case .unbuilt, .building, .without: return .libcrypto
        case .built(let table):
            guard uses >= Self.usesPerConfirmation else { return .table(table, isConfirmed: false) }
            uses = 0
            return .table(table, isConfirmed: true)
        }
    }

    /// - Parameter table: nil if it cannot be built.
    mutating func finishBuilding(_ table: PointTable?) {
        state = table.map(State.built) ?? .without
        uses = 0
    }

    /// The key is used without a table from here on.
    mutating func drop() { state = .without }

    /// Whether there is a table, or will be none: later uses are not faster.
    var isSettled: Bool {
        switch state {
        case .unbuilt, .building: false
        case .built, .without: true
        }
    }
}
