import AppStore
import CorpusTesting
import Outbox
import StrictJSON
import Testing

@testable import ServerAPI

/// The collected answers that become events or are followed by their revision. `ClientCaseTests` has the others.
///
/// Skipped without the folder that `APPSTORE_INBOX_CORPUS` names.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS names no folder"))
struct InquiryCaseTests {
    private static let names = [
        "revision without progress", "the last revision again", "statuses, status against signed words",
        "transaction history, malformed", "transaction history", "refund history",
    ]

    private static func json(_ name: String) throws -> JSONObject {
        let file = try JSONParser().parseObject(try Corpus.bytes("api/cases.json"))
        return try #require(file["cases"]?.list.compactMap(\.object).first { $0["name"] == .string(name) })
    }

    /// The call that sends the request of a case.
    private static func call(_ request: JSONObject, _ environment: AppStoreEnvironment) throws -> LeasedCall {
        let path = (request["path"]?.text ?? "/inApps/v1/subscriptions/1").split(separator: "/")
        let endpoint: ServerAPIEndpoint =
            path.contains("history") ? .transactionHistory : path.contains("refund") ? .refundHistory : .subscriptionStatuses
        let query = (request["query"]?.object?.members ?? []).flatMap { member in
            member.value.list.map { JSONValue.array([.string(member.name), $0]) }
        }
        let payload: JSONObject = ["path": [.string(String(try #require(path.last)))], "query": .array(query), "pages": 1]
        return LeasedCall(
            callID: 1,
            epoch: 1,
            kind: endpoint.rawValue,
            bundleID: "com.example",
            environment: environment,
            priority: 1,
            payload: JSONSerializer.serialize(payload),
            timeLeft: .seconds(60)
        )
    }

    @Test(arguments: names) func `an inquiry makes of each case what is expected`(name: String) throws {
        let example = try Self.json(name)
        let (answer, expected) = (try #require(example["answer"]?.object), try #require(example["expected"]?.object))
        let environment: AppStoreEnvironment = example["origin"] == "own" ? .production : AppStoreEnvironment(rawValue: "LocalTesting")
        let call = try Self.call(example["request"]?.object ?? [:], environment)
        var attempt = InquiryAttempt(call)
        guard case .ask(let request) = attempt.next(after: nil) else {
            Issue.record("nothing is asked")
            return
        }
        if let path = example["request"]?.object?["path"]?.text {
            #expect(request.target.split(separator: "?").first.map(String.init) == path)
        }
        let body =
            try answer["file"]?.text.map { try Corpus.bytes("apple-fixtures/models/\($0)") }
            ?? JSONSerializer.serialize(try #require(answer["body"]?.object))
        let given = ServerAPIAnswer(status: 200, body: body, askedAt: Timestamp(millisecondsSince1970: 5), to: request)
        guard case .finish(let result) = attempt.next(after: .answered(given)) else {
            Issue.record("the answer leads to another request")
            return
        }
        switch (expected["result"]?.text, result) {
        case ("unusable", .later(let reason, _, _, _)):
            #expect(reason == (name == "revision without progress" ? "page_without_next" : "malformed_answer"))
        case ("page", .page(let events, _, let next?)):
            #expect(expected["signedTransactions"] == .integer(Int64(events.count)))
            let next = try #require(Inquiry(kind: call.kind, payload: next))
            #expect(next.revision == expected["revision"]?.text && next.pages == 2)
            #expect(next.query.filter { $0.name != "revision" } == request.query.filter { $0.name != "revision" })
        case ("last page", .page(let events, let words, nil)):
            #expect(events.isEmpty)
            #expect(try JSONParser().parseObject(words)["revision"] == expected["revision"])
        // `AnswerEventTests` has what the ledger makes of a status that contradicts the signed transaction beside it.
        case ("answered", .page(let events, _, nil)):
            let element = try AnswerElement(body: try #require(events.first), source: .subscriptionStatus)
            guard events.count == 1, case .status(let entry) = element.content else {
                Issue.record("no status")
                return
            }
            #expect(entry.status == .active && entry.originalTransactionID == "1")
        default: Issue.record("\(result)")
        }
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    fileprivate var list: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
}
