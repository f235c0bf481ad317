import Interpretation
import Ledger
import SignedTesting
import StoreSimulator

extension SignedScene {
    /// Signs, verifies and interprets a notification as event 1.
    static func facts(of notification: SimulatedNotification) throws -> EventFacts {
        try facts(of: signer().sign(notification).jws)
    }

    /// Verifies and interprets a notification as event 1.
    static func facts(of jws: [UInt8]) throws -> EventFacts {
        NotificationInterpreter.facts(of: try verify(jws), eventID: 1)
    }
}
