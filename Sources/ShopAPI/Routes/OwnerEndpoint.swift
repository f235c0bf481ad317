import AppStore
import HTTPServing
import Hummingbird

/// `PUT /v1/contracts/{originalTransactionId}/owner`: says whose a contract is from now on.
struct OwnerEndpoint: Sendable {
    let store: ShopStore
    let maximumBytes: Int

    /// Answers 200 when it is so, 404 for a contract of which no purchase is known.
    func link(_ call: Call) async throws(Problem) -> Response {
        let query = try RequestQuery(call.request, known: ["environment"])
        let contract = try call.contract()
        let body = try await RequestObject(call.request, maximumBytes: maximumBytes, known: ["user", "environment"])
        let environment = try call.environment(query, body)
        let user = try body.requiredText("user")
        guard try await store.link(contract, in: environment, to: user, key: call.key) else { throw .noSuchContract }
        return .json([
            "originalTransactionId": .string(contract), "environment": .string(environment.rawValue), "user": .string(user),
        ])
    }
}
