import AppStore
import HTTPServing
import StrictJSON

/// `POST /v1/transactions` and `POST /v1/app-transactions`: stores a StoreKit transaction of a client, or that of the app's download, and answers
/// its outcome if the event settles in time.
struct TransactionsEndpoint: Sendable {
    let kind: ClientSubmission.Kind
    let store: ShopStore
    let admission: Admission
    let maximumBytes: Int

    /// Answers 202 with the path of the event, or ``answer(_:submission:key:)`` when the event settles within `wait`.
    func submit(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "wait"])
        let wait = try query.wait()
        let body = try RequestObject(
            request.httpRequest,
            known: [kind.rawValue, "user"]
        )
        let submission = try submission(body, in: request.environment(query), apps: request.key.bundleIDs)
        let eventID = try await store.store(submission, key: request.key)
        let poller = OutcomePoller(store: store, admission: admission, key: request.key)
        guard let event = await poller.settledEvent(eventID, until: .now + wait) else { return .accepted(eventID) }
        return try await answer(event, submission: submission, key: request.key)
    }

    private func submission(
        _ body: RequestObject,
        in environment: AppStoreEnvironment,
        apps: [String]?
    ) throws(Problem) -> ClientSubmission {
        let (jws, user) = (try body.requiredData(kind.rawValue), try body.text("user"))
        do {
            return try ClientSubmission(kind, signedTransaction: jws, user: user, environment: environment, bundleIDs: apps)
        } catch {
            throw .invalidMember(kind.rawValue, "\(kind.rawValue) must be three base64url parts with dots between them.")
        }
    }

    /// Answers with the outcome of an event. For a purchase of another user it discloses nothing else; without an owner it adds a hint.
    private func answer(_ event: ClientEvent, submission: ClientSubmission, key: KeyScope) async throws(Problem) -> Response {
        switch (event.result, event.reason) {
        case (_, "owner_conflict"):
            throw .ownerConflict
        case ("rejected", let reason):
            throw .transactionRejected(reason: reason ?? "", of: kind.rawValue)
        case ("failed", _), ("discarded", _):
            // The event is kept: an operator may run it again.
            return .accepted(event.eventID)
        case (_, "owner_unknown"):
            var object = event.json
            object["hint"] = .ownerHint
            return .json(object)
        default:
            var object = event.json
            if let user = submission.user {
                object["user"] = .string(user)
                switch kind {
                case .transaction:
                    let entitlements = try await store.entitlements(of: user, in: submission.environment, key: key)
                    object["entitlements"] = .array(entitlements.map { .object($0.json) })
                case .appTransaction:
                    let downloads = try await store.appTransactions(of: user, in: submission.environment, key: key)
                    object["appTransactions"] = .array(downloads.map { .object($0.json) })
                }
            }
            return .json(object)
        }
    }
}

extension JSONValue {
    /// How to set the owner of a purchase without one.
    static var ownerHint: JSONValue {
        """
        The purchase names no user, and the post did not make one its owner: what is shared or assigned is claimed by a post within 72 \
        hours of it. Set its owner with PUT /v1/contracts/{originalTransactionId}/owner or appstore.link_owner.
        """
    }
}
