import AppStore
import Feed
import HTTPServing
import Interpretation
import NIOHTTP1
import StrictJSON

/// The read-only routes.
struct ReadingEndpoints: Sendable {
    let store: ShopStore
    let ledger: LedgerReads

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
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, user) = (try request.environment(query), try request.user())
        let statement = Entitlement.statement(of: user, in: environment, key: request.key)
        let (entitlements, end) = try await ledger.read(statement, for: .readEntitlements, atLeast: try query.atLeast()) {
            try $0.map(Entitlement.init)
        }
        return .json(
            [
                "user": .string(user), "environment": .string(environment.rawValue),
                "entitlements": .array(entitlements.map { .object($0.json) }),
            ],
            at: end
        )
    }

    /// `GET /v1/users/{user}/app-transactions`: which version of the apps a user downloaded first, when and where; nothing for an unknown user.
    func appTransactions(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, user) = (try request.environment(query), try request.user())
        let statement = UserAppTransaction.statement(of: user, in: environment, key: request.key)
        let (downloads, end) = try await ledger.read(statement, for: .readEntitlements, atLeast: try query.atLeast()) {
            try $0.map(UserAppTransaction.init)
        }
        return .json(
            [
                "user": .string(user), "environment": .string(environment.rawValue),
                "appTransactions": .array(downloads.map { .object($0.json) }),
            ],
            at: end
        )
    }

    /// `GET /v1/subscriptions/{originalTransactionId}`: a contract.
    func subscription(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "at_least"])
        let (environment, contract) = (try request.environment(query), try request.contract())
        let statement = Subscription.statement(of: contract, in: environment, key: request.key)
        let (found, end) = try await ledger.read(statement, for: .readSubscriptions, atLeast: try query.atLeast()) {
            try $0.map(Subscription.init)
        }
        guard let subscription = found.first else { throw .noSuchContract }
        var object: JSONObject = ["originalTransactionId": .string(contract), "environment": .string(environment.rawValue)]
        for member in subscription.json.members { object[member.name] = member.value }
        return .json(object, at: end)
    }
}

extension RequestQuery {
    /// The parameter `at_least`: a position of the feed that the answer must contain.
    fileprivate func atLeast() throws(Problem) -> FeedEnd? {
        guard let text = values["at_least"] else { return nil }
        guard let cursor = FeedCursor(text), let generation = cursor.generation, let position = cursor.position else {
            throw .invalidParameter("at_least", "at_least must be a cursor of the feed, such as 1.184967.")
        }
        return FeedEnd(generation: generation, position: position)
    }
}

extension Response {
    /// An answer that contains all changes up to a position of the feed.
    fileprivate static func json(_ object: JSONObject, at end: FeedEnd) -> Response {
        var response = json(object)
        response.headers.add(name: "feed-position", value: FeedCursor(generation: end.generation, position: end.position).description)
        return response
    }
}
