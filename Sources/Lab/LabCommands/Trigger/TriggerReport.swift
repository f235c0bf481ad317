import AppStore
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// What `trigger` says of a post: a line for a person, or a JSON object.
struct TriggerReport {
    let post: TriggeredPost
    let status: Int
    /// Nil where the command does not wait.
    var state: EventState?

    /// Whether the post was accepted and, where the command waited, its event was merged in time.
    var isGood: Bool { (status == 200 || status == 202) && state?.isGood ?? true }

    var line: String {
        let (notification, app) = (post.notification, post.notification.app)
        var words = [state.map { "event \($0.event)" } ?? "\(status)"]
        if let state { words.append(Self.words(state)) }
        words.append(post.kind)
        if let transactionID = notification.transactionID { words.append("transaction \(transactionID)") }
        if let original = notification.originalTransactionID, original != notification.transactionID {
            words.append("contract \(original)")
        }
        words.append("\(app.bundleID) \(app.environment.rawValue)")
        if let state, state.result != nil, !state.isGood { words.append("why: appstore-inbox explain \(state.event)") }
        return words.joined(separator: "  ")
    }

    private static func words(_ state: EventState) -> String {
        if let result = state.result { return state.reason.map { "\(result): \($0)" } ?? result }
        return "not settled after \(state.attempts) attempts" + (state.lastError.map { ": \($0)" } ?? "")
    }

    var json: JSONObject {
        let notification = post.notification
        var json: JSONObject = [
            "status": .integer(Int64(status)), "type": .string(post.kind),
            "notificationUUID": .string(notification.notificationUUID.uuidString.lowercased()),
            "transactionId": .optional(notification.transactionID),
            "originalTransactionId": .optional(notification.originalTransactionID),
        ]
        guard let state else { return json }
        json["event"] = .integer(state.event)
        json["result"] = .optional(state.result)
        json["reason"] = .optional(state.reason)
        json["lastError"] = .optional(state.lastError)
        return json
    }
}
