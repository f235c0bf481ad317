import AppStore
import AppStoreVerification
import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import StoreSimulator
import StrictJSON

/// Signs events with a simulated store and stores them in an inbox.
struct SignedBodies {
    /// One store for all tests: generating keys takes longer than most of them.
    static let genuine = Result { try SignedBodies() }

    /// Its certificates are valid for the duration of all histories.
    private let authority: TestAuthority
    private let receiptAuthority: ReceiptAuthority
    /// An untrusted authority with the same names.
    private let untrustedAuthority: ReceiptAuthority
    private let signer: NotificationSigner

    private init() throws {
        var options = AuthorityOptions(around: Timestamp(millisecondsSince1970: 1_300_000_000_000))
        let decades = AuthorityOptions.Validity.years(25, around: Timestamp(millisecondsSince1970: 1_300_000_000_000))
        (options.rootValidity, options.intermediateValidity, options.leafValidity) = (decades, decades, decades)
        authority = try TestAuthority.generate(options)
        receiptAuthority = try ReceiptAuthority.generate(options)
        untrustedAuthority = try ReceiptAuthority.generate(options)
        signer = NotificationSigner(authority: authority)
    }

    /// A receipt as a client holds it; its date selects generation and encoding.
    func text(of receipt: AppReceipt, by issuer: ReceiptIssuer) throws -> String {
        let second = (receipt.creationDate?.millisecondsSince1970 ?? 0) / 1000
        let generation: ReceiptAuthority.Generation = second % 2 == 0 ? .sha1 : .sha256
        let encoding: ReceiptEncoding = second % 3 == 0 ? .indefinite : .der
        let authority = issuer == .store ? receiptAuthority : untrustedAuthority
        return try ReceiptSigner(authority: authority, generation: generation, encoding: encoding).base64(receipt)
    }

    /// A verifier that trusts this store and the apps of the histories.
    func verifier() throws -> Verifier {
        Verifier(
            policy: VerificationPolicy(
                apps: HistoryGenerator.trustedApps,
                environments: nil,
                roots: [try TrustedRoot(authority.root, environments: nil)]
            )
        )
    }

    /// A verifier that trusts this store's receipts for the same apps.
    func receiptVerifier() throws -> ReceiptVerifier {
        var policy = try verifier().policy
        policy.roots = [try TrustedRoot(receiptAuthority.root, environments: nil)]
        return ReceiptVerifier(policy: policy)
    }

    /// A row of the inbox.
    struct Stored {
        var id: Int64
        var source: String
        var receivedAt: PostgresTimestamp
        var body: [UInt8]
    }

    /// Stores events with random run times in the past, so that they run in a random order.
    func receive(_ events: [LifeEvent], in database: TestDatabase, using generator: inout SeededGenerator) async throws {
        let stored = try events.map(store)
        let delays = stored.map { _ in Int64.random(in: 1...1_000_000, using: &generator) }
        try await database.withConnection { connection in
            _ = try await connection.execute(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (event_id, source, received_at, body)
                    SELECT * FROM unnest(\(stored.map(\.id)), \(stored.map(\.source)), \(stored.map(\.receivedAt)), \(stored.map(\.body)))
                    RETURNING event_id, octet_length(body) AS bytes
                )
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                SELECT stored.event_id, '2020-01-01'::timestamptz + turn.delay * interval '1 second', stored.bytes
                FROM stored JOIN unnest(\(stored.map(\.id)), \(delays)) AS turn (event_id, delay) USING (event_id)
                """
            )
        }
    }

    private func store(_ event: LifeEvent) throws -> Stored {
        var stored = Stored(
            id: event.id,
            source: "notification_v2",
            receivedAt: PostgresTimestamp(millisecondsSince1970: event.receivedAt.millisecondsSince1970),
            body: []
        )
        switch event.content {
        case .notification(let notification):
            stored.body = try signer.sign(notification).body
        case .post(let post):
            stored.source = EventSource.clientTransaction.rawValue
            stored.body = try ClientSubmission(
                signedTransaction: String(
                    decoding: signer.sign(post.transaction, of: post.app, signedDate: post.signedDate),
                    as: UTF8.self
                ),
                user: post.user,
                environment: post.app.environment,
                bundleIDs: [post.app.bundleID]
            ).body
        case .appTransaction(let post):
            stored.source = EventSource.clientAppTransaction.rawValue
            let payload = JSONSerializer.serialize(post.appTransaction.payload(of: post.app))
            stored.body = try ClientSubmission(
                .appTransaction,
                signedTransaction: String(decoding: signer.sign(payloadBytes: payload), as: UTF8.self),
                user: post.user,
                environment: post.app.environment,
                bundleIDs: [post.app.bundleID]
            ).body
        case .legacy(let notification):
            stored.source = EventSource.notificationV1.rawValue
            stored.body = notification.bytes
        case .receipt(let post):
            stored.source = EventSource.clientReceipt.rawValue
            stored.body = try ClientReceipt(
                receiptData: post.receipt.text,
                user: post.user,
                transactionID: post.transactionID,
                environment: post.app.environment,
                bundleIDs: [post.app.bundleID]
            ).body
        case .unanswered(let receipt, _):
            stored.source = EventSource.unansweredReceipt.rawValue
            let body: JSONObject = ["receiptData": .string(receipt.text)]
            stored.body = JSONSerializer.serialize(body)
        case .answer(let answer):
            stored.source = EventSource.verifyReceipt.rawValue
            stored.body = JSONSerializer.serialize(answer.json)
        case .element(let element):
            let sources: [EventSource] =
                element.isStatus ? [.subscriptionStatus, .importedStatus] : [.transactionInfo, .importedTransaction]
            stored.source = sources[Int(event.id % 2)].rawValue
            stored.body = try body(of: element, in: event)
        }
        return stored
    }

    private func body(of element: AnsweredState, in event: LifeEvent) throws -> [UInt8] {
        var answer = JSONObject()
        if let payload = event.transaction { answer["signedTransactionInfo"] = try signed(payload) }
        if let payload = event.renewalInfo, let status = element.status {
            answer["signedRenewalInfo"] = try signed(payload)
            answer["status"] = .integer(Int64(status.rawValue))
        }
        return AnswerElement.body(
            asked: [
                "endpoint": .string(element.isStatus ? "subscription_statuses" : "transaction_info"),
                "environment": .string(element.app.environment.rawValue), "bundleId": .string(element.app.bundleID),
            ],
            answer: answer
        )
    }

    private func signed(_ payload: LifeEvent.Payload) throws -> JSONValue {
        .string(String(decoding: try signer.sign(payloadBytes: payload.bytes), as: UTF8.self))
    }
}

extension LifeEvent {
    /// The same event of another app; nil unless it is a notification.
    var inAnotherApp: LifeEvent? {
        guard case .notification(var notification) = content else { return nil }
        notification.app.bundleID = "com.example.another"
        return LifeEvent(id: id + 500, receivedAt: receivedAt, content: .notification(notification))
    }
}
