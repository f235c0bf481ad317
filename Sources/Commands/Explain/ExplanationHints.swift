import Interpretation
import StrictJSON

/// What an operator can do about an event.
struct ExplanationHints: Sendable {
    /// The configured apps; nil when the settings do not name them.
    let apps: [String]?
    let readsBodies: Bool

    /// - Parameters:
    ///   - database: the document of `appstore.explain`.
    ///   - body: nil when the body has been deleted, or may not be read.
    func about(_ database: JSONObject, _ body: ExplainedBody?) -> [String] {
        var hints: [String] = []
        if database["bytes"] == nil {
            hints.append("the body has been deleted: what it said is known by its outcome only")
        } else if !readsBodies {
            hints.append(
                "payloads, verification and facts need the body, which only appstore_worker may read: run explain as the worker, see "
                    + "appstore-inbox explain --help"
            )
        }
        let eventID = database.word("event_id") ?? ""
        let latest = database.rows("outcomes").last
        if (body?.refusal?.reason ?? database.word("reason")) == "wrong_bundle", database.word("result") != "discarded",
            let bundleID = body?.labels.bundleID ?? latest?.word("bundle_id"), apps?.contains(bundleID) != true
        {
            let configured = apps.map { "; configured are \($0.joined(separator: ", "))" } ?? ""
            hints.append(
                "the app \(bundleID) is not configured\(configured): if it is yours, add it to APPSTORE_INBOX_APPS, restart the worker, and "
                    + "run SELECT appstore.requeue_event(\(eventID))"
            )
        } else if body?.facts != nil, let result = database.word("result"), !Self.settledWell.contains(result) {
            hints.append("to run it again: SELECT appstore.requeue_event(\(eventID))")
        }
        return hints
    }

    private static let settledWell: Set<String> = ["applied", "superseded", "no_effect", "duplicate"]
}
