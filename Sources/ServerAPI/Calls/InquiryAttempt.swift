import AppStore
import Outbox
import StrictJSON

/// One attempt at a call that asks the App Store Server API: one page of the answer. The call remembers the revision of the next one, so that
/// a page is in memory at a time, and a crash repeats one at most.
struct InquiryAttempt: ServerAPIAttempt {
    /// The most pages of an answer, with 20 transactions each.
    private static let maximumPages: Int64 = 1000
    /// How often an answer is begun anew.
    private static let maximumRestarts: Int64 = 3
    /// The attempts in a row with an answer that cannot be used.
    private static let maximumUnusable = 3

    private let call: LeasedCall
    private var inquiry: Inquiry?
    private var environment: AppStoreEnvironment
    /// What Production said before Sandbox was asked.
    private var unknownInProduction: ServerAPIRefusal?

    init(_ call: LeasedCall) {
        self.call = call
        inquiry = call.payload.flatMap { Inquiry(kind: call.kind, payload: $0) }
        environment = inquiry?.environment ?? call.environment
    }

    mutating func next(after result: ServerAPIResult?) -> ServerAPIStep {
        guard let inquiry else { return .finish(.refused(reason: "unknown_inquiry")) }
        switch result {
        case nil: return ask(inquiry)
        case .answered(let answer): return .finish(taken(answer, to: inquiry))
        case .refused(let refusal): return react(to: refusal, inquiry)
        case .later(let delay):
            // Sandbox is no environment of this installation.
            if let refusal = unknownInProduction, delay.reason == "no_api_key" { return .finish(unknown(refusal)) }
            if ["answer_malformed", "answer_of_another_app"].contains(delay.reason) {
                return .finish(.later(reason: delay.reason, atMost: Self.maximumUnusable, notBefore: delay.notBefore))
            }
            return .finish(result?.callResult { _ in [] } ?? Self.interrupted)
        case .shuttingDown: return .finish(Self.interrupted)
        }
    }

    private static let interrupted = CallResult.later(reason: ExchangeFailure.shuttingDown.rawValue)

    private func ask(_ inquiry: Inquiry) -> ServerAPIStep {
        .ask(
            ServerAPIRequest(
                inquiry.endpoint,
                of: call.bundleID,
                in: environment,
                path: inquiry.path,
                query: inquiry.query,
                body: inquiry.body
            )
        )
    }

    private mutating func react(to refusal: ServerAPIRefusal, _ inquiry: Inquiry) -> ServerAPIStep {
        switch refusal.code.advice {
        case .otherEnvironment where inquiry.asksAnyEnvironment && environment == .production && inquiry.pages == 0:
            unknownInProduction = refusal
            environment = .sandbox
            return ask(inquiry)
        case .otherEnvironment, .askOnceMore:
            return .finish(unknown(refusal))
        case .dropRevision where inquiry.revision != nil && inquiry.restarts < Self.maximumRestarts:
            var anew = inquiry
            anew.revision = nil
            anew.restarts += 1
            self.inquiry = anew
            return ask(anew)
        default:
            return .finish(.refused(reason: refusal.reason))
        }
    }

    /// Apple does not know the transaction, or not yet. A person is told at once, and can ask again; a program's question is asked once more.
    private func unknown(_ refusal: ServerAPIRefusal) -> CallResult {
        guard call.priority > ServerAPIClass.interactive.rawValue else { return .refused(reason: refusal.reason) }
        return .later(reason: refusal.reason, atMost: 1, notBefore: .seconds(3600))
    }

    private func taken(_ answer: ServerAPIAnswer, to inquiry: Inquiry) -> CallResult {
        guard inquiry.endpoint.isAnsweredWithTransactions else {
            let words = answer.words(of: inquiry.endpoint)
            if inquiry.endpoint == .extendRenewalDate, words["success"] == false { return .refused(reason: "not_extended") }
            return .page([], answer: JSONSerializer.serialize(words))
        }
        let elements: ServerAPIElements
        do {
            elements = try answer.elements()
        } catch {
            return .later(reason: error.rawValue, atMost: Self.maximumUnusable)
        }
        var read = inquiry
        read.pages += 1
        read.events += Int64(elements.events.count)
        var words: JSONObject = ["environment": .string(environment.rawValue), "events": .integer(read.events)]
        if let status = elements.status { words["status"] = .integer(Int64(status)) }
        if inquiry.endpoint.isPaged {
            words["pages"] = .integer(read.pages)
            if let revision = elements.revision { words["revision"] = .string(revision) }
        }
        guard elements.hasMore else { return .page(elements.events, answer: JSONSerializer.serialize(words)) }
        guard let revision = elements.revision, revision != inquiry.revision else {
            return .later(reason: "page_without_next", atMost: Self.maximumUnusable)
        }
        guard read.pages < Self.maximumPages else { return .refused(reason: "too_many_pages") }
        read.revision = revision
        read.environment = environment
        return .page(elements.events, answer: JSONSerializer.serialize(words), next: read.payload)
    }
}

