import AppStore
import FoundationEssentials
import Outbox
import StrictJSON
import Synchronization

/// Apple's notification history as a test makes it up: records by signing date, pages, tokens, and answers that are no page.
final class MadeUpHistory: Sendable {
    struct Record: Sendable {
        var uuid = UUID()
        var signedAt: Timestamp
        var attempts: [(date: Timestamp, result: String)]
        /// Not listed yet.
        var isLate = false
        /// The worker's stand-in rejects it.
        var isForged = false
        var bundleID = "com.example.app"

        var body: [UInt8] { JSONSerializer.serialize(["signedPayload": .string(signedPayload)] as JSONObject) }

        var signedPayload: String {
            var payload: JSONObject = [
                "notificationType": "TEST", "notificationUUID": .string(uuid.uuidString.lowercased()),
                "signedDate": .integer(signedAt.millisecondsSince1970),
                "data": ["bundleId": .string(bundleID), "environment": "Production"],
            ]
            if isForged { payload["forged"] = true }
            return "e30." + String(decoding: Base64URL.encode(JSONSerializer.serialize(payload)), as: UTF8.self) + ".c2ln"
        }

        fileprivate var json: JSONValue {
            let attempts = attempts.map { attempt -> JSONValue in
                ["attemptDate": .integer(attempt.date.millisecondsSince1970), "sendAttemptResult": .string(attempt.result)]
            }
            return ["signedPayload": .string(signedPayload), "sendAttempts": .array(attempts)]
        }
    }

    /// What a test can change.
    struct State: Sendable {
        var records: [Record] = []
        var pageSize = 3
        /// Answers in place of the next ones; nil leaves one as it is.
        var script: [ExchangeOutcome?] = []
        /// Changes the answers that are pages.
        var edit: (@Sendable (inout JSONObject) -> Void)?
        /// A start before this is too old.
        var edge: Timestamp?
        /// A window that is longer expires each token.
        var longest: Duration?
        var requests: [Request] = []
    }

    struct Request: Hashable, Sendable {
        let start: Int64
        let end: Int64
        let token: String?
    }

    private let state = Mutex(State())

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var requests: [Request] { state.withLock(\.requests) }

    var exchange: Exchange { Exchange { request, _ in self.state.withLock { Self.answer(request, &$0) } } }

    private static func answer(_ request: OutboundRequest, _ state: inout State) -> ExchangeOutcome {
        let token = request.url.split(separator: "paginationToken=").dropFirst().first.map(String.init)
        guard let body = try? JSONParser().parseObject(request.body), case .number(let start)? = body["startDate"],
            case .number(let end)? = body["endDate"], let first = start.int64, let last = end.int64
        else { return error(4_000_000) }
        state.requests.append(Request(start: first, end: last, token: token))
        if !state.script.isEmpty, let scripted = state.script.removeFirst() { return scripted }
        if let edge = state.edge, first < edge.millisecondsSince1970 { return error(4_000_012) }
        if let longest = state.longest, token != nil, .milliseconds(last - first) > longest { return error(4_000_017) }
        let listed = state.records
            .filter { !$0.isLate && $0.signedAt.millisecondsSince1970 >= first && $0.signedAt.millisecondsSince1970 < last }
            .sorted { ($0.signedAt, $0.uuid.uuidString) < ($1.signedAt, $1.uuid.uuidString) }
        let from = token.flatMap { Int($0.split(separator: "-").last ?? "") } ?? 0
        let page = listed.dropFirst(from).prefix(state.pageSize)
        var answer: JSONObject = [
            "hasMore": .bool(from + page.count < listed.count), "notificationHistory": .array(page.map(\.json)),
        ]
        if from + page.count < listed.count { answer["paginationToken"] = .string("\(first)-\(last)-\(from + page.count)") }
        state.edit?(&answer)
        return .answer(HTTPAnswer(status: 200, body: JSONSerializer.serialize(answer)))
    }

    static func error(_ code: Int, status: Int = 400) -> ExchangeOutcome {
        .answer(HTTPAnswer(status: status, body: Array(#"{"errorCode":\#(code),"errorMessage":"made up"}"#.utf8)))
    }
}
