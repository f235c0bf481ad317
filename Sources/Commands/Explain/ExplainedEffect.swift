import AppStore
import Ledger
import StrictJSON

/// Something that happened to the customer, and which event brought it.
struct ExplainedEffect {
    let kind: String
    let key: String
    /// Nil when it is not recorded: the event has not been merged, or not with this version of the program.
    let event: Int64?
    /// Whether it was this event; false also when it is not recorded.
    let isOwn: Bool
    /// The row of `effects`.
    let row: JSONObject?

    var json: JSONValue {
        [
            "kind": .string(kind), "key": .string(key), "event": event.map { .integer($0) } ?? .null, "isOwn": .bool(isOwn),
            "row": row.map(JSONValue.object) ?? .null,
        ]
    }
}

extension Explanation {
    /// Those that the event says, then those that are recorded under it and that this version would not find in it.
    var effects: [ExplainedEffect] {
        let recorded = (books?.effects ?? []).map { row in
            let event = row.word("event_id").flatMap { Int64($0) }
            return ExplainedEffect(
                kind: row.word("kind") ?? "",
                key: row.word("subject") ?? "",
                event: event,
                isOwn: event == record.eventID,
                row: row
            )
        }
        let said = subject?.effects ?? []
        let missing = said.filter { key in !recorded.contains { $0.kind == key.kind.rawValue && $0.key == key.subject } }
        return recorded + missing.map { ExplainedEffect(kind: $0.kind.rawValue, key: $0.subject, event: nil, isOwn: false, row: nil) }
    }
}
