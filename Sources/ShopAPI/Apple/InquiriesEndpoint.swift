import AppStore
import FoundationEssentials
import HTTPServing
import NIOHTTP1
import StrictJSON

/// Questions to Apple, and changes that Apple makes for the backend. A worker with the app's key asks Apple; the request may wait for it.
struct InquiriesEndpoint: Sendable {
    static let path = "/v1/inquiries"
    private static let kinds = [
        "transaction_info", "transaction_history", "subscription_statuses", "refund_history", "app_transaction", "order_lookup",
    ]

    let store: ShopStore
    let admission: Admission

    /// `POST /v1/inquiries`: asks. The same question while one is open joins it.
    func ask(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let wait = try RequestQuery(request.httpRequest, known: ["wait"]).wait()
        let body = try RequestObject(request.httpRequest, known: ["kind", "id", "bundleId", "environment"])
        let kind = try body.requiredText("kind")
        guard Self.kinds.contains(kind) else {
            throw .invalidMember("kind", "kind must be one of \(Self.kinds.joined(separator: ", ")).")
        }
        let inquiry = AppleRequest(
            kind: kind,
            id: try body.requiredText("id"),
            details: [:],
            bundleID: try body.text("bundleId"),
            environment: try environment(try body.text("environment"), of: request.key)
        )
        return try await answer(to: inquiry, request, verb: .makeInquiries, within: wait)
    }

    /// `GET /v1/inquiries/{id}`: the state of a question or change, with its answer.
    func call(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        guard let id = Int64(canonical: request.httpRequest.values["id", default: ""]), id > 0,
            let call = try await store.call(id, key: request.key)
        else { throw .noSuchInquiry }
        return .json(call)
    }

    /// `PUT /v1/contracts/{originalTransactionId}/extension`: extends a subscription. One requestIdentifier extends once in 30 days.
    func extend(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "wait"])
        let body = try RequestObject(request.httpRequest, known: ["days", "reason", "requestIdentifier", "bundleId"])
        guard let days = try body.integer("days") else { throw .invalidMember("days", "days must be there.") }
        guard let reason = try body.integer("reason") else { throw .invalidMember("reason", "reason must be there.") }
        let details: JSONObject = [
            "days": .integer(Int64(days)), "reason": .integer(Int64(reason)),
            "requestIdentifier": .string(try body.requiredText("requestIdentifier")),
        ]
        return try await change("extend_renewal_date", details, of: try body.text("bundleId"), request, query, verb: .extendContracts)
    }

    /// `PUT /v1/contracts/{originalTransactionId}/app-account-token`: sets the token of a purchase at Apple.
    func setToken(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "wait"])
        let body = try RequestObject(request.httpRequest, known: ["appAccountToken", "bundleId"])
        guard let token = UUID(uuidString: try body.requiredText("appAccountToken")) else {
            throw .invalidMember("appAccountToken", "appAccountToken must be a UUID.")
        }
        let details: JSONObject = ["token": .string(token.uuidString.lowercased())]
        return try await change("set_app_account_token", details, of: try body.text("bundleId"), request, query, verb: .setTokens)
    }

    private func change(
        _ kind: String,
        _ details: JSONObject,
        of bundleID: String?,
        _ request: AuthorizedRequest,
        _ query: RequestQuery,
        verb: Verb
    ) async throws(Problem) -> Response {
        let change = AppleRequest(
            kind: kind,
            id: try request.contract(),
            details: details,
            bundleID: bundleID,
            environment: try request.environment(query)
        )
        return try await answer(to: change, request, verb: verb, within: try query.wait())
    }

    /// Answers 200 with the call when it is settled in time, else 202 with its path.
    private func answer(
        to question: AppleRequest,
        _ request: AuthorizedRequest,
        verb: Verb,
        within wait: Duration
    ) async throws(Problem) -> Response {
        let id = try await store.ask(question, key: request.key, verb: verb)
        let deadline = ContinuousClock.now + wait
        let poller = OutcomePoller(store: store, admission: admission, request: request)
        if wait > .zero, let call = await poller.settledCall(id, until: deadline) { return .json(call) }
        guard let call = try await store.call(id, key: request.key) else { throw .noSuchInquiry }
        guard !call.isSettledCall else { return .json(call) }
        return .json(call, status: .accepted, location: "\(Self.path)/\(id)")
    }

    private func environment(_ text: String?, of key: KeyScope) throws(Problem) -> AppStoreEnvironment? {
        guard let text else { return nil }
        let environment = AppStoreEnvironment(rawValue: text)
        guard [.production, .sandbox].contains(environment) else {
            throw .invalidMember("environment", "environment must be Production or Sandbox.")
        }
        try key.check(environment)
        return environment
    }
}

/// Something to ask Apple, or to let Apple change; `appstore.request_apple` checks it.
struct AppleRequest: Sendable {
    let kind: String
    let id: String
    let details: JSONObject
    /// Nil for that of the transaction, or the only app.
    let bundleID: String?
    /// Nil for that of a known transaction, or any.
    let environment: AppStoreEnvironment?
}

extension JSONObject {
    /// Whether a call is settled, and each event of its answer.
    var isSettledCall: Bool {
        guard self["state"] != .string("open") else { return false }
        guard case .array(let events)? = self["events"] else { return true }
        return events.allSatisfy { event in
            if case .object(let event) = event { event["result"] != .null } else { true }
        }
    }
}
