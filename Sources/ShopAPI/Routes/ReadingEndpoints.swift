import AppStore
import HTTPServing
import Interpretation
import StrictJSON

/// The read-only routes.
struct ReadingEndpoints: Sendable {
    let store: ShopStore

    /// `GET /v1/events/{id}`: the state of a posted event.
    func event(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        guard let eventID = Int64(canonical: request.httpRequest.values["id", default: ""]), eventID > 0,
            let event = try await store.event(eventID, withSubmission: true, key: request.key)
        else { throw .noSuchEvent }
        let isTaken = event.result != nil && event.result != "rejected"
        guard isTaken, let callKey = event.receipt?.callKey else { return .json(event.json) }
        return .json(event.json(waitingFor: try await store.verifyReceiptCall(callKey, key: request.key)))
    }

    /// `GET /v1/users/{user}/entitlements`: what a user may use; nothing for an unknown user.
    func entitlements(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment"])
        let (environment, user) = (try request.environment(query), try request.user())
        let entitlements = try await store.entitlements(of: user, in: environment, key: request.key)
        return .json([
            "user": .string(user), "environment": .string(environment.rawValue),
            "entitlements": .array(entitlements.map { .object($0.json) }),
        ])
    }

    /// `GET /v1/subscriptions/{originalTransactionId}`: a contract.
    func subscription(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment"])
        let (environment, contract) = (try request.environment(query), try request.contract())
        guard let subscription = try await store.subscription(contract, in: environment, key: request.key) else {
            throw .noSuchContract
        }
        var object: JSONObject = ["originalTransactionId": .string(contract), "environment": .string(environment.rawValue)]
        for member in subscription.json.members { object[member.name] = member.value }
        return .json(object)
    }
}
