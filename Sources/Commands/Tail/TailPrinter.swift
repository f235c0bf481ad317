import AppStore
import Postgres
import StrictJSON

/// Writes a line for each settled event.
struct TailPrinter {
    let isJSON: Bool
    /// Whether outcomes have colours.
    let isColoured: Bool
    private var columns = Columns()

    init(isJSON: Bool, isColoured: Bool) {
        self.isJSON = isJSON
        self.isColoured = isColoured
    }

    /// - Parameter now: An event of another day is printed with its date.
    mutating func line(_ event: SettledEvent, now: Timestamp) -> String {
        guard !isJSON else { return JSONSerializer.text(event.json).shownSafely + "\n" }
        let settled = "\(Timestamp(event.settledAt))"
        let isToday = "\(now)".prefix(10) == settled.prefix(10)
        let cells = [
            String(settled.prefix(19).dropFirst(isToday ? 11 : 0)).replacing("T", with: " "),
            [event.type ?? event.source, event.subtype].compactMap(\.self).joined(separator: "/"),
            (event.bundleID ?? "-") + (event.environment == "Sandbox" ? " Sandbox" : ""),
            [event.result, event.reason].compactMap(\.self).joined(separator: " "), event.usage,
        ].map(\.onOneLineSafely)
        columns.widen(for: cells)
        var padded = columns.padded(cells)
        if isColoured, let colour = Self.colours[event.result] { padded[3] = "\u{1B}[\(colour)m\(padded[3])\u{1B}[0m" }
        let hint = Self.explained.contains(event.result) ? ["explain \(event.key.eventID)"] : []
        return (padded + ["#\(event.key.eventID)", Self.duration(event.milliseconds)] + hint).joined(separator: "  ") + "\n"
    }

    /// Outcomes of which an operator wants to know the cause.
    private static let explained: Set<String> = ["rejected", "failed", "unhandled"]

    /// SGR codes: green, red, yellow, dim.
    private static let colours = [
        "applied": 32, "rejected": 31, "failed": 31, "unhandled": 33, "discarded": 33, "superseded": 2, "no_effect": 2, "duplicate": 2,
    ]

    private static func duration(_ milliseconds: Int64) -> String {
        milliseconds < 10_000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}

extension SettledEvent {
    /// The user, and what the user may use until when.
    fileprivate var usage: String {
        guard originalTransactionID != nil else { return "" }
        let things = entitlements.isEmpty ? product : entitlements.joined(separator: ", ")
        let end: String? =
            if isEndless { "without end" } else { until.map { "\(isActive ? "until" : "ended") \("\($0)".prefix(10))" } }
        return ([user ?? "no user", things] + (entitlements.isEmpty ? [] : [end])).compactMap(\.self).joined(separator: " ")
    }
}

/// A settled event of `appstore.find_events`.
struct SettledEvent: Sendable {
    /// A run of an event: after a requeue it is settled again.
    struct Key: Hashable {
        let eventID: Int64
        let run: Int32
    }

    let key: Key
    let settledAt: PostgresTimestamp
    let receivedAt: Timestamp
    let source: String
    var type: String?
    var subtype: String?
    var environment: String?
    var bundleID: String?
    let result: String
    var reason: String?
    var transactionID: String?
    var originalTransactionID: String?
    var user: String?
    var product: String?
    var entitlements: [String] = []
    /// The end of the entitlements; nil when it is unknown, and when they are endless.
    var until: Timestamp?
    var isEndless = false
    /// Whether they can be used now; false while their end is unknown.
    var isActive = false

    /// From the arrival of the event to its outcome.
    fileprivate var milliseconds: Int64 { settledAt.millisecondsSince1970 - receivedAt.millisecondsSince1970 }

    /// Members are named as the columns.
    fileprivate var json: JSONObject {
        [
            "event_id": .integer(key.eventID), "run": .integer(key.run), "received_at": .string("\(receivedAt)"),
            "settled_at": .string("\(Timestamp(settledAt))"), "milliseconds": .integer(milliseconds), "source": .string(source),
            "notification_type": .optional(type), "subtype": .optional(subtype), "environment": .optional(environment),
            "bundle_id": .optional(bundleID), "result": .string(result), "reason": .optional(reason),
            "transaction_id": .optional(transactionID), "original_transaction_id": .optional(originalTransactionID),
            "user_id": .optional(user), "product_id": .optional(product), "entitlements": .array(entitlements.map(JSONValue.string)),
            "until": .optional(isEndless ? "infinity" : until?.description), "active": .bool(isActive),
        ]
    }
}

extension SettledEvent {
    init(_ row: Row) throws {
        self.init(
            key: Key(eventID: try row.decode("event_id"), run: try row.decode("run")),
            settledAt: try row.decode("settled_at"),
            receivedAt: Timestamp(try row.decode("received_at", as: PostgresTimestamp.self)),
            source: try row.decode("source"),
            type: try row.decode("notification_type"),
            subtype: try row.decode("subtype"),
            environment: try row.decode("environment"),
            bundleID: try row.decode("bundle_id"),
            result: try row.decode("result"),
            reason: try row.decode("reason"),
            transactionID: try row.decode("transaction_id"),
            originalTransactionID: try row.decode("original_transaction_id"),
            user: try row.decode("user_id"),
            product: try row.decode("product_id"),
            entitlements: try row.decode("entitlements"),
            until: try row.decode("until", as: PostgresTimestamp?.self).map { Timestamp($0) },
            isEndless: try row.decode("is_endless", as: Bool?.self) ?? false,
            isActive: try row.decode("is_active", as: Bool?.self) ?? false
        )
    }
}
