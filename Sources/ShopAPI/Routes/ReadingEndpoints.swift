import AppStore
import Handlers
import HTTPServing
import Hummingbird

/// The routes that only read.
struct ReadingEndpoints: Sendable {
    let store: ShopStore

    /// `GET /v1/events/{id}`: what became of an event that a client posted.
    func event(_ call: Call) async throws(Problem) -> Response {
        _ = try RequestQuery(call.request, known: [])
        guard let eventID = Int64(call.values["id"]), eventID > 0,
            let event = try await store.event(eventID, withSubmission: true, key: call.key)
        else { throw .noSuchEvent }
        let isTaken = event.result != nil && event.result != "rejected"
        guard isTaken, let callKey = event.receipt?.questionKey else { return .json(event.json) }
        return .json(event.json(waitingFor: try await store.question(callKey, key: call.key)))
    }

    /// `GET /v1/users/{user}/entitlements`: what a user may use; nothing for an unknown user.
    func entitlements(_ call: Call) async throws(Problem) -> Response {
        let query = try RequestQuery(call.request, known: ["environment"])
        let (environment, user) = (try call.environment(query), try call.user())
        let entitlements = try await store.entitlements(of: user, in: environment, key: call.key)
        return .json([
            "user": .string(user), "environment": .string(environment.rawValue),
            "entitlements": .array(entitlements.map { .object($0.json) }),
        ])
    }

    /// `GET /v1/subscriptions/{originalTransactionId}`: a contract.
    func subscription(_ call: Call) async throws(Problem) -> Response {
        let query = try RequestQuery(call.request, known: ["environment"])
        let (environment, contract) = (try call.environment(query), try call.contract())
        guard let subscription = try await store.subscription(contract, in: environment, key: call.key) else {
            throw .noSuchContract
        }
        var object: JSONObject = ["originalTransactionId": .string(contract), "environment": .string(environment.rawValue)]
        for member in subscription.json.members { object[member.name] = member.value }
        return .json(object)
    }
}
