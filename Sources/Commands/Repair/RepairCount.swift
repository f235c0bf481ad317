import StrictJSON

/// How many events a repair takes, by the result of their outcomes; those without one by their state.
struct RepairCount: Sendable {
    let results: [(name: String, events: Int)]

    var total: Int { results.reduce(0) { $0 + $1.events } }

    /// `30 rejected, 2 failed`.
    var words: String { results.map { "\($0.events) \($0.name)" }.joined(separator: ", ") }

    var json: JSONObject { JSONObject(results.map { ($0.name, .integer($0.events)) }) }
}
