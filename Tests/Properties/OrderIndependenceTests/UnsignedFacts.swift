import AppStore
import Ledger
import LivesTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import AppStoreVerification
@testable import Interpretation

/// The facts of events as verification and interpreters produce them, without signatures, which cost most of the time. Signatures are
/// tested elsewhere, and here with the real worker.
enum UnsignedFacts {
    /// - Parameters:
    ///   - settings: the apps whose receipts are sent to Apple.
    ///   - acceptsForgedReceipts: whether every receipt in a notification V1 counts as genuine, which breaks a rule.
    static func facts(
        of events: [LifeEvent],
        settings: LegacySettings = .lives,
        acceptsForgedReceipts: Bool = false
    ) throws -> [EventFacts] {
        try events.compactMap { try facts(of: $0, settings, acceptsForgedReceipts) }
    }

    /// Nil for a refused event.
    private static func facts(of event: LifeEvent, _ settings: LegacySettings, _ acceptsForgedReceipts: Bool) throws -> EventFacts? {
        switch event.content {
        case .notification(let notification): try facts(of: notification, in: event)
        case .post(let post):
            ClientTransactionInterpreter.facts(
                of: try #require(try transaction(in: event)),
                in: try ClientSubmission(
                    signedTransaction: "e30.e30.e30",
                    user: post.user,
                    environment: post.app.environment,
                    bundleIDs: nil
                ),
                eventID: event.id,
                receivedAt: event.receivedAt
            )
        case .appTransaction(let post):
            ClientAppTransactionInterpreter.facts(
                of: try signed(post.appTransaction, of: post.app),
                in: try ClientSubmission(
                    .appTransaction,
                    signedTransaction: "e30.e30.e30",
                    user: post.user,
                    environment: post.app.environment,
                    bundleIDs: nil
                ),
                eventID: event.id,
                receivedAt: event.receivedAt
            )
        case .legacy(let notification):
            try facts(of: notification, in: event, settings, acceptsForgedReceipts)
        case .receipt(let post):
            post.receipt.isGenuine ? try facts(of: post, in: event, settings) : nil
        case .unanswered(let receipt, let app):
            receipt.isGenuine ? UnansweredReceiptInterpreter.facts(of: verified(receipt, app), eventID: event.id) : nil
        case .answer(let answer):
            VerifyReceiptInterpreter.facts(
                of: try ReceiptAnswer(VerifyReceiptResponse(answer.json), receivedAt: event.receivedAt, policy: policy),
                latest: answer.latest.flatMap { $0.isGenuine ? verified($0, answer.app) : nil },
                eventID: event.id
            )
        case .element(let element): try facts(of: element, in: event)
        }
    }