extension ServerAPICallHandler {
    /// Make the calls that ask the App Store Server API, other than consumption. The kinds that reconciliation asks in large numbers have slots of
    /// their own, so that it delays no other kind.
    package static func inquiries(_ client: ServerAPIClient) -> [ServerAPICallHandler] {
        let reconciled: [ServerAPIEndpoint] = [.subscriptionStatuses, .transactionHistory]
        let others: [ServerAPIEndpoint] = [
            .transactionInfo, .refundHistory, .orderLookup, .appTransaction, .setAppAccountToken, .finishTransaction, .extendRenewalDate,
            .extendForAll, .extendStatus, .testNotification, .testStatus, .customerGroups, .groupMembers, .seatInfo,
        ]
        return [reconciled, others].map { endpoints in
            ServerAPICallHandler(endpoints.map(\.rawValue), client: client) { InquiryAttempt($0) }
        }
    }
}

/// What a call of the outbox asks the App Store Server API. The kind of the call names the endpoint; the payload has the rest, and how far
/// a paged answer was read.
struct Inquiry: Hashable, Sendable {
    let endpoint: ServerAPIEndpoint
    let path: [String]
    let body: JSONObject?
    /// Whether Sandbox is asked where Production does not know the transaction.
    let asksAnyEnvironment: Bool
    var query: [ServerAPIRequest.QueryItem]
    /// The environment that knew the transaction, after the first page.
    var environment: AppStoreEnvironment?
    /// Pages so far.
    var pages: Int64
    /// Events so far.
    var events: Int64
    /// How often the answer was begun anew, since Apple refused the revision of a page.
    var restarts: Int64

    /// The revision that the next page continues from.
    var revision: String? {
        get { query.first { $0.name == Self.revisionName }?.value }
        set {
            query.removeAll { $0.name == Self.revisionName }
            if let newValue { query.append(.init(Self.revisionName, newValue)) }
        }
    }

    private static let revisionName = "revision"

    /// Nil for an unknown kind, and for a payload of another form.
    init?(kind: String, payload: [UInt8]) {
        guard let endpoint = ServerAPIEndpoint(rawValue: kind) else { return nil }
        do {
            let json = try JSONParser().parseObject(payload)
            self.endpoint = endpoint
            path = try json.array("path").map { try $0.text() }
            query = try json.array("query").map { item in
                guard case .array(let pair) = item, pair.count == 2 else { throw WrongForm() }
                return ServerAPIRequest.QueryItem(try pair[0].text(), try pair[1].text())
            }
            if case .object(let body)? = json["body"] { self.body = body } else { body = nil }
            asksAnyEnvironment = json["anyEnvironment"] == .bool(true)
            environment = try json["environment"].map { AppStoreEnvironment(rawValue: try $0.text()) }
            pages = json.count("pages")
            events = json.count("events")
            restarts = json.count("restarts")
        } catch {
            return nil
        }
    }

    /// The payload with which the call goes on.
    var payload: [UInt8] {
        var json: JSONObject = ["path": .array(path.map { .string($0) }), "pages": .integer(pages), "events": .integer(events)]
        if !query.isEmpty { json["query"] = .array(query.map { .array([.string($0.name), .string($0.value)]) }) }
        if let body { json["body"] = .object(body) }
        if asksAnyEnvironment { json["anyEnvironment"] = true }
        if let environment { json["environment"] = .string(environment.rawValue) }
        if restarts > 0 { json["restarts"] = .integer(restarts) }
        return JSONSerializer.serialize(json)
    }
}

private struct WrongForm: Error {}

extension JSONObject {
    /// A list; empty where there is none.
    fileprivate func array(_ name: String) throws -> [JSONValue] {
        switch self[name] {
        case nil, .null?: return []
        case .array(let elements)?: return elements
        default: throw WrongForm()
        }
    }

    fileprivate func count(_ name: String) -> Int64 {
        if case .number(let number)? = self[name] { number.int64 ?? 0 } else { 0 }
    }
}

extension JSONValue {
    fileprivate func text() throws -> String {
        guard case .string(let text) = self else { throw WrongForm() }
        return text
    }
}

extension ServerAPIEndpoint {
    /// Whether its answer becomes events.
    fileprivate var isAnsweredWithTransactions: Bool {
        switch self {
        case .transactionInfo, .transactionHistory, .subscriptionStatuses, .refundHistory, .orderLookup, .appTransaction: true
        default: false
        }
    }

    /// Whether its answer has pages, each with the revision that the next one is asked for with.
    fileprivate var isPaged: Bool { self == .transactionHistory || self == .refundHistory }

    /// The members of its answer that are told to people. None of them is signed.
    fileprivate var words: [String] {
        switch self {
        case .extendRenewalDate: ["originalTransactionId", "webOrderLineItemId", "success", "effectiveDate"]
        case .extendForAll: ["requestIdentifier"]
        case .extendStatus: ["requestIdentifier", "complete", "completeDate", "succeededCount", "failedCount"]
        case .testNotification: ["testNotificationToken"]
        case .testStatus: ["sendAttempts"]
        case .customerGroups: ["groups"]
        case .groupMembers: ["members", "hasMore", "paginationToken"]
        case .seatInfo: ["totalSeatCount", "availableSeatCount", "assignedSeatClaimIds"]
        default: []
        }
    }
}

extension ServerAPIAnswer {
    /// What people are told of an answer that is no event; empty for an answer without a body.
    fileprivate func words(of endpoint: ServerAPIEndpoint) -> JSONObject {
        guard !endpoint.words.isEmpty else { return [:] }
        do {
            return JSONObject(
                try JSONParser().parseObject(body).members.filter { endpoint.words.contains($0.name) }.map { ($0.name, $0.value) }
            )
        } catch {
            // Apple has done what was asked, whatever the body says.
            return [:]
        }
    }
}
