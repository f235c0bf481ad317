import AppStore
import Interpretation
import Ledger
import StrictJSON

/// Everything that is known of one event, all of one instant, as one document.
struct Explanation: Sendable {
    /// The members of `appstore.explain`, and those that need the body.
    let document: JSONObject

    /// What people read first.
    private static let order = [
        "event_id", "source", "received_at", "bytes", "state", "result", "reason", "odd_members", "first_event_id", "hints", "meaning",
        "if_run_now",
        "request", "verification", "payloads", "facts", "effects", "queue", "outcomes", "audit_log", "contracts", "transactions",
        "v1_renewals", "orders", "ownership_claims", "owner_links", "client_posts", "refund_requests", "outbox",
    ]

    /// - Parameters:
    ///   - database: the document of `appstore.explain`.
    ///   - body: nil when the body has been deleted, or may not be read.
    ///   - facts: those of the body, each with its standing.
    init(_ database: JSONObject, _ body: ExplainedBody?, facts: [JSONValue] = [], hints: ExplanationHints) {
        var all = database
        for member in body?.members.members ?? [] { all[member.name] = member.value }
        let latest = database.rows("outcomes").last
        all["meaning"] = EventReader.meaning(
            of: EventSource(rawValue: database.word("source") ?? ""),
            type: body?.labels.notificationType ?? latest?.word("notification_type"),
            subtype: body?.labels.notificationType == nil ? latest?.word("subtype") : body?.labels.subtype
        ).map(JSONValue.string)
        all["facts"] = .array(facts)
        all["effects"] = .array(Self.effects(database, body?.facts))
        all["hints"] = .array(hints.about(database, body).map(JSONValue.string))
        let members = Self.order.compactMap { name in all[name].map { (name, $0) } }
        document = JSONObject(members.filter { $0.1 != .null && $0.1 != [] })
    }

    /// Those that are recorded, then those that the event states and that are not.
    private static func effects(_ database: JSONObject, _ facts: EventFacts?) -> [JSONValue] {
        let recorded = database.rows("effects")
        let missing = (facts?.effects ?? []).map(\.key).filter { key in
            !recorded.contains { $0.word("kind") == key.kind.rawValue && $0.word("subject") == key.subject }
        }
        return recorded.map(JSONValue.object)
            + missing.map { ["kind": .string($0.kind.rawValue), "subject": .string($0.subject), "is_recorded": false] }
    }
}
