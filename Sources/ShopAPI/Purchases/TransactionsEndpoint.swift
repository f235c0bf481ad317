import AppStore
import HTTPServing
import Interpretation
import Postgres
import ServiceSupport
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
        let poller = OutcomePoller(store: store, admission: admission, request: request)
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

/// An event posted by a client, with its outcome.
struct ClientEvent: Sendable {
    let eventID: Int64
    let receivedAt: Timestamp
    /// Nil until the event is settled.
    let settledAt: Timestamp?
    /// Nil until the event is settled.
    let result: String?
    let reason: String?
    let environment: String?
    /// The app of the verified transaction; nil if nothing was verified.
    let bundleID: String?
    let transactionID: String?
    let originalTransactionID: String?
    /// The outline of the posted receipt; nil without a receipt, or when the submission was not read.
    let receipt: ReceiptOutline?

    init(_ row: Row, eventID: Int64) throws {
        self.eventID = eventID
        receivedAt = try row.decode("received_at", as: PostgresTimestamp.self).timestamp
        settledAt = try row.decode("settled_at", as: PostgresTimestamp?.self)?.timestamp
        result = try row.decode("result")
        reason = try row.decode("reason")
        environment = try row.decode("environment")
        bundleID = try row.decode("bundle_id")
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        receipt = try row.decode("submission", as: [UInt8]?.self).flatMap(Self.receipt)
    }

    private static func receipt(in submission: [UInt8]) -> ReceiptOutline? {
        do {
            return ReceiptOutline(receiptData: try ClientReceipt(body: submission).receiptData)
        } catch {
            return nil
        }
    }

    /// The path of the event.
    var path: String { Self.path(of: eventID) }

    static func path(of eventID: Int64) -> String { "/v1/events/\(eventID)" }

    var json: JSONObject { json(waitingFor: .notNeeded) }

    /// - Parameter call: the verifyReceipt call for the event. The event counts as waiting until the ledger has its result.
    func json(waitingFor call: VerifyReceiptCall) -> JSONObject {
        var object: JSONObject = [
            "event": .string("\(eventID)"), "url": .string(path), "state": result == nil || call.isOpen ? "waiting" : "settled",
            "receivedAt": .string(receivedAt.description), "settledAt": .optional(settledAt?.description),
            "result": .optional(result), "reason": .optional(reason),
            "environment": .optional(environment), "bundleId": .optional(bundleID),
            "transactionId": .optional(transactionID), "originalTransactionId": .optional(originalTransactionID),
        ]
        if let denial = call.denial { object["denial"] = .string(denial) }
        return object
    }
}

/// Polls for the outcome of an event with growing, jittered pauses. It holds no connection during a pause.
struct OutcomePoller: Sendable {
    private static let shortestPause: Duration = .milliseconds(5)

    let store: ShopStore
    let admission: Admission
    let key: KeyScope
    let client: RequestClient

    init(store: ShopStore, admission: Admission, request: AuthorizedRequest) {
        (self.store, self.admission, key, client) = (store, admission, request.key, request.httpRequest.client)
    }

    /// Waits until an event is settled; nil at the deadline, at shutdown, when the client has gone or when the database fails.
    func settledEvent(_ eventID: Int64, until deadline: ContinuousClock.Instant) async -> ClientEvent? {
        await first(until: deadline) { () throws(Problem) in
            guard let event = try await store.event(eventID, withSubmission: false, key: key), event.result != nil else { return nil }
            return event
        }
    }

    /// Waits until the verifyReceipt call for a receipt is complete; nil at the deadline, at shutdown, when the client has gone or when the database fails.
    func completedCall(_ outline: ReceiptOutline?, until deadline: ContinuousClock.Instant) async -> VerifyReceiptCall? {
        guard let callKey = outline?.callKey else { return .notNeeded }
        return await first(until: deadline) { () throws(Problem) in
            let call = try await store.verifyReceiptCall(callKey, key: key)
            return call.isOpen ? nil : call
        }
    }

    /// Waits until a call to Apple and its events are settled; nil at the deadline, at shutdown, when the client has gone or when the database fails.
    func settledCall(_ id: Int64, until deadline: ContinuousClock.Instant) async -> JSONObject? {
        await first(until: deadline) { () throws(Problem) in
            guard let call = try await store.call(id, key: key), call.isSettledCall else { return nil }
            return call
        }
    }

    private func first<Answer>(
        until deadline: ContinuousClock.Instant,
        _ poll: () async throws(Problem) -> Answer?
    ) async -> Answer? {
        var backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(500))
        var generator = SystemRandomNumberGenerator()
        while !admission.isShuttingDown, !client.isGone {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { return nil }
            do {
                try await Task.sleep(for: min(rest, Self.shortestPause + backoff.next(using: &generator)))
                if let answer = try await poll() { return answer }
            } catch {
                // The event is stored: the answer names its path, so that the client polls it and does not post again.
                return nil
            }
        }
        return nil
    }
}
