import AppStore
import Handlers
import HTTPServing
import Hummingbird

/// `POST /v1/receipts`: takes the app receipt of a StoreKit 1 client, and tells what it may finish if that is known in time.
struct ReceiptsEndpoint: Sendable {
    static let path = "/v1/receipts"
    /// The inbox takes no larger body.
    private static let maximumEventBytes = 4 * 1024 * 1024

    let store: ShopStore
    let admission: Admission
    let maximumBytes: Int

    /// Answers 202 with the event's path, or what ``answer(_:receipt:key:)`` says of the outcome when the request waits for it.
    func submit(_ call: Call) async throws(Problem) -> Response {
        let query = try RequestQuery(call.request, known: ["environment", "wait"])
        let patience = try query.wait()
        let body = try await RequestObject(
            call.request,
            maximumBytes: maximumBytes,
            known: ["receiptData", "user", "transactionId", "environment"]
        )
        let receipt = try receipt(body, in: call.environment(query, body), apps: call.key.bundleIDs)
        let event = receipt.body
        guard event.count <= Self.maximumEventBytes else { throw .contentTooLarge(limit: maximumBytes) }
        let eventID = try await store.storeReceipt(event, key: call.key)
        let deadline = ContinuousClock.now + patience
        let wait = OutcomeWait(store: store, admission: admission, key: call.key)
        guard let event = await wait.settled(eventID, until: deadline) else { return .accepted(eventID) }
        return try await answer(event, receipt: receipt, key: call.key) { outline in await wait.decided(outline, until: deadline) }
    }

    private func receipt(
        _ body: RequestObject,
        in environment: AppStoreEnvironment,
        apps: [String]?
    ) throws(Problem) -> ClientReceipt {
        let (data, user) = (try body.requiredText("receiptData", maximumBytes: maximumBytes), try body.requiredText("user"))
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
            // It demands of its parts what each member was asked for above.
            throw .invalidMember("receiptData", "receiptData, user and transactionId must be text, without U+0000.")
        }
    }

    /// Who names a purchase that is another user's hears that and nothing else.
    ///
    /// - Parameter decided: waits for what Apple says of the receipt, where it is asked; nil when there is no more time.
    private func answer(
        _ event: ClientEvent,
        receipt: ClientReceipt,
        key: KeyScope,
        decided: (ReceiptOutline?) async -> ReceiptQuestion?
    ) async throws(Problem) -> Response {
        switch (event.result, event.reason) {
        case (_, "owner_conflict"):
            throw .ownerConflict
        case ("rejected", let reason):
            throw .receiptRejected(reason: reason ?? "")
        case ("failed", _), ("discarded", _):
            // It is kept, and an operator may run it again.
            return .accepted(event.eventID)
        default:
            let outline = ReceiptOutline(receiptData: receipt.receiptData)
            guard let question = await decided(outline) else { return .accepted(event.eventID) }
            if let denial = question.denial { throw .receiptRejected(reason: denial) }
            return try await settled(event, receipt: receipt, charges: outline?.transactionIDs ?? [], key: key)
        }
    }

    /// What the receipt's purchases are now, and what the user may use: the worker has found the receipt genuine.
    private func settled(
        _ event: ClientEvent,
        receipt: ClientReceipt,
        charges transactionIDs: [String],
        key: KeyScope
    ) async throws(Problem) -> Response {
        let charges = try await store.charges(transactionIDs, in: receipt.environment, for: receipt.user, key: key)
        let named = charges.first { $0.transactionID == receipt.transactionID }
        // Where Apple was asked, the owner was not known when the post was settled.
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
