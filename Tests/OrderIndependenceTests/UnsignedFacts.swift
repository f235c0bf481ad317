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
    static func facts(of events: [LifeEvent]) throws -> [EventFacts] {
        try events.map { event in
            let transaction = try event.transaction.map { try signed($0, JWSTransactionDecodedPayload($0.json)) }
            switch event.content {
            case .notification(let notification):
                let outer = SignedValue(
                    value: try ResponseBodyV2DecodedPayload(notification.outerPayload),
                    // Their hash counts only where there is no renewal info.
                    payloadBytes: [],
                    signedDate: notification.signedDate
                )
                let verified = VerifiedNotification(
                    notification: outer,
                    transaction: transaction,
                    renewalInfo: try event.renewalInfo.map { try signed($0, JWSRenewalInfoDecodedPayload($0.json)) },
                    appTransaction: nil,
                    environment: notification.app.environment,
                    bundleID: notification.app.bundleID
                )
                return NotificationInterpreter.facts(of: verified, eventID: event.id)
            case .post(let post):
                return ClientTransactionInterpreter.facts(
                    of: try #require(transaction),
                    in: try ClientSubmission(
                        signedTransaction: "e30.e30.e30",
                        user: post.user,
                        environment: post.app.environment,
                        bundleIDs: nil
                    ),
                    eventID: event.id,
                    receivedAt: event.receivedAt
                )
            }
        }
    }

    private static func signed<Value>(_ payload: LifeEvent.Payload, _ value: Value) -> SignedValue<Value> {
        SignedValue(value: value, payloadBytes: payload.bytes, signedDate: payload.signedDate)
    }
}
