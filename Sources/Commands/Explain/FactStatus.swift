import Ledger

/// How a fact of an event stands to the register of its key.
struct FactStatus: Equatable {
    enum Relation: String {
        /// The register holds this fact.
        case held
        /// The register holds a newer one.
        case superseded
        /// The register holds an older one, or there is none yet: the event has not been merged.
        case notMerged = "not_merged"
    }

    let relation: Relation
    /// What the register holds; nil when there is no register.
    let held: Version?
    /// The first of the other events that say what the register holds, if there is one whose body can be read.
    let heldEvent: Int64?

    /// - Parameter others: what other events say of the same key.
    init(of version: Version, held: Version?, others: [(eventID: Int64, version: Version)]) {
        self.held = held
        guard let held else {
            relation = .notMerged
            heldEvent = nil
            return
        }
        relation = version == held ? .held : version < held ? .superseded : .notMerged
        heldEvent = relation == .held ? nil : others.filter { $0.version == held }.map(\.eventID).min()
    }
}
