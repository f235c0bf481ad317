import AppStore
import AppStoreVerification
import InboxQueue
import Interpretation
import Ledger
import Postgres
import StrictJSON
import Worker

/// What the program makes of an event's body, by the settings and the code of now; its outcome may be of another day.
struct EventReading {
    /// What a client asked for when it posted the transaction.
    private(set) var submission: ClientSubmission?
    /// What a client asked for when it posted the receipt.
    private(set) var post: ClientReceipt?
    /// Empty when there is no JWS in the body.
    private(set) var parts: [SignedPart] = []
    /// The checks of everything that is signed in it.
    let checks: [VerificationDiagnostics.Part]
    /// The body of a notification V1, or an answer of Apple's: nothing in it is signed but the receipt.
    private(set) var document: JSONObject?
    /// Nil when there is no receipt in the body.
    private(set) var receipt: ReceiptPart?
    /// What the worker would do with it, by the very code that the worker runs.
    let prepared: EventProcessor.Prepared?

    /// The facts, unless the worker would not come that far.
    var facts: EventFacts? {
        if case .facts(let facts, _)? = prepared { facts } else { nil }
    }

    /// What its outcome would be found by, when it has facts.
    var labels: OutcomeLabels? {
        if case .facts(_, let labels)? = prepared { labels } else { nil }
    }

    /// Reads an event as if it were claimed at this moment.
    init(_ event: ClaimedEvent, processor: EventProcessor) {
        let diagnostics = VerificationDiagnostics()
        let reading = processor.reader.read(InboxEvent(event), diagnostics: diagnostics)
        checks = diagnostics.parts
        prepared = EventProcessor.Prepared(reading, of: InboxEvent(event))
        let now = Timestamp(millisecondsSince1970: event.claimedAt.millisecondsSince1970)
        do {
            switch event.source {
            case EventSource.clientTransaction.rawValue: try readSubmission(event.body, processor.reader.verifier, now)
            case EventSource.notificationV2.rawValue: try readNotification(event.body, processor.reader.verifier, now)
            case EventSource.clientReceipt.rawValue: try readPost(event.body, processor.reader.receipts, now)
            case EventSource.unansweredReceipt.rawValue: try readUnanswered(event.body, processor.reader.receipts, now)
            case EventSource.notificationV1.rawValue, EventSource.verifyReceipt.rawValue:
                try readDocument(event.body, of: event.source, processor.reader.receipts, now)
            default: break
            }
        } catch {
            // Nothing of the kind: the worker's answer says why.
        }
    }

    private mutating func readSubmission(_ body: [UInt8], _ verifier: Verifier, _ now: Timestamp) throws(ClientSubmission.Malformed) {
        let submission = try ClientSubmission(body: body)
        let jws = Array(submission.signedTransaction.utf8)
        self.submission = submission
        parts = SignedPart.all(in: jws[...])
    }

    private mutating func readNotification(_ body: [UInt8], _ verifier: Verifier, _ now: Timestamp) throws(NotificationBody.Refusal) {
        let jws = try NotificationBody.signedPayload(in: body)
        parts = SignedPart.all(in: jws)
    }

    private mutating func readPost(_ body: [UInt8], _ verifier: ReceiptVerifier, _ now: Timestamp) throws(ClientReceipt.Malformed) {
        let post = try ClientReceipt(body: body)
        self.post = post
        receipt = ReceiptPart(location: "receipt", verdict: verifier.verify(post.receiptData, receivedAt: now))
    }

    private mutating func readUnanswered(_ body: [UInt8], _ verifier: ReceiptVerifier, _ now: Timestamp) throws(UnansweredReceipt.Malformed)
    {
        let data = try UnansweredReceipt(body: body).receiptData
        receipt = ReceiptPart(location: "receipt", verdict: verifier.verify(data, receivedAt: now))
    }

    private mutating func readDocument(_ body: [UInt8], of source: String, _ verifier: ReceiptVerifier, _ now: Timestamp) throws {
        let json = try JSONParser().parseObject(body)
        document = json
        let data =
            source == EventSource.notificationV1.rawValue
            ? try ResponseBodyV1(json).receiptData : try VerifyReceiptResponse(json).latestReceipt
        receipt = data.map { ReceiptPart(location: "receipt", verdict: verifier.verify($0, receivedAt: now)) }
    }
}
