package import AppStore
package import AppStoreVerification
import Ledger

/// Finds out what an event of the inbox is: verifies its body by the rules of its source, and turns it into facts. Pure.
package struct EventReader: Sendable {
    /// Verifies JWS.
    package let verifier: Verifier
    /// Verifies app receipts.
    package let receipts: ReceiptVerifier
    let legacy: LegacySettings

    /// - Parameter receipts: nil accepts receipts below Apple's root, of the apps and environments of `verifier`.
    package init(verifier: Verifier, receipts: ReceiptVerifier? = nil, legacy: LegacySettings = .local) {
        self.verifier = verifier
        var policy = verifier.policy
        policy.roots = [.appleRootCA]
        self.receipts = receipts ?? ReceiptVerifier(policy: policy)
        self.legacy = legacy
    }

    /// Every source that has a meaning.
    private static let interpreters: [EventSource: any EventInterpreter.Type] = [
        .notificationV2: NotificationInterpreter.self,
        .historyV2: NotificationInterpreter.self,
        .notificationV1: NotificationV1Interpreter.self,
        .clientTransaction: ClientTransactionInterpreter.self,
        .clientAppTransaction: ClientAppTransactionInterpreter.self,
        .clientReceipt: ClientReceiptInterpreter.self,
        .verifyReceipt: VerifyReceiptInterpreter.self,
        .unansweredReceipt: UnansweredReceiptInterpreter.self,
        .subscriptionStatus: AnswerElementInterpreter.self,
        .transactionInfo: AnswerElementInterpreter.self,
        .appTransaction: AnswerElementInterpreter.self,
        .importedStatus: AnswerElementInterpreter.self,
        .importedTransaction: AnswerElementInterpreter.self,
    ]

    /// What an event means, in words for operators, as far as its source and its labels tell.
    package static func meaning(of source: EventSource, type: String?, subtype: String?) -> String? {
        interpreters[source]?.meaning(type: type, subtype: subtype)
    }

    /// Reads an event. Errors are part of the result.
    ///
    /// - Parameter diagnostics: records the checks of what is signed in it.
    package func read(_ event: InboxEvent, diagnostics: VerificationDiagnostics? = nil) -> EventReading {
        var reading = EventReading(event, by: self, diagnostics)
        guard let interpreter = Self.interpreters[event.source] else { return reading }
        do throws(EventRefusal) {
            reading.result = .success(try interpreter.facts(of: &reading))
        } catch {
            reading.result = .failure(reading.kept(error))
        }
        reading.labels.note(odd: reading.odd)
        reading.labels.note(unknown: reading.unknown)
        return reading
    }
}

extension EventReading {
    /// A rejected event without labels is taken for junk that anyone could have posted, and soon deleted. Genuine content never is.
    fileprivate func kept(_ refusal: EventRefusal) -> EventRefusal {
        isGenuine && refusal.kind == .rejected && labels.areEmpty ? EventRefusal(refusal.reason, .unhandled) : refusal
    }
}

/// Interprets the events of one source.
protocol EventInterpreter: SendableMetatype {
    /// Verifies an event and returns what it says; leaves in the reading what was found on the way, also when it throws.
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts

    /// What an event of the source means, in words for operators; nil while its type is not known.
    static func meaning(type: String?, subtype: String?) -> String?
}

extension EventReader {
    /// The same reader, which refuses JWS that revoked certificates signed.
    package func refusing(_ revocations: Revocations) -> EventReader {
        EventReader(verifier: verifier.refusing(revocations), receipts: receipts, legacy: legacy)
    }
}

/// An event of the inbox, as a reader needs it.
package struct InboxEvent: Sendable {
    package let id: Int64
    package let source: EventSource
    /// Exactly as it was received.
    package let body: [UInt8]
    /// When it came in. Facts may depend on it, since it is the same for every attempt.
    package let receivedAt: Timestamp
    /// The time of this attempt: a signature too far in the future for the last attempt may be acceptable now.
    package let readAt: Timestamp

    package init(id: Int64, source: EventSource, body: [UInt8], receivedAt: Timestamp, readAt: Timestamp) {
        self.id = id
        self.source = source
        self.body = body
        self.receivedAt = receivedAt
        self.readAt = readAt
    }
}

/// Which source decides what is in a receipt; the raw value is the setting's.
package enum VerifyReceiptMode: String, CaseIterable, Sendable {
    /// Apple's verifyReceipt, for apps that have a shared secret.
    case apple
    /// The genuine receipt itself.
    case local
}

/// The settings of the legacy App Store that interpreters need: which apps have a shared secret, never the secret itself.
package struct LegacySettings: Sendable {
    package let mode: VerifyReceiptMode
    /// Bundle identifiers.
    package let appsWithSecret: Set<String>

    package init(mode: VerifyReceiptMode, appsWithSecret: Set<String>) {
        self.mode = mode
        self.appsWithSecret = appsWithSecret
    }

    /// Never asks Apple.
    package static let local = LegacySettings(mode: .local, appsWithSecret: [])

    /// Whether verifyReceipt is asked about receipts of the app.
    package func asksApple(about bundleID: String) -> Bool { mode == .apple && appsWithSecret.contains(bundleID) }
}
