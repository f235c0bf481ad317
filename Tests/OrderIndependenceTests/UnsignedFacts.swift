import AppStore
@testable import AppStoreVerification
import Handlers
import Ledger
import LivesTesting
import StoreSimulator
import Testing

/// The facts of events as verification and handlers make them, without the signatures: those cost most of the time and are tested
/// elsewhere, and with the real worker here.
enum UnsignedFacts {
    static func facts(of events: [LifeEvent]) throws -> [EventFacts] { try events.map(facts) }

    private static func facts(of event: LifeEvent) throws -> EventFacts {
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
        case .legacy(let notification):
            NotificationV1Interpreter.facts(
                of: try AuthenticNotificationV1(
                    ResponseBodyV1(notification.body),
                    receipt: .verified(verified(notification.receipt, notification.app)),
                    digest: notification.digest.hexadecimal,
                    receivedAt: event.receivedAt,
                    policy: anything
                ),
                eventID: event.id,
                settings: .local
            )
        case .receipt(let post):
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
                settings: .local
            )
        case .answer(let answer):
            VerifyReceiptInterpreter.facts(
                of: try ReceiptAnswer(VerifyReceiptResponse(answer.json), receivedAt: event.receivedAt, policy: anything),
                latest: answer.latest.map { verified($0, answer.app) },
                eventID: event.id
            )
        }
    }

    private static let anything = ReceiptPolicy(apps: nil, environments: nil)

    private static func facts(of notification: SimulatedNotification, in event: LifeEvent) throws -> EventFacts {
        let outer = SignedValue(
            value: try ResponseBodyV2DecodedPayload(notification.outerPayload),
            // Their hash counts only where there is no renewal info.
            payloadBytes: [],
            signedDate: notification.signedDate
        )
        let verified = VerifiedNotification(
            notification: outer,
            transaction: try transaction(in: event),
            renewalInfo: try event.renewalInfo.map { try signed($0, JWSRenewalInfoDecodedPayload($0.json)) },
            appTransaction: nil,
            environment: notification.app.environment,
            bundleID: notification.app.bundleID
        )
        return NotificationInterpreter.facts(of: verified, eventID: event.id)
    }

    private static func transaction(in event: LifeEvent) throws -> SignedValue<JWSTransactionDecodedPayload>? {
        try event.transaction.map { try signed($0, JWSTransactionDecodedPayload($0.json)) }
    }

    private static func signed<Value>(_ payload: LifeEvent.Payload, _ value: Value) -> SignedValue<Value> {
        SignedValue(value: value, payloadBytes: payload.bytes, signedDate: payload.signedDate)
    }

    private static func verified(_ receipt: LifeReceipt, _ app: SimulatedApp) -> VerifiedReceipt {
        VerifiedReceipt(
            receipt: receipt.receipt,
            environment: app.environment,
            bundleID: app.bundleID,
            creationDate: receipt.madeAt,
            contentHash: [],
            digest: .sha256
        )
    }
}
