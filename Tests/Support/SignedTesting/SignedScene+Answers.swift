package import AppStore
package import StoreSimulator
package import StrictJSON

extension SignedScene {
    /// The body of an event with a status of Apple's answer about a notification's contract, signed anew.
    ///
    /// - Parameter status: nil is that of the notification.
    package static func statusAnswer(
        of notification: SimulatedNotification,
        status: Status? = nil,
        signedDate: Timestamp = now,
        transaction change: (inout JSONObject) -> Void = { _ in },
        renewalInfo renewalChange: (inout JSONObject) -> Void = { _ in }
    ) throws -> [UInt8] {
        guard let state = notification.state, let charge = state.transaction?.value, let renewal = state.renewalInfo?.value else {
            return []
        }
        let app = notification.app
        let answer: JSONObject = [
            "originalTransactionId": .string(charge.originalTransactionID),
            "status": .integer((status ?? notification.status ?? .active).rawValue),
            "signedTransactionInfo": try signed(charge.payload(of: app, signedDate: signedDate), change),
            "signedRenewalInfo": try signed(renewal.payload(of: app, signedDate: signedDate), renewalChange),
        ]
        return AnswerElement.body(asked: asked(of: app, by: "subscription_statuses", charge.originalTransactionID), answer: answer)
    }

    /// The body of an event with the transaction of a notification, signed anew.
    package static func transactionAnswer(of notification: SimulatedNotification, signedDate: Timestamp = now) throws -> [UInt8] {
        guard let charge = notification.state?.transaction?.value else { return [] }
        let app = notification.app
        let answer: JSONObject = ["signedTransactionInfo": try signed(charge.payload(of: app, signedDate: signedDate)) { _ in }]
        return AnswerElement.body(asked: asked(of: app, by: "transaction_info", charge.transactionID), answer: answer)
    }

    private static func asked(of app: SimulatedApp, by endpoint: String, _ id: String) -> JSONObject {
        [
            "endpoint": .string(endpoint), "environment": .string(app.environment.rawValue), "bundleId": .string(app.bundleID),
            "path": [.string(id)],
        ]
    }

    private static func signed(_ payload: JSONObject, _ change: (inout JSONObject) -> Void) throws -> JSONValue {
        var payload = payload
        change(&payload)
        return .string(String(decoding: try signer().sign(payload), as: UTF8.self))
    }
}
