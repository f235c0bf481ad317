import AppStore
import HTTPServing
import NIOHTTP1
import StrictJSON

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
