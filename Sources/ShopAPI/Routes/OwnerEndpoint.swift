import AppStore
import HTTPServing
import StrictJSON

/// `PUT /v1/contracts/{originalTransactionId}/owner`: sets the owner of a contract.
struct OwnerEndpoint: Sendable {
    let store: ShopStore

    /// Answers 200 when the owner is set, 404 for a contract without a known purchase.
    func link(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment"])
        let contract = try request.contract()
        let body = try RequestObject(request.httpRequest, known: ["user"])
        let environment = try request.environment(query)
        let user = try body.requiredText("user")
        guard try await store.link(contract, in: environment, to: user, key: request.key) else { throw .noSuchContract }
        return .json([
            "originalTransactionId": .string(contract), "environment": .string(environment.rawValue), "user": .string(user),
        ])
    }
}
