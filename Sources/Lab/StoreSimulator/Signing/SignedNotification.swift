/// A notification as it is posted.
package struct SignedNotification: Sendable {
    package let notification: SimulatedNotification
    /// The compact JWS.
    package let jws: [UInt8]

    package init(notification: SimulatedNotification, jws: [UInt8]) {
        self.notification = notification
        self.jws = jws
    }

    /// The body of the POST: `{"signedPayload":"…"}`.
    package var body: [UInt8] {
        Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
    }
}
