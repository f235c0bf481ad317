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
