import ArgumentParser
import InboxQueue
import Postgres
import StrictJSON

/// The settled events that a repair selects: those that meet every given condition.
struct RepairConditions: ParsableArguments {
    @Option(name: .customLong("outcome"), help: "The result of their outcomes.") var result: Outcome.Result?
    @Option(help: "The reason of their outcomes, such as merge_failed or wrong_bundle.") var reason: String?
    @Option(help: "Apple's notificationType.", completion: .notificationTypes) var type: String?
    @Option(help: "Apple's subtype.") var subtype: String?
    @Option(help: "The app's bundle id.") var app: String?
    @Option(help: "Production or Sandbox.", completion: .environments) var environment: String?
    @Option(help: ArgumentHelp("Received at this instant or later, such as 2026-01-31T12:00:00Z.", valueName: "INSTANT")) var from: String?
    @Option(help: ArgumentHelp("Received before this instant.", valueName: "INSTANT")) var before: String?

    /// The conditions, named as the members of the SQL filter.
    var filter: JSONObject {
        let named = [
            ("result", result?.rawValue), ("reason", reason), ("notification_type", type), ("subtype", subtype), ("bundle_id", app),
            ("environment", environment), ("received_from", from), ("received_before", before),
        ]
        return JSONObject(named.compactMap { name, text in text.map { (name, .string($0)) } })
    }

    /// Whether a text is an instant of ISO 8601 with its offset. PostgreSQL would also take words such as yesterday.
    static func isInstant(_ text: String) -> Bool { PostgresTimestamp(instant: text) != nil }

    var isEmpty: Bool {
        [result?.rawValue, reason, type, subtype, app, environment, from, before].allSatisfy { $0 == nil }
    }
}

extension Outcome.Result: ExpressibleByArgument {}
