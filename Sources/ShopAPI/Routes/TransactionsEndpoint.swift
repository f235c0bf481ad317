import AppStore
import Handlers
import HTTPServing
import Hummingbird

/// `POST /v1/transactions`: takes the transaction that StoreKit gave the app, and tells what became of it if that is known in time.
struct TransactionsEndpoint: Sendable {
    let store: ShopStore
    let admission: Admission
    let maximumBytes: Int

    /// Answers 202 with the event's path, or what ``answer(_:submission:key:)`` says of the outcome when the request waits for it.
    func submit(_ call: Call) async throws(Problem) -> Response {
        let query = try RequestQuery(call.request, known: ["environment", "wait"])
        let patience = try query.wait()
        let body = try await RequestObject(
            call.request,
            maximumBytes: maximumBytes,
            known: ["signedTransaction", "user", "environment"]
        )
        let submission = try submission(body, in: call.environment(query, body), apps: call.key.bundleIDs)
        let eventID = try await store.store(submission, key: call.key)
        let wait = OutcomeWait(store: store, admission: admission, key: call.key)
        guard let event = await wait.settled(eventID, until: .now + patience) else { return .accepted(eventID) }
        return try await answer(event, submission: submission, key: call.key)
    }

    private func submission(
        _ body: RequestObject,
        in environment: AppStoreEnvironment,
        apps: [String]?
    ) throws(Problem) -> ClientSubmission {
        let (jws, user) = (try body.requiredText("signedTransaction", maximumBytes: maximumBytes), try body.text("user"))
        do {
            return try ClientSubmission(signedTransaction: jws, user: user, environment: environment, bundleIDs: apps)
        } catch {
            throw .invalidMember("signedTransaction", "signedTransaction must be three base64url parts with dots between them.")
        }
    }

    /// For a purchase of another user the answer says that and nothing else; for one without an owner it says what would help.
    private func answer(_ event: ClientEvent, submission: ClientSubmission, key: KeyScope) async throws(Problem) -> Response {
        switch (event.result, event.reason) {
        case (_, "owner_conflict"):
            throw .ownerConflict
        case ("rejected", let reason):
            throw .transactionRejected(reason: reason ?? "")
        case ("failed", _), ("discarded", _):
            // It is kept, and an operator may run it again.
            return .accepted(event.eventID)
        case (_, "owner_unknown"):
            var object = event.json
            object["hint"] = .ownerHint
            return .json(object)
        default:
            var object = event.json
            if let user = submission.user {
                let entitlements = try await store.entitlements(of: user, in: submission.environment, key: key)
                object["user"] = .string(user)
                object["entitlements"] = .array(entitlements.map { .object($0.json) })
            }
            return .json(object)
        }
    }
}

extension JSONValue {
    /// What would settle whose a purchase is.
    static var ownerHint: JSONValue {
        """
        No order names this purchase, and it was not claimed within 72 hours of being made: somebody has to say whose it is, by \
        PUT /v1/contracts/{originalTransactionId}/owner or by appstore.link_owner.
        """
    }
}
