package import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified transaction that a client posted into the facts that a notification with it would bring. Pure.
package enum ClientTransactionInterpreter {
    /// - Parameter receivedAt: when the event came in, which decides who posted a charge first.
    package static func facts(
        of transaction: SignedValue<JWSTransactionDecodedPayload>,
        in submission: ClientSubmission,
        eventID: Int64,
        receivedAt: Timestamp
    ) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: submission.environment, notificationUUID: nil)
        facts.add(transaction)
        if let fact = facts.transaction, let user = submission.user {
            facts.posts = [ClientPost(of: fact, user: user, receivedAt: receivedAt, eventID: eventID)]
        }
        return facts
    }
}

extension ClientTransactionInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, verifier) = (reading.event, reading.reader.verifier)
        let submission = try reading.decoded { () throws(ClientSubmission.Malformed) in try ClientSubmission(body: event.body) }
        let (request, jws) = (ClientRequest(submission), ArraySlice(submission.signedTransaction.utf8))
        (reading.request, reading.jws) = (request, jws)
        let transaction = try reading.accepted(
            verifier.verifyTransaction(jws, receivedAt: event.readAt, diagnostics: reading.diagnostics)
        )
        try request.check(transaction.value.environment, transaction.value.bundleId, reading.diagnostics)
        return facts(of: transaction, in: submission, eventID: event.id, receivedAt: event.receivedAt)
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a purchase as the client got it: the same facts that a notification with it would bring"
    }
}

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

/// Turns a verified receipt that a client posted into facts or, where Apple is asked about it, into an outbound call. Pure.
///
/// A receipt is incomplete: a charge shared by a family looks like a paid one. Where Apple is asked, the charges come from the answer. The
/// receipt itself counts only when there is no answer (``UnansweredReceipt``).
package enum ClientReceiptInterpreter {
    /// The remark on a post whose named purchase is not in its receipt.
    package static let transactionNotInReceipt = "transaction_not_in_receipt"
    /// The remark on a post whose charges come from Apple's answer.
    package static let appleIsAsked = "verify_receipt_asked"

    /// - Parameters:
    ///   - receivedAt: when the event came in, which decides who posted a purchase first.
    ///   - settings: whether Apple is asked.
    package static func facts(
        of receipt: VerifiedReceipt,
        in post: ClientReceipt,
        eventID: Int64,
        receivedAt: Timestamp,
        settings: LegacySettings
    ) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: receipt.environment, notificationUUID: nil)
        facts.add(receipt.reading())
        let named = post.transactionID.flatMap { id in facts.receipts.first { $0.key.id == id } }
        facts.posts = posts(of: facts.receipts, named: named, by: post.user, eventID: eventID, receivedAt: receivedAt)
        if settings.asksApple(about: receipt.bundleID) {
            facts.calls = [.verifyReceipt(about: receipt, eventID: eventID)]
            (facts.awaitedReceipts, facts.receipts, facts.effects, facts.unhandledReason) = (facts.receipts, [], [], nil)
            facts.remark = appleIsAsked
        }
        if post.transactionID != nil, named == nil { facts.remark = transactionNotInReceipt }
        return facts
    }

    /// One post for each contract in the receipt, in the receipt's order.
    private static func posts(
        of receipts: [ReceiptFact],
        named: ReceiptFact?,
        by user: String,
        eventID: Int64,
        receivedAt: Timestamp
    ) -> [ClientPost] {
        var seen: Set<String> = []
        return receipts.filter { seen.insert($0.originalTransactionID).inserted }.map { fact in
            let contract = LedgerKey(environment: fact.key.environment, id: fact.originalTransactionID)
            let ownNamed = named?.originalTransactionID == contract.id ? named?.key.id : nil
            return ClientPost(
                key: ClientPost.Key(contract: contract, user: user, isReceipt: true, transactionID: ownNamed),
                receivedAt: receivedAt,
                eventID: eventID
            )
        }
    }
}

extension ClientReceiptInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, legacy) = (reading.event, reading.reader.legacy)
        let post = try reading.decoded { () throws(ClientReceipt.Malformed) in try ClientReceipt(body: event.body) }
        let request = ClientRequest(post)
        reading.request = request
        let receipt = try reading.accepted(reading.verify(receipt: post.receiptData))
        try reading.refuseNUL(in: receipt)
        try request.check(receipt.environment, receipt.bundleID, reading.diagnostics)
        let facts = facts(of: receipt, in: post, eventID: event.id, receivedAt: event.receivedAt, settings: legacy)
        reading.labels.name(facts)
        return facts
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a receipt as the client has it: a fact of each purchase in it, and perhaps a question to Apple"
    }
}

/// What a client asked for when it posted a transaction or receipt.
package struct ClientRequest: Sendable {
    /// Nil when no user claims the purchase.
    package let user: String?
    /// The purchase that a receipt was posted for.
    package let transactionID: String?
    package let environment: AppStoreEnvironment
    /// The scope of the key that it was posted with; nil is any app.
    package let bundleIDs: [String]?

    package init(_ submission: ClientSubmission) {
        (user, transactionID) = (submission.user, nil)
        (environment, bundleIDs) = (submission.environment, submission.bundleIDs)
    }

    package init(_ post: ClientReceipt) {
        (user, transactionID) = (post.user, post.transactionID)
        (environment, bundleIDs) = (post.environment, post.bundleIDs)
    }

    /// Checks that genuine content is what the client asked for.
    func check(_ environment: AppStoreEnvironment?, _ bundleID: String?, _ diagnostics: VerificationDiagnostics?) throws(EventRefusal) {
        let environment = VerificationReason.refusing(environment, unless: self.environment)
        let app = bundleIDs.flatMap { VerificationReason.refusing(bundleID, unlessAmong: $0) }
        try EventRefusal.check("request", [(.environment, environment), (.app, app)], diagnostics)
    }
}
