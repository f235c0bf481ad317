import AppStore
import FoundationEssentials
import HTTPServing
import StrictJSON

/// `PUT /v1/users/{user}/token`: says which appAccountToken an app gives for each purchase of the user. It is for all apps and environments.
struct TokenEndpoint: Sendable {
    let store: ShopStore

    /// Answers 200 when the token means the user, 409 when it means an order or another user.
    func set(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        try request.key.check(.production)
        let user = try request.user()
        guard let token = try RequestObject(request.httpRequest, known: ["token"]).token("token") else {
            throw .invalidMember("token", "token must be there.")
        }
        try await store.setToken(token, of: user, key: request.key)
        return .json(["user": .string(user), "token": .string(token.uuidString.lowercased())])
    }
}
