import AppStore
import FoundationEssentials
import Postgres
import StrictJSON

/// A receiver of webhooks and how its deliveries go.
struct Endpoint: Sendable {
    enum Format: String, CaseIterable, Sendable {
        case event, raw
    }

    let name: String
    /// The secrets are derived from it.
    let id: UUID
    let url: String
    let format: String
    /// Nil for the usual ones.
    let types: [String]?
    /// Nil for any.
    let apps: [String]?
    /// Nil for both.
    let environments: [String]?
    let withWrongBundle: Bool
    let keepsOrder: Bool
    let maximumInFlight: Int32
    let maximumPerSecond: Int32?
    let timeout: Int32
    let state: String
    let why: String?
    let position: Int64
    /// Entries after its position, whether it wants them or not.
    let lag: Int64
    /// The seconds since the oldest entry that it wants and has not got was told; nil where there is none.
    let oldestUndelivered: Double?
    /// Deliveries that failed, or wait behind one of the same contract.
    let open: Int64
    let givenUp: Int64
    let succeededAt: Timestamp?
    let lastError: String?
    /// Whether only probes are sent, since it failed too often.
    let isProbed: Bool
    let secretGeneration: Int32
    /// Whether the previous secret signs, too.
    let hasPreviousSecret: Bool

    init(_ row: Row) throws {
        name = try row.decode("name")
        id = try row.decode("endpoint_id")
        url = try row.decode("url")
        format = try row.decode("format")
        types = try row.decode("types")
        apps = try row.decode("bundle_ids")
        environments = try row.decode("environments")
        withWrongBundle = try row.decode("with_wrong_bundle")
        keepsOrder = try row.decode("keeps_order")
        maximumInFlight = try row.decode("max_in_flight")
        maximumPerSecond = try row.decode("max_per_second")
        timeout = try row.decode("timeout_seconds")
        state = try row.decode("state")
        why = try row.decode("why")
        position = try row.decode("position")
        lag = try row.decode("lag")
        oldestUndelivered = try row.decode("oldest_undelivered")
        open = try row.decode("open")
        givenUp = try row.decode("given_up")
        succeededAt = try row.decode("succeeded_at", as: PostgresTimestamp?.self).map { Timestamp($0) }
        lastError = try row.decode("last_error")
        isProbed = try row.decode("is_probed")
        secretGeneration = try row.decode("secret_generation")
        hasPreviousSecret = try row.decode("previous_secret")
    }

    var json: JSONObject {
        [
            "name": .string(name), "id": .string(id.uuidString.lowercased()), "url": .string(url), "format": .string(format),
            "types": .optional(types), "apps": .optional(apps), "environments": .optional(environments),
            "withWrongBundle": .bool(withWrongBundle), "keepsOrder": .bool(keepsOrder), "maxInFlight": .integer(maximumInFlight),
            "maxPerSecond": .optional(maximumPerSecond), "timeoutSeconds": .integer(timeout), "state": .string(state),
            "why": .optional(why), "position": .integer(position), "lag": .integer(lag),
            "oldestUndeliveredSeconds": .optional(oldestUndelivered.map { Int64($0) }), "open": .integer(open),
            "givenUp": .integer(givenUp), "succeededAt": .optional(succeededAt?.description), "lastError": .optional(lastError),
            "isProbed": .bool(isProbed), "secretGeneration": .integer(secretGeneration),
        ]
    }

    /// How it is, in some words.
    var condition: String {
        switch state {
        case "enabled": isProbed ? "enabled, failing: only probes are sent" : "enabled"
        default: why.map { "\(state): \($0)" } ?? state
        }
    }

    /// What it gets, in some words.
    var scope: String {
        let notifications = "Apple's notifications" + (withWrongBundle ? ", also of other apps" : "")
        let what = format == Format.raw.rawValue ? notifications : types?.joined(separator: ", ") ?? "the usual types"
        return [what, apps?.joined(separator: ", ") ?? "any app", environments?.joined(separator: ", ") ?? "any environment"]
            .joined(separator: "; ")
    }
}

/// An attempt to deliver an entry of the feed.
struct DeliveryAttempt: Sendable {
    let at: Timestamp
    let type: String?
    let position: Int64
    private let result: String
    private let status: Int32?
    private let milliseconds: Int32
    /// The begin of what the receiver answered, which may be anything.
    private let answer: String?
    private let error: String?

    init(_ row: Row) throws {
        at = Timestamp(try row.decode("at", as: PostgresTimestamp.self))
        type = try row.decode("type")
        position = try row.decode("position")
        result = try row.decode("result")
        status = try row.decode("status")
        milliseconds = try row.decode("milliseconds")
        answer = try row.decode("answer")
        error = try row.decode("error")
    }

    var isDelivered: Bool { result == "delivered" }

    var json: JSONObject {
        [
            "at": .string(at.description), "type": .optional(type), "position": .integer(position),
            "result": .string(result), "status": .optional(status), "milliseconds": .integer(milliseconds),
            "answer": .optional(answer), "error": .optional(error),
        ]
    }

    /// The result, and why: `failed, 500 in 12 ms: no database (answer: <html>…)`.
    var words: String {
        let time = status.map { "\($0) in \(milliseconds) ms" } ?? "after \(milliseconds) ms"
        let cause = error.map { ": \($0.onOneLineSafely)" } ?? ""
        guard let answer, !answer.isEmpty else { return "\(result), \(time)\(cause)" }
        let shown = String(answer.prefix(Self.shownCharacters)).onOneLineSafely + (answer.count > Self.shownCharacters ? "…" : "")
        return "\(result), \(time)\(cause) (it answered: \(shown))"
    }

    private static let shownCharacters = 200
}
