import AppStore
import CorpusTesting
import Outbox
import StrictJSON
import Testing

@testable import Backfill
@testable import ServerAPI

/// What the client makes of each collected answer, and the history of each page. `ServerAPICaseTests` has the same for the simulated API.
///
/// Skipped without the folder that `APPSTORE_INBOX_CORPUS` names.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS names no folder"))
struct ClientCaseTests {
    /// Decided where answers become events and pages are followed by revision: see `InquiryCaseTests`.
    private static let ofContents: Set<String> = [
        "revision without progress", "the last revision again", "statuses, status against signed words",
        "transaction history, malformed", "transaction history", "refund history",
    ]
    /// The transport decides before there is an answer: see the faults of HistoryProofTests, over TLS.
    private static let ofTransport: Set<String> = ["broken off", "too large"]

    private struct Case {
        let name: String
        let json: JSONObject
        var isOurs: Bool { json["origin"] == "own" }
        var answer: JSONObject { json["answer"]?.object ?? [:] }
        var expected: JSONObject { json["expected"]?.object ?? [:] }
        var path: String? { json["request"]?.object?["path"]?.text }
        /// The token that the request sends.
        var token: String? { query["paginationToken"]?.first }
        var query: [String: [String]] {
            let members = json["request"]?.object?["query"]?.object?.members ?? []
            return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.list.compactMap(\.text)) })
        }

        func body() throws -> [UInt8] {
            if let file = answer["file"]?.text { return try Corpus.bytes("apple-fixtures/models/\(file)") }
            switch answer["body"] {
            case .string(let text)?: return Array(text.utf8)
            case .object(let object)?: return JSONSerializer.serialize(object)
            default: return []
            }
        }

        func httpAnswer() throws -> HTTPAnswer {
            let headers = answer["headers"]?.object ?? [:]
            var retryAfter = headers["Retry-After"]?.text
            let now = ClientCaseTests.now.millisecondsSince1970
            if retryAfter?.hasPrefix("<now + 5400") == true { retryAfter = String(now + 5_400_000) }
            if retryAfter?.hasPrefix("<now - 10") == true { retryAfter = String(now - 10_000) }
            return HTTPAnswer(status: Int(answer["status"]?.number ?? 0), retryAfter: retryAfter, body: try body())
        }
    }

    private static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

    private static func cases() throws -> [Case] {
        let file = try JSONParser().parseObject(try Corpus.bytes("api/cases.json"))
        return (file["cases"]?.list ?? []).compactMap(\.object).map { Case(name: $0["name"]?.text ?? "", json: $0) }
    }

    /// The endpoint of a path, and the values in it; nil for APIs that the client does not ask.
    private static func route(_ example: Case) -> (endpoint: ServerAPIEndpoint, path: [String])? {
        guard let path = example.path else { return (.transactionInfo, ["1"]) }
        let segments = path.split(separator: "/")
        for endpoint in ServerAPIEndpoint.allCases {
            let pattern = endpoint.template.split(separator: "/")
            guard endpoint.method.rawValue == example.json["request"]?.object?["method"]?.text, pattern.count == segments.count,
                zip(pattern, segments).allSatisfy({ $0.hasPrefix("{") || $0 == $1 })
            else { continue }
            // A name that another template has literally.
            if endpoint == .transactionInfo, segments.last == "appTransactions" { continue }
            return (endpoint, zip(pattern, segments).filter { $0.0.hasPrefix("{") }.map { String($0.1) })
        }
        return nil
    }

    @Test func `the client and the history make of each case what is expected`() throws {
        let cases = try Self.cases()
        #expect(cases.count == 75 && cases.count(where: \.isOurs) == 36)
        var unasked = 0
        for example in cases where !Self.ofContents.contains(example.name) && !Self.ofTransport.contains(example.name) {
            guard let (endpoint, path) = Self.route(example) else {
                #expect(example.path?.hasPrefix("/inApps/v1/messaging/") == true, "\(example.name)")
                unasked += 1
                continue
            }
            let isHistory = endpoint == .notificationHistory || example.answer["body"]?.object?["notificationHistory"] != nil
            let request = ServerAPIRequest(
                isHistory ? .notificationHistory : endpoint,
                of: "com.example",
                in: example.isOurs ? .production : AppStoreEnvironment(rawValue: "LocalTesting"),
                path: isHistory ? [] : path,
                query: example.query.flatMap { name, values in values.map { .init(name, $0) } }
            )
            if let path = example.path { #expect(request.target.split(separator: "?").first.map(String.init) == path, "\(example.name)") }
            let verdict = try Self.verdict(example, request)
            let expected = example.expected["result"]?.text ?? ""
            #expect(verdict == (expected == "page" && !isHistory ? "answered" : expected), "\(example.name)")
        }
        #expect(unasked == 12)
    }

    private static func verdict(_ example: Case, _ request: ServerAPIRequest) throws -> String {
        let answer = try example.httpAnswer()
        let code = example.expected["code"]?.number.map { Int($0) }
        switch ServerAPIReaction(answer, to: request, now: now) {
        case .answered:
            return request.endpoint == .notificationHistory ? try page(answer.body, request, example) : "answered"
        case .refused(let refusal):
            #expect(refusal.code.rawValue == code, "\(example.name)")
            return switch refusal.code.advice {
            case .otherEnvironment: "other environment"
            case .restartFromFirstPage: "restart window"
            case .startLater: "move start forward"
            case .dropRevision: "restart without revision"
            case .refuse, .askOnceMore, .retry, .notYet: "refused"
            }
        case .later(let delay):
            if let code { #expect(delay.reason == "apple_\(code)", "\(example.name)") }
            if example.expected["notBefore"] == "now + 30 s" { #expect(delay.notBefore == .seconds(30), "\(example.name)") }
            return delay.reason.hasPrefix("answer_") ? "unusable" : "later"
        case .keyRefused:
            #expect(example.expected["blocks"] == "key", "\(example.name)")
            return "later"
        case .rateLimited(let delay):
            #expect(answer.status == 429, "\(example.name)")
            switch example.expected["notBefore"]?.text {
            // No hour of Apple's is longer: the client asks again after one.
            case "now + 5400 s": #expect(delay == .seconds(3600))
            // The budget adds up to five seconds.
            case "at least 1 s from now": #expect(delay == .zero)
            case "now + 120 s": #expect(delay == .seconds(120))
            default: #expect(delay == nil, "\(example.name)")
            }
            return "later"
        }
    }

    private static func page(_ body: [UInt8], _ request: ServerAPIRequest, _ example: Case) throws -> String {
        let page: HistoryPage
        do throws(HistoryFault) {
            page = try HistoryPage(body, of: request.lane, after: Set(example.token.map { [$0] } ?? []))
        } catch {
            let reasons: [String: HistoryFault] = [
                "no progress": .tokenRepeated, "more without a token": .tokenMissing, "hasMore missing": .malformed,
                "a record without a payload": .malformed,
            ]
            #expect(reasons[example.expected["why"]?.text ?? ""] == error, "\(example.name)")
            return "unusable"
        }
        if let records = example.expected["records"]?.number { #expect(page.records.count == Int(records), "\(example.name)") }
        if let next = example.expected["goes on with"]?.text ?? example.expected["paginationToken"]?.text {
            #expect(page.token == next, "\(example.name)")
        }
        return page.token == nil ? "last page" : "page"
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var number: Int64? { if case .number(let number) = self { number.int64 } else { nil } }
    fileprivate var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    fileprivate var list: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
}
