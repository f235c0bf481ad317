import AppStore
import AppStoreVerification
import Ledger

/// Turns a verified app transaction that a client posted into facts. Pure.
enum ClientAppTransactionInterpreter: EventInterpreter {
    /// The remark on a post of an app transaction that has no appTransactionId, as old systems give it: nothing can be kept of it.
    static let noID = "app_transaction_id_missing"

    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, verifier) = (reading.event, reading.reader.verifier)
        let submission = try reading.decoded { () throws(ClientSubmission.Malformed) in
            try ClientSubmission(.appTransaction, body: event.body)
        }
        let (request, jws) = (ClientRequest(submission), ArraySlice(submission.signedTransaction.utf8))
        (reading.request, reading.jws) = (request, jws)
        let app = try reading.accepted(
            verifier.verifyAppTransaction(jws, receivedAt: event.readAt, diagnostics: reading.diagnostics)
        )
        try request.check(app.value.receiptType, app.value.bundleId, reading.diagnostics)
        return facts(of: app, in: submission, eventID: event.id, receivedAt: event.receivedAt)
    }

    static func facts(
        of app: SignedValue<AppTransaction>,
        in submission: ClientSubmission,
        eventID: Int64,
        receivedAt: Timestamp
    ) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: submission.environment, notificationUUID: nil)
        facts.add(app, bundleID: app.value.bundleId)
        facts.appTransaction?.post = submission.user.map { AppTransactionFact.Post(user: $0, receivedAt: receivedAt) }
        if app.value.appTransactionId == nil { facts.remark = noID }
        return facts
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a download of the app as the client got it: which version its Apple Account had first, when and where"
    }
}

extension EventFacts {
    /// Adds a verified app transaction, unless it has no identifier, or the member that is needed and cannot be read.
    mutating func add(_ signed: SignedValue<AppTransaction>, bundleID: String?) {
        if let member = signed.odd.first(where: SignedValue<AppTransaction>.decisive.contains) {
            unhandledReason = EventRefusal.unreadableReason(member)
            return
        }
        guard let id = signed.value.appTransactionId, let bundleID else { return }
        let hash = signed.odd.isEmpty ? signed.payloadHash : Version.hashBelow(signed.payloadHash)
        appTransaction = AppTransactionFact(
            key: LedgerKey(environment: environment, id: id),
            version: Version(signedDate: signed.signedDate, hash: hash),
            bundleID: bundleID,
            app: signed.value
        )
    }
}

extension SignedValue<AppTransaction> {
    /// Members without which it would be another download, or one that was never taken back.
    fileprivate static var decisive: Set<String> { ["appTransaction.appTransactionId", "appTransaction.revocationDate"] }
}
