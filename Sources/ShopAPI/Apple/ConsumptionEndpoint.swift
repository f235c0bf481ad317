import AppStore
import HTTPServing
import NIOHTTP1
import StrictJSON

/// Apple's consumption requests and the decisions how to answer them.
struct ConsumptionEndpoint: Sendable {
    private static let states = ["waiting", "decided", "sending", "refused"]

    let store: ShopStore

    /// `GET /v1/consumption`: the requests that Apple waits for, the most urgent first.
    func requests(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "state", "limit"])
        let environment = try request.environment(query)
        let state = query.values["state"]
        if let state, !Self.states.contains(state) {
            throw .invalidParameter("state", "state must be one of \(Self.states.joined(separator: ", ")).")
        }
        let requests = try await store.consumption(in: environment, state: state, limit: query.limit(), key: request.key)
        return .json(["environment": .string(environment.rawValue), "requests": .array(requests.map { .object($0) })])
    }

    /// `GET /v1/consumption/{environment}/{transactionId}`: the latest request about a transaction, in any state.
    func request(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let (environment, transaction) = try place(request)
        return .json(try await consumption(of: transaction, in: environment, request.key))
    }

    /// `PUT /v1/consumption/{environment}/{transactionId}`: decides the answer. Answers 409 when it is too late or the policy is off, and 422
    /// when the answer breaks a rule of Apple's.
    func answer(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let (environment, transaction) = try place(request)
        let body = try RequestObject(
            request.httpRequest,
            known: ["consented", "delivery", "sample", "percentage", "preference", "evidence", "details"]
        )
        let answer = ConsumptionAnswer(
            consented: try body.flag("consented"),
            delivery: try body.text("delivery"),
            sample: try body.flag("sample"),
            percentage: try body.integer("percentage"),
            preference: try body.text("preference"),
            evidence: try body.text("evidence", atMost: 1000),
            details: try body.object("details")
        )
        try await store.answerConsumption(of: transaction, in: environment, with: answer, key: request.key)
        return .json(try await consumption(of: transaction, in: environment, request.key))
    }

    private func consumption(of transaction: String, in environment: AppStoreEnvironment, _ key: KeyScope) async throws(Problem)
        -> JSONObject
    {
        guard let request = try await store.consumption(of: transaction, in: environment, limit: 1, key: key).first else {
            throw .noSuchConsumption
        }
        return request
    }

    private func place(_ request: AuthorizedRequest) throws(Problem) -> (AppStoreEnvironment, String) {
        _ = try RequestQuery(request.httpRequest, known: [])
        let environment = AppStoreEnvironment(rawValue: request.httpRequest.values["environment", default: ""])
        let transaction = request.httpRequest.values["transactionId", default: ""]
        guard [.production, .sandbox].contains(environment), transaction.isName else { throw .noSuchConsumption }
        try request.key.check(environment)
        return (environment, transaction)
    }
}

/// A decision how to answer; `appstore.answer_consumption` checks it.
struct ConsumptionAnswer: Sendable {
    let consented: Bool?
    let delivery: String?
    let sample: Bool?
    let percentage: Int32?
    let preference: String?
    let evidence: String?
    let details: JSONObject?
}

/// `/v1/users/{user}/consent`: the user's consent to tell Apple how purchases were consumed. It is for all apps.
struct ConsentEndpoint: Sendable {
    let store: ShopStore

    /// `PUT`: records a consent. While one is in force it changes nothing.
    func give(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        let user = try request.user()
        guard let evidence = try RequestObject(request.httpRequest, known: ["evidence"]).text("evidence", atMost: 1000) else {
            throw .invalidMember("evidence", "evidence must be there.")
        }
        let givenAt = try await store.giveConsent(of: user, evidence: evidence, key: request.key)
        return .json(["user": .string(user), "givenAt": .string(givenAt.description)])
    }

    /// `DELETE`: withdraws it. Answers that wait to be sent are discarded.
    func withdraw(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        guard try await store.withdrawConsent(of: request.user(), key: request.key) else { throw .noSuchConsent }
        return Response(status: .noContent)
    }
}