    private static func facts(of element: AnsweredState, in event: LifeEvent) throws -> EventFacts {
        var facts = EventFacts(eventID: event.id, environment: element.app.environment, notificationUUID: nil)
        facts.add(try #require(try transaction(in: event)))
        if let renewalInfo = event.renewalInfo {
            let signed = try signed(renewalInfo, JWSRenewalInfoDecodedPayload(renewalInfo.json))
            facts.add(element.status, signed, of: facts.transaction?.originalTransactionID)
        }
        return facts
    }

    private static let policy = VerificationPolicy(apps: HistoryGenerator.trustedApps, environments: nil, roots: [.appleRootCA])

    private static func facts(
        of notification: LegacyNotification,
        in event: LifeEvent,
        _ settings: LegacySettings,
        _ acceptsForgedReceipts: Bool
    ) throws -> EventFacts? {
        let body = try ResponseBodyV1(notification.body)
        let authentic: AuthenticNotificationV1
        do throws(AuthenticNotificationV1.Refusal) {
            authentic = try AuthenticNotificationV1(
                body,
                receipt: enclosed(notification.receipt, notification.app, acceptsForgedReceipts),
                digest: notification.digest.hexadecimal,
                receivedAt: event.receivedAt,
                policy: policy
            )
        } catch {
            return nil
        }
        return NotificationV1Interpreter.facts(of: authentic, eventID: event.id, settings: settings)
    }

    private static func enclosed(_ receipt: LifeReceipt, _ app: SimulatedApp, _ acceptsForgedReceipts: Bool) -> EnclosedReceipt {
        switch receipt.state {
        case .genuine: .verified(verified(receipt, app))
        case .missing: .absent
        case .forged, .cutOff:
            acceptsForgedReceipts
                ? .verified(verified(receipt, app))
                : .refused(Rejection(Flaw(receipt.state == .forged ? .untrustedRoot : .receiptMalformed), at: "receipt"))
        case .foreign where HistoryGenerator.trustedApps.contains { $0.bundleID == receipt.receipt.bundleID }:
            .verified(verified(receipt, app))
        case .foreign: .refused(Rejection(Flaw(.wrongBundle), at: "receipt", in: .receipt(receipt.receipt)))
        }
    }

    private static func facts(of post: ReceiptPost, in event: LifeEvent, _ settings: LegacySettings) throws -> EventFacts {
        ClientReceiptInterpreter.facts(
            of: verified(post.receipt, post.app),
            in: try ClientReceipt(
                receiptData: post.receipt.text,
                user: post.user,
                transactionID: post.transactionID,
                environment: post.app.environment,
                bundleIDs: nil
            ),
            eventID: event.id,
            receivedAt: event.receivedAt,
            settings: settings
        )
    }

    private static func facts(of notification: SimulatedNotification, in event: LifeEvent) throws -> EventFacts {
        let payload = notification.outerPayload
        let outer = SignedValue(
            value: try ResponseBodyV2DecodedPayload(payload),
            // The hash is only used without renewal info, and of what a notification says itself.
            payloadBytes: notification.isOfExternalToken ? JSONSerializer.serialize(payload) : [],
            signedDate: notification.signedDate
        )
        let appTransaction: SignedValue<AppTransaction>? =
            if case .appData(let download) = notification.content { try signed(download, of: notification.app) } else { nil }
        let verified = VerifiedNotification(
            notification: outer,
            transaction: try transaction(in: event),
            renewalInfo: try event.renewalInfo.map { try signed($0, JWSRenewalInfoDecodedPayload($0.json)) },
            appTransaction: appTransaction,
            environment: notification.app.environment,
            bundleID: notification.app.bundleID,
            unreadableParts: []
        )
        return NotificationInterpreter.facts(of: verified, eventID: event.id)
    }

    private static func transaction(in event: LifeEvent) throws -> SignedValue<JWSTransactionDecodedPayload>? {
        try event.transaction.map { try signed($0, JWSTransactionDecodedPayload($0.json)) }
    }

    private static func signed(_ download: SimulatedAppTransaction, of app: SimulatedApp) throws -> SignedValue<AppTransaction> {
        let json = download.payload(of: app)
        return SignedValue(
            value: AppTransaction(decoding: json),
            payloadBytes: JSONSerializer.serialize(json),
            signedDate: download.receiptCreationDate
        )
    }

    private static func signed<Value>(_ payload: LifeEvent.Payload, _ value: Value) -> SignedValue<Value> {
        SignedValue(value: value, payloadBytes: payload.bytes, signedDate: payload.signedDate)
    }

    private static func verified(_ receipt: LifeReceipt, _ app: SimulatedApp) -> VerifiedReceipt {
        VerifiedReceipt(
            receipt: receipt.receipt,
            environment: app.environment,
            bundleID: receipt.receipt.bundleID ?? app.bundleID,
            creationDate: receipt.madeAt,
            contentHash: Array(receipt.text.utf8),
            digest: .sha256
        )
    }
}

extension HistoryGenerator {
    /// The apps of the publisher.
    static let trustedApps =
        [app, verifyReceiptApp].map { App(bundleID: $0.bundleID, appAppleID: $0.appAppleID) } + [App(bundleID: neighbourBundleID)]
}

extension SimulatedNotification {
    fileprivate var isOfExternalToken: Bool { if case .externalPurchaseToken = content { true } else { false } }
}

extension LegacySettings {
    /// The settings of the histories: receipts of one of the two apps are sent to Apple.
    static let lives = LegacySettings(mode: .apple, appsWithSecret: [HistoryGenerator.verifyReceiptApp.bundleID])
}
