import StrictJSON

/// Where an event of the inbox came in, which decides the form of its body; the raw value is that of `inbox.source`.
package struct EventSource: OpenValue, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A notification V2 as Apple posted it; see ``NotificationBody``.
    package static let notificationV2 = EventSource(rawValue: "notification_v2")
    /// A notification V2 that Apple's notification history listed, in the form in which it is posted; see ``NotificationBody``.
    package static let historyV2 = EventSource(rawValue: "history_v2")
    /// A notification V1 without its secret, which ingest has checked; see ``ResponseBodyV1``. The worker cannot check it again.
    package static let notificationV1 = EventSource(rawValue: "notification_v1")
    /// A transaction that a client posted; see ``ClientSubmission``.
    package static let clientTransaction = EventSource(rawValue: "client_transaction")
    /// An app transaction that a client posted; see ``ClientSubmission``.
    package static let clientAppTransaction = EventSource(rawValue: "client_app_transaction")
    /// A receipt that a client posted; see ``ClientReceipt``.
    package static let clientReceipt = EventSource(rawValue: "client_receipt")
    /// An answer of Apple's verifyReceipt, and the kind of the calls that bring it; see ``VerifyReceiptResponse``.
    package static let verifyReceipt = EventSource(rawValue: "verify_receipt")
    /// A posted receipt about which verifyReceipt gave no usable answer; see ``UnansweredReceipt``.
    package static let unansweredReceipt = EventSource(rawValue: "unanswered_receipt")

    /// A subscription's status in an answer of the App Store Server API; see ``AnswerElement``, as for the following sources.
    package static let subscriptionStatus = EventSource(rawValue: "subscription_status")
    /// A transaction in an answer of the App Store Server API, whatever the endpoint.
    package static let transactionInfo = EventSource(rawValue: "transaction_info")
    /// An app transaction in an answer of the App Store Server API.
    package static let appTransaction = EventSource(rawValue: "app_transaction")
    /// As ``subscriptionStatus``, asked for by an import: such bodies have a retention of their own.
    package static let importedStatus = EventSource(rawValue: "imported_status")
    /// As ``transactionInfo``, asked for by an import.
    package static let importedTransaction = EventSource(rawValue: "imported_transaction")

    package static let known: Set = [
        notificationV2, historyV2, notificationV1, clientTransaction, clientReceipt, verifyReceipt, unansweredReceipt, subscriptionStatus,
        transactionInfo, appTransaction, importedStatus, importedTransaction, clientAppTransaction,
    ]

    package var description: String { rawValue }
}

/// Reads the body of an event; what is malformed is thrown as the caller names it.
extension JSONObject {
    init<Malformed: Error>(body: [UInt8], or malformed: Malformed) throws(Malformed) {
        do {
            self = try JSONParser().parseObject(body)
        } catch {
            throw malformed
        }
    }

    func required<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> String {
        guard let text = try text(name, or: malformed) else { throw malformed }
        return text
    }

    func text<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> String? {
        switch self[name] {
        case nil, .null?: nil
        case .string(let text)?: text
        default: throw malformed
        }
    }

    func texts<Malformed: Error>(_ name: String, or malformed: Malformed) throws(Malformed) -> [String]? {
        switch self[name] {
        case nil, .null?: return nil
        case .array(let elements)?:
            let texts = elements.compactMap { element -> String? in if case .string(let text) = element { text } else { nil } }
            guard texts.count == elements.count else { throw malformed }
            return texts
        default: throw malformed
        }
    }
}

extension String {
    /// Whether the text can name a user, a product or a purchase: 1 to 255 characters (Unicode scalars, as PostgreSQL and JSON Schema count
    /// them), without U+0000, which PostgreSQL cannot store.
    package var isName: Bool { (1...255).contains(unicodeScalars.count) && !hasNUL }
}
