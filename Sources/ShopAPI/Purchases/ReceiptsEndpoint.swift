import AppStore
import HTTPServing
import Interpretation
import Postgres
import StrictJSON

/// `POST /v1/receipts`: stores the app receipt of a StoreKit 1 client, and answers what the client may finish if the event settles in time.
struct ReceiptsEndpoint: Sendable {
    static let path = "/v1/receipts"
    /// The limit of the inbox.
    private static let maximumEventBytes = 4 * 1024 * 1024

    let store: ShopStore
    let admission: Admission
    let maximumBytes: Int

    /// Answers 202 with the path of the event, or ``answer(_:receipt:key:completedCall:)`` when the event settles within `wait`.
    func submit(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "wait"])
        let wait = try query.wait()
        let body = try RequestObject(
            request.httpRequest,
            known: ["receiptData", "user", "transactionId"]
        )
        let receipt = try receipt(body, in: request.environment(query), apps: request.key.bundleIDs)
        let event = receipt.body
        guard event.count <= Self.maximumEventBytes else { throw .contentTooLarge(limit: maximumBytes) }
        let eventID = try await store.storeReceipt(event, key: request.key)
        let deadline = ContinuousClock.now + wait
        let poller = OutcomePoller(store: store, admission: admission, request: request)
        guard let event = await poller.settledEvent(eventID, until: deadline) else { return .accepted(eventID) }
        return try await answer(event, receipt: receipt, key: request.key) { await poller.completedCall($0, until: deadline) }
    }

    private func receipt(
        _ body: RequestObject,
        in environment: AppStoreEnvironment,
        apps: [String]?
    ) throws(Problem) -> ClientReceipt {
        let (data, user) = (try body.requiredData("receiptData"), try body.requiredText("user"))
        let transactionID = try body.text("transactionId")
        do {
            return try ClientReceipt(
                receiptData: data,
                user: user,
                transactionID: transactionID,
                environment: environment,
                bundleIDs: apps
            )
        } catch {
            // Cannot happen: the checks above are at least as strict.
            throw .invalidMember("receiptData", "receiptData, user and transactionId must be text, without U+0000.")
        }
    }

    /// Answers with the outcome of an event. For a purchase of another user it discloses nothing else.
    ///
    /// - Parameter completedCall: waits for the verifyReceipt call, if there is one; nil at the deadline.
    private func answer(
        _ event: ClientEvent,
        receipt: ClientReceipt,
        key: KeyScope,
        completedCall: (ReceiptOutline?) async -> VerifyReceiptCall?
    ) async throws(Problem) -> Response {
        switch (event.result, event.reason) {
        case (_, "owner_conflict"):
            throw .ownerConflict
        case ("rejected", let reason):
            throw .receiptRejected(reason: reason ?? "")
        case ("failed", _), ("discarded", _):
            // The event is kept: an operator may run it again.
            return .accepted(event.eventID)
        default:
            let outline = ReceiptOutline(receiptData: receipt.receiptData)
            guard let call = await completedCall(outline) else { return .accepted(event.eventID) }
            if let denial = call.denial { throw .receiptRejected(reason: denial) }
            return try await settled(event, receipt: receipt, charges: outline?.transactionIDs ?? [], key: key)
        }
    }

    /// Answers with the purchases of a genuine receipt and the entitlements of the user.
    private func settled(
        _ event: ClientEvent,
        receipt: ClientReceipt,
        charges transactionIDs: [String],
        key: KeyScope
    ) async throws(Problem) -> Response {
        let charges = try await store.charges(transactionIDs, in: receipt.environment, for: receipt.user, key: key)
        let named = charges.first { $0.transactionID == receipt.transactionID }
        // With a verifyReceipt call, the owner was unknown when the event settled.
        if named?.owner == .another { throw .ownerConflict }
        let entitlements = try await store.entitlements(of: receipt.user, in: receipt.environment, key: key)
        var object = event.json
        object["user"] = .string(receipt.user)
        object["transactions"] = .array(charges.map { .object($0.json) })
        object["finish"] = .array(charges.filter(\.mayFinish).map { .string($0.transactionID) })
        object["entitlements"] = .array(entitlements.map { .object($0.json) })
        if event.reason == "owner_unknown" || named?.owner == .nobody { object["hint"] = .ownerHint }
        return .json(object)
    }
}

/// A charge of a posted receipt that is in the ledger.
struct ReceiptCharge: Hashable, Sendable {
    let transactionID: String
    let originalTransactionID: String
    let productID: String?
    fileprivate let owner: Owner
    /// Whether the client may finish the transaction: it is in the ledger and has an owner.
    let mayFinish: Bool

    /// The owner, relative to the user who posted the receipt.
    fileprivate enum Owner: String {
        case you, another, nobody
    }

    init(_ row: Row) throws {
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        productID = try row.decode("product_id")
        let owner: String = try row.decode("owner")
        guard let owner = Owner(rawValue: owner) else { throw UnknownOwner(value: owner) }
        self.owner = owner
        mayFinish = try row.decode("may_finish")
    }

    var json: JSONObject {
        [
            "transactionId": .string(transactionID), "originalTransactionId": .string(originalTransactionID),
            "productId": .optional(productID), "owner": .string(owner.rawValue), "mayFinish": .bool(mayFinish),
        ]
    }
}

/// The database returned an owner that this version does not know.
private struct UnknownOwner: Error {
    let value: String
}

/// The state of the verifyReceipt call for a posted receipt.
struct VerifyReceiptCall: Hashable, Sendable {
    /// Whether the ledger has neither the answer nor the receipt used in its place.
    let isOpen: Bool
    /// Why Apple denied the receipt; nil if it did not.
    let denial: String?

    /// The receipt needs no call.
    static let notNeeded = VerifyReceiptCall(isOpen: false, denial: nil)

    private init(isOpen: Bool, denial: String?) {
        self.isOpen = isOpen
        self.denial = denial
    }

    init(_ row: Row) throws {
        isOpen = try row.decode("is_open")
        denial = try row.decode("denied_because")
    }
}
