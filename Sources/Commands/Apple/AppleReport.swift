import Postgres
import SQL
import ServerAPI
import StrictJSON

/// The state of a call to Apple, as commands print it.
struct AppleReport: Sendable {
    /// There is no such call.
    struct Unknown: Error, CustomStringConvertible {
        let call: Int64
        var description: String { "there is no call \(call); a settled call is kept for 30 days" }
    }

    /// As `appstore.call_document` returns it.
    let document: JSONObject

    static func read(_ call: Int64, from connection: Connection) async throws -> AppleReport {
        let row = try await connection.query(.callDocument(callID: call))[0]
        guard let text: String = try row.decode(0) else { throw Unknown(call: call) }
        return AppleReport(document: try JSONParser().parseObject(Array(text.utf8)))
    }

    var isOpen: Bool { document.word("state") == "open" }
    var isAnswered: Bool { document.word("state") == "answered" }
    /// Whether each of its events has an outcome, too.
    var isSettled: Bool { !isOpen && document.rows("events").allSatisfy { $0.word("result") != nil } }

    /// - Parameter seconds: how long the command has waited.
    func text(waited seconds: Int) -> String {
        let place = [document.word("kind"), document.word("key"), document.word("bundleId")].map { ($0 ?? "-").onOneLineSafely }
        var lines = ["call \(document.word("call") ?? "-")  " + place.joined(separator: "  "), "    \(state(seconds))"]
        if case .object(let answer)? = document["answer"] { lines += answer.text.split(separator: "\n").map { "    \($0)" } }
        let events = document.rows("events").map { event in
            ["    event " + (event.word("event") ?? "-"), event.word("result") ?? "waits"]
                + ["reason", "transactionId", "product"].map { (event.word($0) ?? "-").onOneLineSafely }
        }
        return (lines + Columns.lines(events)).joined(separator: "\n")
    }

    private func state(_ seconds: Int) -> String {
        let reason = document.word("reason").map(Self.words)
        switch document.word("state") {
        case "answered": return "answered"
        case "open": return "no answer within \(seconds) s: \(delay)\n    it goes on until \(document.word("deadlineAt") ?? "-")"
        case let state?: return "\(state): \(reason ?? "")"
        case nil: return ""
        }
    }

    private var delay: String {
        switch document.word("waitsFor") {
        case nil where document.word("attempts") == "0", "no_worker"?:
            "no worker has taken it; one must run that has an In-App Purchase key of the app: appstore-inbox doctor"
        case nil: "a worker asks"
        case "api_key"?, "no_api_key"?: "Apple refuses the key of the worker: appstore-inbox doctor"
        case "rate_limited"?, "budget"?, "budget_unavailable"?:
            "the budget of requests is used up: SELECT * FROM appstore.api_budget_status"
        case let reason?: Self.words(reason)
        }
    }

    /// A reason, with Apple's name of its error.
    private static func words(_ reason: String) -> String {
        guard reason.hasPrefix("apple_"), let code = Int(reason.dropFirst(6)).map(ServerAPIErrorCode.init(rawValue:)) else {
            return reason.onOneLineSafely
        }
        let hint =
            switch code {
            case .transactionIDNotFound, .originalTransactionIDNotFound: ": Apple knows no such transaction there, or not yet"
            case .groupNotFound: ": a group ends with its subscription; \"apple ask groups\" names those of now"
            case .notificationURLNotFound: ": set the URL for notifications in App Store Connect"
            default: ""
            }
        return "\(code.rawValue) \(code.name ?? "an error that Apple does not document")\(hint)"
    }
}
