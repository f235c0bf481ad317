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
        let eventID = try await store.storeReceipt(event)
        let wait = OutcomeWait(store: store, admission: admission)
        guard let event = await wait.settled(eventID, within: patience) else { return .accepted(eventID) }
        return try await answer(event, receipt: receipt, key: call.key)
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
    private func answer(_ event: ClientEvent, receipt: ClientReceipt, key: KeyScope) async throws(Problem) -> Response {
        switch (event.outcome, event.reason) {
        case (_, "owner_conflict"):
            throw .ownerConflict
        case ("rejected", let reason):
            throw .receiptRejected(reason: reason ?? "")
        case ("failed", _), ("discarded", _):
            // It is kept, and an operator may run it again.
            return .accepted(event.eventID)
        default:
            return try await settled(event, receipt: receipt, key: key)
        }
    }

    /// What the receipt's purchases are now, and what the user may use: the worker has found the receipt genuine.
    private func settled(_ event: ClientEvent, receipt: ClientReceipt, key: KeyScope) async throws(Problem) -> Response {
        let charges = try await store.charges(
            Self.transactionIDs(in: receipt.receiptData),
            in: receipt.environment,
            for: receipt.user,
            apps: key.bundleIDs
        )
        let entitlements = try await store.entitlements(of: receipt.user, in: receipt.environment, apps: key.bundleIDs)
        var object = event.json
        object["user"] = .string(receipt.user)
        object["transactions"] = .array(charges.map { .object($0.json) })
        object["finish"] = .array(charges.filter(\.mayFinish).map { .string($0.transactionID) })
        object["entitlements"] = .array(entitlements.map { .object($0.json) })
        if event.reason == "owner_unknown" { object["hint"] = .ownerHint }
        return .json(object)
    }

    /// The charges in a receipt, each once and in its order; none in one that cannot be read, of which the worker has taken none either.
    private static func transactionIDs(in receiptData: String) -> [String] {
        guard case .appReceipt(let encoding) = ReceiptInput(Array(receiptData.utf8)[...]) else { return [] }
        let receipt: AppReceipt
        do {
            receipt = try AppReceipt(content: try SignedReceipt(encoding[...]).content)
        } catch {
            return []
        }
        var seen: Set<String> = []
        return receipt.purchases.compactMap(\.transactionID).filter { !$0.utf8.contains(0) && seen.insert($0).inserted }
    }
}
